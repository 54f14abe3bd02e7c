"""What Python itself says of a test file: every test function run under pytest, other files executed.

    python -m benchmarks.reading_plain < jobs    (benchmarks/reading.py does that)

Each job is a program and a text of tests, run in a fork with limits. The tests see the program as they would in a
checkout: a module that they import and that does not exist is the program, a copy of the entry point in the file gives
way to the program's own, and a file that neither imports nor defines it runs with the program's names. Not confined:
meant for programs that somebody has read, or that come from a problem set.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SECONDS = 5  # of one test, on the wall
CPU_SECONDS = 60  # of one job
MEMORY = 4 << 30
UNDER_TEST = "program_under_test"
ROOT = Path(__file__).parent.parent

Outcomes = dict[
    str, bool
]  # `class::function` or `function` -> whether all of it passed; "" where nothing was collected


def outcomes(jobs: Sequence[tuple[str, str, str]]) -> list[Outcomes]:
    """What plain execution says of each (entry point, program, tests), in order."""
    command = [sys.executable, "-m", "benchmarks.reading_plain"]
    done = subprocess.run(command, input=json.dumps(jobs), capture_output=True, text=True, cwd=ROOT)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr[-2000:]}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def main() -> None:
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        pytest.main(["--collect-only", "-q", "-c", os.devnull, os.devnull])  # forks inherit what it imports
    for entry_point, program, tests in json.load(sys.stdin):
        print(json.dumps(in_fork(entry_point, program, tests)), flush=True)


def in_fork(entry_point: str, program: str, tests: str) -> Outcomes:
    """The outcomes of one job; {"": False} where its process ended early."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        _silence()
        with os.fdopen(writer, "w") as pipe:
            json.dump(_outcomes(entry_point, program, tests), pipe)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        told = pipe.read()
    os.waitpid(child, 0)
    return json.loads(told) if told else {"": False}


def _silence() -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)


def _outcomes(entry_point: str, program: str, tests: str) -> Outcomes:
    signal.signal(signal.SIGALRM, _too_slow)
    module = ModuleType(UNDER_TEST)
    sys.modules[UNDER_TEST] = module
    tree = ast.parse(tests)
    try:
        signal.alarm(SECONDS)
        exec(compile(program, UNDER_TEST, "exec"), vars(module))
    except BaseException:  # noqa: BLE001 (a wrong program may do anything; every test of it fails)
        return {"": False}
    finally:
        signal.alarm(0)
    for name in _imported(tree):
        if importlib.util.find_spec(name) is None:
            sys.modules[name] = module
    if any(map(_is_test, ast.walk(tree))):
        return _under_pytest(with_program(tests, tree, entry_point))
    return _executed(tests, entry_point, vars(module))


def _too_slow(*_: object) -> None:
    raise TimeoutError(f"more than {SECONDS} s")


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.split(".")[0]


def _is_test(node: ast.AST) -> bool:
    return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test")


def with_program(tests: str, tree: ast.Module, entry_point: str) -> str:
    """The text with an import of the program in place of its own copy of the entry point, lines kept in their places."""
    lines = tests.split("\n")
    line = f"from {UNDER_TEST} import {entry_point}"
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == entry_point:
            end = node.end_lineno or node.lineno
            lines[node.lineno - 1 : end] = [line] + [""] * (end - node.lineno)
            return "\n".join(lines)
    named = any(isinstance(node, (ast.Import, ast.ImportFrom)) for node in tree.body)
    return tests if named else f"{line}\n{tests}"


class _Watch:
    """A pytest plugin that keeps what became of every test, and stops one that takes too long."""

    def __init__(self) -> None:
        self.outcomes: Outcomes = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        signal.alarm(SECONDS)
        result = yield
        signal.alarm(0)
        return result

    def pytest_runtest_logreport(self, report: Any) -> None:
        name = "::".join(report.nodeid.split("[")[0].split("::")[1:])
        self.outcomes[name] = self.outcomes.get(name, True) and report.outcome != "failed"

    def pytest_collectreport(self, report: Any) -> None:
        if report.outcome == "failed":
            self.outcomes[""] = False


def _under_pytest(text: str) -> Outcomes:
    watch = _Watch()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "test_suite.py"
        path.write_text(text, encoding="utf-8")
        flags = ["-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", folder, "--import-mode=importlib"]
        pytest.main([*flags, str(path)], plugins=[watch])
    return watch.outcomes


def _executed(tests: str, entry_point: str, names: dict[str, Any]) -> Outcomes:
    """Bare asserts are one function called `assert`, HumanEval's `check(candidate)` is one called `check`."""
    names = {**names, "__name__": "tests"}
    kept = "check" if "def check(" in tests else "assert"
    try:
        signal.alarm(SECONDS)
        exec(compile(tests, "tests", "exec"), names)
        if kept == "check":
            names["check"](names[entry_point])
    except BaseException:  # noqa: BLE001 (a wrong program may do anything)
        return {kept: False}
    finally:
        signal.alarm(0)
    return {kept: True}


if __name__ == "__main__":
    main()
