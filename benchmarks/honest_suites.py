"""Honest test files: the set that lies beside this module, and the real problem sets where a folder holds them.

A file of the set has sections, each under a line of its own:

    # entry_point: slugify     the function or class that the tests are about; every public name of the reference is theirs
    # style: own copy
    # ---- reference ----      a program that passes all tests
    # ---- right ----          a program written otherwise that passes them too; any number of these
    # ---- wrong ----          a program that does something else; any number, whether the tests notice or not
    # ---- tests ----          the tests as they were written

The files are text, not modules: they import modules that do not exist, as models' files do.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from selfplay.judging.entry import called_entry_point
from selfplay.mutation.mutants import mutants

SET = Path(__file__).parent / "honest_set"
REAL_MUTANTS = 3  # of each reference of a real set
_SECTION = re.compile(r"^# ---- (reference|right|wrong|tests) ----\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Suite:
    """One text of tests, the program that passes it, others that do, and programs that need not."""

    name: str
    style: str
    entry_point: str
    reference: str
    wrong: tuple[str, ...]
    tests: str
    right: tuple[str, ...] = ()

    @property
    def programs(self) -> tuple[str, ...]:
        """The reference first, then what is as right, then the wrong ones."""
        return (self.reference, *self.right, *self.wrong)


def own_set(folder: Path = SET) -> list[Suite]:
    """The files of the set, by name. Raises ValueError for a file that lacks a section."""
    return [parsed(path.stem, path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.txt"))]


def parsed(name: str, text: str) -> Suite:
    """The suite of a file's text."""
    head, *parts = _SECTION.split(text)
    sections = list(zip(parts[::2], parts[1::2], strict=True))
    heading = dict(re.findall(r"^# (entry_point|style): (.+)$", head, re.MULTILINE))
    kinds = [kind for kind, _ in sections]
    if set(heading) != {"entry_point", "style"} or kinds.count("reference") != 1 or kinds.count("tests") != 1:
        raise ValueError(f"{name}: needs entry_point, style, one reference and one section of tests, has {kinds}")
    (reference,), (tests,) = ([body for k, body in sections if k == kind] for kind in ("reference", "tests"))
    right, wrong = (tuple(body for k, body in sections if k == kind) for kind in ("right", "wrong"))
    return Suite(name, heading["style"], heading["entry_point"], reference, wrong, tests, right)


def real_sets(folder: Path) -> dict[str, list[Suite]]:
    """HumanEval and MBPP below `folder`, those that are there. The wrong programs are mutants of the references."""
    found: dict[str, list[Suite]] = {}
    for path in sorted(folder.glob("*/HumanEval.jsonl*")):
        found["HumanEval"] = [_humaneval(row) for row in _rows(path)]
    for path in sorted(folder.glob("*/mbpp.jsonl*")):
        found["MBPP"] = [suite for row in _rows(path) for suite in _mbpp(row)]
    return found


def _rows(path: Path) -> Iterator[dict[str, object]]:
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
    return (json.loads(line) for line in text.split("\n") if line.strip())


def _humaneval(row: dict[str, object]) -> Suite:
    """The set's harness calls `check` with the entry point below the tests."""
    entry, program = str(row["entry_point"]), f"{row['prompt']}{row['canonical_solution']}"
    tests = f"{row['test']}\n\ncheck({entry})\n"
    return Suite(str(row["task_id"]), "HumanEval", entry, program, _mutants(program, entry), tests)


def _mbpp(row: dict[str, object]) -> Iterator[Suite]:
    """One suite per statement: that is how the set is used."""
    program, tests = str(row["code"]).replace("\r\n", "\n"), row["test_list"]
    assert isinstance(tests, list)
    entry = called_entry_point(program, "\n".join(tests))
    if row["test_setup_code"]:
        program = f"{program}\n{row['test_setup_code']}\n"
    wrong = _mutants(program, entry)
    for position, text in enumerate(tests):
        yield Suite(f"MBPP/{row['task_id']}[{position}]", "MBPP", entry, program, wrong, text)


def _mutants(program: str, entry_point: str) -> tuple[str, ...]:
    return tuple(mutant.source for mutant in mutants(program, entry_point, "paid", limit=REAL_MUTANTS))
