"""Reading turns: the code and the tests in what a model wrote.

`text` removes thinking and finds fenced blocks, `code` finds the program of stage 5, `tests` a discriminator's tests.
Nothing is run, and nothing that is lost goes uncounted.
"""

from selfplay.game.extract.code import Code, extract_code
from selfplay.game.extract.tests import Tests, extract_tests
from selfplay.game.extract.text import without_thinking

__all__ = ["Code", "Tests", "extract_code", "extract_tests", "without_thinking"]
