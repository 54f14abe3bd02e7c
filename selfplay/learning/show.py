"""An episode as text: what was said, what was tested, what every program did, what each role was paid.

    sample_text(scored)           the first chain of a group with the suite that read it, for logs
    play_and_show(player, ...)    plays one episode; adds the whole matrix, and rewards under every rule

Where a turn came to nothing the stage and its prompt are named, with the usual causes. Left out: colours and HTML.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain as flatten

from selfplay.game.episode import Conversation, Role, Turn
from selfplay.game.phases import Step
from selfplay.game.players import Player, Sampling
from selfplay.game.problems import Problem
from selfplay.game.prompts import Prompts
from selfplay.game.rewards import RULES
from selfplay.game.rollout import Table, play
from selfplay.game.stages import get_stage
from selfplay.judging.cases import Case, Verdict
from selfplay.judging.exam import Examined, WrittenTurn, examine
from selfplay.judging.judge import Judge
from selfplay.judging.targets import MutantBank
from selfplay.learning.scoring import Scored, score

MARKS: Mapping[Verdict, str] = {
    "passed": ".",
    "failed": "F",
    "error": "E",
    "timeout": "T",
    "not_collected": "-",
    "infra_error": "?",
}
LEGEND = "verdicts: . passed  F failed  E error  T timeout  - does not load  ? infrastructure"
WIDTH = 100
_LINES = 12  # of one turn that are shown


def sample_text(scored: Scored) -> str:
    """The group's first chain and the suite that read it."""
    return "\n".join([*_story(scored.examined), *_cases(scored.examined), *_paid(scored)])


def play_and_show(
    player: Player, name: str, problem: Problem, prompts: Prompts, sampling: Sampling, judge: Judge
) -> str:
    """One episode of `problem` in full. `name` is what the player is called where a turn came to nothing."""
    table = Table(num_generations=1, num_suites=1, num_targets=0, generator=sampling, discriminator=sampling)
    groups = play(player, prompts, [problem], Step(index=0, stage=1, role="both", phase="play"), table)
    [examined] = examine(groups, judge, MutantBank())
    rules = {rule.name: score([examined], rule, prompts.cases)[0] for rule in RULES.values()}
    parts = [
        *_story(examined),
        *_cases(examined),
        *_matrix(examined),
        "-- rewards by rule",
        *(f"  {rule:<12} {_rewards(scored)}" for rule, scored in rules.items()),
        *warnings(examined, sampling, name, prompts.style),
    ]
    return "\n".join(parts)


def warnings(examined: Examined, sampling: Sampling, player: str, prompts: str) -> list[str]:
    """What to look into where a turn is empty; nothing where none is."""
    found = list(_empty(examined))
    if not found:
        return []
    causes = [
        f"  - temperature too low or too high: it is {sampling.temperature:g}; 0.7 to 1.0 suits most models",
        f"  - too few tokens: max_completion_length is {sampling.max_tokens}; thinking models need about 4096",
        f"  - not the model you meant, or one that was not trained to follow instructions: it is {player}",
    ]
    said = [
        f"  {_name(turn)}: {why}; asked by prompts/{prompts}/{turn.key.role}/{turn.stage}.jinja" for turn, why in found
    ]
    return ["", "WARNING, turns that came to nothing:", *said, "usual causes:", *causes]


def _empty(examined: Examined) -> Iterator[tuple[Turn, str]]:
    """Turns without text, without code where code is due, without tests where tests are due."""
    group = examined.group
    for conversation in (group.chains[0], *group.suites[:1]):
        for turn in conversation.turns:
            if not turn.text.strip():
                yield turn, "empty"
    program = group.chains[0].turns[-1]
    if program.text.strip() and not examined.programs[0].source:
        yield program, f"holds no program ({examined.programs[0].how})" + _cut(program)
    for suite, written in zip(group.suites[:1], examined.suites, strict=False):
        for turn, own in zip(suite.turns, written, strict=True):
            if turn.text.strip() and not own.cases:
                yield turn, "holds no test that can be read" + _cut(turn)


def _story(examined: Examined) -> Iterator[str]:
    """Problem, turns of both roles stage by stage, program."""
    group = examined.group
    yield f"problem {group.problem.id}: {_first_line(group.problem.description)}"
    reader = group.suites[0] if group.suites else Conversation("discriminator")
    for turn in group.chains[0].turns:
        yield f"-- stage {turn.stage}, {get_stage(turn.stage).name}"
        yield from _said("generator", turn)
        yield from flatten.from_iterable(
            _said("discriminator", each) for each in reader.turns if each.stage == turn.stage
        )
    program = examined.programs[0]
    yield f"-- program ({program.how})"
    yield from textwrap.indent(program.source or "none", "  ").splitlines()


def _said(role: Role, turn: Turn) -> Iterator[str]:
    lines = turn.text.strip().splitlines() or ["(nothing)"]
    yield f"  {role}{' (cut off at the token limit)' if turn.truncated else ''}:"
    yield from (f"    {line}" for line in lines[:_LINES])
    if len(lines) > _LINES:
        yield f"    ... {len(lines) - _LINES} more lines"


def _cases(examined: Examined) -> Iterator[str]:
    """Every test with its fate: the program's verdict, or why it does not count."""
    yield "-- tests"
    for case in examined.baseline:
        yield _case_line("own", case.source, _verdict(examined, case))
    for turn in flatten.from_iterable(examined.suites[:1]):
        yield from _turn_lines(examined, turn)


def _turn_lines(examined: Examined, turn: WrittenTurn) -> Iterator[str]:
    for case, valid in zip(turn.cases, turn.valid, strict=True):
        if valid:
            yield _case_line(str(turn.stage), case.source, _verdict(examined, case))
    for refusal in turn.refused:
        yield _case_line(str(turn.stage), refusal.source, f"not admitted: {refusal.detail or refusal.reason}")


def _case_line(stage: str, source: str, fate: str) -> str:
    return f"  {stage:>3}  {textwrap.shorten(_first_line(source), 64, placeholder=' ...'):<64}  {fate}"


def _verdict(examined: Examined, case: Case) -> str:
    return examined.verdicts[0].get(case.key, "not run")


def _matrix(examined: Examined) -> Iterator[str]:
    """Programs by cases: a row per program, a column per test that counts."""
    cases: Sequence[Case] = tuple({case.key: case for case in (*examined.baseline, *examined.admitted)}.values())
    yield f"-- matrix: a column per valid test, the problem's own {len(examined.baseline)} first; {LEGEND}"
    yield f"  {'reference':<12} {'.' * len(cases)}"
    rows = [*((f"program {i}", own) for i, own in enumerate(examined.verdicts, 1))]
    rows += [(f"mutant {i}", own) for i, own in enumerate(examined.mutants, 1)]
    for name, verdicts in rows:
        yield f"  {name:<12} {''.join(MARKS[verdicts[case.key]] if case.key in verdicts else ' ' for case in cases)}"


def _paid(scored: Scored) -> Iterator[str]:
    yield f"-- rewards: {_rewards(scored)}"


def _rewards(scored: Scored) -> str:
    turns = scored.discriminator[0] if scored.discriminator else ()
    stages = [turn.stage for turn in scored.examined.suites[0]] if scored.examined.suites else []
    if len(turns) == len(stages) and len(set(turns)) > 1:
        discriminator = "  ".join(f"{stage}: {_number(own)}" for stage, own in zip(stages, turns, strict=True))
        discriminator = f"by stage  {discriminator}"
    else:
        discriminator = _number(turns[0]) if turns else "-"
    return f"generator {_number(scored.generator[0])}   discriminator {discriminator}"


def _number(value: float | None) -> str:
    return "lost to infrastructure" if value is None else f"{value:.2f}"


def _name(turn: Turn) -> str:
    return f"stage {turn.stage} ({get_stage(turn.stage).name}), {turn.key.role}"


def _cut(turn: Turn) -> str:
    return ", cut off at the token limit" if turn.truncated else ""


def _first_line(text: str) -> str:
    lines = text.strip().splitlines()
    return textwrap.shorten(lines[0], WIDTH, placeholder=" ...") if lines else ""
