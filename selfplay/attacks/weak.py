"""The weak runners that attacks are shown to beat. Each stands for a family of judges that people use.

    exec       program and tests share one interpreter; it prints the verdicts, the host believes the last line
    script     program and tests in one file, a fresh interpreter; exit status 0 is a pass
    pytest     the same, `python -m pytest`
    lenient    a program's output in a fresh interpreter; a pass where the expected text occurs in its first 64 KiB
    shared     the same interpreter for all programs, one after the other
    bare       calls a function in a fresh interpreter without limits
    unjailed   the local box with its walls left out (battery.py)

All run in throwaway subprocesses, in a folder of the battery, with an empty environment and a wall-clock limit.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from selfplay.attacks.attack import Harm, Task

WALL = 120.0  # seconds of a run, however loaded the machine is
HANG = 1  # CPU seconds after which a flooded runner counts as hung
_MEMORY = 4 << 30

_EXEC = """
import json, sys
order = json.load(sys.stdin)
program, tests = order["program"], order["tests"]
verdicts = []
scope = {"__name__": "solution"}
exec(program, scope)
for test in tests:
    try:
        exec(test, scope)
        verdicts.append(True)
    except Exception:  # as the runners do that this one stands for
        verdicts.append(False)
print(json.dumps(verdicts))
"""
_LIMITED = f"""
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({_MEMORY}, {_MEMORY}))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
if "--hangs" in sys.argv:
    resource.setrlimit(resource.RLIMIT_CPU, ({HANG}, {HANG}))
sys.argv = sys.argv[1:]
import runpy
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def run_all_tests(tests: str) -> str:
    """The tests followed by a call of each test function, as a script would."""
    names = [node.name for node in _parsed(tests) if isinstance(node, ast.FunctionDef) and node.name.startswith("test")]
    return "\n".join([tests, *(f"{name}()" for name in names)])


def _parsed(tests: str) -> list[ast.stmt]:
    try:
        return ast.parse(tests).body
    except (SyntaxError, RecursionError, MemoryError):
        return []


def statements(tests: str) -> list[str]:
    """The tests' top-level statements, each alone, where an interpreter may run them one by one."""
    return [ast.unparse(node) for node in ast.parse(run_all_tests(tests)).body]


def exec_credits(program: str, tests: str, folder: Path) -> bool:
    """Whether the runner that shares one interpreter says that all passed."""
    order = json.dumps({"program": program, "tests": statements(tests)})
    done = _python(["-I", "-S", "-c", _EXEC], folder, order)
    last = (done.stdout.strip().splitlines() or [""])[-1]
    try:
        verdicts = json.loads(last)
    except ValueError:
        return False
    return isinstance(verdicts, list) and bool(verdicts) and all(verdict is True for verdict in verdicts)


def shared_spares(attack: Harm, folder: Path) -> bool:
    """Whether a right program passes in an interpreter that runs the attackers as well."""
    victim = (*attack.beside, attack.task.problem.reference_solution or "")[0]
    honest = statements(str(attack.task.tests))
    turns = [statement for turn in attack.turns for statement in statements(turn)]
    order = json.dumps({"program": "", "tests": [*attack.programs, victim, *turns, *honest]})
    done = _python(["-I", "-S", "-c", _EXEC], folder, order)
    last = (done.stdout.strip().splitlines() or ["[]"])[-1]
    return last.endswith(f"{', '.join(['true'] * len(honest))}]")


def script_credits(program: str, tests: str, folder: Path) -> bool:
    """Whether a script of program and tests ends with exit status 0."""
    path = folder / "check.py"
    path.write_text(f"{program}\n\n{run_all_tests(tests)}\n", "utf-8", "surrogatepass")
    return _python(["-s", "-c", _LIMITED, str(path)], folder).returncode == 0


def script_hangs(program: str, tests: str, folder: Path) -> bool:
    """Whether that script is still at it after a while, or dead of memory."""
    path = folder / "check.py"
    path.write_text(f"{program}\n\n{run_all_tests(tests)}\n", "utf-8", "surrogatepass")
    return _python(["-s", "-c", _LIMITED, str(path), "--hangs"], folder).returncode < 0


def has_pytest() -> bool:
    return importlib.util.find_spec("pytest") is not None


def pytest_credits(program: str, tests: str, folder: Path) -> bool:
    """Whether `python -m pytest` says that all passed."""
    body = (
        tests if "def test" in tests else "def test_all():\n" + "".join(f"    {line}\n" for line in tests.split("\n"))
    )
    (folder / "test_check.py").write_text(f"{program}\n\n{body}\n", "utf-8")
    command = [
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-c",
        os.devnull,
        "--rootdir",
        str(folder),
        "test_check.py",
    ]
    return _python(command, folder).returncode == 0


def lenient_credits(program: str, task: Task, folder: Path) -> bool:
    assert not isinstance(task.tests, str)
    (folder / "main.py").write_text(program, "utf-8")
    done = _python(["-I", "main.py"], folder, task.tests.input, seconds=10.0)
    return task.tests.output.strip() in done.stdout[: 64 << 10]


def bare_result(program: str, folder: Path) -> str:
    """What `f()` returned, as repr; empty where it did not return."""
    (folder / "bare.py").write_text(f"{program}\nprint(repr(f())[:4000])\n", "utf-8")
    done = _python(["-I", "-s", "bare.py"], folder)
    return done.stdout.strip() if done.returncode == 0 else ""


def _python(
    arguments: list[str], folder: Path, text: str = "", seconds: float = WALL
) -> subprocess.CompletedProcess[str]:
    """Runs an interpreter in `folder`; kills its whole session where it takes too long (status -9)."""
    environment = {"HOME": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUTF8": "1"}
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as order:
        order.write(text.encode("utf-8", "surrogatepass"))
        order.seek(0)
        process = subprocess.Popen(
            [sys.executable, *arguments],
            stdin=order,
            stdout=output,
            stderr=subprocess.DEVNULL,
            env=environment,
            cwd=folder,
            start_new_session=True,
        )
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            status = process.wait()
        output.seek(0)
        printed = output.read(1 << 20).decode("utf-8", "replace")
    return subprocess.CompletedProcess(arguments, status, printed)
