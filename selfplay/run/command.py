"""How a command ends: its result, one line for what the user can mend, and no traceback for Ctrl-C or a closed pipe.

Programming errors keep their traceback. Left out: parsing, which each command does itself.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from selfplay.errors import SelfplayError
from selfplay.printing import printable
from selfplay.run.signals import Stopped

BAD_INPUT, INTERRUPTED, PIPE_CLOSED = 2, 130, 141  # exit codes; the last two as a shell gives them


def run_command(name: str, body: Callable[[], int], interrupted: str = "interrupted") -> int:
    """The exit code of `body()`. `interrupted`: what to say of Ctrl-C where the exception has no notes."""
    try:
        return body()
    except SelfplayError as error:
        _say("\n".join([f"{name}: {error}", *getattr(error, "__notes__", ())]))
        return BAD_INPUT
    except KeyboardInterrupt as error:
        _say(f"\n{name}: {' '.join(getattr(error, '__notes__', ())) or interrupted}")
        return 128 + error.number if isinstance(error, Stopped) else INTERRUPTED
    except BrokenPipeError as error:
        # Who read our output has enough (`| head`). Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        for note in getattr(error, "__notes__", ()):
            _say(note)
        return PIPE_CLOSED


def _say(text: str) -> None:
    print(printable(text), file=sys.stderr)  # an error may quote what a model wrote, or a file from elsewhere
