"""The box of a run in the cloud: model-written programs go there; references and their mutants stay on this machine."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from selfplay.box.e2b.e2b_box import E2BBox, check_requirements
from selfplay.box.e2b.pool import E2BSettings
from selfplay.box.local import LocalBox
from selfplay.box.task import Box, Execution, Task
from selfplay.box.zygotes import BoxUnavailable


def open_split(settings: E2BSettings, workers: int = 1, references: bool = True) -> Box:
    """The cloud for programs and `workers` local processes for references, where `references` are going to come.

    Raises BoxUnavailable where the SDK, the key or the local box is missing.
    """
    check_requirements()
    try:
        home = LocalBox(workers) if references else None
    except BoxUnavailable as error:
        raise BoxUnavailable(
            "references never go to E2B and need a local sandbox, which this machine does not have: use Linux or WSL, "
            f"or judge without a reference ({error})"
        ) from None
    try:
        return SplitBox(E2BBox(settings), home)
    except BoxUnavailable:
        if home is not None:
            home.close()
        raise


class SplitBox(Box):
    """Runs secret tasks on `home` and all others on `cloud`; its tier is the cloud's, for that is where candidates run.

    `home` None: a secret task raises BoxUnavailable.
    """

    def __init__(self, cloud: E2BBox, home: Box | None) -> None:
        self.cloud, self.home = cloud, home
        self.tier = cloud.tier

    def stream(self, tasks: Sequence[Task]) -> Generator[tuple[int, tuple[Execution, ...]]]:
        """See Box. Raises BoxUnavailable for a secret that has no home."""
        if self.home is None and any(task.secret for task in tasks):
            raise BoxUnavailable(
                "a reference never leaves this machine, and no local sandbox was opened for it: "
                "use Linux or WSL, or leave the reference out"
            )
        for box, secret in ((self.home, True), (self.cloud, False)):
            numbers = [number for number, task in enumerate(tasks) if task.secret == secret]
            if box is not None and numbers:
                for place, row in box.stream([tasks[number] for number in numbers]):
                    yield numbers[place], row

    def close(self) -> None:
        """Close both boxes."""
        self.cloud.close()
        if self.home is not None:
            self.home.close()
