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
import json
import os
from collections.abc import Callable
from pathlib import Path

from selfplay.attacks.attack import Harm
from selfplay.attacks.interpreter import Ran, python
from selfplay.game.problems import StdinTest

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
    try:
        body = ast.parse(tests).body
    except (SyntaxError, RecursionError, MemoryError):
        body = []
    names = [node.name for node in body if isinstance(node, ast.FunctionDef) and node.name.startswith("test")]
    return "\n".join([tests, *(f"{name}()" for name in names)])


def _statements(tests: str) -> list[str]:
    """The tests' top-level statements, each alone, where an interpreter may run them one by one."""
    return [ast.unparse(node) for node in ast.parse(run_all_tests(tests)).body]


def _in_one_interpreter(program: str, tests: list[str], folder: Path) -> list[object]:
    """The verdicts that the last line says, whoever wrote it."""
    ran = _python(["-I", "-S", "-c", _EXEC], folder, json.dumps({"program": program, "tests": tests}))
    try:
        verdicts = json.loads((ran.output.strip().splitlines() or [""])[-1])
    except ValueError:
        return []
    return verdicts if isinstance(verdicts, list) else []


def exec_credits(program: str, tests: str, folder: Path) -> bool:
    """Whether the runner that shares one interpreter says that all passed."""
    verdicts = _in_one_interpreter(program, _statements(tests), folder)
    return bool(verdicts) and all(verdict is True for verdict in verdicts)


def shared_spares(attack: Harm, folder: Path) -> bool:
    """Whether a right program passes in an interpreter that runs the attackers as well."""
    victim = (*attack.beside, attack.task.problem.reference_solution or "")[0]
    honest = _statements(str(attack.task.tests))
    turns = [statement for turn in attack.turns for statement in _statements(turn)]
    verdicts = _in_one_interpreter("", [*attack.programs, victim, *turns, *honest], folder)
    return verdicts[-len(honest) :] == [True] * len(honest)


def script_credits(program: str, tests: str, folder: Path) -> bool:
    """Whether a script of program and tests ends with exit status 0."""
    return _script(program, tests, folder).status == 0


def script_hangs(program: str, tests: str, folder: Path) -> bool:
    """Whether that script is still at it after a while, or dead of memory."""
    status = _script(program, tests, folder, "--hangs").status
    return status is None or status < 0


def _script(program: str, tests: str, folder: Path, *options: str) -> Ran:
    path = folder / "check.py"
    path.write_text(f"{program}\n\n{run_all_tests(tests)}\n", "utf-8", "surrogatepass")
    return _python(["-s", "-c", _LIMITED, str(path), *options], folder)


def pytest_credits(program: str, tests: str, folder: Path) -> bool:
    """Whether `python -m pytest` says that all passed."""
    if "def test" not in tests:
        tests = "def test_all():\n" + "".join(f"    {line}\n" for line in tests.split("\n"))
    (folder / "test_check.py").write_text(f"{program}\n\n{tests}\n", "utf-8")
    options = ["-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(folder)]
    return _python(["-m", "pytest", *options, "test_check.py"], folder).status == 0


CREDITS: dict[str, Callable[[str, str, Path], bool]] = {
    "exec": exec_credits,
    "script": script_credits,
    "pytest": pytest_credits,
}


def lenient_credits(program: str, test: StdinTest, folder: Path) -> bool:
    """Whether the expected output occurs in what the program printed."""
    (folder / "main.py").write_text(program, "utf-8")
    ran = _python(["-I", "main.py"], folder, test.input, seconds=10.0)
    return test.output.strip() in ran.output[: 64 << 10]


def bare_result(program: str, folder: Path) -> str:
    """What `f()` returned, as repr; empty where it did not return."""
    (folder / "bare.py").write_text(f"{program}\nprint(repr(f())[:4000])\n", "utf-8")
    ran = _python(["-I", "-s", "bare.py"], folder)
    return ran.output.strip() if ran.status == 0 else ""


def _python(arguments: list[str], folder: Path, text: str = "", seconds: float = WALL) -> Ran:
    environment = {"HOME": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUTF8": "1"}
    return python(arguments, environment, seconds, folder, text)
