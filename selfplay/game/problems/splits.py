"""Splitting problems so that what is held out is new: a function class lies wholly in one split.

Problems are in one class when their references compute the same function, whatever the wording. Which class a problem
is in is found elsewhere, by running references; here it is only a key.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping

from selfplay.errors import SelfplayError
from selfplay.game.problems.problem import Problem


def split_by_class(
    problems: Iterable[Problem], key: Callable[[Problem], Hashable], shares: Mapping[str, float], seed: int
) -> dict[str, tuple[Problem, ...]]:
    """Problems by split, in the order given; `shares` of all problems, as near as whole classes allow.

    The same problems, shares and seed give the same splits in whatever order the problems come.
    Raises SelfplayError where shares are negative or do not add up to 1.
    """
    if not shares or min(shares.values()) < 0 or abs(sum(shares.values()) - 1) > 1e-6:
        raise SelfplayError(f"shares {dict(shares)} are no split: give shares of 0 or more that add up to 1")
    problems = tuple(problems)
    members: dict[Hashable, list[str]] = defaultdict(list)
    for problem in problems:
        members[key(problem)].append(problem.id)
    classes = sorted(sorted(ids) for ids in members.values())
    random.Random(seed).shuffle(classes)
    missing = {name: share * sum(map(len, classes)) for name, share in shares.items()}
    split_of: dict[str, str] = {}
    for ids in classes:  # each goes where the most problems are missing
        name = max(missing, key=lambda each: missing[each])
        missing[name] -= len(ids)
        split_of.update(dict.fromkeys(ids, name))
    return {name: tuple(problem for problem in problems if split_of[problem.id] == name) for name in shares}
