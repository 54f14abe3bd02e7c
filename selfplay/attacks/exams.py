"""Harm: attackers and honest work judged together, as in training, and what became of the honest work.

One group holds the attackers, right programs beside them and two honest suites with the attacking one between; a second,
honest group stands behind it in the same exam. Everything honest has one right judgement, which nothing beside it may
change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from selfplay.attacks.attack import Harm
from selfplay.attacks.library import tasks
from selfplay.box.task import Limits
from selfplay.game.episode import Conversation, Role, Turn, TurnKey
from selfplay.game.phases import Step
from selfplay.game.problems import StdinTest
from selfplay.judging.judge import Judge
from selfplay.match import Match
from selfplay.match.examine import Submission, judge_submissions

STAGES = 5
ASKED = 3  # cases that a turn is asked for


def harmed(attack: Harm, judge: Judge) -> tuple[str, str]:
    """What became of the honest work beside the attack, in words, and the deviation if there is one."""
    harmless = Harm(name="none", family=attack.family, task=tasks()["shout"])
    judge = Judge(judge.box, Limits(attack.cpu_seconds), recheck=0.0, desk=judge.desk)
    try:
        attacked, behind = judge_submissions([_group(attack), _group(harmless)], Step(0, 1, "both", ""), judge, ASKED)
    finally:
        judge.texts.close()  # the box and the desk are the caller's
    said, deviation = _deviation(attacked, attack)
    if not deviation:
        _, deviation = _deviation(behind, harmless)
        deviation = deviation and f"the group behind it: {deviation}"
    return said, deviation


def _group(attack: Harm) -> Submission:
    """The first of the task's tests is the baseline; honest suites write the second and the last."""
    tests = attack.task.tests
    written = [tests] if isinstance(tests, StdinTest) else tests.splitlines()
    problem = replace(attack.task.problem, baseline_tests=(written[0],))
    before, after = ((_turn(test),) for test in (written[len(written) > 1], written[-1]))
    suites = [_conversation("discriminator", texts) for texts in (before, attack.turns, after) if texts]
    programs = (*attack.programs, *attack.beside, problem.reference_solution or "")
    chains = [_conversation("generator", (program,)) for program in programs]
    return Submission(problem, chains, suites, (0,) * len(suites))


def _turn(test: str | StdinTest) -> str:
    if isinstance(test, str):
        return test
    return f"Input:\n```\n{test.input}```\nOutput:\n```\n{test.output}```\n"


def _conversation(role: Role, texts: Sequence[str]) -> Conversation:
    """Turns with these texts; a program is what is said at the last stage."""
    first = STAGES if role == "generator" else 1
    keys = [TurnKey(0, "attacked", role, 0, stage) for stage in range(first, first + len(texts))]
    return Conversation(role, tuple(Turn(key, (), (), (), text, False) for key, text in zip(keys, texts, strict=True)))


def _deviation(match: Match, attack: Harm) -> tuple[str, str]:
    honest = {case.identity for case in match.baseline}
    for suite in (match.suites[0], match.suites[-1]):
        if len(suite.admitted) != suite.written:
            return "an honest suite lost cases", f"an honest suite is refused: {suite.turns[0].refused}"[:160]
        honest |= {case.identity for case in suite.admitted}
    for number, row in enumerate(match.programs):
        verdicts = tuple(v for case, v in zip(match.cases, row, strict=True) if case.identity in honest)
        passed, attacks = verdicts.count("passed"), number < len(attack.programs)
        if "infra_error" in verdicts:
            return "infra_error", f"program {number} passed for a failure of the sandbox"
        if attacks and passed > attack.earns:
            return "credited", f"program {number} is credited with {passed} of {len(verdicts)}"
        if not attacks and passed < len(verdicts):
            return f"{passed} of {len(verdicts)} passed", f"a right program beside it: {verdicts}"[:120]
    return "all honest work judged right", ""
