"""Mutants of a reference, and which of them are useful."""

from __future__ import annotations

import ast

import pytest

from selfplay.box.task import Execution
from selfplay.game.problems import Contract, Problem
from selfplay.mutation.mutants import Family, Mutant, mutants, useful_mutants

SOURCE = '''def f(xs: list[int], k: int = 2) -> list[int]:
    """Not 7."""
    if not xs:
        return []
    best = 0
    for i in range(len(xs)):
        if xs[i] > best and i < k:
            best = xs[i] + 3
    return sorted(xs)[1:k]
'''
PROBLEM = Problem(
    "p",
    "At most 12 numbers.",
    "f",
    "def f(xs: list[int], k: int) -> list[int]:",
    ("assert f([9, 2, 7], 1) == []", "assert f([6, 7], 2) == [7]"),
    SOURCE,
    contract=Contract(("0 <= k <= len(xs)", "len(xs) <= 12")),
)


def operators(source: str, family: Family) -> set[str]:
    return {mutant.operator for mutant in mutants(source, "f", family, limit=1000)}


def test_the_paid_family_changes_comparisons_arithmetic_constants_and_connectives() -> None:
    assert operators(SOURCE, "paid") == {"boundary", "arithmetic", "constant", "connective"}


def test_the_kept_family_changes_structure() -> None:
    assert operators(SOURCE, "kept") == {"slice", "guard", "builtin", "return", "condition", "break", "range"}


def test_no_mutant_belongs_to_both_families() -> None:
    paid = {mutant.source for mutant in mutants(SOURCE, "f", "paid", 1000)}
    kept = {mutant.source for mutant in mutants(SOURCE, "f", "kept", 1000)}
    assert not paid & kept


@pytest.mark.parametrize("family", ["paid", "kept"])
def test_every_mutant_differs_from_the_reference_and_the_others(family: Family) -> None:
    sources = [mutant.source for mutant in mutants(SOURCE, "f", family, 1000)]
    trees = [ast.dump(ast.parse(source)) for source in (SOURCE, *sources)]
    assert len(set(trees)) == len(trees)


@pytest.mark.parametrize(
    ("family", "before", "after"),
    [
        ("paid", "return a < b", "return a <= b"),
        ("paid", "return a == b", "return a != b"),
        ("paid", "return a + b", "return a - b"),
        ("paid", "return 4", "return 5"),
        ("paid", "return a and b", "return a or b"),
        ("paid", "a += b", "a -= b"),
        ("kept", "return a[1:b]", "return a[:b]"),
        ("kept", "return a[-1]", "return a[-2]"),
        ("kept", "return max(a)", "return min(a)"),
        ("kept", "return sorted(a)", "return sorted(a, reverse=not False)"),
        ("kept", "return True", "return False"),
        ("kept", "return [x for x in a if x]", "return [x for x in a]"),
        ("kept", "return a if b else 1", "return a if True else 1"),
        ("kept", "for x in range(a):\n        b(x)", "for x in range(a - 1):\n        b(x)"),
        ("kept", "while a:\n        b()", "while a:\n        b()\n        break"),
    ],
)
def test_an_operator_makes_its_change(family: Family, before: str, after: str) -> None:
    made = [mutant.source for mutant in mutants(f"def f(a, b):\n    {before}\n", "f", family, 1000)]
    assert f"def f(a, b):\n    {after}" in made


def test_there_are_at_most_as_many_as_asked_and_always_the_same() -> None:
    chosen = mutants(SOURCE, "f", "kept", 5)
    assert len(chosen) == 5
    assert chosen == mutants(SOURCE, "f", "kept", 5)
    assert chosen[0].line < chosen[-1].line


def test_a_reference_that_cannot_be_parsed_has_no_mutants() -> None:
    assert mutants("def f(:", "f", "paid") == ()


def test_docstrings_and_annotations_are_left_alone() -> None:
    assert mutants('def f(a: Literal[3]) -> Literal[4]:\n    """5 < 6"""\n    return a\n', "f", "paid") == ()


def runs(*values: str) -> list[Execution]:
    return [Execution(value) if value == "timeout" else Execution("returned", value) for value in values]


@pytest.mark.parametrize(
    ("executions", "useful"),
    [
        (runs("1", "2"), False),
        (runs('["f","1.0"]', "2"), False),
        (runs("1", "3"), True),
        (runs("3", "timeout"), False),
        ([Execution("raised", exception=("TypeError",))] * 2, False),
        ([Execution("raised", exception=("TypeError",)), *runs("2")], True),
        ([Execution("infra_error"), *runs("3")], False),
        ([Execution("not_collected")] * 2, False),
    ],
)
def test_a_useful_mutant_ends_works_and_differs(executions: list[Execution], useful: bool) -> None:
    mutant = Mutant("", "boundary", 1)
    assert bool(useful_mutants(PROBLEM, [mutant], runs("1", "2"), [executions])) is useful


def test_probes_on_which_the_reference_does_not_end_are_ignored() -> None:
    mutant = Mutant("", "boundary", 1)
    assert not useful_mutants(PROBLEM, [mutant], runs("1", "timeout"), [runs("1", "5")])
