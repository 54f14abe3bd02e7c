"""Where the packages lie that a problem names: what the box may read beyond the standard library.

Named packages come with what they require (pandas needs numpy) and with the folders beside them that their distribution
installed (numpy.libs). Nothing is imported to find out. Optional requirements (extras) are left out.
"""

from __future__ import annotations

import functools
import importlib.metadata as metadata
import importlib.util
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_REQUIREMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class Packages:
    """`names` may be imported from `folders`; `grants` are the paths that hold their files."""

    names: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    grants: tuple[str, ...] = ()


@functools.cache
def locate(imports: tuple[str, ...]) -> Packages:
    """The installed packages behind top-level import names; what is not installed is left to fail in the program."""
    names = [name.partition(".")[0] for name in imports]
    distributions = {found.metadata["Name"]: found for name in names for found in _distributions(name)}
    paths = {path for found in distributions.values() for path in _entries(found)}
    plain = {path for name in names for path in _spec_paths(name)}
    every = sorted(paths | plain)
    tops = {path.name.partition(".")[0] for path in every}
    return Packages(
        tuple(sorted(tops)),
        tuple(sorted({str(path.parent) for path in every})),
        tuple(str(path) for path in every),
    )


def _distributions(name: str) -> Iterable[metadata.Distribution]:
    """The distributions that provide the import name, and what they require."""
    waiting = list(_providers().get(name, ()))
    seen: set[str] = set()
    while waiting:
        distribution = waiting.pop()
        if distribution in seen:
            continue
        seen.add(distribution)
        try:
            found = metadata.distribution(distribution)
        except metadata.PackageNotFoundError:
            continue
        yield found
        needed = [text for text in found.requires or () if "extra ==" not in text]
        waiting += [match[0] for match in map(_REQUIREMENT.match, needed) if match]


@functools.cache
def _providers() -> dict[str, list[str]]:
    return dict(metadata.packages_distributions())


def _entries(distribution: metadata.Distribution) -> set[Path]:
    """The top-level files and folders that a distribution installed, without its own metadata."""
    root = Path(str(distribution.locate_file("")))
    tops = {Path(file).parts[0] for file in distribution.files or ()}
    return {root / top for top in tops if top not in ("..", "__pycache__") and not top.endswith((".dist-info", ".pth"))}


def _spec_paths(name: str) -> set[Path]:
    """A package or module found on the path alone, for one that no distribution claims."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return set()
    if spec is None or spec.origin in (None, "built-in", "frozen") or name in sys.stdlib_module_names:
        return set()
    if spec.submodule_search_locations:
        return {Path(path) for path in spec.submodule_search_locations}
    return {Path(str(spec.origin))}
