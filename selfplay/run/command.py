"""How a command begins and ends: its arguments, its result, one line for what the user can mend, and no traceback for Ctrl-C
or a closed pipe.

Programming errors keep their traceback. Left out: parsing, which each command does itself.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from inspect import signature
from types import ModuleType
from typing import Any, TypeVar

from selfplay.errors import SelfplayError
from selfplay.printing import printable
from selfplay.run.signals import Stopped

T = TypeVar("T")
BAD_INPUT, INTERRUPTED, PIPE_CLOSED = 2, 130, 141  # exit codes; the last two as a shell gives them
PLAYING = (  # the keys of commands that let a player play
    *("seed", "device", "model", "prompts", "problems", "cases_per_turn", "temperature", "max_completion_length"),
    *("thinking", "thinking_tokens"),
    *("timeout", "sandbox", "sandbox_workers", "sandbox_min_tier"),
)


def command(
    name: str, interrupted: str = "interrupted"
) -> Callable[[Callable[[Sequence[str]], int]], Callable[..., int]]:
    """Makes a function from arguments to an exit code the `main` of a command, which takes those of the process without any."""

    def decorated(body: Callable[[Sequence[str]], int]) -> Callable[..., int]:
        @wraps(body)
        def main(arguments: Sequence[str] | None = None) -> int:
            return run_command(name, lambda: body(sys.argv[1:] if arguments is None else arguments), interrupted)

        return main

    return decorated


def parser(name: str, about: str | None) -> argparse.ArgumentParser:
    """The parser of a command that takes no keys of a configuration; `about` is shown as it is written."""
    shown = argparse.RawDescriptionHelpFormatter
    return argparse.ArgumentParser(prog=f"python -m {name}", description=about, formatter_class=shown)


def callable_module(name: str, function: Callable[..., Any]) -> None:
    """Lets the module of a command be called as its function: `selfplay.train` is both, whatever was imported first."""
    module = sys.modules[name]
    module.__class__ = type("CallableModule", (ModuleType,), {"__call__": staticmethod(function)})
    module.__dict__["__signature__"] = signature(function)


def run_command(name: str, body: Callable[[], T], interrupted: str = "interrupted") -> T | int:
    """What `body()` returns, or the exit code of what it raises. `interrupted`: what to say of Ctrl-C without notes."""
    try:
        return body()
    except SelfplayError as error:
        say("\n".join([f"{name}: {error}", *getattr(error, "__notes__", ())]))
        return BAD_INPUT
    except KeyboardInterrupt as error:
        say(f"\n{name}: {' '.join(getattr(error, '__notes__', ())) or interrupted}")
        return 128 + error.number if isinstance(error, Stopped) else INTERRUPTED
    except BrokenPipeError as error:
        # Who read our output has enough (`| head`). Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        for note in getattr(error, "__notes__", ()):
            say(note)
        return PIPE_CLOSED


def say(text: str) -> None:
    """Prints on standard error, where it stands in nobody's way."""
    # An error may quote what a model wrote, or a file from elsewhere.
    print(printable(text), file=sys.stderr, flush=True)
