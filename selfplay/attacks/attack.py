"""What an attack is: a wrong program, an escape, a cheating test, harm to others, or a control that must pass.

Each names the weak runner that it beats (weak.py); an attack that beats nobody proves nothing. `unshown` says why the
weak run is left out or may fail: it needs root or a kernel feature, or would hurt the machine.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Literal

from selfplay.game.problems import Contract, Problem, StdinTest

Weak = Literal["exec", "script", "pytest", "unjailed", "bare", "lenient", "shared", ""]


@dataclass(frozen=True, slots=True)
class Task:
    """A problem and the tests that its programs face. `tests`: assert statements, or one (input, output) for stdin."""

    problem: Problem
    tests: str | StdinTest


def function(name: str, parameters: str, body: str, tests: str, contract: Contract | None = None) -> Task:
    """A task whose reference has this body. `parameters` may be annotated."""
    signature = f"def {name}({parameters}):"
    reference = f"{signature}\n{textwrap.indent(textwrap.dedent(body), '    ')}"
    return Task(Problem(name, "", name, signature, (), reference, contract=contract), tests)


ADD = function(
    "add",
    "a, b",
    "return a + b",
    "assert add(2, 3) == 5\nassert add(-7, 1) == -6\nassert add(10, 21) == 31",
)
EVENS = function(
    "evens",
    "numbers",
    "return [number for number in numbers if number % 2 == 0]",
    "assert evens([1, 2, 3, 4]) == [2, 4]\nassert list(evens([2, 8, 5, 4, 6, 0])) == [2, 8, 4, 6, 0]\n"
    "assert sorted(evens([8, 3, 6])) == [6, 8]",
)
SHOUT = function(
    "shout",
    "text",
    "return text.upper() + '!'",
    "assert shout('ab') == 'AB!'\nassert shout('') == '!'\nassert shout('x y') == 'X Y!'",
)
TALLY = function(
    "tally",
    "text",
    "return {letter: text.count(letter) for letter in text}",
    "assert tally('aab') == {'a': 2, 'b': 1}\nassert tally('zz')['z'] == 2\nassert tally('xyx') == {'y': 1, 'x': 2}",
)
UNIQUE = function(
    "unique",
    "numbers",
    "return set(numbers)",
    "assert unique([1, 1, 2]) == {1, 2}\nassert unique([5, 4, 5]) == {4, 5}",
)
HALF = function(
    "half",
    "number",
    "return number / 2",
    "assert abs(half(1) - 0.5) < 1e-6\nassert abs(half(-3) - -1.5) < 1e-6",
)
EVEN = function(
    "is_even",
    "number",
    "return number % 2 == 0",
    "assert is_even(4)\nassert not is_even(7)\nassert is_even(10) is True",
)
ROOT = function(
    "root",
    "number",
    """
    if number < 0:
        raise ValueError("no root")
    return int(number ** 0.5)
    """,
    "import pytest\ndef test_root():\n    with pytest.raises(ValueError):\n        root(-1)",
    Contract(raises=("ValueError",)),
)
SUM = Task(
    Problem("sum", "", "", "", (), "print(sum(map(int, input().split())))", kind="stdio"),
    StdinTest("3 4 5\n", "12\n"),
)


@dataclass(frozen=True, slots=True)
class Wrong:
    """A wrong program that tries to be credited. `earns`: cases that it honestly passes.

    `weak_tests` replace the task's tests for the weak runner, where that one would test in other words."""

    name: str
    family: str
    program: str
    task: Task = ADD
    weak: Weak = "exec"
    earns: int = 0
    weak_tests: str = ""
    unshown: str = ""


@dataclass(frozen=True, slots=True)
class Escape:
    """The body of a function that tries to get out and measures itself: it returns True, or a secret, where it did.

    @NAME@ stands for parts of the scene (scene.py). Some escapes are seen from outside instead. `bulk`: whatever it
    returns is too much, so that a returned value is the escape."""

    name: str
    family: str
    body: str
    weak: Weak = "unjailed"
    unshown: str = ""
    bulk: bool = False
    cpu_seconds: float = 1.0

    @property
    def program(self) -> str:
        return "def f():\n" + textwrap.indent(textwrap.dedent(self.body).strip("\n"), "    ")


@dataclass(frozen=True, slots=True)
class Cheat:
    """Tests that want to count without proving anything. `admits`: how many of their cases rightly do.

    `kills`: they also fail a right program (`other`) after passing the reference. `hangs`: they want the judge busy."""

    name: str
    family: str
    tests: str
    task: Task = ADD
    weak: Weak = "script"
    admits: int = 0
    kills: bool = False
    hangs: bool = False
    other: str = "def add(a, b): return b + a"
    unshown: str = ""


@dataclass(frozen=True, slots=True)
class Harm:
    """Programs and turns that aim at others: at what stands beside them, or at the host that judges.

    They are judged as in training: in one group with honest suites, the reference and `beside` (right programs as well),
    and with an honest group behind it. None of `programs` may pass more than `earns` honest cases; everything else must
    be judged as if they were not there. `drains`: they want the host's time or memory, so a process of its own judges
    them, and what it spends is measured."""

    name: str
    family: str
    programs: tuple[str, ...] = ()
    turns: tuple[str, ...] = ()
    task: Task = ADD
    beside: tuple[str, ...] = ()
    earns: int = 0
    drains: bool = False
    cpu_seconds: float = 1.0
    weak: Weak = ""
    unshown: str = ""


@dataclass(frozen=True, slots=True)
class Command:
    """A call of `python -m selfplay.judge` on `files`, which must end with status `exits` whatever they hold.

    `verdicts`: what it must say about each program, in order of their options. `says`: what must stand in its output.
    """

    name: str
    family: str
    files: tuple[tuple[str, str], ...]
    options: str
    exits: int
    verdicts: tuple[tuple[str, ...], ...] = ()
    says: tuple[str, ...] = ()
    weak: Weak = ""
    unshown: str = "it aims at how this command reads its files"


@dataclass(frozen=True, slots=True)
class Control:
    """Honest work that must be judged right: `verdicts` by case, or `admits` cases where tests are the subject.

    `fails`: a wrong program that the cases must fail."""

    name: str
    family: str
    program: str
    task: Task = ADD
    verdicts: tuple[str, ...] | None = None  # None: all passed
    admits: int | None = None  # None: all
    fails: str = ""
    weak: Weak = ""
    unshown: str = "a control"


Any_ = Wrong | Escape | Cheat | Harm | Command | Control
