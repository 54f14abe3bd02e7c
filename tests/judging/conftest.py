"""One judge for all tests of a file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from selfplay.box.local import LocalBox
from selfplay.box.task import Limits
from selfplay.judging.judge import Judge


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with LocalBox() as box:
        judge = Judge(box, Limits(cpu_seconds=1.0), recheck=0.0)
        yield judge
        judge.texts.close()
