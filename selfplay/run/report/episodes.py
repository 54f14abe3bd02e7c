"""Matches as the viewer of the report reads them: small plain values, every text fit to be shown.

`view` is one match in full, `entry` its line in the list with what filters ask for. `Gallery` holds the texts of as many
matches as there is room for, evenly over the run: where they become too many every second one is dropped, and from there on
only every second one is taken.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from selfplay.game.advantages import Values
from selfplay.judging.turns import WrittenTurn
from selfplay.match.ledger import Numbered
from selfplay.match.match import KILLS, Chain, Match, Row, Suite
from selfplay.match.show import MARKS
from selfplay.printing import printable

ROOM = 15_000_000  # bytes of all texts
LONGEST = 20_000  # characters of a text that are shown


@dataclass(slots=True)
class Gallery:
    """Matches that the report holds: `seen` of them went by, `texts` are the views of those that stayed."""

    room: int = ROOM
    seen: int = 0
    episodes: int = 0
    texts: list[str] = field(default_factory=list)
    entries: list[dict[str, Any]] = field(default_factory=list)
    _stride: int = 1
    _size: int = 0

    def take(self, match: Match) -> None:
        number = self.seen
        self.seen += 1
        self.episodes += len(match.chains)
        if number % self._stride:
            return
        self.texts.append(embedded(view(match)))
        self.entries.append(entry(match, number))
        self._size += len(self.texts[-1].encode())
        while len(self.texts) > 1 and self._size > self.room:
            self._stride *= 2
            self.texts, self.entries = self.texts[::2], self.entries[::2]
            self._size = sum(len(text.encode()) for text in self.texts)

    @property
    def shown(self) -> int:
        """Episodes among those kept."""
        return sum(entry["chains"] for entry in self.entries)


def embedded(value: Any) -> str:
    """JSON that may stand inside a <script>: nothing in it can end the element or begin another."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def entry(match: Match, number: int) -> dict[str, Any]:
    """What the list shows of a match and what filters ask."""
    counting = match.counting
    failed = sum(fails(match.verdicts_on(row, counting)) for row in match.programs)
    return {
        "n": number,
        "step": match.step.index,
        "stage": match.step.stage,
        "role": match.step.role,
        "problem": shown(match.problem.id),
        "chains": len(match.chains),
        "failed": failed,
        "refused": sum(len(turn.refused) for suite in match.suites for turn in suite.turns),
        "written": sum(suite.written for suite in match.suites),
    }


def view(match: Match) -> dict[str, Any]:
    """One match in full. Turns and cases are listed once; chains and suites hold their numbers."""
    turns = Numbered()
    place = {case.identity: number for number, case in enumerate(match.cases)}
    chains = [_chain(chain, turns) for chain in match.chains]
    outside = [_chain(chain, turns) for chain in (match.outside,) if chain is not None]
    return {
        "step": match.step.index,
        "stage": match.step.stage,
        "role": match.step.role,
        "phase": match.step.phase,
        "problem": shown(match.problem.id),
        "description": shown(match.problem.description),
        "signature": shown(match.problem.signature or ""),
        "reference": shown(match.problem.reference_solution or ""),
        "chains": chains,
        "outside": outside,
        "suites": [_suite(suite, turns, place) for suite in match.suites],
        "turns": [[turn.stage, shown(turn.text), int(turn.truncated)] for turn in turns.values],
        "cases": [shown(case.source) for case in match.cases],
        "own": match.num_baseline,
        "counting": [place[case.identity] for case in match.counting],
        "programs": [_marks(row) for row in match.programs],
        "targets": [[target.origin, _marks(target.verdicts), shown(target.source)] for target in match.targets],
    }


def shown(text: str) -> str:
    """A text of unknown origin with control characters escaped, cut where it is very long."""
    rest = len(text) - LONGEST
    return printable(text[:LONGEST]) + (f"\n... {rest} more characters" if rest > 0 else "")


def _chain(chain: Chain, turns: Numbered) -> dict[str, Any]:
    return {
        "turns": turns.of(chain.conversation),
        "code": shown(chain.code.source or ""),
        "how": chain.code.how,
        "reward": _short((chain.reward,))[0],
        "advantages": _short(chain.advantages),
    }


def _suite(suite: Suite, turns: Numbered, place: dict[tuple[object, ...], int]) -> dict[str, Any]:
    return {
        "turns": turns.of(suite.conversation),
        "reads": suite.reads,
        "rewards": _short(suite.rewards),
        "advantages": _short(suite.advantages),
        "tests": [_tests(turn, place) for turn in suite.turns],
    }


def _tests(turn: WrittenTurn, place: dict[tuple[object, ...], int]) -> list[list[Any]]:
    """Of each test its case (-1: none was read), its text, and why it does not count (empty where it does)."""
    read = [
        [place[case.identity], shown(case.source), shown(refusal.detail or refusal.reason) if refusal else ""]
        for case, refusal in zip(turn.cases, turn.refusals, strict=True)
    ]
    return read + [[-1, shown(each.source), shown(each.detail or each.reason)] for each in turn.unread]


def _marks(row: Row) -> str:
    return "".join(MARKS[verdict] if verdict else " " for verdict in row)


def fails(verdicts: Sequence[str]) -> bool:
    """Whether a program with these verdicts on what counts fails its problem."""
    return not KILLS.isdisjoint(verdicts) or "not_collected" in verdicts


def _short(values: Values) -> list[float | None]:
    return [None if value is None else round(value, 3) for value in values]
