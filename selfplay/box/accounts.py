"""What each owner of a task's inputs may still use: CPU and wall-clock seconds, bytes of answers, timeouts.

An owner is who asks for inputs: a suite, a problem. What one has used up is out of its own further inputs, never out of
another's; an input that several ask for is paid by the first that can. A child runs the inputs of all owners and may use
what they have left together. Its reports say what each call took, and the case at which it ends is charged for the rest, so
a program that lies harms itself alone. Where one owner's calls took what was another's, children are of one owner each from
then on, and what was cut short runs again.
"""

from __future__ import annotations

import os
import signal
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

CALL = struct.Struct("!dd")  # CPU and wall-clock seconds of a call, in a report after its kind
_END = struct.Struct("!BiIdd")
_EXITED, _CPU, _WALL, _STOPPED, _FLOOD, _TOTAL, _FULL = range(7)  # why a child ended


@dataclass(frozen=True)
class Ending:
    """How a child ended: why, its wait status, its reports; CPU and wall-clock seconds of its program."""

    reason: int
    status: int
    reports: int
    cpu_seconds: float
    wall_seconds: float

    @classmethod
    def of(cls, frame: bytes) -> Ending:
        """Raises struct.error for an end frame that is none."""
        return cls(*_END.unpack(frame))

    @property
    def timed_out(self) -> bool:
        """Whether a limit of time ended it."""
        killed = self.reason == _EXITED and os.WIFSIGNALED(self.status)
        return self.reason in (_CPU, _WALL, _TOTAL) or (killed and os.WTERMSIG(self.status) == signal.SIGXCPU)

    @property
    def full(self) -> bool:
        """Whether there was no room for an answer."""
        return self.reason == _FULL

    @property
    def by_total(self) -> bool:
        """Whether what ended it is a limit of all cases together, which says nothing of the last one."""
        return self.reason in (_TOTAL, _FULL)

    @property
    def exit_status(self) -> int | None:
        """None where the child was killed."""
        return os.WEXITSTATUS(self.status) if self.reason == _EXITED and os.WIFEXITED(self.status) else None


def call_of(report: bytes) -> tuple[float, float, int]:
    """CPU and wall-clock seconds of a call, and the bytes of its report; no seconds where it tells none."""
    size = len(report)
    cpu, wall = CALL.unpack_from(report, 1) if size > CALL.size and report[0] in b"VX" else (0.0, 0.0)
    return (cpu if cpu > 0 else 0.0), (wall if wall > 0 else 0.0), size  # NaN is not above 0


@dataclass(eq=False, slots=True)
class Account:
    """What an owner may still use. `spent` says of what nothing is left: "time" or "room"."""

    cpu: float
    wall: float
    room: int
    timeouts: int
    spent: str = ""

    def pay(self, cpu: float, wall: float, size: int, timeouts: int = 0) -> None:
        """Takes off what was used."""
        self.cpu -= cpu
        self.wall -= wall
        self.room -= size
        self.timeouts -= timeouts
        if self.room <= 0:
            self.spent = self.spent or "room"
        elif self.timeouts <= 0 or self.cpu <= 0 or self.wall <= 0:
            self.spent = self.spent or "time"


class Accounts:
    """The accounts of a task. `owners`: for each case who asks for it. `alone`: each child is of one owner."""

    def __init__(self, owners: Sequence[tuple[int, ...]], accounts: dict[int, Account]) -> None:
        self.owners, self.accounts, self.alone = owners, accounts, False

    def payer(self, case: int) -> Account:
        """Who pays for a case: the first of those who ask for it that can, or the first, where nobody can."""
        owners = self.owners[case]
        first = self.accounts[owners[0]]
        if first.spent and len(owners) > 1:
            return next((self.accounts[owner] for owner in owners if not self.accounts[owner].spent), first)
        return first

    def left(self, cases: Sequence[int]) -> tuple[float, float, int]:
        """CPU and wall-clock seconds and bytes that a child with these cases may use."""
        able = [self.payer(cases[0])] if self.alone else self._asking(cases)
        return sum(each.cpu for each in able), sum(each.wall for each in able), sum(each.room for each in able)

    def charge(
        self, cases: Sequence[int], calls: Sequence[tuple[float, float, int]], ending: Ending, printed: int = 0
    ) -> list[str]:
        """Charges a child for its cases; `calls` is what it told of the first ones, `printed` what it wrote beside.

        For each of the first cases, which are settled by this child, what its owners had spent before it: "" where it
        counts. The case at which a total ended the child is not among them: it runs again or its owners have spent it.
        """
        several, first = not self.alone and len(self._asking(cases)) > 1, self.payer(cases[0])
        cpu, wall = ending.cpu_seconds, ending.wall_seconds
        marks = []
        for case, (seconds, waited, size) in zip(cases, calls, strict=False):
            payer = self.payer(case)
            while size > payer.room and not payer.spent:
                payer.spent = "room"
                payer = self.payer(case)
            marks.append(payer.spent)
            if not payer.spent:
                payer.pay(seconds, waited, size)
            cpu -= seconds
            wall -= waited
        payer, unfinished = self.payer(cases[min(len(calls), len(cases) - 1)]), len(calls) < len(cases)
        payer.pay(max(0.0, cpu), max(0.0, wall), printed, int(unfinished and ending.timed_out))
        if unfinished and not ending.by_total:
            marks.append("")
        elif unfinished and several and not payer.spent:
            self.alone = True
        elif unfinished and payer is first:
            payer.spent = payer.spent or ("room" if ending.full else "time")
        return marks

    def _asking(self, cases: Iterable[int]) -> list[Account]:
        """The accounts of these cases' owners that can pay."""
        asking = set(map(self.owners.__getitem__, cases))
        owners = {owner for own in asking for owner in own}
        return [account for owner, account in self.accounts.items() if owner in owners and not account.spent]
