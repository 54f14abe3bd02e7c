"""Problems: what is asked, how to call the answer, and the tests that come with it.

`problem` holds the types, `loading` reads files and the sets that come with the package, `finding` one problem however it is
given, `checking` finds what is wrong with a problem without running anything, `splits` keeps problems that compute the
same function together.
"""

from selfplay.game.problems.checking import validate_problem
from selfplay.game.problems.finding import UnknownProblem, described_problem, find_problem, given_problem
from selfplay.game.problems.loading import SETS, load_problems, problem_to_json, problems_of, read_problems
from selfplay.game.problems.problem import Contract, Problem, StdinTest
from selfplay.game.problems.splits import split_by_class

__all__ = [
    "SETS",
    "Contract",
    "Problem",
    "StdinTest",
    "UnknownProblem",
    "described_problem",
    "find_problem",
    "given_problem",
    "load_problems",
    "problem_to_json",
    "problems_of",
    "read_problems",
    "split_by_class",
    "validate_problem",
]
