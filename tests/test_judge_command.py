"""`python -m selfplay.judge`: what it prints, and how it ends."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from selfplay.box import local
from selfplay.box.local import BoxUnavailable, LocalBox
from selfplay.box.task import Execution
from selfplay.box.tiers import Tier
from selfplay.judge import main

ADD = "def add(a, b):\n    return a + b\n"
WRONG = "def add(a, b):\n    return a - b\n"
TESTS = """
import pytest
from solution import add

def test_x():
    assert add(1, 2) == 3
    assert add(0, 0) == 0

def test_y():
    assert add(2, 2) == 5

assert add(5, 5) == 10
"""

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command in a folder with the files that are given by name; returns exit status, output and errors."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, **files: str | bytes) -> tuple[int, str, str]:
        for name, content in files.items():
            data = content if isinstance(content, bytes) else content.encode()
            (tmp_path / name.replace("__", ".")).write_bytes(data)
        try:
            status = main(arguments)
        except SystemExit as error:
            status = int(str(error.code))
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


def judged(run: Run, *arguments: str, **files: str | bytes) -> dict[str, list[str]]:
    """Verdicts by path."""
    _, out, _ = run(*arguments, "--json", **files)
    return {program["path"]: program["verdicts"] for program in json.loads(out)["programs"]}


ASKED = ("--code", "a.py", "--tests", "tests.py", "--entry", "add")


def test_a_program_that_passes_everything_exits_0(run: Run) -> None:
    status, out, err = run(*ASKED, a__py=ADD, tests__py="assert add(1, 2) == 3")
    assert (status, err) == (0, "")
    assert "a.py: 1 of 1 passed" in out


def test_a_program_that_fails_a_case_exits_1(run: Run) -> None:
    status, out, _ = run(*ASKED, a__py=WRONG, tests__py="assert add(1, 2) == 3")
    assert status == 1
    assert "failed assert: assert add(1, 2) == 3" in out


def test_a_case_that_the_reference_fails_is_not_admitted(run: Run) -> None:
    arguments = ("--code", "a.py", "b.py", "--tests", "tests.py", "--entry", "add", "--reference", "ref.py", "--json")
    status, out, _ = run(*arguments, a__py=ADD, b__py=WRONG, ref__py=ADD, tests__py=TESTS)
    told = json.loads(out)
    assert status == 1
    assert set(told) == {"tier", "cases", "programs"}
    assert all(set(case) == {"name", "source", "admitted", "reason", "weak"} for case in told["cases"])
    assert [(case["name"], case["admitted"]) for case in told["cases"]] == [
        ("test_x[0]", True),
        ("test_x[1]", True),
        ("test_y", False),
        ("assert", True),
    ]
    assert [case["reason"] is None for case in told["cases"]] == [True, True, False, True]
    assert told["programs"] == [
        {"path": "a.py", "verdicts": ["passed", "passed", "passed"], "why": None},
        {"path": "b.py", "verdicts": ["failed", "passed", "failed"], "why": None},
    ]


def test_without_a_reference_every_readable_case_counts(run: Run) -> None:
    assert judged(run, *ASKED, a__py=ADD, tests__py=TESTS) == {"a.py": ["passed", "passed", "failed", "passed"]}


def test_of_many_refusals_fifty_are_told_in_the_order_of_the_text(run: Run) -> None:
    tests = "".join(f"assert add({number}, 1) == {number + 1 if number == 60 else 0}\n" for number in range(121))
    asked = (*ASKED, "--reference", "ref.py")
    status, out, _ = run(*asked, a__py=ADD, ref__py=ADD, tests__py=tests)
    lines = out.splitlines()
    assert status == 0
    assert [line.split(":")[0] for line in lines[1:51]] == [f"  not assert[{number}]" for number in range(50)]
    assert lines[51] == "  ... and 70 more; --json has them all"
    names = [case["name"] for case in json.loads(run(*asked, "--json")[1])["cases"]]
    assert names == [f"assert[{number}]" for number in range(121)]


def test_a_test_that_is_said_twice_counts_twice_as_under_pytest(run: Run) -> None:
    _, out, _ = run(*ASKED, "--json", a__py=ADD, tests__py="assert add(1, 2) == 3\nassert add(1, 2) == 3.0")
    assert [(case["admitted"], case["reason"]) for case in json.loads(out)["cases"]] == [(True, None), (True, None)]


def test_a_weak_test_counts_and_is_told_as_such(run: Run) -> None:
    asked = (*ASKED, "--reference", "ref.py", "--json")
    _, out, _ = run(*asked, a__py=ADD, ref__py=ADD, tests__py="assert add(1, 2) == 3\nassert add(1, 2) is not None")
    told = json.loads(out)
    assert [(case["admitted"], case["weak"]) for case in told["cases"]] == [(True, False), (True, True)]
    assert told["programs"][0]["verdicts"] == ["passed", "passed"]


def test_tests_that_are_run_are_judged_beside_literal_ones(run: Run) -> None:
    tests = "def test_all():\n    for n in (1, 2):\n        assert add(n, n) == 2 * n\nassert add(1, 2) == 3\n"
    for reference in ((), ("--reference", "ref.py")):
        asked = ("--code", "a.py", "b.py", "--tests", "tests.py", "--entry", "add", *reference)
        found = judged(run, *asked, a__py=ADD, b__py=WRONG, ref__py=ADD, tests__py=tests)
        assert {name: set(row) for name, row in found.items()} == {"a.py": {"passed"}, "b.py": {"failed"}}


def test_every_kind_of_program_gets_its_verdicts(run: Run) -> None:
    programs: dict[str, str | bytes] = {
        "ok__py": ADD,
        "raises__py": "def add(a, b): raise ValueError",
        "hangs__py": "def add(a, b):\n    while True: pass",
        "dies__py": "import os\ndef add(a, b): os._exit(0)",
        "broken__py": "def add(",
        "binary__py": b"\xff\xfe\x00\x80",
        "nulls__py": b"def add(a, b): return a + b\n\x00",
        "other__py": "def sub(a, b): return a - b",
        "leaves__py": "import sys\ndef add(a, b): return a + b\nsys.exit(0)",
        "empty__py": "",
    }
    names = [name.replace("__", ".") for name in programs]
    arguments = ("--code", *names, "--tests", "tests.py", "--entry", "add", "--timeout", "0.2")
    assert judged(run, *arguments, tests__py="assert add(1, 2) == 3", **programs) == {
        "ok.py": ["passed"],
        "raises.py": ["error"],
        "hangs.py": ["timeout"],
        "dies.py": ["error"],
        "broken.py": ["not_collected"],
        "binary.py": ["not_collected"],
        "nulls.py": ["not_collected"],
        "other.py": ["not_collected"],
        "leaves.py": ["not_collected"],
        "empty.py": ["not_collected"],
    }


def test_a_program_in_another_encoding_is_read_as_python_reads_it(run: Run) -> None:
    source = '# -*- coding: latin-1 -*-\ndef add(a, b): return "é"'.encode("latin-1")
    assert judged(run, *ASKED, a__py=source, tests__py='assert add(1, 2) == "é"') == {"a.py": ["passed"]}


def test_an_expected_exception_counts_where_the_reference_raises_it(run: Run) -> None:
    tests = "import pytest\ndef test_r():\n    with pytest.raises(TypeError):\n        add('a', 1)"
    reference = ("--reference", "ref.py")
    assert judged(run, *ASKED, a__py=ADD, tests__py=tests) == {"a.py": ["passed"]}
    assert judged(run, *ASKED, *reference, a__py=ADD, ref__py=ADD, tests__py=tests) == {"a.py": ["passed"]}
    status, _, err = run(*ASKED, *reference, ref__py="def add(a, b): return 0")
    assert status == 2
    assert "reference" in err


def test_tests_may_be_json(run: Run) -> None:
    arguments = ("--code", "a.py", "--tests", "tests.json", "--entry", "add")
    assert judged(run, *arguments, a__py=ADD, tests__json="[[[1, 2], 3], [[0, 0], 1]]") == {
        "a.py": ["passed", "failed"]
    }


@pytest.mark.parametrize("names", [("input", "output"), ("stdin", "stdout")])
def test_programs_that_read_standard_input_are_judged_by_lines(run: Run, names: tuple[str, str]) -> None:
    cases = "\n".join(json.dumps({names[0]: f"{n}\n", names[1]: f"{n + 1}\n"}) for n in (1, 2)) + "\n\n"
    arguments = ("--code", "a.py", "b.py", "--stdin-cases", "cases.jsonl")
    files = {"a__py": "print(int(input()) + 1)", "b__py": "print(2)", "cases__jsonl": cases}
    assert judged(run, *arguments, **files) == {"a.py": ["passed", "passed"], "b.py": ["passed", "failed"]}


def test_stdin_cases_that_the_reference_fails_are_not_admitted(run: Run) -> None:
    cases = '{"input": "1", "output": "1"}\n{"input": "2", "output": "3"}'
    arguments = ("--code", "a.py", "--stdin-cases", "cases.jsonl", "--reference", "a.py")
    assert judged(run, *arguments, a__py="print(input())", cases__jsonl=cases) == {"a.py": ["passed"]}


BAD = {
    "a program that is not there": (("--code", "none.py", *ASKED[2:]), "none.py"),
    "a program that is a folder": (("--code", ".", *ASKED[2:]), "--code ."),
    "tests that are not there": (("--code", "a.py", "--tests", "none.py", "--entry", "add"), "none.py"),
    "tests that are not text": (("--code", "a.py", "--tests", "binary.py", "--entry", "add"), "binary.py"),
    "tests that are empty": (("--code", "a.py", "--tests", "empty.py", "--entry", "add"), "there is no test"),
    "tests that cannot be read": (("--code", "a.py", "--tests", "broken.py", "--entry", "add"), "no case"),
    "tests that call no function of the program": (("--code", "other.py", "--tests", "tests.py"), "--entry"),
    "tests that call two functions of the program": (("--code", "two.py", "--tests", "both.py"), "add, sub"),
    "an entry that is no name": (("--code", "a.py", "--tests", "tests.py", "--entry", "a b"), "'a b'"),
    "neither tests nor cases": (("--code", "a.py"), "--tests"),
    "tests and cases": ((*ASKED, "--stdin-cases", "tests.py"), "not allowed with"),
    "an entry for whole programs": (("--code", "a.py", "--stdin-cases", "c.jsonl", "--entry", "add"), "--entry"),
    "cases that are not JSON": (("--code", "a.py", "--stdin-cases", "tests.py"), "line 1"),
    "a case without output": (("--code", "a.py", "--stdin-cases", "c.jsonl"), '"output"'),
    "a reference that is not there": ((*ASKED, "--reference", "none.py"), "none.py"),
    "a reference without the entry": ((*ASKED, "--reference", "other.py"), "does not define 'add'"),
    "a reference that is not Python": ((*ASKED, "--reference", "broken.py"), "is not Python"),
    "a reference that fails every case": ((*ASKED, "--reference", "wrong.py"), "reference"),
    "no time": ((*ASKED, "--timeout", "0"), "--timeout"),
    "endless time": ((*ASKED, "--timeout", "inf"), "--timeout"),
    "time that is no number": ((*ASKED, "--timeout", "soon"), "--timeout"),
    "no memory": ((*ASKED, "--memory-mib", "1"), "--memory-mib"),
    "an unknown flag": ((*ASKED, "--fast"), "--fast"),
}


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
@pytest.mark.parametrize(("arguments", "named"), BAD.values(), ids=BAD.keys())
def test_bad_input_exits_2_and_is_named_on_standard_error(
    run: Run, arguments: tuple[str, ...], named: str, as_json: bool
) -> None:
    status, out, err = run(
        *arguments,
        *(["--json"] if as_json else []),
        a__py=ADD,
        tests__py="assert add(1, 2) == 3",
        binary__py=b"\xff\xfe\x00",
        empty__py="",
        broken__py="def test(:",
        other__py="def sub(a, b): pass",
        wrong__py=WRONG,
        two__py=ADD + "def sub(a, b): return a - b",
        both__py="assert add(1, 2) == sub(5, 2)",
        c__jsonl='{"input": "1"}',
    )
    assert (status, out) == (2, "")
    assert named in err


def test_a_sandbox_that_cannot_start_exits_3(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: LocalBox) -> None:
        raise BoxUnavailable("no sandbox here")

    monkeypatch.setattr(LocalBox, "__init__", refuse)
    status, out, err = run(*ASKED, "--json", a__py=ADD, tests__py="assert add(1, 2) == 3")
    assert (status, out) == (3, "")
    assert "no sandbox here" in err


@pytest.mark.parametrize("reference", [(), ("--reference", "a.py")])
def test_a_sandbox_that_fails_exits_3(run: Run, reference: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        LocalBox,
        "stream",
        lambda self, tasks: ((i, (Execution("infra_error"),) * len(task.inputs)) for i, task in enumerate(tasks)),
    )
    status, out, err = run(*ASKED, *reference, "--json", a__py=ADD, tests__py="assert add(1, 2) == 3")
    assert (status, out) == (3, "")
    assert "sandbox failed" in err


def test_the_entry_point_is_the_one_function_that_the_tests_call(run: Run) -> None:
    program = ADD + "def helper(): return 0\n"
    assert judged(run, "--code", "a.py", "--tests", "t.py", a__py=program, t__py="assert add(1, 2) == 3") == {
        "a.py": ["passed"]
    }


def test_tests_are_read_the_same_whatever_programs_stand_beside_them(run: Run) -> None:
    """A program's own signature has no say: keywords reach it as keywords."""
    files = {
        "right__py": "def sub(a, b): return a - b",
        "all__py": "def sub(*args, **kw): return 0",
        "turned__py": "def sub(b, a): return a - b",
        "t__py": "assert sub(a=5, b=2) == 3\nassert sub(5, b=2) == 3",
    }
    for order in (["right.py", "all.py", "turned.py"], ["all.py", "turned.py", "right.py"]):
        found = judged(run, "--code", *order, "--tests", "t.py", "--entry", "sub", **files)
        assert found == {
            "right.py": ["passed", "passed"],
            "all.py": ["failed", "failed"],
            "turned.py": ["passed", "error"],
        }


def test_strict_fails_where_a_test_was_refused(run: Run) -> None:
    files = {"a__py": ADD, "tests__py": "assert add(1, 2) == 3\nassert add((("}
    assert run(*ASKED, **files)[0] == 0
    assert run(*ASKED, "--strict", **files)[0] == 1
    assert run(*ASKED, "--strict", a__py=ADD, tests__py="assert add(1, 2) == 3")[0] == 0


def test_why_a_program_does_not_load_is_told_in_text_and_json(run: Run) -> None:
    files = {"a__py": "import numpy_is_not_here\ndef add(a, b): return a + b", "tests__py": "assert add(1, 2) == 3"}
    _, text, _ = run(*ASKED, **files)
    assert "ModuleNotFoundError: line 1: No module named 'numpy_is_not_here'" in text
    _, out, _ = run(*ASKED, "--json", **files)
    assert "ModuleNotFoundError" in json.loads(out)["programs"][0]["why"]
    _, text, _ = run(*ASKED, a__py="def add(a, b):\n    return (a + b", tests__py="assert add(1, 2) == 3")
    assert "SyntaxError" in text
    assert "line 2" in text


def test_a_lone_surrogate_in_a_case_is_printed_as_an_escape(run: Run) -> None:
    cases = '{"input": "\\ud800", "output": "1"}'
    status, out, err = run(*("--code", "a.py", "--stdin-cases", "c.jsonl"), a__py="print(2)", c__jsonl=cases)
    assert (status, err) == (1, "")
    assert "\\ud800" in out
    assert out.encode("utf-8")


def test_help_answers_at_once() -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "selfplay.judge", "--help"]
    root = Path(__file__).parent.parent
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=root, env={**os.environ})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert "--stdin-cases" in done.stdout
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.6


@pytest.mark.parametrize("flag", ["--sandbox-min-tier", "--sandbox.min-tier"])
def test_a_sandbox_below_the_asked_tier_judges_nothing(run: Run, monkeypatch: pytest.MonkeyPatch, flag: str) -> None:
    monkeypatch.setattr(local, "tier_of", lambda hello, jail: Tier("limited", (("seccomp", "this kernel has none"),)))
    status, out, err = run(
        *("--code", "a.py", "--tests", "t.py", "--entry", "add", flag, "confined"),
        a__py=ADD,
        t__py="assert add(1, 1) == 2",
    )
    assert (status, out) == (3, "")
    assert "limited (missing seccomp" in err


def test_values_are_shown_beside_what_was_expected(run: Run) -> None:
    raising = "def add(a, b):\n    return a - b if a else 1 // 0"
    tests = "assert add(1, 2) == 3\nassert add(0, 0) == 0"
    _, out, _ = run(*ASKED, "--show-values", a__py=raising, tests__py=tests)
    assert "it returned -1; expected: returned 3" in out
    assert "it raised ZeroDivisionError; expected: returned 0" in out
    _, out, _ = run(*ASKED, "--show-values", "--json", a__py=raising, tests__py=tests)
    assert json.loads(out)["programs"][0]["values"][0] == {
        "did": "returned -1",
        "expected": "returned 3",
        "assertion": "",
    }


RUN = """import pytest
def test_a():
    x = add([1], [2])
    assert x == [1, 2]
@pytest.mark.parametrize("n", [1])
def test_b(n):
    x = add(n, n)
    assert x in (2, 3), "100 %"
"""


def test_of_a_test_that_runs_its_calls_are_shown_and_what_pytest_says(run: Run) -> None:
    wrong = "def add(a, b):\n    return b + a if a != 1 else 9"
    for reference in ([], ["--reference", "ref.py"]):
        _, out, _ = run(*ASKED, *reference, "--show-values", a__py=wrong, tests__py=RUN, ref__py=ADD)
        expected = "add([1], [2]) returned [1, 2]" if reference else "assert x == [1, 2]"
        assert f"it add([1], [2]) returned [2, 1]; expected: {expected}" in out
        assert "      AssertionError: assert [2, 1] == [1, 2]\n        \n        At index 0 diff: 2 != 1" in out
        assert "      AssertionError: 100 %\n      assert 9 in (2, 3)" in out


def test_the_output_of_a_program_is_shown_escaped(run: Run) -> None:
    arguments = ("--code", "a.py", "--stdin-cases", "cases.jsonl", "--show-values")
    _, out, _ = run(*arguments, a__py="print('\\x1b[2J')", cases__jsonl='{"input": "1", "output": "2"}')
    assert "it printed '\\x1b[2J\\n'; expected: printed '2'" in out
