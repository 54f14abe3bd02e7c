"""Function classes that are known already: shipped with the package's sets, cached for a user's.

Sorting problems by what their references compute runs each on 200 inputs, most outside its contract, which can take
minutes. A set of problems is named by a digest over all that decides its classes, so a changed set is sorted anew.
`python -m selfplay.learning.classes` writes the shipped file. Left out: dropping old entries of the cache; one is a few
kilobytes.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from pathlib import Path

from selfplay.box.local import LocalBox
from selfplay.game.problems import Problem, load_problems, problem_to_json
from selfplay.judging.judge import Judge
from selfplay.learning.ranks import Ranks
from selfplay.mutation.classes import function_classes
from selfplay.resources import resource

VERSION = 1  # of the way problems are sorted; a higher one makes older entries useless
SHIPPED = "classes.json"
SHIPPED_SETS = ("handwritten", "stdio")
Classes = dict[str, str]  # problem id to the first id of its class


def known_classes(problems: Sequence[Problem], judge: Judge, ranks: Ranks, say: Callable[[str], None]) -> Classes:
    """The class of each problem by id: shipped, from the cache, or found by the first rank and put there."""
    digest = digest_of(problems)
    shipped = json.loads((resource("datasets") / SHIPPED).read_text(encoding="utf-8"))
    if digest in shipped:
        return shipped[digest]
    classes = None
    if ranks.first:
        classes = _read(_cache() / f"{digest}.json")
        if classes is None:
            say(f"sorting {len(problems)} problems by what their references compute; the next run finds them sorted")
            classes = named(function_classes(problems, judge))
            _write(_cache() / f"{digest}.json", classes)
    [classes, *_] = ranks.gather(classes)
    assert classes is not None  # the first rank's
    return classes


def digest_of(problems: Sequence[Problem]) -> str:
    """Of everything that can decide the classes of these problems, whatever their order."""
    records = sorted(problem_to_json(problem) for problem in problems)
    return hashlib.sha256(json.dumps([VERSION, *records]).encode()).hexdigest()[:32]


def named(classes: dict[str, Hashable]) -> Classes:
    """The same classes, each called by the first of its ids."""
    members: dict[Hashable, list[str]] = {}
    for problem, own in sorted(classes.items()):
        members.setdefault(own, []).append(problem)
    return {problem: ids[0] for ids in members.values() for problem in ids}


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(home).expanduser() / "selfplay" / "classes"


def _read(path: Path) -> Classes | None:
    """What a cache file holds; None where there is none or it is not ours."""
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return held if isinstance(held, dict) else None


def _write(path: Path, classes: Classes) -> None:
    """Keeps it if it can; without a cache the next run takes its time again, and nothing else is lost."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f"{path.name}.{os.getpid()}")
        partial.write_text(json.dumps(classes), encoding="utf-8")
        partial.replace(path)


def main() -> None:
    """Sorts the package's own sets and writes what is shipped."""
    box = LocalBox(workers=2)
    try:
        sets = [load_problems(name) for name in SHIPPED_SETS]
        shipped = {digest_of(own): named(function_classes(own, Judge(box))) for own in sets}
    finally:
        box.close()
    (resource("datasets") / SHIPPED).write_text(json.dumps(shipped, indent=1) + "\n", encoding="utf-8")
    print(f"{sum(map(len, shipped.values()))} problems of {len(shipped)} sets", file=sys.stderr)


if __name__ == "__main__":
    main()
