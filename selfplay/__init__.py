"""Adversarial self-play on code: one language model, two adapters, one game.

    import selfplay

    result = selfplay.train(seed=1, output_dir="runs/a")

Everything here is loaded when it is first used, so that importing the package, and `--help`, cost milliseconds.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from selfplay.config import Config, configure
    from selfplay.errors import SelfplayError
    from selfplay.game.problems import Problem, load_problems, validate_problem
    from selfplay.game.stages import Stage, get_all_stages, get_stage
    from selfplay.judging.execute import execute_tests, validate_tests_against_solution
    from selfplay.learning.opening import open_player
    from selfplay.match.solver import Solver
    from selfplay.play import play
    from selfplay.report import report
    from selfplay.train import train

__version__ = "0.1.0"
__all__ = [
    "Config",
    "Problem",
    "SelfplayError",
    "Solver",
    "Stage",
    "configure",
    "execute_tests",
    "get_all_stages",
    "get_stage",
    "load_problems",
    "open_player",
    "play",
    "report",
    "train",
    "validate_problem",
    "validate_tests_against_solution",
]

_HOMES = {
    "Config": "selfplay.config",
    "Problem": "selfplay.game.problems",
    "SelfplayError": "selfplay.errors",
    "Solver": "selfplay.match.solver",
    "Stage": "selfplay.game.stages",
    "configure": "selfplay.config",
    "execute_tests": "selfplay.judging.execute",
    "get_all_stages": "selfplay.game.stages",
    "get_stage": "selfplay.game.stages",
    "load_problems": "selfplay.game.problems",
    "open_player": "selfplay.learning.opening",
    "validate_problem": "selfplay.game.problems",
    "validate_tests_against_solution": "selfplay.judging.execute",
}
_COMMANDS = (
    "play",
    "report",
    "train",
)  # modules that can be called: `python -m selfplay.train` and selfplay.train(...)


def __getattr__(name: str) -> Any:
    if name in _COMMANDS:
        return import_module(f"selfplay.{name}")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'selfplay' has no attribute {name!r}")
