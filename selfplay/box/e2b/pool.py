"""The machines of one box: created when needed, used again, replaced, labelled, swept; and what they cost.

The budget is hard: a machine is created for no longer than the budget allows for all that live, and E2B ends it then by
itself, whatever becomes of this process. One whose creation or end was never confirmed is looked for when the pool closes.
"""

from __future__ import annotations

import hashlib
import math
import os
import socket
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from selfplay.box.e2b import machine as machines
from selfplay.box.e2b.machine import Fault, Machine

_SHORTEST = 30.0  # seconds: a machine that may not live this long is not worth its creation
_LABEL, _HOST, _PROCESS = "selfplay", "selfplay-host", "selfplay-process"


@dataclass(frozen=True, slots=True)
class E2BSettings:
    """What a user decides about the cloud, times in seconds. The key is no setting: the SDK takes it from the environment.

    E2B's Hobby plan allows 20 machines at once and a lifetime of 3600, Pro 100 and 86400.
    """

    size: int = 4
    budget: float | None = 36_000.0  # machine-seconds, from the order to create one to its end
    label: str = "selfplay"  # what the machines are called in E2B's dashboard
    lifetime: int = 900  # after which a machine is replaced; also the most that one can cost when this process dies
    request_timeout: float = 60.0
    batch_seconds: float = 20.0  # after which no further task of a batch is begun

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError(f"size is {self.size}, it must be at least 1")
        if self.lifetime < 60:
            raise ValueError(f"lifetime is {self.lifetime} s, it must be at least 60")


class NoMachine(Fault):
    """None can be had."""


class Pool:
    """Lends machines, at most `settings.size` at once. Safe to use from several threads."""

    def __init__(self, settings: E2BSettings, announce: Callable[[str], None]) -> None:
        self.settings, self.announce = settings, announce
        self.created = 0
        self._own = {_PROCESS: f"{os.getpid()}-{uuid.uuid4().hex[:12]}"}
        self._places = threading.BoundedSemaphore(settings.size)
        self._lock = threading.Lock()
        self._alive: list[Machine] = []
        self._idle: list[Machine] = []
        self._creating = 0
        self._promised = 0.0  # seconds: what all machines may cost so far, less what those that ended did not use
        self._unsure = False  # whether a machine may exist that nobody knows
        self._closings = 0

    @property
    def seconds(self) -> float:
        """Machine-seconds used so far."""
        with self._lock:
            return self._promised - sum(machine.left for machine in self._alive)

    @contextmanager
    def machine(self, needed: float) -> Iterator[Machine]:
        """One that will live for `needed` more seconds; it is ended where an exception says that it failed.

        Raises NoMachine where there is none and none can be created.
        """
        with self._places:
            machine = self._idle_one(needed) or self._new_one()
            try:
                yield machine
            except BaseException:
                with self._lock:
                    self._end(machine)
                raise
            with self._lock:
                if machine in self._alive:
                    self._idle.append(machine)

    def _idle_one(self, needed: float) -> Machine | None:
        with self._lock:
            while self._idle:
                machine = self._idle.pop()
                if machine.left >= min(needed, (machine.ends - machine.began) / 2):
                    return machine
                self._end(machine)
        return None

    def _new_one(self) -> Machine:
        with self._lock:
            lifetime, closings = self._lifetime(), self._closings
            self._promised += lifetime
            self._creating += 1
        labels = {_LABEL: self.settings.label, _HOST: _host(), **self._own}
        try:
            machine = machines.create(lifetime, labels, self.settings.request_timeout)
        except Fault as fault:
            with self._lock:
                self._creating -= 1
                self._promised -= lifetime
                self._unsure = True  # E2B may have created it all the same
            raise NoMachine(fault.what, str(fault).partition(": ")[2], fault.refused) from None
        with self._lock:
            self._creating -= 1
            self.created += 1
            self._alive.append(machine)
            if self._closings != closings:
                self._end(machine)
                raise NoMachine("creating a sandbox", "the box was closed")
        return machine

    def _lifetime(self) -> int:
        """For how long a further machine may live: its share of what is left. Raises NoMachine where that is too short."""
        size, budget, most = self.settings.size, self.settings.budget, self.settings.lifetime
        if budget is None:
            return most
        left, others = budget - self._promised, len(self._alive) + self._creating
        share = left / max(1, size - others)
        if share < _SHORTEST and not others:
            share = left
        if min(share, most) < _SHORTEST:
            used = f"{self._promised:.0f} of {budget:.0f} sandbox-seconds are used or promised"
            raise NoMachine("the E2B budget is spent", f"{used}; raise e2b_budget, or use --sandbox local")
        return math.floor(min(share, most))

    def _end(self, machine: Machine) -> None:
        """Kills a machine, the lock being held. What it did not use is there again, if E2B says that it has ended."""
        if machine not in self._alive:
            return
        self._alive.remove(machine)
        try:
            machines.kill(machine.sandbox.sandbox_id)
            self._promised -= machine.left
        except Fault:
            self._unsure = True

    def sweep(self) -> int:
        """Ends machines of this label whose process on this machine is dead. Raises Fault: also the test of the key."""
        labels = {_LABEL: self.settings.label, _HOST: _host()}
        found = machines.listed(labels, self.settings.request_timeout)
        stale = [sandbox_id for sandbox_id, metadata in found if not _is_alive(metadata.get(_PROCESS, ""))]
        for sandbox_id in stale:
            machines.kill(sandbox_id)
        return len(stale)

    def close(self) -> None:
        """Ends every machine of this pool, also those that are at work, and those of which nobody is sure."""
        with self._lock:
            self._closings += 1
            self._idle.clear()
            for machine in list(self._alive):
                self._end(machine)
        if not self._unsure:
            return
        try:
            for sandbox_id, _ in machines.listed(self._own, self.settings.request_timeout):
                machines.kill(sandbox_id)
            self._unsure = False
        except Fault as fault:
            limit = self.settings.lifetime
            self.announce(f"E2B: sandboxes may be left ({fault}); they end by themselves within {limit} s")


def _host() -> str:
    """This machine, and the container on it: process ids mean nothing elsewhere."""
    try:
        space = os.readlink("/proc/self/ns/pid")
    except OSError:
        space = ""
    return hashlib.sha256(f"{socket.gethostname()} {space}".encode()).hexdigest()[:16]


def _is_alive(process: str) -> bool:
    pid = process.partition("-")[0]
    if os.name == "nt" or not pid.isdigit():
        return True  # on Windows asking would end it; what is not ours is left alone
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
