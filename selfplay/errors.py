"""What can go wrong in a way that the user can mend. Every message names the thing, the limit and the way out.

    SelfplayError
    ├── UnknownName         a rule, schedule, stage, style, set ... that does not exist; says which do, and which was meant
    │   └── UnknownProblem  no problem of this id
    ├── BadInput            an argument or a file of a command that cannot be used
    ├── ConfigError         a key of the configuration that is unknown, or a value that it cannot have
    ├── ProblemError        a problem file that cannot be read, or problems that cannot be played
    ├── MissingResource     a folder of the package that is not where an installation puts it
    ├── BoxUnavailable      the sandbox cannot be started here
    ├── TierTooLow          programs are confined less than was asked for
    ├── SandboxFailed       the sandbox did not answer a command, twice
    ├── PolicyError         a model or its adapters cannot be used, or cannot learn
    ├── ShapeUnknown        the sizes of a model are not known
    ├── RanksError          the processes of a run cannot go on together
    ├── RunFolderError      the folder of a run cannot be used, or cannot take more
    ├── CheckpointError     there is no whole checkpoint to go on from
    ├── AdapterError        trained adapters are missing, or belong to another model
    ├── LedgerError         a record of a run cannot be read
    ├── CallbackError       a callback raised something
    └── HubError            the hub did not take or give what was asked

A command catches `SelfplayError` alone, prints it without a traceback and exits 2. Left out: infrastructure failures
(they are data, verdict `infra_error`) and programming errors (they keep their traceback).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

DISTRIBUTION = "selfplay-code"  # what pip installs; `selfplay` is another project there


def install(extra: str) -> str:
    """The command that installs what an extra brings."""
    return f"python -m pip install '{DISTRIBUTION}[{extra}]'"


class SelfplayError(Exception):
    """Base of every error that is the user's to mend."""


class UnknownName(SelfplayError):
    """A name that is not in its table."""

    def __init__(self, kind: str, name: object, known: Iterable[object], otherwise: str = "") -> None:
        self.kind, self.name, self.known = kind, name, tuple(str(each) for each in known)
        super().__init__(
            f"unknown {kind} {name!r}{suggestion(str(name), self.known)}; choose from {', '.join(self.known)}{otherwise}"
        )


class BadInput(SelfplayError):
    """An argument or a file that cannot be used."""


@dataclass(frozen=True, slots=True)
class Flaw:
    """One thing wrong with one problem: where (line 0: the whole file), which field, why, and what to do."""

    line: int
    field: str
    why: str
    action: str

    def __str__(self) -> str:
        where = ", ".join([f"line {self.line}"] * (self.line > 0) + [f"field {self.field!r}"] * bool(self.field))
        return f"{where}: {self.why}; {self.action}" if where else f"{self.why}; {self.action}"


class ProblemError(SelfplayError):
    """A problem file that cannot be used. `flaws` holds them all, the message the first five."""

    shown = 5

    def __init__(self, file: str, flaws: Iterable[Flaw]) -> None:
        self.file, self.flaws = file, tuple(flaws)
        first, more = self.flaws[: self.shown], len(self.flaws) - self.shown
        lines = [f"{file}: {len(self.flaws)} flaws", *(f"  {flaw}" for flaw in first)]
        lines += [f"  ... and {more} more"] * (more > 0)
        super().__init__(f"{file}: {first[0]}" if len(self.flaws) == 1 else "\n".join(lines))


def suggestion(name: str, known: Iterable[str]) -> str:
    """What to add to an error: `, did you mean 'x'?` where a known name is close, else nothing."""
    by_lower = {each.lower(): each for each in known}
    close = difflib.get_close_matches(name.lower(), by_lower, n=1)
    return f", did you mean {by_lower[close[0]]!r}?" if close else ""
