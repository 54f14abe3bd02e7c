"""An episode as text: what was said, what was tested, what every program did, what each role was paid.

    sample_text(match)            the first chain of a group with the suite that read it, for logs
    play_and_show(player, ...)    plays one episode; adds the whole matrix, and rewards under every rule

Where a turn came to nothing the stage and its prompt are named, with the usual causes. Characters of a model that could
move a cursor are escaped. Left out: colours and HTML.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from itertools import chain as flatten

from selfplay.cases.case import Verdict
from selfplay.game.episode import Conversation, Role, Turn
from selfplay.game.phases import Step
from selfplay.game.players import Player, Sampling
from selfplay.game.problems import Problem
from selfplay.game.prompts import Prompts
from selfplay.game.rewards import RULES
from selfplay.game.rollout import Table, play
from selfplay.game.stages import get_stage
from selfplay.judging.judge import Judge
from selfplay.match.examine import examine
from selfplay.match.match import Match
from selfplay.match.score import score
from selfplay.mutation.cache import MutantCache
from selfplay.printing import printable

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
_LINES, _PROGRAM = 12, 200  # of one turn and of a program that are shown
_LONGEST = 500  # characters of a line that are shown


def sample_text(match: Match) -> str:
    """The match's first chain and the suite that read it."""
    return printable("\n".join([*_story(match), *_cases(match), f"-- rewards: {_rewards(match)}"]))


def play_and_show(
    player: Player, name: str, problem: Problem, prompts: Prompts, sampling: Sampling, judge: Judge
) -> str:
    """One episode of `problem` in full. `name` is what the player is called where a turn came to nothing."""
    table = Table(num_generations=1, num_suites=1, num_targets=0, generator=sampling, discriminator=sampling)
    step = Step(index=0, stage=1, role="both", phase="play")
    groups = play(player, prompts, [problem], step, table)
    [match] = examine(groups, step, judge, prompts.cases, MutantCache())
    parts = [
        *_story(match),
        *_cases(match),
        *_matrix(match),
        "-- rewards by rule",
        *(f"  {rule.name:<12} {_rewards(score([match], rule)[0])}" for rule in RULES.values()),
        *warnings(match, sampling, name, prompts.style),
    ]
    return printable("\n".join(parts))


def warnings(match: Match, sampling: Sampling, player: str, prompts: str) -> list[str]:
    """What to look into where a turn is empty; nothing where none is."""
    empty = list(_empty(match))
    if not empty:
        return []
    causes = [
        f"  - temperature too low or too high: it is {sampling.temperature:g}; 0.7 to 1.0 suits most models",
        f"  - too few tokens: max_completion_length is {sampling.max_tokens}; a model that thinks gets thinking_tokens, "
        f"{sampling.thinking_tokens}, on top",
        f"  - not the model you meant, or one that was not trained to follow instructions: it is {player}",
    ]
    said = [
        f"  stage {turn.stage} ({get_stage(turn.stage).name}), {turn.key.role}: {why}; "
        f"asked by prompts/{prompts}/{turn.key.role}/{turn.stage}.jinja"
        for turn, why in empty
    ]
    return ["", "WARNING, turns that came to nothing:", *said, "usual causes:", *causes]


def _empty(match: Match) -> Iterator[tuple[Turn, str]]:
    """Turns without text, without code where code is due, without tests where tests are due."""
    chain = match.chains[0]
    for each in (chain, *match.suites[:1]):
        for turn in each.conversation.turns:
            if not turn.text.strip():
                yield turn, "empty" + (_cut(turn) if turn.thought_cut else "")
    program = chain.conversation.turns[-1]
    if program.text.strip() and not chain.code.source:
        yield program, f"holds no program ({chain.code.how})" + _cut(program)
    for suite in match.suites[:1]:
        for turn, own in zip(suite.conversation.turns, suite.turns, strict=True):
            if turn.text.strip() and not own.cases:
                yield turn, "holds no test that can be read" + _cut(turn)


def _story(match: Match) -> Iterator[str]:
    """Problem, turns of both roles stage by stage, program."""
    chain = match.chains[0]
    yield f"problem {match.problem.id}: {_first_line(match.problem.description)}"
    reader = match.suites[0].conversation if match.suites else Conversation("discriminator")
    for turn in chain.conversation.turns:
        yield f"-- stage {turn.stage}, {get_stage(turn.stage).name}"
        yield from _said("generator", turn)
        yield from flatten.from_iterable(
            _said("discriminator", each) for each in reader.turns if each.stage == turn.stage
        )
    yield f"-- program ({chain.code.how})"
    yield from _some(chain.code.source or "none", "  ", _PROGRAM)


def _said(role: Role, turn: Turn) -> Iterator[str]:
    yield f"  {role}{f' ({_cut(turn)[2:]})' if turn.truncated else ''}:"
    yield from _some(turn.text.strip() or "(nothing)", "    ", _LINES)


def _some(text: str, indent: str, most: int) -> Iterator[str]:
    """The first lines of a text that a model wrote, each as far as it fits."""
    lines = text.splitlines()
    yield from (f"{indent}{_short(line)}" for line in lines[:most])
    if len(lines) > most:
        yield f"{indent}... {len(lines) - most} more lines"


def _short(line: str) -> str:
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]} ... {len(line) - _LONGEST} more characters"


def _cases(match: Match) -> Iterator[str]:
    """Every test with its fate: the program's verdict, or why it does not count."""
    turns = [turn for suite in match.suites[:1] for turn in suite.turns]
    faced = [("own", match.baseline), *((str(turn.stage), turn.admitted) for turn in turns)]
    refused = {str(turn.stage): turn.refused for turn in turns}
    yield "-- tests"
    for stage, cases in faced:
        for case, verdict in zip(cases, match.row_on(match.programs[0], cases), strict=True):
            yield _case_line(stage, case.source, verdict or "not run")
        for refusal in refused.get(stage, ()):
            yield _case_line(stage, refusal.source, f"not admitted: {refusal.detail or refusal.reason}")


def _case_line(stage: str, source: str, fate: str) -> str:
    return f"  {stage:>3}  {textwrap.shorten(_first_line(source), 64, placeholder=' ...'):<64}  {_short(fate)}"


def _matrix(match: Match) -> Iterator[str]:
    """Programs by cases: a row per program, a column per test that counts."""
    cases = match.counting
    yield f"-- matrix: a column per valid test, the problem's own {match.num_baseline} first; {LEGEND}"
    yield f"  {'reference':<12} {'.' * len(cases)}"
    rows = [(f"program {i}", row) for i, row in enumerate(match.programs, 1)]
    rows += [(f"mutant {i}", target.verdicts) for i, target in enumerate(match.targets, 1)]
    for name, row in rows:
        yield f"  {name:<12} {''.join(MARKS[verdict] if verdict else ' ' for verdict in match.row_on(row, cases))}"


def _rewards(match: Match) -> str:
    turns = match.suites[0].rewards if match.suites else ()
    stages = [turn.stage for turn in match.suites[0].turns] if match.suites else []
    if len(turns) == len(stages) and len(set(turns)) > 1:
        discriminator = "  ".join(f"{stage}: {_number(own)}" for stage, own in zip(stages, turns, strict=True))
        discriminator = f"by stage  {discriminator}"
    else:
        discriminator = _number(turns[0]) if turns else "-"
    return f"generator {_number(match.chains[0].reward)}   discriminator {discriminator}"


def _number(value: float | None) -> str:
    return "lost to infrastructure" if value is None else f"{value:.2f}"


def _cut(turn: Turn) -> str:
    return f", cut off {'in a thought ' * turn.thought_cut}at the token limit" if turn.truncated else ""


def _first_line(text: str) -> str:
    lines = text.strip().splitlines()
    return textwrap.shorten(_short(lines[0]), WIDTH, placeholder=" ...") if lines else ""
