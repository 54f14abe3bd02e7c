"""A test bank as a file: one suite per line of JSON, in a run's folder or where it was built; and what it is exported to.

pytest     a folder with a test module per problem, for plain pytest
jsonl      a problem file whose baseline tests are the bank's, for `--problems`

What is exported is written from the cases' data, whatever else a file says of a test: a bank may come from anywhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from selfplay.errors import BadInput
from selfplay.game.problems import Problem
from selfplay.match.fields import LedgerError
from selfplay.match.livebank import suite_from_json
from selfplay.match.testbank import BankedSuite
from selfplay.match.testfile import is_entry_point, model_module, module_name, pytest_module, spelled
from selfplay.run.folder import BANK

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
        suite_from_json(suite)
    except (ValueError, RecursionError, KeyError, LedgerError) as error:
        raise BadInput(f"{where} is no suite of a bank ({error}); `selfplay.bank build` writes them") from None
    return suite


def export(
    suites: Sequence[Mapping[str, Any]], form: str, place: Path, module: str | None = None, texts: bool = False
) -> list[Path]:
    """Writes the tests of the suites; the files. `module`: where the solution is, for a bank of one problem.

    `texts`: also the tests that are a model's text, to files of their own. Raises BadInput.
    """
    if texts and form == "jsonl":
        raise BadInput("--with-model-text writes tests for pytest; a problem file holds data alone")
    read = [suite_from_json(suite) for suite in suites]
    for suite in read:
        if not is_entry_point(suite.problem):
            raise BadInput(
                f"{suite.problem.id}: the entry point {suite.problem.entry_point!r} is no name that Python code can "
                "define; build the bank again, or mend it there"
            )
    data = {suite.problem.id: found for suite in read if (found := _data(suite))}
    written = {suite.problem.id: found for suite in read if texts and (found := _texts(suite))}
    known = [suite.problem for suite in read if suite.problem.id in data or suite.problem.id in written]
    if not known:
        left = left_out(suites)
        more = (
            f"none that are data; --with-model-text writes the {left} that are a model's text" if left else "no tests"
        )
        raise BadInput(f"the bank holds {more}; build it with more --num-samples or another --player")
    if form == "jsonl":
        lines = (json.dumps(_as_problem(each, data[each.id]), ensure_ascii=False) + "\n" for each in known)
        return [_written(place, "".join(lines))]
    if module is not None and (len(known) > 1 or module_name(module) != module):
        raise BadInput(f"--module {module} names the module of one solution; the bank holds {len(known)} problems")
    names = [module or module_name(problem.id) for problem in known]
    if len(set(names)) < len(names):
        raise BadInput("two problems of the bank have ids that make the same module name; rename one of them")
    files: list[Path] = []
    for problem, name in zip(known, names, strict=True):
        if problem.id in data:
            files.append(_written(place / f"test_{name}.py", pytest_module(problem, data[problem.id], name)))
        if problem.id in written:
            own = model_module(problem, written[problem.id], name)
            files.append(_written(place / f"test_{name}_by_a_model.py", own))
    return files


def left_out(suites: Iterable[Mapping[str, Any]]) -> int:
    """How many tests are a model's text, which `export` writes only where it is asked to."""
    return sum(len(_texts(suite_from_json(suite))) for suite in suites)


def _data(suite: BankedSuite) -> list[str | Mapping[str, str]]:
    return [test for one in suite.tests if (test := spelled(one.case, suite.problem)) is not None]


def _texts(suite: BankedSuite) -> list[tuple[str, str]]:
    return [(one.site, one.text) for one in suite.tests if one.text and spelled(one.case, suite.problem) is None]


def _as_problem(problem: Problem, tests: Sequence[str | Mapping[str, str]]) -> dict[str, Any]:
    own = {"id": problem.id, "description": problem.description, "kind": problem.kind}
    signature = {"signature": problem.signature} if problem.kind == "function" else {}
    return own | signature | {"baseline_tests": tests}


def _written(path: Path, text: str) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise BadInput(f"{path} cannot be written ({error.strerror}); give another --out") from None
    return path
