"""Several processes as one trainer: who am I, collect values, add up gradients, start the others.

Without RANK and WORLD_SIZE in the environment everything happens in one process through the same methods, so no caller
asks whether it is distributed. Works under torchrun and `accelerate launch`; `launch` starts further processes on this
machine alone. DistributedDataParallel was left out: wrapped before a switch of adapters it silently stops
synchronising.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.distributed.rendezvous import rendezvous

from selfplay.errors import SelfplayError

T = TypeVar("T")
_MEETING = timedelta(minutes=5)
_WATCHED = "SELFPLAY_LAUNCHED"
_GONE = 2.0  # seconds in which a process whose connection broke is expected to have ended


class RanksError(SelfplayError):
    """The processes of a run cannot go on together."""


class Ranks:
    """One process: every collective is the identity."""

    rank = 0
    size = 1

    @property
    def first(self) -> bool:
        """Whether this process prints and writes."""
        return self.rank == 0

    def gather(self, value: T) -> list[T]:
        """Everyone's value, in order of rank, on every rank."""
        return [value]

    def reduce(self, tensor: Tensor) -> Tensor:
        """The sum over all ranks, in place."""
        return tensor

    def barrier(self) -> None: ...

    def close(self) -> None: ...


class TorchRanks(Ranks):
    """Processes joined by torch.distributed: gloo for CPU tensors and objects, NCCL for CUDA tensors."""

    def __init__(self) -> None:
        cuda = torch.cuda.is_available()
        if cuda:
            torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())
        # A process that never comes is noticed soon; a collective may wait long, for a rank that is still judging.
        store, self.rank, self.size = next(iter(rendezvous("env://", timeout=_MEETING)))
        torch.distributed.init_process_group(
            "cpu:gloo,cuda:nccl" if cuda else "gloo", store=store, rank=self.rank, world_size=self.size
        )

    def gather(self, value: T) -> list[T]:
        values: list[Any] = [None] * self.size
        torch.distributed.all_gather_object(values, value)
        return values

    def reduce(self, tensor: Tensor) -> Tensor:
        torch.distributed.all_reduce(tensor)
        return tensor

    def barrier(self) -> None:
        torch.distributed.barrier()

    def close(self) -> None:
        torch.distributed.destroy_process_group()


def connect() -> Ranks:
    """This process's place among the ranks that the environment names; the only one where it names none.

    Several processes on CPUs take one thread each: the cores are shared among them.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return Ranks()
    _end_with_parent()
    if not torch.cuda.is_available():
        torch.set_num_threads(1)
    return TorchRanks()


@contextmanager
def launch(size: int, argv: Sequence[str], module: str = "selfplay.train") -> Iterator[Callable[[], None]]:
    """Makes this process rank 0 of `size` and starts the others as `python -m MODULE *argv`; call `connect` inside.

    Gives a function that ends the others at once, for a run that is stopped: they wait for a step that does not come.
    The others end when the block or this process ends, however it ends. Standard output is rank 0's alone. Raises RanksError
    where one of them ended first: all that this process can see of it is a connection that is gone.
    """
    if size < 2 or "WORLD_SIZE" in os.environ:
        yield lambda: None
        return
    place = {"WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(_free_port())}
    others = [_start(rank, argv, module, place) for rank in range(1, size)]
    mine = place | {"RANK": "0", "LOCAL_RANK": "0"}
    os.environ.update(mine)
    try:
        try:
            yield partial(_stop, others)
        except RuntimeError as error:
            if ended := _ended(others):
                raise RanksError(ended) from error
            raise
        for other in others:
            with suppress(subprocess.TimeoutExpired):  # what lags is ended below
                other.wait(timeout=30)
    finally:
        for name in mine:
            os.environ.pop(name, None)
        _stop(others)


def _ended(others: Sequence[subprocess.Popen[bytes]]) -> str:
    """What became of the first process that is no more; empty where all are there. Waits a moment for one that is ending."""
    deadline = time.monotonic() + _GONE
    while time.monotonic() < deadline:
        for rank, other in enumerate(others, 1):
            code = other.poll()
            if code is not None:
                how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
                return f"process {rank} of {len(others) + 1} {how}, and the others cannot go on without it"
        time.sleep(0.05)
    return ""


def _start(rank: int, argv: Sequence[str], module: str, place: Mapping[str, str]) -> subprocess.Popen[bytes]:
    here = [folder or os.getcwd() for folder in sys.path]  # where this process finds modules
    paths = os.pathsep.join([*here, *filter(None, [os.environ.get("PYTHONPATH")])])
    env = os.environ | place | {"PYTHONPATH": paths, "RANK": str(rank), "LOCAL_RANK": str(rank), _WATCHED: "1"}
    # Its own session, so that Ctrl-C reaches rank 0 alone, which saves and then ends the others.
    return subprocess.Popen(
        [sys.executable, "-m", module, *argv],
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )


def _stop(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """Ends them, those too that have ended already."""
    for process in processes:
        process.terminate()
    for process in processes:
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdin:
            process.stdin.close()


def launched() -> bool:
    """Whether this process was started by `launch`, and so ends with the one that did."""
    return _WATCHED in os.environ


def _end_with_parent() -> None:
    """In a launched process: standard input is a pipe from rank 0, and its end is ours, even if rank 0 was killed."""
    if launched():
        threading.Thread(target=_exit_at_end_of_input, daemon=True).start()


def _exit_at_end_of_input() -> None:
    while os.read(0, 4096):
        pass
    os._exit(1)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
