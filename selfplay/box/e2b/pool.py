"""The sandboxes of one box: created when needed at a limited rate, reused, replaced, counted, labelled, swept.

The budget is hard: a sandbox is created for no longer than the budget allows for all that live, and E2B ends it then
by itself, whatever becomes of this process. A creation that failed without an answer may still have happened, so it is
looked for by its ticket, and once more when the pool closes.
"""

from __future__ import annotations

import hashlib
import math
import os
import random
import socket
import sys
import threading
import time
import uuid
from collections.abc import Callable

from selfplay.box.e2b import machine as machines
from selfplay.box.e2b.faults import Fault, Kind
from selfplay.box.e2b.machine import Machine
from selfplay.box.e2b.settings import E2BSettings

_SHORTEST = 30.0  # seconds: a sandbox that may not live this long is not worth its creation
_REFUSAL = 30.0  # seconds for which a failed creation is not tried again
_LABEL, _HOST, _PROCESS, _TICKET = "selfplay", "selfplay-host", "selfplay-process", "selfplay-ticket"


class Pool:
    """Hands out sandboxes, at most `settings.size` at once. Safe to use from several threads."""

    def __init__(self, settings: E2BSettings, announce: Callable[[str], None]) -> None:
        self.settings, self.announce = settings, announce
        self.created = 0
        self._process = f"{os.getpid()}-{uuid.uuid4().hex[:12]}"
        self._changed = threading.Condition()
        self._rate = threading.Lock()
        self._next_creation = 0.0
        self._idle: list[Machine] = []
        self._busy: list[Machine] = []
        self._creating: dict[str, float] = {}  # ticket -> lifetime
        self._spent = 0.0  # sandbox-seconds of those that have ended
        self._refusal: Fault | None = None
        self._refused_until = 0.0
        self._unsure = False  # whether a sandbox may exist that nobody knows
        self._closings = 0

    # ---- money ----

    @property
    def seconds(self) -> float:
        """Sandbox-seconds used so far."""
        with self._changed:
            return self._spent + sum(machine.seconds() for machine in (*self._idle, *self._busy))

    def _lifetime(self) -> int:
        """For how long a further sandbox may live. Raises Fault where that is too short."""
        budget, lifetime = self.settings.budget, self.settings.lifetime
        if budget is None:
            return lifetime
        alive = [*self._idle, *self._busy]
        promised = sum(machine.ends - machine.began for machine in alive) + sum(self._creating.values())
        share = (budget - self._spent - promised) / (self.settings.size - len(alive) - len(self._creating))
        if min(share, lifetime) < _SHORTEST and (alive or self._creating):
            raise Fault(Kind.QUOTA, "the budget does not allow one more sandbox")
        lifetime = math.floor(min(budget - self._spent if share < _SHORTEST else share, lifetime))
        if lifetime < _SHORTEST:
            used = f"{self._spent:.0f} of {budget:.0f} sandbox-seconds"
            raise Fault(Kind.SPENT, f"the E2B budget is spent ({used}): raise e2b_budget, or use --sandbox local")
        return lifetime

    # ---- taking and giving back ----

    def take(self, needed: float) -> Machine:
        """A sandbox that will live for `needed` more seconds; waits for one in use where no further one can be had.

        Raises Fault where there is none and none can be created.
        """
        ticket, closings = str(uuid.uuid4()), self._closings
        while True:
            with self._changed:
                if self._closings != closings:
                    raise Fault(Kind.LOST, "the box was closed")
                found, lifetime = self._look(needed, ticket)
            if found is not None:
                return found
            if lifetime is None:
                continue
            try:
                return self._create(ticket, lifetime)
            except Fault as fault:
                self._refuse(fault, ticket)

    def _look(self, needed: float, ticket: str) -> tuple[Machine | None, int | None]:
        """An idle sandbox, or a lifetime for one to be created; neither after a wait. The lock is held."""
        self._retire(needed)
        if self._idle:
            self._busy.append(self._idle.pop())
            return self._busy[-1], None
        refusal = self._refusal if time.monotonic() < self._refused_until else None
        if refusal is None and len(self._busy) + len(self._creating) < self.settings.size:
            try:
                lifetime = self._lifetime()
                self._creating[ticket] = lifetime
                return None, lifetime
            except Fault as fault:
                refusal = fault
        if refusal is not None and not self._busy and not self._creating:
            raise refusal
        self._changed.wait(1.0)
        return None, None

    def _retire(self, needed: float) -> None:
        """Ends idle sandboxes that would not outlive the next batch; nothing is lost where killing fails."""
        now = time.monotonic()
        for machine in list(self._idle):
            if machine.ends - now < min(needed, (machine.ends - machine.began) / 2):
                self._idle.remove(machine)
                self._end(machine)

    def give_back(self, machine: Machine) -> None:
        """Lend a machine to whoever asks next."""
        with self._changed:
            if machine in self._busy:
                self._busy.remove(machine)
                self._idle.append(machine)
            self._changed.notify_all()

    def discard(self, machine: Machine) -> None:
        """Ends a sandbox that failed."""
        with self._changed:
            if machine in self._busy:
                self._busy.remove(machine)
                self._end(machine)
            self._changed.notify_all()

    def _end(self, machine: Machine) -> None:
        """Kills a sandbox and counts what it cost: all of its lifetime where E2B cannot be told to end it."""
        try:
            machines.kill(machine.id)
            self._spent += machine.seconds()
        except Fault:
            self._unsure = True
            self._spent += machine.ends - machine.began

    # ---- creating ----

    def _create(self, ticket: str, lifetime: int) -> Machine:
        """Creates a sandbox, waiting out limits and outages as long as `patience` says. Raises Fault."""
        give_up = time.monotonic() + self.settings.patience
        metadata = {_LABEL: self.settings.label, _HOST: _host(), _PROCESS: self._process, _TICKET: ticket}
        pause, closings = self.settings.creation_interval, self._closings
        while True:
            self._wait_for_turn()
            try:
                machine = machines.create(self.settings, lifetime, metadata, ticket)
                break
            except Fault as fault:
                self._unsure |= fault.kind is Kind.LOST
                pause *= 2
                if fault.kind not in (Kind.WAIT, Kind.LOST) or time.monotonic() + pause > give_up:
                    self._forget(ticket, fault)
                    raise
                time.sleep(pause * random.uniform(0.5, 1.0))
        with self._changed:
            self._creating.pop(ticket, None)
            self.created += 1
            if self._closings != closings:
                self._end(machine)
                raise Fault(Kind.LOST, "the box was closed")
            self._busy.append(machine)
        return machine

    def _wait_for_turn(self) -> None:
        """Keeps creations `creation_interval` apart."""
        with self._rate:
            pause = self._next_creation - time.monotonic()
            self._next_creation = max(time.monotonic(), self._next_creation) + self.settings.creation_interval
        if pause > 0:
            time.sleep(pause)

    def _forget(self, ticket: str, fault: Fault) -> None:
        """After a creation without a clear answer: ends what it may have created."""
        if fault.kind is not Kind.LOST:
            return
        try:
            for sandbox_id, _ in machines.listed({_TICKET: ticket}, self.settings.request_timeout):
                machines.kill(sandbox_id)
        except Fault:
            pass  # the sweep at the end tries again

    def _refuse(self, fault: Fault, ticket: str) -> None:
        """Remembers why there is no further sandbox, so that not every thread has to find out."""
        with self._changed:
            self._creating.pop(ticket, None)
            self._refusal = fault
            self._refused_until = time.monotonic() + (math.inf if fault.kind is Kind.AUTH else _REFUSAL)
            self._changed.notify_all()

    # ---- sweeping ----

    def sweep_stale(self) -> int:
        """Ends sandboxes of this label whose process on this machine is dead. Raises Fault: also the test of the key."""
        stale = [
            sandbox_id
            for sandbox_id, metadata in machines.listed(
                {_LABEL: self.settings.label, _HOST: _host()}, self.settings.request_timeout
            )
            if not _is_alive(metadata.get(_PROCESS, ""))
        ]
        for sandbox_id in stale:
            machines.kill(sandbox_id)
        return len(stale)

    def close(self) -> None:
        """Ends every sandbox of this pool, also those whose creation or end was never confirmed."""
        with self._changed:
            self._closings += 1
            for machine in (*self._idle, *self._busy):
                self._end(machine)
            self._idle.clear()
            self._busy.clear()
            self._refusal, self._refused_until = None, 0.0
            self._changed.notify_all()
        if self._unsure:
            self._sweep_own()

    def _sweep_own(self) -> None:
        try:
            for sandbox_id, _ in machines.listed({_PROCESS: self._process}, self.settings.request_timeout):
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
    if sys.platform == "win32" or not pid.isdigit():
        return True  # on Windows asking would end it; what is not ours is left alone
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
