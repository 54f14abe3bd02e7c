"""Reads the attacks: a YAML file for each family, in the folder attacks/.

    kind: wrong            what a document says beside `attacks` holds for each of its attacks;
    weak: script           what a first document without attacks says holds for the whole file
    leave: os._exit(0)     a key that is no field of the kind (attack.py) is a word for the templates

    attacks:
    - name: gone at import
      program: |           every text is a template of Jinja's, and may use the words and loops
        import os
        {{ leave }}
    - {name: gone with another status, leave: os._exit(256)}

For convenience `program`, `turn` and `times` give a harm its `programs` and `turns`, `files` of a command is a mapping, and
`tests` of a control replace those of its task. problems.yaml has the tasks.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import yaml
from jinja2 import Environment, StrictUndefined

from selfplay.attacks.attack import Attack, Cheat, Command, Control, Escape, Harm, Task, Wrong
from selfplay.errors import UnknownName
from selfplay.game.problems import Contract, Problem, StdinTest
from selfplay.resources import resource

KINDS: dict[str, type[Attack]] = {
    kind.__name__.lower(): kind for kind in (Wrong, Escape, Cheat, Harm, Command, Control)
}
_SHORT: dict[type, set[str]] = {Harm: {"program", "turn", "times"}, Control: {"tests"}}  # keys that stand for fields
_PROBLEMS = "problems"
_TEMPLATES = Environment(trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, undefined=StrictUndefined)
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the one in C takes a twentieth of the time

Words = dict[str, Any]


@functools.cache
def families() -> tuple[str, ...]:
    """The names of all families."""
    names = sorted(path.stem for path in resource("attacks").glob("*.yaml"))
    return tuple(name.replace("-", " ") for name in names if name != _PROBLEMS)


def attacks(chosen: Sequence[str] | None = None) -> list[Attack]:
    """The attacks of these families, all without any. Raises UnknownName."""
    for family in chosen or ():
        if family not in families():
            raise UnknownName("family of attacks", family, families())
    return [attack for family in families() if not chosen or family in chosen for attack in _family(family)]


@functools.cache
def _family(family: str) -> tuple[Attack, ...]:
    documents = _documents(family.replace(" ", "-"))
    shared = documents.pop(0) if "attacks" not in documents[0] else {}
    rows = [(document, row) for document in documents for row in document.pop("attacks")]
    return tuple(_attack({**shared, **document, **row, "family": family}) for document, row in rows)


def _documents(name: str) -> list[Words]:
    text = (resource("attacks") / f"{name}.yaml").read_text(encoding="utf-8")
    return list(yaml.load_all(text, _LOADER))


@functools.cache
def tasks() -> dict[str, Task]:
    """What attackers cheat at, by name."""
    [rows] = _documents(_PROBLEMS)
    return {name: _task(name, row) for name, row in rows.items()}


def _task(name: str, row: Words) -> Task:
    reference = row["reference"]
    if "tests" not in row:
        test = StdinTest(row["input"], row["output"])
        baseline = (StdinTest(**row["baseline"]),) if "baseline" in row else ()
        return Task(Problem(name, "", "", "", baseline, reference, kind="stdio"), test)
    entry = row.get("entry_point", name)
    contract = Contract(raises=tuple(row["raises"])) if "raises" in row else None
    signature = next(line for line in reference.splitlines() if line.startswith("def "))
    asked = row.get("description", "")
    return Task(Problem(name, asked, entry, signature, (), reference, contract=contract), row["tests"])


def _attack(row: Words) -> Attack:
    kind = KINDS[row.pop("kind")]
    names = {field.name for field in fields(kind)} | _SHORT.get(kind, set())
    words = {key: _rendered(value, row) for key, value in row.items() if key not in names}
    values = {key: _rendered(value, {**row, **words}) for key, value in row.items() if key in names}
    task = tasks()[values.pop("task", "add")]
    if kind is Harm:
        program, times, turn = values.pop("program", ""), values.pop("times", 1), values.pop("turn", None)
        if program:
            copies = tuple(f"{program}\n# {number}" for number in range(times))
            values["programs"] = copies if times > 1 else (program,)
        if turn is not None:
            values["turns"] = (turn,)
    elif kind is Control and "tests" in values:
        task = replace(task, tests=values.pop("tests"))
    elif kind is Command:
        values["files"] = tuple(values["files"].items())
    return kind(task=task, **values)


def _rendered(value: Any, words: Mapping[str, Any]) -> Any:
    """The value with its templates filled in, lists as tuples."""
    if isinstance(value, str) and ("{{" in value or "{%" in value):
        return _TEMPLATES.from_string(value).render(words)
    if isinstance(value, list):
        return tuple(_rendered(one, words) for one in value)
    if isinstance(value, dict):
        return {key: _rendered(one, words) for key, one in value.items()}
    return value
