"""Runs attacks against a sandbox and against the weak runner that each names.

An attack that goes wrong for us, a control that is judged wrong, and an attack that should beat its weak runner and does
not are *deviations*. Left out: running attacks at once (they share one scene, and one at a time tells whose fault it is).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from selfplay.attacks import weak
from selfplay.attacks.attack import Attack, Cheat, Command, Control, Escape, Harm, Task, Wrong
from selfplay.attacks.commands import answer
from selfplay.attacks.exams import harmed
from selfplay.attacks.measured import drained
from selfplay.attacks.scene import Scene
from selfplay.box.local import LocalBox
from selfplay.box.task import Box, Limits
from selfplay.box.task import Task as BoxTask
from selfplay.cases.case import Case
from selfplay.cases.read import read_stdin_cases
from selfplay.cases.values import decode
from selfplay.game.problems import StdinTest
from selfplay.judging.admission import screen
from selfplay.judging.judge import Job, Judge
from selfplay.judging.references import subject_of
from selfplay.judging.turns import MAX_CASES, WrittenTurn

READING = 5.0  # CPU seconds that reading, screening and admitting one attack's tests may take
LIMITS = Limits(cpu_seconds=1.0)

YES, NO, UNSHOWN = "yes", "no", "-"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One attack's line. `deviation` is empty where all went as it should; `beats` the weak runner: yes, no or -."""

    name: str
    family: str
    ours: str
    weak: str
    beats: str
    deviation: str
    why: str = ""
    seconds: float = 0.0
    control: bool = False


@dataclass(frozen=True, slots=True)
class Bench:
    """What an attack is tried on: the sandbox under test, a box without walls, and the scene."""

    judge: Judge
    unjailed: LocalBox | None
    scene: Scene


def run(attacks: Iterable[Attack], box: Box, shown: bool = True) -> Iterator[Outcome]:
    """One outcome per attack, in order. `shown`: also try the weak runners."""
    with Scene() as scene:
        unjailed = LocalBox(jail=False) if shown else None
        try:
            bench = Bench(Judge(box, LIMITS, recheck=0.0), unjailed, scene)
            for attack in attacks:
                yield _outcome(attack, bench)
        finally:
            if unjailed is not None:
                unjailed.close()


def _outcome(attack: Attack, bench: Bench) -> Outcome:
    started = time.perf_counter()
    ours, deviation = _OURS[type(attack)](attack, bench)
    beaten = _beats(attack, bench, bench.unjailed) if bench.unjailed is not None and attack.weak else None
    why = "" if beaten else attack.unshown
    beats = YES if beaten else UNSHOWN if beaten is None or why else NO
    if beats == NO and not deviation:
        deviation = f"beats nobody: {attack.weak} was expected to fall for it"
    seconds = round(time.perf_counter() - started, 3)
    control = isinstance(attack, Control)
    return Outcome(attack.name, attack.family, ours, attack.weak, beats, deviation, why, seconds, control)


# ---- against the sandbox under test: (what happened, the deviation if any) ----


def _admitted(task: Task, judge: Judge) -> tuple[tuple[Case, ...], int]:
    """The cases of the task's tests that count, by the reference's word too, and how many were written."""
    problem = task.problem
    if isinstance(task.tests, StdinTest):
        reading = read_stdin_cases([task.tests])
    else:
        reading = judge.desk.tests(task.tests, problem.entry_point, problem.signature, MAX_CASES)
    turn = WrittenTurn(5, reading.cases, tuple(screen(problem, reading)), reading.refused, text=reading.rest)
    [[(turn,)]] = judge.settle([(problem, [(turn,)], ())])
    return turn.admitted, turn.written


def _matrix(task: Task, programs: Sequence[str], cases: Sequence[Case], judge: Judge) -> tuple[tuple[str, ...], ...]:
    problem = task.problem
    job = Job(problem.entry_point, tuple(programs), tuple(cases), problem.imports, subject=subject_of(problem))
    return judge.matrices([job])[0].verdicts


def _wrong(attack: Wrong, bench: Bench) -> tuple[str, str]:
    cases, _ = _admitted(attack.task, bench.judge)
    [verdicts] = _matrix(attack.task, [attack.program], cases, bench.judge)
    if not verdicts:
        return "no case", "the battery's own tests were not admitted"
    if "infra_error" in verdicts:
        return "infra_error", "a program passed for a failure of the sandbox"
    passed = verdicts.count("passed")
    return f"{passed} of {len(verdicts)} passed", "credited" if passed > attack.earns else ""


def _escape(attack: Escape, bench: Bench) -> tuple[str, str]:
    status, value, escaped = _attempt(attack, bench.judge.box, bench.scene)
    effect = bench.scene.effect()
    if effect:
        return effect, "escaped"
    if status == "infra_error":
        return status, "it took the sandbox down"
    return (value[:40] or status), "escaped" if escaped else ""


def _attempt(attack: Escape, box: Box, scene: Scene) -> tuple[str, str, bool]:
    """How the call of an escape ended, what it returned, and whether that is proof."""
    limits = replace(LIMITS, cpu_seconds=attack.cpu_seconds)
    [[execution]] = box.run([BoxTask(scene.aimed(attack.program), "f", ('["t"]',), limits=limits)])
    status, value = execution.status, execution.value
    return status, value, status == "returned" and (attack.bulk or value == "true" or scene.secret in value)


def _cheat(attack: Cheat, bench: Bench) -> tuple[str, str]:
    started = time.process_time()
    task = Task(attack.task.problem, bench.scene.aimed(attack.tests))
    cases, written = _admitted(task, bench.judge)
    spent = time.process_time() - started
    said = f"{len(cases)} of {written} admitted"
    if spent > READING:
        return said, f"it kept the judge busy for {spent:.1f} s"
    if len(cases) > attack.admits:
        return said, f"admitted: {cases[attack.admits].source[:80]}"
    if attack.kills and cases and set(_matrix(task, [attack.other], cases, bench.judge)[0]) != {"passed"}:
        return said, "it fails a right program"
    for case in cases:
        if case.literal and case.operator != "stdout":
            decode(case.arguments)  # what is admitted can be played back
    return said, ""


def _control(attack: Control, bench: Bench) -> tuple[str, str]:
    cases, written = _admitted(attack.task, bench.judge)
    wanted = written if attack.admits is None else attack.admits
    if len(cases) < wanted or (len(cases) > wanted and not attack.fails):
        return f"{len(cases)} of {written} admitted", f"{wanted} cases should count"
    if not cases:
        return f"0 of {written} admitted", ""
    right = attack.program or attack.task.problem.reference_solution or ""
    programs = [right, *filter(None, [attack.fails])]
    verdicts, *wrong = _matrix(attack.task, programs, cases, bench.judge)
    said = f"{verdicts.count('passed')} of {len(cases)} passed"
    if verdicts != (attack.verdicts or ("passed",) * len(cases)):
        return said, f"judged {verdicts}"
    return said, "a wrong program passes too" if wrong and set(wrong[0]) == {"passed"} else ""


_OURS: dict[type, Callable[..., tuple[str, str]]] = {
    Wrong: _wrong,
    Escape: _escape,
    Cheat: _cheat,
    Harm: lambda attack, bench: drained(attack, bench.judge.box.tier) if attack.drains else harmed(attack, bench.judge),
    Command: lambda attack, bench: answer(attack, bench.scene.new_folder(), bench.judge.box.tier),
    Control: _control,
}


# ---- against the weak runner ----


def _beats(attack: Attack, bench: Bench, unjailed: LocalBox) -> bool | None:
    """Whether the weak runner that an attack names falls for it; None where that is not shown."""
    folder, reference = bench.scene.new_folder(), attack.task.problem.reference_solution or ""
    match attack:
        case Wrong(task=Task(tests=StdinTest() as test)):
            return weak.lenient_credits(attack.program, test, folder)
        case Wrong(task=Task(tests=str(tests))):
            return weak.CREDITS[attack.weak](attack.program, attack.weak_tests or tests, folder)
        case Escape():
            return _beats_walls(attack, bench.scene, folder, unjailed)
        case Harm(weak="shared"):
            return not weak.shared_spares(attack, folder)
        case Cheat(hangs=True) | Harm() if attack.unshown:
            return None
        case Cheat(hangs=True):
            return weak.script_hangs(reference, attack.tests, folder)
        case Cheat():  # tests that are simply run count as valid: the reference passes
            valid = weak.CREDITS[attack.weak](reference, attack.tests, folder)
            return valid and not (attack.kills and weak.CREDITS[attack.weak](attack.other, attack.tests, folder))
        case Harm():
            return weak.script_hangs(reference, attack.turns[0], folder)
    return None


def _beats_walls(attack: Escape, scene: Scene, folder: Path, unjailed: LocalBox) -> bool | None:
    if attack.unshown.startswith(("a bare", "returning twice")):
        return None
    if attack.weak == "bare":
        printed = weak.bare_result(scene.aimed(attack.program), folder)
        escaped = bool(printed) and (attack.bulk or "True" in printed or scene.secret in printed)
    else:
        *_, escaped = _attempt(attack, unjailed, scene)
    return bool(scene.effect()) or escaped
