"""Programs that aim at their own reports, their zygote and the program behind them; run as a script by test_neighbours.py.

python neighbours.py        prints one JSON object: what became of each program and of an honest one behind it
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from selfplay.box.local import LocalBox
from selfplay.box.task import Limits, Task

_HELP = r"""
import os, struct
def frame(kind, body=b""): return struct.pack("!I", len(body) + 1) + kind + body
def attempt(action):
    try: return action()
    except (OSError, ValueError): return None
"""

# Each is tried at load, and again in a call.
ATTACKS = {
    "its reports taken back through /proc": """
for flags in (os.O_RDONLY, os.O_RDWR):
    fd = attempt(lambda: os.open("/proc/self/fd/3", flags | os.O_NONBLOCK))
    for _ in range(9):
        if fd is not None: attempt(lambda: os.read(fd, 4096))""",
    "its reports taken back through another thread's folder": """
for name in (f"/proc/self/task/{os.getpid()}/fd/3", f"/proc/{os.getpid()}/fd/3", "/proc/thread-self/fd/3", "/dev/fd/3"):
    fd = attempt(lambda: os.open(name, os.O_RDONLY | os.O_NONBLOCK))
    if fd is not None: attempt(lambda: os.read(fd, 4096))""",
    "its end of the socket read": """
import socket
end = socket.socket(fileno=os.dup(3))
end.setblocking(False)
for flags in (0, socket.MSG_PEEK, socket.MSG_OOB, socket.MSG_DONTWAIT): attempt(lambda: end.recv(4096, flags))""",
    "walls that are said not to stand": """
for body in (b"I", b"Ibroken", frame(b"I", b"broken"), frame(b"P") + frame(b"I", b"broken")):
    attempt(lambda: os.write(3, body))""",
    "a start that is told again": """
for body in (struct.pack("!cdd", b"W", -1e9, 1e12), struct.pack("!cdd", b"I", 0, 0)): attempt(lambda: os.write(3, body))""",
    "frames of a zygote": """
for kind in (b"E", b"F", b"H", b"O", b"Z"):
    attempt(lambda: os.write(3, struct.pack("!cI", kind, 4) + b"none"))
    attempt(lambda: os.write(3, frame(kind, b"none")))""",
    "the socket shut down": """
import socket
end = socket.socket(fileno=os.dup(3))
for how in (socket.SHUT_RD, socket.SHUT_WR, socket.SHUT_RDWR): attempt(lambda: end.shutdown(how))""",
    "the socket closed with copies left": """
copies = [os.dup(3) for _ in range(20)]
os.close(3)""",
    "the socket replaced": """
import socket
ours, theirs = socket.socketpair()
os.dup2(theirs.fileno(), 3)""",
    "an urgent byte": """
import socket
end = socket.socket(fileno=os.dup(3))
for _ in range(3): attempt(lambda: end.send(b"x", socket.MSG_OOB))""",
    "a descriptor sent along": """
import socket
end = socket.socket(fileno=os.dup(3))
attempt(lambda: socket.send_fds(end, [b"x"], [0, 1, 2]))""",
    "the socket filled": """
os.set_blocking(3, False)
while attempt(lambda: os.write(3, bytes(1 << 16))): pass
os.set_blocking(3, True)""",
    "the socket filled byte by byte": """
os.set_blocking(3, False)
while attempt(lambda: os.write(3, b"\\x7f")): pass""",
    "the socket made small": """
import socket
end = socket.socket(fileno=os.dup(3))
for option in (socket.SO_SNDBUF, socket.SO_RCVBUF): attempt(lambda: end.setsockopt(socket.SOL_SOCKET, option, 1))
attempt(lambda: end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 100)))""",
    "flags on everything that is open": """
import fcntl
for fd in (0, 1, 2, 3):
    for flags in (os.O_NONBLOCK, os.O_APPEND, os.O_ASYNC, os.O_DIRECT, os.O_NOATIME, 0xffffff):
        attempt(lambda: fcntl.fcntl(fd, fcntl.F_SETFL, flags))
    for request in (0x5421, 0x5452, 0x8901, 0x8902): attempt(lambda: fcntl.ioctl(fd, request, struct.pack("i", os.getppid())))
    for command in (fcntl.F_SETOWN, 10, 15, 1024, 1026, 1031, 1033): attempt(lambda: fcntl.fcntl(fd, command, os.getppid()))""",
    "files of memory opened anew": """
for fd in (0, 1, 2):
    for flags in (os.O_RDWR, os.O_WRONLY | os.O_TRUNC, os.O_RDWR | os.O_APPEND):
        other = attempt(lambda: os.open(f"/proc/self/fd/{fd}", flags))
        if other is not None: attempt(lambda: os.write(other, b"7" * 4096))
        if other is not None: attempt(lambda: os.lseek(other, 1 << 40, 0))""",
    "printed far beyond the end": """
attempt(lambda: os.lseek(1, 1 << 62, 0)); attempt(lambda: os.write(1, b"x")); attempt(lambda: os.ftruncate(1, 1 << 40))""",
    "locks that outlive it": """
import fcntl
for fd in (0, 1, 2, 3): attempt(lambda: fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB))""",
    "signals to its zygote": """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for number in range(1, 65): attempt(lambda: os.kill(os.getppid(), number)) or attempt(lambda: os.killpg(os.getppid(), number))
libc.syscall(234 if os.uname().machine == "x86_64" else 131, os.getppid(), os.getppid(), 9)""",
    "its zygote traced or starved": """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall(101 if os.uname().machine == "x86_64" else 117, 16, os.getppid(), 0, 0)
for what in range(16): libc.prlimit64(os.getppid(), what, struct.pack("QQ", 0, 0), None)""",
    "its zygote's files": """
for fd in range(12):
    for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR):
        other = attempt(lambda: os.open(f"/proc/{os.getppid()}/fd/{fd}", flags | os.O_NONBLOCK))
        if other is not None: attempt(lambda: os.read(other, 4096)); attempt(lambda: os.write(other, b"x"))""",
    "a stop": "attempt(lambda: os.kill(os.getpid(), 19))",
    "a death at once": "os._exit(71)",
    "a death with half a report": "os.write(3, b'\\0\\0\\1'); os._exit(3)",
    "threads without end": """
import threading
threading.stack_size(65536)
gate = threading.Event()
def more():
    for _ in range(3000): threading.Thread(target=gate.wait, daemon=True).start()
try: more()
except RuntimeError: pass""",
    "memory without end": """
held = []
def more():
    while True: held.append(bytearray(8 << 20))
try: more()
except MemoryError: pass""",
}
HONEST = Task("def f(): return 2", "f", ('["t"]',))


def tasks(attack: str) -> list[Task]:
    """The attack as a function at load, in a call, and as a program, each with an honest program behind it."""
    limits = Limits(cpu_seconds=0.2, memory_mib=256, timeouts=1)
    inside = "\n".join(f"    {line}" for line in attack.splitlines())
    at_load = f"{_HELP}{attack}\ndef f(): return 1"
    in_a_call = f"{_HELP}\ndef f():\n{inside}\n    return 1"
    return [
        Task(at_load, "f", ('["t"]',), limits=limits),
        HONEST,
        Task(in_a_call, "f", ('["t"]',) * 2, limits=limits),
        HONEST,
        Task(f"{_HELP}{attack}\nprint(1)", "", ("x",), limits=limits),
        Task("print(2)", "", ("x",)),
    ]


def main() -> None:
    told = {}
    with LocalBox() as box:
        for name, attack in ATTACKS.items():
            zygotes = box.pids
            rows = box.run(tasks(attack))
            told[name] = {
                "attack": [one.status for row in rows[::2] for one in row],
                "honest": [one.value.strip() for row in rows[1::2] for one in row],
                "same zygote": box.pids == zygotes,
            }
    print(json.dumps({"tier": box.tier, "user": os.getuid(), "attacks": told}))


if __name__ == "__main__":
    main()
