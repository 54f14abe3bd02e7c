"""The rooms of the package: which may import which, and how large one may grow."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "selfplay"
# A room imports from those before it in this list, never from those after.
ROOMS = (
    "config",
    "game",
    "box",
    "cases",
    "judging",
    "mutation",
    "match",
    "evaluation",
    "run",
    "learning",
    "tiny",
    "attacks",
)
FOUNDATION = {"errors", "plugins", "printing", "resources"}  # modules that every room may use, and that use none
LARGEST = 0.25  # of all lines of code


def room_of(path: Path) -> str:
    """The first folder under selfplay/, or for the modules that lie there `foundation` or `commands`."""
    parts = path.relative_to(PACKAGE).parts
    return parts[0] if len(parts) > 1 else "foundation" if path.stem in FOUNDATION else "commands"


def imported(path: Path) -> Iterator[str]:
    """The modules of the package that a file imports, wherever in it, those for type checkers too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.startswith("selfplay."))
        elif isinstance(node, ast.ImportFrom) and node.module == "selfplay":
            yield from (f"selfplay.{name.name}" for name in node.names if not name.name.startswith("__"))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("selfplay."):
            yield node.module or ""


MODULES = sorted(PACKAGE.rglob("*.py"))
HEIGHT = {room: height for height, room in enumerate(("foundation", *ROOMS, "commands"))}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_from_its_own_room_and_those_below(path: Path) -> None:
    here = room_of(path)
    for module in imported(path):
        name = module.split(".")[1]
        there = name if (PACKAGE / name).is_dir() else "foundation" if name in FOUNDATION else "commands"
        assert HEIGHT[there] <= HEIGHT[here], f"{here} imports {module}"


def test_every_room_has_its_place_in_the_order() -> None:
    assert {room_of(path) for path in MODULES} == set(HEIGHT)


def test_no_room_holds_more_than_a_quarter_of_the_code() -> None:
    lines = Counter({room_of(path): 0 for path in MODULES})
    for path in MODULES:
        lines[room_of(path)] += sum(1 for line in path.read_text(encoding="utf-8").splitlines() if line.strip())
    (largest, size), *_ = lines.most_common()
    assert size <= LARGEST * lines.total(), f"{largest} has {size} of {lines.total()} lines"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_opens_with_what_it_does(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree) or not tree.body


def test_the_map_shows_the_rooms_from_the_top_down() -> None:
    page = (PACKAGE.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    shown = [line.split("`")[1] for line in page.partition("| Room |")[2].partition("\n\n")[0].splitlines()[2:]]
    assert shown[1:] == list(reversed(ROOMS))
