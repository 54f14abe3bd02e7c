"""The clerk's process: limits first, then requests from standard input, one answer each on standard output.

    request    CPU seconds (8 bytes), length (8 bytes), a pickled (duty, arguments): from the host, which is trusted
    answer     length (8 bytes), last (1 byte), the pickled result: read by the host with an allow-list of classes (client.py)

The kernel ends a request that spends its CPU seconds (SIGPROF), whatever it is doing; memory that would pass the limit is
refused to it. Either way the process is gone, and the host starts another. One that has grown says that an answer is its
last: what one request leaves behind must not be the next one's burden. The end of standard input ends it.
"""

from __future__ import annotations

import os
import pickle
import resource
import signal
import struct
import sys

HEAD = struct.Struct("!dQ")
LENGTH = struct.Struct("!Q?")
GROWN = 400 << 20  # bytes resident, after which a process has served long enough


def main(memory_bytes: int) -> None:
    """Serves until the host goes away."""
    answers = os.dup(1)
    os.dup2(2, 1)  # whatever prints does not spoil an answer
    from selfplay.judging.clerk.duties import DUTIES

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        own, most = memory_bytes, resource.getrlimit(resource.RLIMIT_AS)[1]
        own = own if most == resource.RLIM_INFINITY else min(own, most)  # under `ulimit -v` more is not to be had
        resource.setrlimit(resource.RLIMIT_AS, (own, own))
    while head := _read(HEAD.size):
        seconds, length = HEAD.unpack(head)
        signal.setitimer(signal.ITIMER_PROF, seconds)
        duty, arguments = pickle.loads(_read(length))
        answer = pickle.dumps(DUTIES[duty](*arguments), pickle.HIGHEST_PROTOCOL)
        signal.setitimer(signal.ITIMER_PROF, 0)
        _write(answers, LENGTH.pack(len(answer), _resident() > GROWN) + answer)


def _resident() -> int:
    """Bytes of memory that this process holds; 0 where the system does not tell. (Its peak would be the host's own.)"""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        return 0


def _read(count: int) -> bytes:
    """Exactly `count` bytes, or none at the end of the input."""
    parts = []
    while count:
        part = os.read(0, min(count, 1 << 20))
        if not part:
            return b""
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def _write(pipe: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(pipe, view) :]
