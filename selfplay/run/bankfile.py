"""A test bank as a file: one suite per line of JSON, in a run's folder or where it was built; and what it is exported to.

pytest     a folder with a test module per problem, for plain pytest
jsonl      a problem file whose baseline tests are the bank's, for `--problems`
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from selfplay.errors import BadInput
from selfplay.match.ledger import LedgerError, from_json
from selfplay.match.record import Match
from selfplay.match.testbank import BankedSuite
from selfplay.match.testfile import module_name, pytest_module
from selfplay.run.folder import BANK, EPISODES

FORMATS = ("pytest", "jsonl")


def write_bank(path: Path, suites: Sequence[BankedSuite]) -> None:
    """Raises BadInput where the file cannot be written."""
    _written(path, bank_lines(suites))


def bank_lines(suites: Iterable[BankedSuite]) -> str:
    """A bank as the text of a file. What UTF-8 has no word for is written as JSON's own escape."""
    lines = "".join(json.dumps(suite.as_json(), ensure_ascii=False) + "\n" for suite in suites)
    return lines.encode("utf-8", "backslashreplace").decode("utf-8")


def read_bank(path: Path) -> list[dict[str, Any]]:
    """The suites of a bank, as they stand in the file, or in that of a run's folder. Raises BadInput."""
    path = path / BANK if path.is_dir() else path
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} cannot be read ({error}); give a run, or what `selfplay.bank build` wrote") from None
    found = [_suite(line, f"{path}, line {number}") for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not found:
        raise BadInput(f"{path} holds no suite")
    return found


def _suite(line: str, where: str) -> dict[str, Any]:
    try:
        suite = json.loads(line)
        kind = str if suite["kind"] == "function" else dict
        sound = all(isinstance(suite[name], str) for name in ("id", "entry_point", "signature", "description"))
        if not sound or not all(isinstance(one["test"], kind) for one in suite["tests"]):
            raise ValueError("a field is of another type")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadInput(f"{where} is no suite of a bank ({error!r}); `selfplay.bank build` writes them") from None
    return suite


def matches_of(run: Path) -> Iterator[Match]:
    """The matches of a run's ledger, one at a time. Raises BadInput, LedgerError."""
    path = run / EPISODES
    try:
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.endswith("\n"):  # a running run may be in the middle of the last one
                    try:
                        yield from_json(json.loads(line))
                    except (ValueError, KeyError, TypeError) as error:
                        raise LedgerError(f"{path}, line {number} is no match ({error!r})") from None
    except OSError as error:
        raise BadInput(
            f"{path} cannot be read ({error.strerror}); a bank is collected from a run with a ledger"
        ) from None


def export(suites: Sequence[Mapping[str, Any]], form: str, place: Path, module: str | None = None) -> list[Path]:
    """Writes the suites that hold tests; the files. `module`: where the solution is, for a bank of one problem.

    Raises BadInput.
    """
    suites = [suite for suite in suites if suite["tests"]]
    if not suites:
        raise BadInput("the bank holds no tests; build it with more --num-samples or another --player")
    if form == "jsonl":
        _written(place, "".join(json.dumps(_as_problem(suite), ensure_ascii=False) + "\n" for suite in suites))
        return [place]
    if module is not None and (len(suites) > 1 or not module.isidentifier()):
        raise BadInput(f"--module {module} names the module of one solution; the bank holds {len(suites)} problems")
    names = [module or module_name(suite["id"]) for suite in suites]
    if len(set(names)) < len(names):
        raise BadInput("two problems of the bank have ids that make the same module name; rename one of them")
    files = [place / f"test_{name}.py" for name in names]
    for file, suite, name in zip(files, suites, names, strict=True):
        _written(file, pytest_module(suite, name))
    return files


def _as_problem(suite: Mapping[str, Any]) -> dict[str, Any]:
    own = {name: suite[name] for name in ("id", "description", "kind")}
    signature = {"signature": suite["signature"]} if suite["kind"] == "function" else {}
    return own | signature | {"baseline_tests": [one["test"] for one in suite["tests"]]}


def _written(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise BadInput(f"{path} cannot be written ({error.strerror}); give another --out") from None
