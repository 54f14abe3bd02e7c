"""What to do when a GPU's memory runs out: free what can be freed, take half as much at once, begin that pass again.

A size is halved for good: what did not fit once will not fit the next time. A pass that fails must leave nothing behind: its
caller drops the partial gradients. Left out: growing again.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import TypeVar

import torch

from selfplay.learning.policy.errors import PolicyError
from selfplay.run.recorders import Recorder

T = TypeVar("T")
SILENT = Recorder()


class Relief:
    """A size of which less needs less memory. `what` is done at that size; `way_out`: what to do where one is too much.

    `spare` frees what can be done without, and says whether there was anything.
    """

    def __init__(
        self,
        what: str,
        size: int,
        way_out: str,
        recorder: Recorder = SILENT,
        spare: Callable[[], bool] = lambda: False,
    ) -> None:
        self.size, self._spare = size, spare
        self._what, self._way_out, self._recorder = what, way_out, recorder

    def run(self, attempt: Callable[[int], T], most: int = sys.maxsize) -> T:
        """`attempt(size)`, at half the size after each time that memory runs out. Raises PolicyError at a size of one.

        `most`: a larger size would make no difference.
        """
        while True:
            size = min(self.size, most)
            try:
                return attempt(size)
            except torch.OutOfMemoryError as error:
                trouble = str(error).splitlines()[0]
            # Outside the handler: until it is left, the exception holds the frames that hold the memory.
            spared = self._spare()
            free()
            if size <= 1 and not spared:
                raise PolicyError(
                    f"memory ran out while {self._what}, with as little as can be at once ({trouble}); {self._way_out}"
                )
            self.size = max(1, size // 2)
            self._recorder.say(f"memory ran out while {self._what}: going on with {self.size} at once")


def free() -> None:
    """Gives back what nothing refers to any more."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
