"""Reading tests to data: what a text of tests states, as cases, without running any of it.

`reader` is the way in. `testcode` goes through a module, with `imports` and `fixtures`, and `stating` through one statement
of a test; `pytests` and `unittests` know the two styles. `interpret` and `expressions` evaluate what arguments and expected
values need, within a `budget`, over `names`, `operators`, `methods` and `known` functions, which `costs` prices.

What does not exist yet is an `unknown` value. `symbols` and `special` say what a test makes of a result, `symbolic` and
`loops` follow it through expressions and statements, `normal` and `conditions` write it down. What cannot be known is
`opaque`, and `refusals` has a sentence for everything that is not read.
"""

from selfplay.reading.reader import Reading, problem_cases, read_cases, read_stdin_cases

__all__ = ["Reading", "problem_cases", "read_cases", "read_stdin_cases"]
