"""Attacks on the judge, as data: wrong programs that want credit, programs that want out, tests that want pay, harm.

    attack.py    what an attack is, and the problems that they cheat at
    weak.py      the weak runners that attacks are shown to beat
    scene.py     what escapes aim at: folders, a secret, a process and a port, all the battery's own
    exams.py     judges attackers and honest work together, as in training
    measured.py  the same in a process of its own, with limits, and what it spent
    battery.py   runs one attack against a sandbox and a weak runner
    the rest     a family of attacks each

Everything here was written for this purpose and is harmless by construction: what an escape reads, writes or kills was
made by the battery in a temporary folder, and what would hurt a machine (fork bombs, memory bombs) is bounded.
"""

from selfplay.attacks import (
    cheats,
    clocks,
    commands,
    controls,
    dressed,
    exits,
    files,
    floods,
    forging,
    host,
    kernel,
    lying,
    neighbours,
    network,
    peeking,
    processes,
    resources,
    stdin,
)
from selfplay.attacks.attack import Any_

ATTACKS: tuple[Any_, ...] = (
    *lying.ATTACKS,
    *exits.ATTACKS,
    *forging.ATTACKS,
    *peeking.ATTACKS,
    *stdin.ATTACKS,
    *clocks.ATTACKS,
    *files.ATTACKS,
    *processes.ATTACKS,
    *network.ATTACKS,
    *kernel.ATTACKS,
    *resources.ATTACKS,
    *cheats.ATTACKS,
    *dressed.ATTACKS,
    *neighbours.ATTACKS,
    *floods.ATTACKS,
    *host.ATTACKS,
    *commands.ATTACKS,
    *controls.ATTACKS,
)
