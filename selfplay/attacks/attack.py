"""What an attack is: a wrong program, an escape, a cheating test, harm to others, or a control that must pass.

Each names the weak runner that it beats (weak.py); an attack that beats nobody proves nothing. `unshown` says why the
weak run is left out or may fail: it needs root or a kernel feature, or would hurt the machine.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Literal

from selfplay.game.problems import Problem, StdinTest

Weak = Literal["exec", "script", "pytest", "unjailed", "bare", "lenient", "shared", ""]


@dataclass(frozen=True, slots=True)
class Task:
    """A problem and the tests that its programs face. `tests`: assert statements, or one (input, output) for stdin."""

    problem: Problem
    tests: str | StdinTest


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """What all attacks have. `task`: what it cheats at."""

    name: str
    family: str
    task: Task
    weak: Weak = ""
    unshown: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrong(Attack):
    """A wrong program that tries to be credited. `earns`: cases that it honestly passes.

    `weak_tests` replace the task's tests for the weak runner, where that one would test in other words."""

    program: str
    earns: int = 0
    weak_tests: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Escape(Attack):
    """The body of a function that tries to get out and measures itself: it returns True, or a secret, where it did.

    @NAME@ stands for parts of the scene (scene.py). Some escapes are seen from outside instead. `bulk`: whatever it
    returns is too much, so that a returned value is the escape."""

    body: str
    bulk: bool = False
    cpu_seconds: float = 1.0

    @property
    def program(self) -> str:
        return "def f():\n" + textwrap.indent(self.body, "    ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cheat(Attack):
    """Tests that want to count without proving anything. `admits`: how many of their cases rightly do.

    `kills`: they also fail a right program (`other`) after passing the reference. `hangs`: they want the judge busy."""

    tests: str
    admits: int = 0
    kills: bool = False
    hangs: bool = False
    other: str = "def add(a, b): return b + a"


@dataclass(frozen=True, slots=True, kw_only=True)
class Harm(Attack):
    """Programs and turns that aim at others: at what stands beside them, or at the host that judges.

    They are judged as in training: in one group with honest suites, the reference and `beside` (right programs as well),
    and with an honest group behind it. None of `programs` may pass more than `earns` honest cases; everything else must
    be judged as if they were not there. `drains`: they want the host's time or memory, so a process of its own judges
    them, and what it spends is measured."""

    programs: tuple[str, ...] = ()
    turns: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    earns: int = 0
    drains: bool = False
    cpu_seconds: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Command(Attack):
    """A call of `python -m selfplay.judge` on `files`, which must end with status `exits` whatever they hold.

    `verdicts`: what it must say about each program, in order of their options. `says`: what must stand in its output.
    """

    files: tuple[tuple[str, str], ...]
    options: str
    exits: int
    verdicts: tuple[tuple[str, ...], ...] = ()
    says: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Control(Attack):
    """Honest work that must be judged right: `verdicts` by case, or `admits` cases where tests are the subject.

    `program`: the task's reference where none is given. `fails`: a wrong program that the cases must fail."""

    program: str = ""
    verdicts: tuple[str, ...] | None = None  # None: all passed
    admits: int | None = None  # None: all
    fails: str = ""
