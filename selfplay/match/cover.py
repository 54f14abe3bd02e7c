"""Few tests that kill what many kill: a small set cover.

The smallest cover is hard to find (Karp 1972). Taking the test that kills the most that is left comes within
1 + ln(targets) of it (Johnson 1974), and dropping what the later ones made needless improves on that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


def cover(kills: Sequence[frozenset[int]], times: int = 1) -> tuple[int, ...]:
    """Numbers of the sets that together hold every target as often as all sets do, up to `times`; in ascending order.

    None of them could be left out. Of sets that add equally much the first is taken.
    """
    wanted = {target: min(times, count) for target, count in _counts(kills).items()}
    left, chosen = dict(wanted), list[int]()
    while any(missing > 0 for missing in left.values()):
        best = max(
            (number for number in range(len(kills)) if number not in chosen),
            key=lambda number: (sum(left[target] > 0 for target in kills[number]), -number),
        )
        chosen.append(best)
        for target in kills[best]:
            left[target] -= 1
    held = _counts([kills[number] for number in chosen])
    for number in chosen[::-1]:  # what was taken early is needed most
        if all(held[target] > wanted[target] for target in kills[number]):
            chosen.remove(number)
            held.subtract(kills[number])
    return tuple(sorted(chosen))


def _counts(kills: Sequence[frozenset[int]]) -> Counter[int]:
    """How many of the sets hold each target."""
    return Counter(target for own in kills for target in own)
