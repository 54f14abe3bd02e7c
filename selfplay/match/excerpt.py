"""A few lines about one episode of a match: what it wrote, and what became of that. What a reader needs to judge a reward.

The text is a model's and bounded here; who prints it escapes it (printing.py). Left out: the whole story, which is show.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from selfplay.cases.case import Case, Refusal
from selfplay.game.episode import Role
from selfplay.match.match import Match, Suite
from selfplay.match.score import program_outcome

LINES, WIDTH = 12, 100  # that are kept of a text


def excerpt(match: Match, role: Role, number: int, stages: Sequence[int]) -> Iterator[str]:
    """The chain or suite of this number: a program with its results, or the tests of the turns at `stages`."""
    if role == "generator":
        outcome = program_outcome(match, number)
        faced = (("own tests", outcome.baseline), ("exam", outcome.exam), ("all readable tests", outcome.well_formed))
        yield "passes " + ", ".join(f"{own.count('passed')} of {len(own)} of {name}" for name, own in faced)
        source = match.chains[number].code.source
        yield from _cut(source.splitlines() if source else ["(no program)"])
    else:
        suite = match.suites[number]
        valid = sum(sum(turn.valid) for turn in suite.turns)
        yield f"{valid} of {suite.written} tests count; at the trained stages:"
        yield from _cut(_tests(match, suite, stages))


def _tests(match: Match, suite: Suite, stages: Sequence[int]) -> Iterator[str]:
    row = match.row_read_by(suite)
    for turn in suite.turns:
        if turn.stage in stages:
            for case, refusal, verdict in zip(turn.cases, turn.refusals, match.row_on(row, turn.cases), strict=True):
                read = f"counts, the program it read: {verdict or 'not run'}"
                yield f"{turn.stage}  {f'refused, {refusal.reason}' if refusal else read}: {_line(case)}"
            yield from (f"{turn.stage}  not read, {each.reason}: {_line(each)}" for each in turn.unread)


def _line(test: Case | Refusal) -> str:
    return " ".join(test.source[: 4 * WIDTH].split())


def _cut(lines: Iterable[str]) -> Iterator[str]:
    for number, line in enumerate(lines):
        if number == LINES:
            yield "..."
            return
        yield line[:WIDTH] + ("..." if len(line) > WIDTH else "")
