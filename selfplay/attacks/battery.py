"""Runs attacks against a sandbox and against the weak runner that each names.

An attack that goes wrong for us, a control that is judged wrong, and an attack that should beat its weak runner and does
not are *deviations*. Left out: running attacks at once (they share one scene, and one at a time tells whose fault it is).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

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
    beats = _beats(attack, bench) if bench.unjailed is not None and attack.weak else UNSHOWN
    why = attack.unshown if beats != YES else ""
    if beats == NO and why:
        beats = UNSHOWN
    if beats == NO and not deviation:
        deviation = f"beats nobody: {attack.weak} was expected to fall for it"
    seconds = round(time.perf_counter() - started, 3)
    return Outcome(
        attack.name, attack.family, ours, attack.weak, beats, deviation, why, seconds, isinstance(attack, Control)
    )


# ---- against the sandbox under test: (what happened, the deviation if any) ----


def _written(task: Task, judge: Judge) -> WrittenTurn:
    """The task's tests as one turn, with the reference's word on each case."""
    problem = task.problem
    if isinstance(task.tests, StdinTest):
        reading = read_stdin_cases([task.tests])
    else:
        reading = judge.desk.tests(task.tests, problem.entry_point, problem.signature, MAX_CASES)
    turn = WrittenTurn(5, reading.cases, tuple(screen(problem, reading)), reading.refused, text=reading.rest)
    [[(turn,)]] = judge.settle([(problem, [(turn,)], ())])
    return turn


def _admitted(task: Task, judge: Judge) -> tuple[tuple[Case, ...], int]:
    """The cases that count, and how many were written."""
    turn = _written(task, judge)
    return turn.admitted, turn.written


def _matrix(task: Task, programs: Sequence[str], cases: Sequence[Case], judge: Judge) -> tuple[tuple[str, ...], ...]:
    subject = subject_of(task.problem)
    job = Job(task.problem.entry_point, tuple(programs), tuple(cases), task.problem.imports, subject=subject)
    return judge.matrices([job])[0].verdicts


def _verdicts(program: str, task: Task, judge: Judge) -> tuple[str, ...]:
    cases, _ = _admitted(task, judge)
    return _matrix(task, [program], cases, judge)[0]


def _wrong(attack: Wrong, bench: Bench) -> tuple[str, str]:
    verdicts = _verdicts(attack.program, attack.task, bench.judge)
    passed = verdicts.count("passed")
    said = f"{passed} of {len(verdicts)} passed"
    if not verdicts:
        return "no case", "the battery's own tests were not admitted"
    if "infra_error" in verdicts:
        return "infra_error", "a program passed for a failure of the sandbox"
    return said, "credited" if passed > attack.earns else ""


def _escape(attack: Escape, bench: Bench) -> tuple[str, str]:
    status, value = _try_to_escape(attack, bench.judge.box, bench.scene)
    effect = bench.scene.effect()
    if effect:
        return effect, "escaped"
    if status == "infra_error":
        return status, "it took the sandbox down"
    return (value[:40] or status), "escaped" if _escaped(attack, status, value, bench.scene) else ""


def _try_to_escape(attack: Escape, box: Box, scene: Scene) -> tuple[str, str]:
    limits = replace(LIMITS, cpu_seconds=attack.cpu_seconds)
    (execution,) = box.run([BoxTask(_aimed(attack.program, scene), "f", ('["t"]',), limits=limits)])[0]
    return execution.status, execution.value


def _aimed(text: str, scene: Scene) -> str:
    """The text of an attack, aimed at this scene."""
    for mark, place in scene.places().items():
        text = text.replace(mark, place)
    return text


def _escaped(attack: Escape, status: str, value: str, scene: Scene) -> bool:
    return status == "returned" and (attack.bulk or value == "true" or scene.secret in value)


def _cheat(attack: Cheat, bench: Bench) -> tuple[str, str]:
    started = time.process_time()
    task = Task(attack.task.problem, _aimed(attack.tests, bench.scene))
    cases, written = _admitted(task, bench.judge)
    spent = time.process_time() - started
    said = f"{len(cases)} of {written} admitted"
    if spent > READING:
        return said, f"it kept the judge busy for {spent:.1f} s"
    if len(cases) > attack.admits:
        return said, f"admitted: {cases[attack.admits].source[:80]}"
    if attack.kills and cases and not _all_pass(attack.other, task, cases, bench.judge):
        return said, "it fails a right program"
    return said, _readable(cases)


def _all_pass(program: str, task: Task, cases: tuple[Case, ...], judge: Judge) -> bool:
    return set(_matrix(task, [program], cases, judge)[0]) == {"passed"}


def _readable(cases: tuple[Case, ...]) -> str:
    for case in cases:
        if case.literal and case.operator != "stdout":
            decode(case.arguments)  # what is admitted can be played back
    return ""


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


def _harm(attack: Harm, bench: Bench) -> tuple[str, str]:
    return drained(attack, bench.judge.box.tier) if attack.drains else harmed(attack, bench.judge)


def _command(attack: Command, bench: Bench) -> tuple[str, str]:
    return answer(attack, bench.scene.new_folder(), bench.judge.box.tier)


_OURS: dict[type, Callable[..., tuple[str, str]]] = {
    Wrong: _wrong,
    Escape: _escape,
    Cheat: _cheat,
    Harm: _harm,
    Command: _command,
    Control: _control,
}


# ---- against the weak runner ----


def _beats(attack: Attack, bench: Bench) -> str:
    if attack.weak == "pytest" and not weak.has_pytest():
        return UNSHOWN
    if isinstance(attack, Wrong):
        return _yes(_credits(attack.program, attack.weak_tests, attack.task, attack.weak, bench.scene))
    if isinstance(attack, Escape):
        return _beats_walls(attack, bench)
    if isinstance(attack, Cheat):
        return _beats_trust(attack, bench.scene)
    if isinstance(attack, Harm):
        return _beats_sharing(attack, bench.scene)
    return UNSHOWN


def _yes(beaten: bool) -> str:
    return YES if beaten else NO


def _credits(program: str, tests: str, task: Task, runner: str, scene: Scene) -> bool:
    folder = scene.new_folder()
    if isinstance(task.tests, StdinTest):
        return weak.lenient_credits(program, task, folder)
    return _RUNNERS[runner](program, tests or task.tests, folder)


_RUNNERS = {"exec": weak.exec_credits, "script": weak.script_credits, "pytest": weak.pytest_credits}


def _beats_walls(attack: Escape, bench: Bench) -> str:
    if attack.weak == "bare":
        if attack.unshown.startswith("a bare"):
            return UNSHOWN
        printed = weak.bare_result(_aimed(attack.program, bench.scene), bench.scene.new_folder())
        done = printed and (attack.bulk or "True" in printed or bench.scene.secret in printed)
        return _yes(bool(done) | bool(bench.scene.effect()))
    if bench.unjailed is None or attack.unshown.startswith("returning twice"):
        return UNSHOWN
    status, value = _try_to_escape(attack, bench.unjailed, bench.scene)
    return _yes(_escaped(attack, status, value, bench.scene) | bool(bench.scene.effect()))


def _beats_trust(attack: Cheat, scene: Scene) -> str:
    """Whether tests that are simply run count as valid (the reference passes), or keep their runner busy."""
    reference = attack.task.problem.reference_solution or ""
    folder = scene.new_folder()
    if attack.hangs:
        return UNSHOWN if attack.unshown else _yes(weak.script_hangs(reference, attack.tests, folder))
    valid = _RUNNERS[attack.weak](reference, attack.tests, folder)
    if attack.kills:
        return _yes(valid and not _RUNNERS[attack.weak](attack.other, attack.tests, folder))
    return _yes(valid)


def _beats_sharing(attack: Harm, scene: Scene) -> str:
    """Whether a runner that trusts a turn is kept busy, or right programs fail in an interpreter shared with it."""
    if attack.weak == "shared":
        return _yes(not weak.shared_spares(attack, scene.new_folder()))
    if attack.unshown:
        return UNSHOWN
    return _yes(weak.script_hangs(attack.task.problem.reference_solution or "", attack.turns[0], scene.new_folder()))
