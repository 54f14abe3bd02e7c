"""The battery of attacks: how large it is, that it can tell good from bad, and (slow) that nothing gets through."""

from __future__ import annotations

import json
import os
import signal as signals
import sys
from collections import Counter
from collections.abc import Iterator

import pytest

from selfplay import redteam
from selfplay.attacks.attack import Cheat, Command, Control, Escape, Harm, Wrong
from selfplay.attacks.battery import run
from selfplay.attacks.library import attacks, tasks
from selfplay.attacks.measured import CHILD_MIB, HOST_CPU, Spent
from selfplay.attacks.scene import Scene
from selfplay.box.local import LocalBox

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the battery aims at Linux")
ATTACKS = attacks()
BY_NAME = {attack.name: attack for attack in ATTACKS}
ADD = {"name": "made here", "family": "test", "task": tasks()["add"]}


@pytest.fixture(scope="module")
def box() -> Iterator[LocalBox]:
    with LocalBox() as box:
        if box.tier != "jailed":
            pytest.skip(f"this machine offers less: {box.confinement}")
        yield box


@pytest.fixture(scope="module")
def no_walls() -> Iterator[LocalBox]:
    with LocalBox(jail=False) as box:
        yield box


def test_the_battery_has_attacks_of_every_kind() -> None:
    kinds = Counter(type(attack) for attack in ATTACKS)
    assert sum(kinds.values()) - kinds[Control] >= 80
    assert all(kinds[kind] >= 40 for kind in (Wrong, Escape, Cheat, Harm, Control))
    assert kinds[Command] >= 20


def test_every_attack_has_a_name_of_its_own_in_its_family() -> None:
    assert len({(attack.family, attack.name) for attack in ATTACKS}) == len(ATTACKS)


def test_every_attack_names_a_weak_runner_or_says_why_not() -> None:
    assert all(attack.weak or attack.unshown for attack in ATTACKS)


@pytest.mark.parametrize("signal", ["SIGKILL", "SIGSTOP"])
def test_a_victim_hit_a_moment_ago_is_noticed_and_replaced(monkeypatch: pytest.MonkeyPatch, signal: str) -> None:
    monkeypatch.setattr("selfplay.attacks.scene._PATIENCE", 0.2)
    with Scene() as scene:
        for _ in range(10):
            os.kill(scene.victim.pid, getattr(signals, signal))
            assert "the victim died" in scene.effect()
        assert scene.effect() == ""


@pytest.mark.parametrize(
    "family",
    [
        "lying objects",
        "exit tricks",
        "peeking",
        "standard output",
        "network",
        "one case dressed",
        "hostile tests",
        "neighbours",
        "command line",
    ],
)
def test_no_attack_of_this_family_gets_through(box: LocalBox, family: str) -> None:
    own = [attack for attack in attacks([family]) if "hanging" not in attack.name]
    chosen = [
        attack for attack in own if not (isinstance(attack, Harm) and attack.drains)
    ]  # minutes; the slow test has them
    assert [outcome for outcome in run(chosen, box, shown=False) if outcome.deviation] == []


def test_the_controls_are_judged_right(box: LocalBox) -> None:
    chosen = [attack for attack in attacks(["controls"]) if "hangs" not in attack.name]
    assert [outcome for outcome in run(chosen, box, shown=False) if outcome.deviation] == []


@pytest.mark.parametrize("name", ["equal to everything", "expected values in the frames above", "read /etc/passwd"])
def test_an_attack_beats_its_weak_runner(box: LocalBox, name: str) -> None:
    (outcome,) = run([BY_NAME[name]], box)
    assert (outcome.beats, outcome.deviation) == ("yes", "")


def test_without_walls_escapes_are_seen(no_walls: LocalBox) -> None:
    names = ["connect", "fork", "read the reference in the run folder", "write a file", "kill another process"]
    outcomes = run([BY_NAME[name] for name in names], no_walls, shown=False)
    assert [outcome.deviation for outcome in outcomes] == ["escaped"] * len(names)


def test_a_credited_program_is_a_deviation(box: LocalBox) -> None:
    right = Wrong(**ADD, program="def add(a, b): return a + b")
    (outcome,) = run([right], box, shown=False)
    assert outcome.deviation == "credited"


def test_an_attack_that_beats_nobody_is_a_deviation(box: LocalBox) -> None:
    (outcome,) = run([Wrong(**ADD, program="def add(a, b): return 0", weak="exec")], box)
    assert (outcome.beats, outcome.deviation.split(":")[0]) == ("no", "beats nobody")


def test_an_admitted_cheat_is_a_deviation(box: LocalBox) -> None:
    (outcome,) = run([Cheat(**ADD, tests="assert add(2, 3) == 5")], box, shown=False)
    assert outcome.deviation.startswith("admitted")


def test_a_misjudged_control_is_a_deviation(box: LocalBox) -> None:
    (outcome,) = run([Control(**ADD, program="def add(a, b): return 0")], box, shown=False)
    assert outcome.deviation.startswith("judged")


def test_a_control_that_a_wrong_program_passes_too_is_a_deviation(box: LocalBox) -> None:
    lax = Control(**ADD, fails="def add(a, b): return b + a")
    (outcome,) = run([lax], box, shown=False)
    assert (outcome.control, outcome.deviation) == (True, "a wrong program passes too")


def test_harm_done_to_a_right_program_is_a_deviation(box: LocalBox) -> None:
    slip = "def add(a, b): return a + b if a < 10 else 0"
    (outcome,) = run([Harm(**ADD, beside=(slip,))], box, shown=False)
    assert outcome.deviation.startswith("a right program beside it")


def test_an_attacker_that_is_credited_beside_others_is_a_deviation(box: LocalBox) -> None:
    (outcome,) = run([Harm(**ADD, programs=("def add(a, b): return a + b",))], box, shown=False)
    assert outcome.deviation == "program 0 is credited with 3 of 3"


@pytest.mark.parametrize(
    ("changed", "excess"), [({}, ""), ({"cpu": HOST_CPU + 1}, "host"), ({"child_mib": CHILD_MIB + 1}, "child")]
)
def test_what_a_judging_may_spend_is_bounded(changed: dict[str, float], excess: str) -> None:
    spent = {"said": "", "deviation": "", "cpu": 1.0, "mib": 100, "children_cpu": 1.0, "child_mib": 100, **changed}
    assert excess in Spent(**spent).excess  # type: ignore[arg-type]
    assert bool(Spent(**spent).excess) == bool(excess)  # type: ignore[arg-type]


def test_an_attack_on_the_host_is_judged_in_a_process_of_its_own(box: LocalBox) -> None:
    (outcome,) = run([BY_NAME["a huge width"]], box, shown=False)
    assert (outcome.ours, outcome.deviation) == ("all honest work judged right", "")


def test_a_command_that_ends_otherwise_is_a_deviation(box: LocalBox) -> None:
    files = (("program.py", "def add(a, b): return a + b"), ("tests.py", "assert add(2, 3) == 6"))
    command = Command(**ADD, files=files, options="--code program.py --tests tests.py --entry add", exits=0)
    (outcome,) = run([command], box, shown=False)
    assert (outcome.ours, outcome.deviation.split(":")[0]) == ("exit 1", "exit 0 is right")


def test_the_command_tells_deviations_by_its_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert redteam.main(["--sandbox", "unjailed", "--only", "network", "--no-weak", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["tier"] == "unjailed"
    assert told["deviations"] > 5


def test_one_line_per_attack(box: LocalBox, capsys: pytest.CaptureFixture[str]) -> None:
    assert redteam.main(["--only", "exit tricks", "--no-weak"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum(" exit tricks " in line for line in lines) == sum(a.family == "exit tricks" for a in ATTACKS)
    assert lines[-1].endswith("no deviations")


def test_an_unknown_family_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert redteam.main(["--only", "exit trick"]) == 2
    assert "did you mean 'exit tricks'" in capsys.readouterr().err


def test_the_list_runs_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert redteam.main(["--list"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(ATTACKS)


@pytest.mark.slow
def test_the_whole_battery_finds_no_deviation(box: LocalBox) -> None:
    assert [outcome for outcome in run(ATTACKS, box) if outcome.deviation] == []
