"""Attacks on the host, each judged in a process of its own: `python -m selfplay.attacks.measured FAMILY NAME TIER`.

The process has limits, so that an attack that gets through ends it and hurts nobody. It prints, as one line of JSON,
what became of the honest work and what the judging spent: CPU seconds and peak memory of the judging process itself,
and of the processes that it started and waited for. The bounds are several times what an honest group takes.
"""

from __future__ import annotations

import json
import resource
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from selfplay.attacks.attack import Harm
from selfplay.attacks.exams import harmed
from selfplay.attacks.interpreter import package_environment, python
from selfplay.attacks.library import attacks
from selfplay.box.task import Box
from selfplay.judging.judge import Judge

WALL = 600.0  # seconds after which the process is killed: a backstop, for how long it takes hangs on the machine's load
KILLED = 40  # CPU seconds at which it is
ADDRESSES = 6 << 30  # bytes of address space: what asks for more is refused
HOST_CPU, HOST_MIB = 6.0, 512  # of the judging process, interpreter and imports included
CHILDREN_CPU, CHILD_MIB = 20.0, 1280  # of all its children together; of the largest


@dataclass(frozen=True, slots=True)
class Spent:
    """What one exam came to: in words, the deviation, CPU seconds and peak MiB here and in child processes."""

    said: str
    deviation: str
    cpu: float
    mib: int
    children_cpu: float
    child_mib: int

    @property
    def excess(self) -> str:
        """Which bound was passed; empty where none was."""
        bounds = (
            (self.cpu, HOST_CPU, "CPU seconds of the host"),
            (self.mib, HOST_MIB, "MiB of the host"),
            (self.children_cpu, CHILDREN_CPU, "CPU seconds of its children"),
            (self.child_mib, CHILD_MIB, "MiB of a child"),
        )
        return next((f"it took {value:.4g} {of}" for value, bound, of in bounds if value > bound), "")


def open_box(sandbox: str) -> Box:
    """The sandbox to attack: local, unjailed or e2b. Raises BoxUnavailable."""
    if sandbox == "unjailed":
        from selfplay.box.local import LocalBox

        return LocalBox(jail=False)
    from selfplay.box.kinds import open_box as open_configured
    from selfplay.config import configure

    return open_configured(configure({"sandbox": sandbox, "output_dir": "redteam", "sandbox_workers": 1}))


def drained(attack: Harm, tier: str) -> tuple[str, str]:
    """What became of the honest work beside the attack and of the host, in words, and the deviation if there is one."""
    sandbox = tier if tier in ("unjailed", "e2b") else "local"
    ran = python(["-m", __name__, attack.family, attack.name, sandbox], package_environment(), WALL)
    if ran.status is None:
        return "endless", f"the host is still judging after {WALL:.0f} s of wall-clock time"
    if ran.status != 0 or not ran.output:
        return "the host died", f"it ended the judging process: status {ran.status}"
    spent = Spent(**json.loads(ran.output.splitlines()[-1]))
    return spent.said, spent.deviation or spent.excess


def main() -> int:
    family, name, sandbox = sys.argv[1:]
    (attack,) = (each for each in attacks([family]) if isinstance(each, Harm) and each.name == name)
    resource.setrlimit(resource.RLIMIT_CPU, (KILLED, KILLED))
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    box = open_box(sandbox)
    try:
        judge = Judge(box)
        said, deviation = harmed(attack, judge)
        judge.close()  # what was not waited for is not counted
    finally:
        box.close()
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu, children_cpu = (round(usage.ru_utime + usage.ru_stime, 3) for usage in spent)
    # `ru_maxrss` of this process would count what its parent held before it was started.
    status = Path("/proc/self/status").read_text()
    mib = int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) >> 10
    print(json.dumps(asdict(Spent(said, deviation, cpu, mib, children_cpu, spent[1].ru_maxrss >> 10))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
