"""Reading problems: one JSON object per line, or a JSON array of them, in our field names or the prototype's; or, by a
reference `module:name`, what a module holds: problems, rows with these fields such as a `datasets.Dataset`, a function.

Errors say file, line, field, why, and what to do; all bad lines are reported at once. Left out: YAML, CSV and the hub's
data sets; whatever can be turned into these fields can be written as JSON lines.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, asdict, fields
from pathlib import Path
from typing import Any

from selfplay import plugins
from selfplay.errors import BadInput, Flaw, ProblemError, suggestion
from selfplay.game.problems.checking import problem_flaws
from selfplay.game.problems.problem import Contract, Problem, StdinTest
from selfplay.resources import resource

SETS: dict[str, tuple[str, ...]] = {  # what comes with the package: name, files in datasets/
    "handwritten": ("functions.jsonl",),
    "stdio": ("stdio.jsonl",),
    "procedural": ("procedural/train.jsonl", "procedural/dev.jsonl", "procedural/test.jsonl"),
    "procedural/train": ("procedural/train.jsonl",),
    "procedural/dev": ("procedural/dev.jsonl",),
    "procedural/test": ("procedural/test.jsonl",),
}
RENAMED = {"function_signature": "signature"}  # the prototype's names
_NEEDED = ("id", "description", "baseline_tests")
_FORM = "write one JSON object per line, or a JSON array of objects"


Say = Callable[[str], None]


class _Bad(Exception):
    """A field that cannot be used: field, why, action."""


def load_problems(source: str | Path, tested: bool = True, say: Say | None = None) -> tuple[Problem, ...]:
    """The problems of a file, of one of SETS by its name, or of a reference `module:name` (`problems_of`).

    A file's problems are checked by reading (`validate_problem`); the package's own are proved by its tests. `tested`
    False: as `read_problems`. Fields that a problem does not have are kept as its `metadata`, and `say` is told which.
    Raises ProblemError with every flaw: unreadable file, malformed JSON, wrong and missing fields, two problems with one
    id, tests or references that cannot be right.
    """
    if str(source) in SETS:
        folder = resource("datasets")
        files = [folder / file for file in SETS[str(source)]]
        return tuple(problem for file in files for problem in _read(_text(file), str(file), False, True, say))
    if plugins.is_reference(source):
        return problems_of(plugins.load(str(source)), str(source), tested, say)
    return read_problems(_text(Path(source)), str(source), tested, say)


def problems_of(held: Any, name: str, tested: bool = True, say: Say | None = None) -> tuple[Problem, ...]:
    """The problems that an object holds, called `name` in errors: Problems, rows with their fields, or a function that
    returns such. Raises ProblemError, where a line is the number of a row, and BadInput where it holds something else."""
    held = held() if callable(held) else held
    columns = getattr(held, "column_names", None)
    if isinstance(columns, list) and (missing := [field for field in _NEEDED if field not in columns]):
        raise BadInput(
            f"{name} has the fields {', '.join(columns)}, but not {', '.join(missing)}, which a problem needs; rename or "
            "add them"
        )
    if isinstance(held, str | bytes | Mapping) or not isinstance(held, Iterable):
        raise BadInput(
            f"{name} holds no problems but {plugins.name_of(held)}; give a list of selfplay.Problem, rows with the fields of "
            "a problem file, or a function that returns such"
        )
    return _collected(enumerate(held, 1), [], name, True, tested, say)


def read_problems(text: str, name: str, tested: bool = True, say: Say | None = None) -> tuple[Problem, ...]:
    """The problems that a text holds, called `name` in errors. Raises ProblemError.

    `tested` False is for problems that are to be solved and no more: an id, tests and a reference may be missing (the
    entry point or a number is the id then), and a single object may be spread over lines.
    """
    return _read(text, name, True, tested, say)


def _read(text: str, name: str, check: bool, tested: bool, say: Say | None) -> tuple[Problem, ...]:
    flaws: list[Flaw] = []
    text = text if tested else _on_one_line(text)
    items = _array(text, flaws) if text.lstrip().startswith("[") else _lines(text, flaws)
    return _collected(items, flaws, name, check, tested, say)


def _collected(
    items: Iterable[tuple[int, object]], flaws: list[Flaw], name: str, check: bool, tested: bool, say: Say | None
) -> tuple[Problem, ...]:
    """Items as problems, with those flaws that reading has found. Raises ProblemError."""
    problems: list[Problem] = []
    seen: dict[str, int] = {}
    for line, item in items:
        try:
            problem = _problem(item if tested else _with_what_may_miss(item, len(problems) + 1))
        except _Bad as bad:
            flaws.append(Flaw(line, *bad.args))
            continue
        if problem.id in seen:
            why = f"{problem.id!r} is also the id of line {seen[problem.id]}"
            flaws.append(Flaw(line, "id", why, "rename one of them"))
        seen.setdefault(problem.id, line)
        flaws.extend(Flaw(line, *flaw) for flaw in problem_flaws(problem, tested) if check)
        problems.append(problem)
    if not problems and not flaws:
        flaws.append(Flaw(0, "", "holds no problem", _FORM))
    if flaws:
        raise ProblemError(name, sorted(flaws, key=lambda flaw: flaw.line))
    unknown = dict.fromkeys(field for problem in problems for field in problem.metadata)
    if unknown:
        named = "; ".join(f"{field!r}{suggestion(field, [*_READ, *RENAMED])}" for field in unknown)
        (say or warnings.warn)(f"{name}: kept as metadata, since a problem has no such field: {named}")
    return tuple(problems)


def _on_one_line(text: str) -> str:
    """A text that is one object, on one line; any other text as it is."""
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return json.dumps(whole) if isinstance(whole, dict) else text


def _with_what_may_miss(item: object, number: int) -> object:
    if not isinstance(item, dict):
        return item
    named = re.match(r"\s*def\s+(\w+)", str(item.get("signature") or item.get("function_signature") or ""))
    return {"id": named[1] if named else f"problem-{number}", "baseline_tests": []} | item


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        why = f"byte {error.object[error.start]:#04x} at position {error.start} is not UTF-8"
        raise ProblemError(str(path), [Flaw(line, "", why, "save the file as UTF-8")]) from None
    except FileNotFoundError:
        near = [str(each) for each in path.parent.glob("*.json*")] if path.parent.is_dir() else []
        action = f"give a file, or one of the sets {', '.join(SETS)}{suggestion(str(path), [*SETS, *near])}"
        raise ProblemError(str(path), [Flaw(0, "", "does not exist", action)]) from None
    except OSError as error:
        why = f"cannot be read ({error.strerror})"
        raise ProblemError(str(path), [Flaw(0, "", why, "give a file that can be read")]) from None


def _lines(text: str, flaws: list[Flaw]) -> Iterator[tuple[int, object]]:
    """Decoded items with the line each begins on; what cannot be decoded goes to `flaws`."""
    # Not splitlines(): JSON allows U+2028 and its like inside a string.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            yield number, json.loads(line)
        except json.JSONDecodeError as error:
            flaws.append(Flaw(number, "", f"is not JSON ({error.msg} at column {error.colno})", _FORM))
            if line.strip() == "{":  # an object spread over lines; each of them would be reported
                return
        except RecursionError:
            flaws.append(Flaw(number, "", "is nested too deeply", _FORM))


def _array(text: str, flaws: list[Flaw]) -> Iterator[tuple[int, object]]:
    """Item by item, since json.loads does not say on which line an item begins."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        flaws.append(Flaw(error.lineno, "", f"is not JSON ({error.msg})", "correct the JSON array"))
        return
    except RecursionError:
        flaws.append(Flaw(1, "", "is nested too deeply", "correct the JSON array"))
        return
    decoder, at = json.JSONDecoder(), text.index("[") + 1
    while text[at] != "]":
        if text[at] in " \t\r\n,":
            at += 1
        else:
            item, end = decoder.raw_decode(text, at)
            yield text.count("\n", 0, at) + 1, item
            at = end


def _problem(item: object) -> Problem:
    if isinstance(item, Problem):
        return item
    if not isinstance(item, dict):
        raise _Bad("", f"holds {_kind(item)}, not an object", _FORM)
    given: dict[str, object] = {}
    metadata: dict[str, object] = {}
    for key, value in item.items():
        name = RENAMED.get(key) or key
        if name in given:
            raise _Bad(key, f"says the same as {name}", "keep one of the two")
        (given if name in _READ else metadata)[name] = value
    for name in _NEEDED:
        if given.get(name) is None:
            raise _Bad(name, "is missing", "add it")
    values = {name: _READ[name](name, value) for name, value in given.items() if value is not None}
    return Problem(**_completed(values), metadata=metadata)


def _completed(values: dict[str, Any]) -> dict[str, Any]:
    """With kind, signature and entry point, each of which may follow from another field."""
    tests = values["baseline_tests"]
    programs = not values.get("signature") and bool(tests) and all(isinstance(each, StdinTest) for each in tests)
    kind = values.setdefault("kind", "stdio" if programs else "function")
    if kind == "stdio":
        return {"entry_point": "", "signature": "", **values}
    if not values.get("signature"):
        raise _Bad("signature", "is missing", 'add it, or "kind": "stdio" for a program that reads standard input')
    name = re.match(r"\s*def\s+(\w+)", values["signature"])
    if name is None:
        raise _Bad("signature", f"{values['signature']!r} names no function", "write for instance def add(a, b):")
    entry = values.setdefault("entry_point", name[1])
    if entry != name[1]:
        why = f"is {entry!r}, the signature defines {name[1]!r}"
        raise _Bad("entry_point", why, "leave it out, or make them agree")
    return values


def _name(field: str, value: object) -> str:
    text = _words(field, value)
    if not text.strip():
        raise _Bad(field, "is empty", "give each problem a name of its own")
    return text


def _words(field: str, value: object) -> str:
    if not isinstance(value, str):
        raise _Bad(field, f"holds {_kind(value)}, not text", 'write it in "quotes"')
    return value


def _signature(field: str, value: object) -> str:
    text = _words(field, value).strip()
    return text if not text or text.endswith(":") else f"{text}:"


def _kind_of_problem(field: str, value: object) -> str:
    if value not in ("function", "stdio"):
        raise _Bad(field, f"is {value!r}", 'write "function" or "stdio"')
    return str(value)


def _list(field: str, value: object) -> list[object]:
    if not isinstance(value, list):
        raise _Bad(field, f"holds {_kind(value)}, not a list", "write it in [square brackets]")
    return value


def _texts(field: str, value: object) -> tuple[str, ...]:
    return tuple(_words(f"{field}[{number}]", each) for number, each in enumerate(_list(field, value)))


def _tests(field: str, value: object) -> tuple[str | StdinTest, ...]:
    return tuple(_test(f"{field}[{number}]", each) for number, each in enumerate(_list(field, value)))


def _test(field: str, value: object) -> str | StdinTest:
    if isinstance(value, str):
        return value
    if not isinstance(value, dict):
        raise _Bad(field, f"holds {_kind(value)}, not a test", 'write "assert ..." or {"input": ..., "output": ...}')
    sent = [value[name] for name in ("input", "stdin") if name in value]
    wanted = [value[name] for name in ("output", "stdout", "expected_output") if name in value]
    if len(sent) != 1 or len(wanted) != 1 or len(value) != 2:
        raise _Bad(field, f"has the keys {', '.join(value)}", "give it input and output, nothing else")
    return StdinTest(_words(f"{field}.input", sent[0]), _words(f"{field}.output", wanted[0]))


def _contract(field: str, value: object) -> Contract:
    if not isinstance(value, dict) or set(value) - {"requires", "raises"}:
        raise _Bad(field, f"holds {_kind(value)}", 'write {"requires": [...], "raises": [...]}, nothing else')
    return Contract(*(_texts(f"{field}.{name}", value.get(name, [])) for name in ("requires", "raises")))


def _number(field: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
        raise _Bad(field, f"is {value!r}", "write a number from 0 to below 1, or leave it out")
    return float(value)


def _kind(value: object) -> str:
    named = {"NoneType": "null", "dict": "an object", "list": "a list", "str": "text", "bool": "true or false"}
    kind = type(value).__name__
    return named.get(kind, f"the number {value!r}" if isinstance(value, int | float) else f"a {kind}")


_READ: dict[str, Callable[[str, object], Any]] = {
    "id": _name,
    "description": _words,
    "entry_point": _words,
    "signature": _signature,
    "baseline_tests": _tests,
    "reference_solution": _words,
    "difficulty": _words,
    "tags": _texts,
    "imports": _texts,
    "kind": _kind_of_problem,
    "contract": _contract,
    "hidden_tests": _tests,
    "tolerance": _number,
    "helpers": _words,
}


def problem_to_json(problem: Problem) -> str:
    """One line of JSON that `load_problems` reads back to an equal problem; fields at their default are left out."""
    default = {field.name: field.default for field in fields(Problem) if field.default is not MISSING}
    kept = {name: value for name, value in asdict(problem).items() if name not in default or value != default[name]}
    if problem.kind == "stdio":
        kept = {name: value for name, value in kept.items() if name not in ("entry_point", "signature")}
    metadata = kept.pop("metadata")
    return json.dumps(kept | metadata, ensure_ascii=False)
