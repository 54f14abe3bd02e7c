"""The judge beside plain pytest: the corpus of honest tests, the oracle that runs them, and the tables."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import agreement
from benchmarks.agreement import MUTANTS, Examined, TestReport, examine, label, policies, programs_of, sampled
from benchmarks.honest_files import with_program, write_modules
from benchmarks.honest_suites import Suite, own_set, parsed
from benchmarks.plain_pytest import Job, Outcome, outcomes

SUITES = own_set()
ADD = "def add(a, b):\n    return a + b\n"
SUB = "def add(a, b):\n    return a - b\n"
TWO = Suite(
    "two",
    "small",
    "add",
    ADD,
    (SUB,),
    "def test_zero():\n    assert add(1, 0) == 1\n\ndef test_one():\n    assert add(1, 1) == 2\n",
)


def outcome_of(tests: str, program: str = ADD, entry_point: str = "add") -> Outcome:
    (outcome,) = outcomes([Job(program, entry_point, program, tests)])
    return outcome


def like_pytest(suite: Suite, programs: Sequence[str]) -> list[TestReport]:
    """A judge that says of every test what pytest says."""
    told = outcomes([Job(suite.reference, suite.entry_point, program, suite.tests) for program in programs])
    ran = tuple(program != suite.reference for program in programs)
    return [TestReport(name, "run", "", tuple(bool(each.of(name)) for each in told), ran) for name in told[0].passed]


def kinder(suite: Suite, programs: Sequence[str]) -> list[TestReport]:
    """A judge that lets every program pass."""
    return [replace(report, passed=(True,) * len(programs)) for report in like_pytest(suite, programs)]


def lines_of(judge: agreement.Judged, table: dict[tuple[str, str], str] | None = None) -> str:
    sets = {"small": list(examine([TWO], judge))}
    return "\n".join([*agreement.reach_of(sets), *agreement.agreement_of(sets, table or {})])


# the corpus


def test_the_corpus_is_large_and_of_many_styles() -> None:
    assert len(SUITES) >= 120
    assert sum(bool(suite.right) for suite in SUITES) >= 40
    assert len({suite.style for suite in SUITES}) >= 60


def test_references_and_right_programs_pass_every_test() -> None:
    suites = SUITES[::8]
    jobs = [(s, program) for s in suites for program in (s.reference, *s.right)]
    done = outcomes([Job(s.reference, s.entry_point, program, s.tests) for s, program in jobs])
    assert [
        s.name for (s, _), each in zip(jobs, done, strict=True) if not each.passed or not all(each.passed.values())
    ] == []


def test_a_tenth_of_the_corpus_gives_more_than_a_tenth_of_five_thousand_pairs() -> None:
    suites = SUITES[::10]
    done = outcomes([Job(suite.reference, suite.entry_point, suite.reference, suite.tests) for suite in suites])
    assert sum(len(programs_of(s)) * len(each.passed) for s, each in zip(suites, done, strict=True)) > 500


def test_every_listed_policy_is_about_a_test_of_the_corpus() -> None:
    texts = {suite.name: suite.tests for suite in SUITES}
    for suite, test in policies():
        assert re.search(rf"\bdef {test.split('::')[-1].split('[')[0]}\(", texts[suite]), (suite, test)


def test_a_policy_without_a_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "policies.tsv").write_text("# a comment\nsuite\ttest_x\tluck\n")
    with pytest.raises(ValueError, match="one of message, float"):
        policies(tmp_path / "policies.tsv")


def test_a_file_that_lacks_a_section_is_refused() -> None:
    with pytest.raises(ValueError, match="needs entry_point"):
        parsed("x", "# entry_point: f\n# style: y\n# ---- tests ----\nassert f(1)\n")


# the oracle


def test_a_fork_says_what_pytest_in_a_process_of_its_own_says(tmp_path: Path) -> None:
    suite = next(suite for suite in SUITES if suite.name == "unittest_inheritance")
    wrong = suite.wrong[1]
    text = with_program(suite.tests, suite.reference, suite.entry_point)
    write_modules(tmp_path, ast.parse(text), wrong)
    (tmp_path / "test_suite.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-rA", "--tb=no"]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    told = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True).stdout
    found = re.findall(r"^(PASSED|FAILED) test_suite\.py::(\S+)", told, re.MULTILINE)
    (outcome,) = outcomes([Job(suite.reference, suite.entry_point, wrong, suite.tests)])
    assert {name: word == "PASSED" for word, name in found} == outcome.passed
    assert set(outcome.passed.values()) == {True, False}


def test_a_copy_of_the_program_gives_way_to_the_program() -> None:
    tests = "def add(a, b):\n    return 7\n\ndef test_add():\n    assert add(1, 1) == 2\n"
    assert outcome_of(tests).passed == {"test_add": True}


def test_a_helper_that_has_a_name_of_the_program_stays_where_the_program_is_imported() -> None:
    program = f"{ADD}\ndef helper():\n    return 0\n"
    tests = (
        "from solution import add\n\ndef helper():\n    return 1\n\ndef test_it():\n    assert helper() == add(0, 1)\n"
    )
    assert outcome_of(tests, program).passed == {"test_it": True}


def test_a_text_of_bare_asserts_is_one_test() -> None:
    assert outcome_of("assert add(1, 2) == 3\nassert add(0, 0) == 0\n").passed == {"module": True}
    assert outcome_of("assert add(1, 2) == 4\n").of("module") is False


def test_every_name_of_a_module_that_is_not_there_is_the_program() -> None:
    tests = "import my.own.sums as s\nimport your_module\n\ndef test_same():\n    assert s.add is your_module.add\n"
    assert outcome_of(tests).passed == {"test_same": True}


def test_a_program_that_cannot_be_imported_fails_every_test() -> None:
    outcome = outcome_of("from solution import add\n\ndef test_add():\n    assert add(1, 1) == 2\n", "1 / 0\n")
    assert not outcome.collected
    assert outcome.of("test_add") is False


def test_a_test_that_takes_too_long_fails_whatever_it_expects() -> None:
    program = "def add(a, b):\n    while True:\n        pass\n"
    tests = "import pytest\n\ndef test_add():\n    with pytest.raises(BaseException):\n        add(1, 1)\n"
    assert outcome_of(tests, program).passed == {"test_add": False}


def test_a_test_after_the_end_of_its_process_has_no_outcome() -> None:
    program = "import os\n\ndef add(a, b):\n    return os._exit(0) if a else b\n"
    outcome = outcome_of("def test_a():\n    assert add(0, 1) == 1\n\ndef test_b():\n    add(1, 1)\n", program)
    assert (outcome.of("test_a"), outcome.of("test_b")) == (True, None)


def test_a_skip_and_an_expected_failure_are_no_pass() -> None:
    marks = "import pytest\n\n@pytest.mark.skip\ndef test_a():\n    add(1, 1)\n\n@pytest.mark.xfail\ndef test_b():\n"
    assert outcome_of(f"{marks}    assert add(1, 1) == 3\n").passed == {"test_a": False, "test_b": False}


def test_a_failing_subtest_fails_its_test() -> None:
    tests = (
        "import unittest\n\nclass TestAdd(unittest.TestCase):\n    def test_add(self):\n        for n in (0, 1):\n"
        "            with self.subTest(n=n):\n                self.assertEqual(add(n, n), 0)\n"
    )
    assert outcome_of(tests).passed == {"TestAdd::test_add": False}


# the tables


def test_two_verdicts_that_are_the_same_are_no_difference() -> None:
    (examined,) = examine([TWO], like_pytest)
    assert [(p.program, p.plain, p.judged) for p in examined.pairs() if p.test == "test_one"] == [
        (0, True, True),
        (1, False, False),
    ]
    assert agreement.is_good({"small": [examined]}, {}, 1.0)


def test_a_difference_that_nothing_explains_is_told_with_the_program() -> None:
    text = lines_of(kinder)
    assert "two::test_one fails under pytest alone on wrong 1: UNEXPLAINED" in text
    assert "-    return a + b" in text
    assert not agreement.is_good({"small": list(examine([TWO], kinder))}, {}, 0.0)


def test_a_policy_explains_a_kinder_verdict_only() -> None:
    table = {("two", "test_one"): "message", ("two", "test_zero"): "message"}
    assert "on wrong 1: message" in lines_of(kinder, table)
    harder = lines_of(lambda s, programs: [replace(r, passed=(True, False)) for r in like_pytest(s, programs)], table)
    assert "two::test_zero passes under pytest alone on wrong 1: UNEXPLAINED" in harder


def test_a_stricter_verdict_is_explained_where_the_program_had_used_up_its_time() -> None:
    def stopped(suite: Suite, programs: Sequence[str]) -> list[TestReport]:
        reports = like_pytest(suite, programs)
        return [replace(one, passed=(True, False), stopped=(False, True)) for one in reports]

    assert "two::test_zero passes under pytest alone on wrong 1: time" in lines_of(stopped)


def test_a_refused_test_is_named_and_lowers_the_reach() -> None:
    def refusing(suite: Suite, programs: Sequence[str]) -> list[TestReport]:
        first, second = like_pytest(suite, programs)
        return [replace(first, refused="weak: it accepts 9 of 9"), replace(second, kind="literal")]

    assert "  refused (run): two::test_zero: weak: it accepts 9 of 9" in lines_of(refusing)
    assert "50.00%        1        0        0" in lines_of(refusing)
    examined = list(examine([TWO], refusing))
    assert agreement.is_good({"small": examined}, {}, 0.5)
    assert not agreement.is_good({"small": examined}, {}, 0.6)


def test_a_test_that_pytest_does_not_know_is_a_difference() -> None:
    def inventing(suite: Suite, programs: Sequence[str]) -> list[TestReport]:
        return [*like_pytest(suite, programs), TestReport("test_three", "run", "", (True, True), (False, True))]

    assert "two::test_three is no test for pytest: UNEXPLAINED" in lines_of(inventing)


def test_a_test_that_its_reference_fails_is_not_honest() -> None:
    (examined,) = examine([replace(TWO, tests=TWO.tests.replace("== 2", "== 3"))], like_pytest)
    assert examined.honest == ["test_zero"]


def test_programs_have_labels_by_their_places() -> None:
    suite = replace(TWO, right=("def add(b, a):\n    return b + a\n",))
    assert [label(suite, place) for place in range(4)] == ["reference", "right 1", "wrong 1", "mutant 1"]
    assert len(programs_of(suite)) <= 3 + MUTANTS


def test_a_sample_is_spread_over_the_set() -> None:
    assert [suite.name for suite in sampled(SUITES, 2)] == [SUITES[0].name, SUITES[len(SUITES) // 2].name]
    assert sampled(SUITES, None) == sampled(SUITES, 10**6) == SUITES


def test_files_for_which_no_time_is_left_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    assert agreement.main(["--sample", "1", "--seconds", "0"], like_pytest) == 0
    assert "2 files were left out after 0 s" in capsys.readouterr().out


@pytest.mark.parametrize("files", [1, pytest.param(6, marks=pytest.mark.slow)])
def test_the_judge_agrees_with_plain_pytest_on_a_sample(capsys: pytest.CaptureFixture[str], files: int) -> None:
    assert agreement.main(["--sample", str(files), "--min-reach", "0.9"]) == 0
    assert "UNEXPLAINED" not in capsys.readouterr().out


def test_an_examined_suite_names_its_unreported_tests() -> None:
    examined = Examined(TWO, (ADD,), (Outcome(True, {"test_one": True}),), {})
    assert examined.refused("test_one") == "the judge does not report it"
