"""Putting a finished folder in the place of another, so that a killed process leaves the one or the other, never none.

Linux can exchange two names in one call (renameat2). Where the kernel or the file system cannot, the files are replaced
one by one: each is whole at any moment, a kill between two leaves files of both folders. Two renames in a row were left
out: between them there is no folder under the name.
"""

from __future__ import annotations

import ctypes
import os
import shutil
from pathlib import Path

_CWD, _EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of <linux/fs.h>


def put(new: Path, place: Path) -> None:
    """Moves the folder `new` to `place`, and removes what was there."""
    if not place.exists():
        new.rename(place)
        return
    if not exchange(new, place):
        for file in [each for each in new.rglob("*") if each.is_file()]:
            target = place / file.relative_to(new)
            target.parent.mkdir(parents=True, exist_ok=True)
            file.replace(target)
    shutil.rmtree(new, ignore_errors=True)


def exchange(one: Path, other: Path) -> bool:
    """Swaps two names at once; False, with nothing changed, where this system cannot."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    return rename is not None and rename(_CWD, os.fsencode(one), _CWD, os.fsencode(other), _EXCHANGE) == 0
