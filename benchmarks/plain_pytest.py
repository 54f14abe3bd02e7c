"""What plain pytest says of a test file and a program: the oracle that the judge is held against.

    python -m benchmarks.plain_pytest < jobs      (`outcomes` does that)

Each job has a process and a folder of its own, with the program as `solution.py`, under every other name of a module
that the tests import and that does not exist, and the tests as `test_suite.py`. Two things only are done to the tests.
Where they hold a copy of the entry point, every public name of the program that they define is imported from it instead.
Where they use a public name of the program that they neither import nor define, an import of it is put on top.

The process is a fork of one that has pytest loaded, which saves a second and changes nothing for the tests. A text in
which pytest finds no test is only imported, which is all that pytest does with it. Not confined: meant for programs that
somebody has read, their mutants, and problem sets.
"""

from __future__ import annotations

import ast
import contextlib
import gc
import hashlib
import importlib.util
import json
import os
import resource
import runpy
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

SECONDS = 2  # of one test, on the wall
JOB_SECONDS = 12  # of one job, on the wall and of CPU; the tests that are left then have no outcome
MEMORY = 2 << 30
PROCESSES = 2
MODULE = "module"  # the name of what a file without tests asserts
ROOT = Path(__file__).parent.parent
WARM = """\
import unittest, pytest
class TestA(unittest.TestCase):
    def test_a(self):
        with self.subTest(1): self.assertEqual(1, 1)
@pytest.mark.parametrize("a", [1, 2])
def test_b(a, capsys, monkeypatch): assert a in [1, 2]
"""  # run once in the process that forks, so that no fork need load what it uses
FLAGS = ("-q", "-p", "no:cacheprovider", "-c", os.devnull)


@dataclass(frozen=True, slots=True)
class Job:
    """Tests to run on a program. `reference` says which names are public."""

    reference: str
    entry_point: str
    program: str
    tests: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What pytest told: whether it could collect the file, which tests passed, and whether it came to its end."""

    collected: bool
    passed: dict[str, bool]
    ended: bool = True

    def of(self, test: str) -> bool | None:
        """Whether a test passed; None where the process ended before it."""
        return self.passed.get(test, False if self.ended or not self.collected else None)


def outcomes(jobs: Sequence[Job]) -> list[Outcome]:
    """The outcome of every job, in order; those that were run before come from a folder below the system's own."""
    cache = Path(tempfile.gettempdir()) / f"plain-pytest-{os.getuid()}"
    cache.mkdir(mode=0o700, exist_ok=True)
    paths = [cache / f"{_digest(job)}.json" for job in jobs]
    missing = {path: job for path, job in zip(paths, jobs, strict=True) if not path.exists()}
    _run(list(missing.items()))
    return [Outcome(**json.loads(path.read_text(encoding="utf-8"))) for path in paths]


def _digest(job: Job) -> str:
    parts = (Path(__file__).read_text(encoding="utf-8"), sys.version, pytest.__version__, job.reference)
    return hashlib.sha256(json.dumps([*parts, job.entry_point, job.program, job.tests]).encode()).hexdigest()


def _run(missing: Sequence[tuple[Path, Job]]) -> None:
    """Has the jobs run in PROCESSES processes, which write each outcome to its path."""
    command = [sys.executable, "-m", "benchmarks.plain_pytest"]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    running: list[subprocess.Popen[bytes]] = []
    for share in (missing[start::PROCESSES] for start in range(PROCESSES)):
        lines = "".join(json.dumps([str(path), *_fields(job)]) + "\n" for path, job in share)
        with tempfile.TemporaryFile() as given:
            given.write(lines.encode())
            given.seek(0)
            running.append(subprocess.Popen(command, stdin=given, cwd=ROOT, env=environment))
    if any([process.wait() for process in running]):
        raise RuntimeError(f"{' '.join(command)} ended with {[process.returncode for process in running]}")


def _fields(job: Job) -> tuple[str, str, str, str]:
    return job.reference, job.entry_point, job.program, job.tests


def main() -> None:
    lines = sys.stdin.read().splitlines()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1):
        os.dup2(nowhere, descriptor)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "test_warm.py").write_text(WARM)
        pytest.main([*FLAGS, "--rootdir", folder, folder])
    gc.freeze()
    for line in lines:
        path, *fields = json.loads(line)
        outcome = in_fork(Job(*fields))
        written = Path(f"{path}.{os.getpid()}")
        written.write_text(json.dumps(outcome), encoding="utf-8")
        written.rename(path)


def in_fork(job: Job) -> dict[str, Any]:
    """The fields of a job's outcome, as far as its process came."""
    reader, writer = os.pipe()
    folder = Path(tempfile.mkdtemp())
    child = os.fork()
    if child == 0:
        os.close(reader)
        os.dup2(os.open(os.devnull, os.O_RDWR), 2)
        with os.fdopen(writer, "w") as pipe:
            _child(job, folder, pipe)
            pipe.flush()
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        told = [json.loads(line) for line in pipe.read().split("\n")[:-1]]
    os.waitpid(child, 0)
    shutil.rmtree(folder, ignore_errors=True)
    passed: dict[str, bool] = {}
    for name, holds in (line for line in told if isinstance(line, list)):
        passed[name] = passed.get(name, True) and holds
    ends = [line for line in told if isinstance(line, dict)]
    return {"passed": passed, **(ends[-1] if ends else {"collected": bool(passed), "ended": False})}


def _child(job: Job, folder: Path, pipe: Any) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (JOB_SECONDS, JOB_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    sys.dont_write_bytecode = True
    os.chdir(folder)
    sys.path[0] = str(folder)  # what `python -m pytest` puts there
    text = with_program(job)
    _write_modules(folder, ast.parse(text), job.program)
    (folder / "test_suite.py").write_text(text, encoding="utf-8")
    watch = _Watch(pipe)
    signal.signal(signal.SIGALRM, watch.too_slow)
    if _has_tests(ast.parse(text)):
        pytest.main([*FLAGS, "--rootdir", str(folder), "test_suite.py"], plugins=[watch])
    else:
        watch.collected = watch.imported(folder / "test_suite.py")
        watch.tell([MODULE, watch.collected])
    watch.tell({"collected": watch.collected, "ended": watch.ended})


def with_program(job: Job) -> str:
    """The tests, with imports in place of copies of the program and on top for names that come from nowhere."""
    tree = ast.parse(job.tests)
    public = _public(ast.parse(job.reference))
    bound = {name for node in tree.body for name in _bound(node)}
    copies = {name for node in tree.body for name in _defined(node)} & public if job.entry_point in bound else set()
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} & public
    starred = any(alias.name == "*" for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names)
    absent = sorted(used - bound) if not starred else []
    text = job.tests
    if copies:
        tree.body = [_replaced(node, copies) for node in tree.body]
        text = ast.unparse(tree)
    return f"from solution import {', '.join(absent)}\n{text}" if absent else text


def _public(program: ast.Module) -> set[str]:
    return {name for node in program.body for name in (*_defined(node), *_assigned(node)) if not name.startswith("_")}


def _bound(node: ast.stmt) -> Iterator[str]:
    yield from _defined(node)
    yield from (child.id for child in ast.walk(node) if isinstance(child, ast.Name) and _is_store(child))
    for child in ast.walk(node):
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield from ((alias.asname or alias.name).split(".")[0] for alias in child.names)


def _defined(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name


def _assigned(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        yield from (child.id for child in ast.walk(node) if isinstance(child, ast.Name) and _is_store(child))


def _is_store(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def _replaced(node: ast.stmt, copies: set[str]) -> ast.stmt:
    name = next(_defined(node), "")
    return ast.ImportFrom("solution", [ast.alias(name)], 0) if name in copies else node


def _has_tests(tree: ast.Module) -> bool:
    functions = (node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))
    return any(node.name.startswith("test") for node in functions)


def _write_modules(folder: Path, tests: ast.Module, program: str) -> None:
    """`solution.py`, and modules that are it under every name that the tests import and that does not exist."""
    (folder / "solution.py").write_text(program, encoding="utf-8")
    for dotted in sorted(_imported(tests) - {"solution"}):
        if importlib.util.find_spec(dotted.split(".")[0]) is None:
            path = folder.joinpath(*dotted.split("."))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.with_suffix(".py").write_text("import solution, sys\n\nsys.modules[__name__] = solution\n")


def _imported(tests: ast.Module) -> set[str]:
    nodes = list(ast.walk(tests))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return plain | {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level}


class _TooSlow(BaseException):
    """A test took longer than it may; not to be caught by a test that expects an exception."""


class _Watch:
    """A pytest plugin that tells what becomes of every test, and stops one that takes too long."""

    def __init__(self, pipe: Any) -> None:
        self.pipe, self.collected, self.ended, self.late = pipe, True, True, False
        self.deadline = time.monotonic() + JOB_SECONDS

    def tell(self, line: object) -> None:
        self.pipe.write(json.dumps(line) + "\n")
        self.pipe.flush()

    def too_slow(self, *_: object) -> None:
        self.late = True
        raise _TooSlow

    @contextlib.contextmanager
    def limit(self) -> Iterator[None]:
        self.late = False
        signal.alarm(SECONDS)
        try:
            yield
        finally:
            signal.alarm(0)

    def imported(self, path: Path) -> bool:
        try:
            with self.limit():
                runpy.run_path(str(path), run_name="test_suite")
        except BaseException:  # noqa: BLE001 (a wrong program may do anything)
            return False
        return not self.late

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: Any) -> Iterator[None]:
        with self.limit():
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        with self.limit():
            result = yield
        if self.late:
            self.tell([_name(item), False])
        if time.monotonic() > self.deadline:
            self.ended, item.session.shouldstop = False, f"more than {JOB_SECONDS} s"
        return result

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when == "call" or report.outcome != "passed":
            self.tell([_name(report), report.outcome == "passed" and not hasattr(report, "wasxfail")])

    def pytest_collectreport(self, report: Any) -> None:
        if report.outcome == "failed":
            self.collected = False


def _name(item: Any) -> str:
    return item.nodeid.partition("::")[2]


if __name__ == "__main__":
    main()
