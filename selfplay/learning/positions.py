"""Where in a turn's ids its cases end.

Found through the text: a case knows the statement that it was read from. Statements that hold several cases (loops,
parametrised tests) end all of them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence

from selfplay.game.episode import Turn

Decode = Callable[[Sequence[int]], str]  # the text of ids, as the turn's own text was made


def case_ends(turn: Turn, sources: Sequence[str], text: Decode) -> list[int]:
    """How many of the turn's ids it takes to write each case.

    One whose statement is not found as it stands (it was mended, or read from another form) takes all of them.
    """
    ends: list[int] = []
    ended: dict[str, int] = {}
    position = 0
    for source in sources:
        start = turn.text.find(source, position) if source else -1
        if start >= 0:
            position = start + len(source)
            ended[source] = bisect_left(range(len(turn.ids)), position, key=lambda count: len(text(turn.ids[:count])))
        ends.append(ended.get(source, len(turn.ids)))
    return ends
