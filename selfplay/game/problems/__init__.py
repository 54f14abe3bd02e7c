"""Problems: what is asked, how to call the answer, and the tests that come with it.

`problem` holds the types, `loading` reads files and the sets that come with the package, `checking` finds what is wrong
with a problem without running anything, `splits` keeps problems that compute the same function together.
"""

from selfplay.game.problems.checking import validate_problem
from selfplay.game.problems.loading import SETS, load_problems, problem_to_json
from selfplay.game.problems.problem import Contract, Problem, StdinTest
from selfplay.game.problems.splits import split_by_class

__all__ = [
    "SETS",
    "Contract",
    "Problem",
    "StdinTest",
    "load_problems",
    "problem_to_json",
    "split_by_class",
    "validate_problem",
]
