"""Reading tests to data: what a text of tests states, as cases, without running any of it.

`reader` is the way in. `testcode` goes through a module and `stating` through one statement of a test; `pytests` and
`unittests` know the two styles. `interpret` with `expressions`, `names`, `methods` and `known` evaluates what arguments and
expected values need, within a `budget`.
"""

from selfplay.reading.reader import Reading, problem_cases, read_cases, read_stdin_cases

__all__ = ["Reading", "problem_cases", "read_cases", "read_stdin_cases"]
