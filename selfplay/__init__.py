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
    from selfplay.evaluate import evaluate
    from selfplay.evaluation.comparison import Comparison
    from selfplay.game.episode import TurnKey
    from selfplay.game.extract import extract_code, extract_tests
    from selfplay.game.players import Completion, Request, Sampling
    from selfplay.game.problems import Contract, Problem, StdinTest, load_problems, validate_problem
    from selfplay.game.rewards import (
        CaseOutcome,
        ProgramOutcome,
        RewardRule,
        SuiteOutcome,
        TurnOutcome,
        get_rule,
        lost,
        share_passed,
    )
    from selfplay.game.stages import Stage, get_all_stages, get_stage
    from selfplay.judge import judge
    from selfplay.judging.execute import execute_tests, validate_tests_against_solution
    from selfplay.judging.judgement import Judgement
    from selfplay.learning.loop import Result
    from selfplay.learning.policy import Policy
    from selfplay.learning.policy.protocol import Rows, Sampler, Trainer
    from selfplay.learning.sources import open_player
    from selfplay.match.entrant import Entrant
    from selfplay.match.match import Match
    from selfplay.match.rescore import RescoreResult
    from selfplay.match.solver import Solver
    from selfplay.play import play
    from selfplay.report import report
    from selfplay.rescore import rescore
    from selfplay.run.callbacks import Callback
    from selfplay.train import train

__version__ = "0.1.0"
__all__ = ["Comparison", "Judgement", "Match", "RescoreResult", "Result"]
__all__ += ["SelfplayError", "evaluate", "judge", "play", "report", "rescore", "train"]
__all__ += ["Callback", "Config", "configure"]
__all__ += ["Contract", "Problem", "StdinTest", "load_problems", "validate_problem"]
__all__ += ["CaseOutcome", "ProgramOutcome", "RewardRule", "SuiteOutcome", "TurnOutcome"]
__all__ += ["get_rule", "lost", "share_passed"]
__all__ += ["execute_tests", "extract_code", "extract_tests", "validate_tests_against_solution"]
__all__ += ["Entrant", "Solver", "Stage", "get_all_stages", "get_stage", "open_player"]
__all__ += ["Completion", "Policy", "Request", "Rows", "Sampler", "Sampling", "Trainer", "TurnKey"]

# Modules that can be called: selfplay.train(...) is `python -m selfplay.train`.
_COMMANDS = ("evaluate", "judge", "play", "report", "rescore", "train")
_HOMES = {
    "selfplay.config": ("Config", "configure"),
    "selfplay.errors": ("SelfplayError",),
    "selfplay.evaluation.comparison": ("Comparison",),
    "selfplay.game.episode": ("TurnKey",),
    "selfplay.game.extract": ("extract_code", "extract_tests"),
    "selfplay.game.players": ("Completion", "Request", "Sampling"),
    "selfplay.game.problems": ("Contract", "Problem", "StdinTest", "load_problems", "validate_problem"),
    "selfplay.game.rewards": (
        *("CaseOutcome", "ProgramOutcome", "RewardRule", "SuiteOutcome", "TurnOutcome"),
        *("get_rule", "lost", "share_passed"),
    ),
    "selfplay.game.stages": ("Stage", "get_all_stages", "get_stage"),
    "selfplay.judging.execute": ("execute_tests", "validate_tests_against_solution"),
    "selfplay.judging.judgement": ("Judgement",),
    "selfplay.learning.loop": ("Result",),
    "selfplay.learning.sources": ("open_player",),
    "selfplay.learning.policy": ("Policy",),
    "selfplay.learning.policy.protocol": ("Rows", "Sampler", "Trainer"),
    "selfplay.match.entrant": ("Entrant",),
    "selfplay.match.match": ("Match",),
    "selfplay.match.rescore": ("RescoreResult",),
    "selfplay.match.solver": ("Solver",),
    "selfplay.run.callbacks": ("Callback",),
}


def __getattr__(name: str) -> Any:
    if name in _COMMANDS:
        return import_module(f"selfplay.{name}")
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module 'selfplay' has no attribute {name!r}")
