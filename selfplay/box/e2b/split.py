"""The box of a run in the cloud: model-written programs go there; references and their mutants stay on this machine.

Where the cloud fails and a fallback was asked for, programs run in the local box instead; that is announced once.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence

from selfplay.box.e2b.e2b_box import E2BBox, E2BUnavailable, check_requirements, to_stderr
from selfplay.box.e2b.settings import E2BSettings
from selfplay.box.local import LocalBox
from selfplay.box.task import Box, Execution, Task
from selfplay.box.zygotes import BoxUnavailable

_NO_LOCAL = (
    "references never go to E2B and need a local sandbox, which this machine does not have: use Linux or WSL, "
    "or judge without a reference"
)
_NO_HOME = (
    "a reference never leaves this machine, and no local sandbox was opened for it: "
    "use Linux or WSL, or leave the reference out"
)


def open_split(settings: E2BSettings, workers: int = 1, fallback: bool = False, references: bool = True) -> Box:
    """The cloud for programs and `workers` local processes for references, where `references` are going to come.

    With `fallback`, a cloud that does not answer at the start leaves the local box alone, announced. Raises
    BoxUnavailable where the SDK, the key or the local box is missing.
    """
    check_requirements()
    home = _open_home(workers) if references or fallback else None
    try:
        return SplitBox(E2BBox(settings), home, fallback)
    except E2BUnavailable as error:
        if home is None or not fallback or not error.passing:
            if home is not None:
                home.close()
            raise
        to_stderr(f"{error}; programs run in the local sandbox instead (tier {home.tier})")
        return home


def _open_home(workers: int) -> LocalBox:
    try:
        return LocalBox(workers)
    except BoxUnavailable as error:
        raise BoxUnavailable(f"{_NO_LOCAL} ({error})") from None


class SplitBox(Box):
    """Runs secret tasks on `home` and all others on `cloud`; its tier is the cloud's, for that is where candidates run.

    `home` None: a secret task raises BoxUnavailable. `fallback`: what the cloud fails is run at home.
    """

    def __init__(
        self,
        cloud: E2BBox,
        home: Box | None,
        fallback: bool = False,
        announce: Callable[[str], None] = to_stderr,
    ) -> None:
        self.cloud, self.home, self.fallback = cloud, home, fallback and home is not None
        self.tier = cloud.tier
        self.fallen_back = 0  # programs that ran at home because the cloud failed them
        self._announce = announce

    def stream(self, tasks: Sequence[Task]) -> Generator[tuple[int, tuple[Execution, ...]]]:
        """See Box. Raises BoxUnavailable for a secret that has no home."""
        yield from self._at_home(tasks, [index for index, task in enumerate(tasks) if task.secret])
        others = [index for index, task in enumerate(tasks) if not task.secret]
        failed: list[int] = []
        for place, row in self.cloud.stream([tasks[index] for index in others]) if others else ():
            if self.fallback and any(one.status == "infra_error" for one in row):
                failed.append(others[place])
            else:
                yield others[place], row
        if failed:
            self._tell(len(failed))
            yield from self._at_home(tasks, failed)

    def _at_home(self, tasks: Sequence[Task], indices: Sequence[int]) -> Generator[tuple[int, tuple[Execution, ...]]]:
        if not indices:
            return
        if self.home is None:
            raise BoxUnavailable(_NO_HOME)
        for place, row in self.home.stream([tasks[index] for index in indices]):
            yield indices[place], row

    def _tell(self, count: int) -> None:
        if not self.fallen_back:
            tier = self.home.tier if self.home else ""
            self._announce(
                f"E2B failed {count} programs: they and later failures run in the local sandbox (tier {tier})"
            )
        self.fallen_back += count

    def close(self) -> None:
        """Close both boxes."""
        self.cloud.close()
        if self.home is not None:
            self.home.close()

    def __enter__(self) -> SplitBox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
