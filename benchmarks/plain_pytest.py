"""What plain pytest says of a test file and a program: the oracle that the judge is held against.

    python -m benchmarks.plain_pytest < jobs      (`outcomes` does that)

Each job has a process and a folder of its own, with the program as `solution.py`, under every other name of a module
that the tests import and that does not exist, and the tests as `test_suite.py` (honest_files.py).

The process is a fork of one that has pytest loaded, which saves a second and changes nothing for the tests. A text in
which pytest finds no test is only imported, which is all that pytest does with it. Not confined: meant for programs that
somebody has read, their mutants, and problem sets.
"""

from __future__ import annotations

import ast
import contextlib
import gc
import hashlib
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

from benchmarks import honest_files
from benchmarks.honest_files import has_tests, with_program, write_modules

SECONDS = 1  # of CPU for one test, so that the load of the machine decides nothing
WALL_SECONDS = 20  # of one test
JOB_SECONDS = 8  # of CPU for one job; the tests that are left then have no outcome
MEMORY = 2 << 30
PROCESSES = 2
JOBS_WORTH_A_PROCESS = 8  # one takes a second to start
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
    """Of the job and of all that decides its outcome."""
    sources = [Path(str(module)).read_text(encoding="utf-8") for module in (__file__, honest_files.__file__)]
    return hashlib.sha256(json.dumps([*sources, sys.version, pytest.__version__, *_fields(job)]).encode()).hexdigest()


def _run(missing: Sequence[tuple[Path, Job]]) -> None:
    """Has the jobs run in at most PROCESSES processes, which write each outcome to its path."""
    processes = min(PROCESSES, -(-len(missing) // JOBS_WORTH_A_PROCESS))
    command = [sys.executable, "-m", "benchmarks.plain_pytest"]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    running: list[subprocess.Popen[bytes]] = []
    for share in (missing[start::processes] for start in range(processes)):
        lines = "".join(json.dumps([str(path), *_fields(job)]) + "\n" for path, job in share)
        with tempfile.TemporaryFile() as given:
            given.write(lines.encode())
            given.seek(0)
            running.append(subprocess.Popen(command, stdin=given, cwd=ROOT, env=environment))
    codes = [process.wait() for process in running]
    if any(codes):
        raise RuntimeError(f"{' '.join(command)} ended with {codes}")


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
    return {"passed": passed, **(ends[-1] if ends else {"collected": False, "ended": False})}


def _child(job: Job, folder: Path, pipe: Any) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (2 * JOB_SECONDS, 2 * JOB_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    sys.dont_write_bytecode = True
    os.chdir(folder)
    sys.path[0] = str(folder)  # what `python -m pytest` puts there
    text = with_program(job.tests, job.reference, job.entry_point)
    tree = ast.parse(text)
    write_modules(folder, tree, job.program)
    (folder / "test_suite.py").write_text(text, encoding="utf-8")
    watch = _Watch(pipe)
    for number in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(number, watch.too_slow)
    if has_tests(tree):
        code = pytest.main([*FLAGS, "--rootdir", str(folder), "test_suite.py"], plugins=[watch])
        watch.ended &= code != pytest.ExitCode.INTERNAL_ERROR
    else:
        watch.collected = watch.imported(folder / "test_suite.py")
        watch.tell([MODULE, watch.collected])
    watch.tell({"collected": watch.collected, "ended": watch.ended})


class _TooSlow(BaseException):
    """A test took longer than it may; not to be caught by a test that expects an exception."""


class _Watch:
    """A pytest plugin that tells what becomes of every test, and stops one that takes too long."""

    def __init__(self, pipe: Any) -> None:
        self.pipe, self.collected, self.ended, self.late = pipe, True, True, False

    def tell(self, line: object) -> None:
        self.pipe.write(json.dumps(line) + "\n")
        self.pipe.flush()

    def too_slow(self, *_: object) -> None:
        self.late = True
        raise _TooSlow

    @contextlib.contextmanager
    def limit(self) -> Iterator[None]:
        self.late = False
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        signal.alarm(WALL_SECONDS)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
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

    def pytest_collection_finish(self, session: Any) -> None:
        self.tell({"collected": self.collected, "ended": False})

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        with self.limit():
            result = yield
        if self.late:
            self.tell([_name(item), False])
        if time.process_time() > JOB_SECONDS:
            self.ended, item.session.shouldstop = False, f"more than {JOB_SECONDS} s of CPU"
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
