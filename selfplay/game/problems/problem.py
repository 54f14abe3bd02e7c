"""What a problem is: what is asked, how to call the answer, and the tests that come with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Contract:
    """The legal inputs. `requires`: conditions on the parameters; `raises`: exceptions that the description demands."""

    requires: tuple[str, ...] = ()
    raises: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StdinTest:
    """One example of a program that reads standard input."""

    input: str
    output: str


@dataclass(frozen=True, slots=True)
class Problem:
    """What is asked, how to call the answer, and the tests that come with it.

    `baseline_tests` are paid in training, `hidden_tests` read by evaluations alone. `entry_point` and `signature` name the
    function, "" for a program that reads standard input (`kind` stdio), whose numbers may differ by `tolerance`. Without a
    `reference_solution` nothing tells a right test from a wrong one. `imports`: packages that a solution may import beyond
    the standard library. `helpers`: source of functions that the problem brings; tests may call them on known values.
    """

    id: str
    description: str
    entry_point: str  # "" for kind stdio
    signature: str  # "def two_sum(nums: list[int], target: int) -> list[int]:"; "" for kind stdio
    baseline_tests: tuple[str | StdinTest, ...]
    reference_solution: str | None = None
    difficulty: str = "unknown"
    tags: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()  # top-level packages a solution may import beyond the standard library
    kind: Literal["function", "stdio"] = "function"
    contract: Contract | None = None
    hidden_tests: tuple[str | StdinTest, ...] = ()
    tolerance: float | None = None  # stdio only: numbers may differ by this much, where the problem says so
    helpers: str = ""  # source of functions that the problem brings; tests may call them on known values
    metadata: Mapping[str, Any] = field(
        default_factory=dict, hash=False
    )  # what else its file says; nothing here reads it
