"""The local box: runs candidates in jailed children of zygote processes on this machine.

The host never forks (a trainer is large) and never runs a candidate: it starts each zygote by exec with an empty
environment, ships the code of the top-level folder `sandbox/` to it as text, and then exchanges frames over two pipes
(their layout is told at the top of sandbox/zygote.py). All zygotes are served by one loop in the calling thread.

    box = LocalBox(workers=2)
    box.run([Task(source, "add", ('["t",1,2]',))])   ->  [(Execution("returned", "3", ...),)]

What a child leaves undone (it crashed, hung, flooded) goes into a new order without the case that did it. A zygote that
dies is replaced and its orders are tried once more; after that their cases are `infra_error`. Nothing in `run` raises.
Left out: Windows, which has none of the walls (use WSL or E2B).
"""

from __future__ import annotations

import atexit
import itertools
import json
import os
import selectors
import struct
import subprocess
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from selfplay.errors import SelfplayError
from selfplay.judging.cases import Execution, Task
from selfplay.judging.packages import locate
from selfplay.judging.tiers import Tier, tier_of
from selfplay.resources import resource

PREIMPORTED = (
    "math", "cmath", "collections", "collections.abc", "itertools", "functools", "re", "heapq", "bisect", "string",
    "random", "typing", "dataclasses", "datetime", "json", "decimal", "fractions", "statistics", "operator", "copy",
    "abc", "enum", "array", "time", "contextlib", "threading", "textwrap", "numbers", "hashlib", "linecache",
)  # fmt: skip

_MODULES = ("syscalls", "jail", "codec", "runner", "zygote")
_BOOT = """
import json, os, sys, types
def take(count):
    data = b""
    while len(data) < count:
        part = os.read(0, count - len(data))
        if not part:
            os._exit(0)
        data += part
    return data
config = json.loads(take(int.from_bytes(take(4), "big")))
package = sys.modules["sandbox"] = types.ModuleType("sandbox")
for name, source in config["modules"]:
    module = types.ModuleType("sandbox." + name)
    setattr(package, name, module)
    sys.modules[module.__name__] = module
    exec(compile(source, "sandbox/" + name + ".py", "exec"), module.__dict__)
module.main(config)
"""
_SEATBELT = "(version 1)(deny default)(allow process-fork)(allow signal (target self))(allow sysctl-read)(allow file-read*)"

_ORDER = struct.Struct("!BIddQQI")
_FRAME = struct.Struct("!cI")
_END = struct.Struct("!BiIdd")
_SECONDS = struct.Struct("!d")
_DONE, _CPU, _WALL, _STOPPED, _FLOOD = range(5)
_AHEAD = 2  # orders a zygote may hold: one runs, one waits in the pipe
_PATIENCE = 30.0  # seconds beyond every limit after which a silent zygote is given up
_KEPT = 4  # zygotes with different packages that one worker keeps
_LONGEST_ORDER = 256 << 20


class BoxUnavailable(SelfplayError):
    """This machine cannot run the local box; the message says why and what to do instead."""


@dataclass(slots=True)
class _Order:
    """Part of a task for one child: its cases from `first` on. `attempts` counts zygotes that died with it."""

    task: int
    first: int
    count: int
    attempts: int = 0
    reports: list[bytes] = field(default_factory=list)
    printed: bytes | None = None


class _Zygote:
    """One zygote process, its pipes, and the orders that it holds."""

    def __init__(self, imports: tuple[str, ...], jail: bool) -> None:
        self.imports = imports
        self.orders: deque[_Order] = deque()
        self.outgoing: deque[memoryview] = deque()
        self.incoming = bytearray()
        self.deadline = 0.0
        self.process = subprocess.Popen(
            _command(jail),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_environment(imports),
            close_fds=True,
            bufsize=0,
            cwd="/",
            start_new_session=True,  # Ctrl-C is for the host
        )
        assert self.process.stdin and self.process.stdout
        self.stdin, self.stdout = self.process.stdin.fileno(), self.process.stdout.fileno()
        self.hello = self._greet(_configuration(imports, jail))

    def _greet(self, configuration: bytes) -> dict[str, object]:
        """Ships the box's code and waits for the zygote's first frame."""
        try:
            _write_all(self.stdin, configuration)
            kind, length = _FRAME.unpack(_read_exactly(self.stdout, _FRAME.size))
            hello = json.loads(_read_exactly(self.stdout, length))
        except (OSError, EOFError, struct.error) as error:
            raise BoxUnavailable(self._last_words(error)) from None
        assert kind == b"H" and self.process.stderr
        self.process.stderr.close()
        os.set_blocking(self.stdin, False)
        os.set_blocking(self.stdout, False)
        return hello

    def _last_words(self, error: Exception) -> str:
        assert self.process.stderr
        self.process.kill()
        told = self.process.stderr.read().decode("utf-8", "replace").strip().splitlines()
        reason = told[-1] if told else f"{type(error).__name__}: {error}"
        self.close()
        return f"the sandbox process did not start ({sys.executable}): {reason}; run selfplay.doctor, or use --sandbox e2b"

    def close(self) -> None:
        """Kills the process; its child dies with it."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe:
                pipe.close()


def _command(jail: bool) -> list[str]:
    # -I would ignore PYTHONHASHSEED, so its parts are given one by one; -S keeps installed packages off the path
    python = [sys.executable, "-s", "-S", "-P", "-B", "-c", _BOOT]
    if sys.platform == "darwin" and jail:
        return ["/usr/bin/sandbox-exec", "-p", _SEATBELT, *python]
    return python


def _environment(imports: tuple[str, ...]) -> dict[str, str]:
    environment = {"PYTHONHASHSEED": "0", "PYTHONUTF8": "1", "TZ": "UTC", "LC_ALL": "C.UTF-8"}
    if imports:  # a library that starts threads at import could not be forked
        environment |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    return environment


def _configuration(imports: tuple[str, ...], jail: bool) -> bytes:
    packages = locate(imports)
    folder = resource("sandbox")
    configuration = {
        "modules": [(name, (folder / f"{name}.py").read_text("utf-8")) for name in _MODULES],
        "jail": jail,
        "preimport": PREIMPORTED,
        "packages": packages.names,
        "path": packages.folders,
        "grants": packages.grants,
    }
    text = json.dumps(configuration).encode()
    return struct.pack("!I", len(text)) + text


def _write_all(pipe: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(pipe, view) :]


def _read_exactly(pipe: int, count: int) -> bytes:
    data = b""
    while len(data) < count:
        part = os.read(pipe, count - len(data))
        if not part:
            raise EOFError("it ended before its first word")
        data += part
    return data


_open_boxes: weakref.WeakSet[LocalBox] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for box in list(_open_boxes):
        box.close()


class LocalBox:
    """Runs tasks on `workers` zygotes. `tier` names what confines them, `confinement` says it in full.

    `jail=False` leaves the walls out, for demonstrations. Raises BoxUnavailable where nothing can be started.
    """

    def __init__(self, workers: int = 1, jail: bool = True) -> None:
        if sys.platform == "win32":
            raise BoxUnavailable("Windows has no local sandbox: run inside WSL, or use E2B (--sandbox e2b)")
        if workers < 1:
            raise ValueError(f"workers is {workers}, it must be at least 1")
        self._jail = jail
        self._lock = threading.Lock()
        self._slots: list[list[_Zygote]] = [[] for _ in range(workers)]
        first = _Zygote((), jail)
        self._slots[0].append(first)
        self.confinement: Tier = tier_of(first.hello, jail)
        self.tier: str = self.confinement.name
        _open_boxes.add(self)

    @property
    def workers(self) -> int:
        return len(self._slots)

    def run(self, tasks: Sequence[Task]) -> list[tuple[Execution, ...]]:
        """One execution per input of each task, in order. Failures of the box itself are `infra_error`, never raised."""
        with self._lock:
            return _Run(self._slots, tasks, self._jail).finish()

    def close(self) -> None:
        """Ends the zygotes and whatever runs in them. A later `run` starts new ones."""
        with self._lock:
            for slot in self._slots:
                while slot:
                    slot.pop().close()

    def __enter__(self) -> LocalBox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Run:
    """One call of `run`: hands out orders, collects executions."""

    def __init__(self, slots: list[list[_Zygote]], tasks: Sequence[Task], jail: bool) -> None:
        self.slots, self.tasks, self.jail = slots, tasks, jail
        self.results: list[list[Execution | None]] = [[None] * len(task.inputs) for task in tasks]
        self.waiting = deque(itertools.chain.from_iterable(map(_orders, range(len(tasks)), tasks)))
        self.selector = selectors.DefaultSelector()
        self.active: set[_Zygote] = set()

    def finish(self) -> list[tuple[Execution, ...]]:
        try:
            while self.waiting or any(zygote.orders for zygote in self.active):
                self._hand_out()
                self._exchange()
        except BaseException:  # an interrupt leaves half-told frames: no zygote can be used again
            for zygote in [zygote for slot in self.slots for zygote in slot]:
                self._discard(zygote)
            raise
        finally:
            self.selector.close()
        return [tuple(execution or _INFRA for execution in row) for row in self.results]

    # ---- handing out ----

    def _hand_out(self) -> None:
        for depth in range(_AHEAD):
            for slot in self.slots:
                if self.waiting and sum(len(zygote.orders) for zygote in slot) <= depth:
                    self._give(slot, self.waiting.popleft())

    def _give(self, slot: list[_Zygote], order: _Order) -> None:
        try:
            zygote = self._zygote(slot, self.tasks[order.task].imports)
            zygote.outgoing.extend(map(memoryview, _packed(self.tasks[order.task], order)))
        except (BoxUnavailable, OSError, ValueError):
            self._lose(order)
            return
        if not zygote.orders:
            zygote.deadline = time.monotonic() + _allowance(self.tasks[order.task], order)
        zygote.orders.append(order)
        self._write(zygote)

    def _zygote(self, slot: list[_Zygote], imports: tuple[str, ...]) -> _Zygote:
        """The slot's zygote for these packages, started where there is none; the least recently used one makes room."""
        found = next((zygote for zygote in slot if zygote.imports == imports), None)
        if found is None:
            idle = [zygote for zygote in slot if not zygote.orders]
            if len(slot) >= _KEPT and idle:
                self._discard(idle[0])
            found = _Zygote(imports, self.jail)
        else:
            slot.remove(found)
        slot.append(found)
        if found not in self.active:
            self.active.add(found)
            self.selector.register(found.stdout, selectors.EVENT_READ, found)
        return found

    def _discard(self, zygote: _Zygote) -> None:
        for slot in self.slots:
            if zygote in slot:
                slot.remove(zygote)
        if zygote in self.active:
            self.active.remove(zygote)
            self.selector.unregister(zygote.stdout)
            if zygote.stdin in self.selector.get_map():
                self.selector.unregister(zygote.stdin)
        zygote.close()

    # ---- exchanging ----

    def _exchange(self) -> None:
        now = time.monotonic()
        patience = min((zygote.deadline - now for zygote in self.active if zygote.orders), default=0.0)
        for key, mask in self.selector.select(max(0.0, patience)):
            if key.data not in self.active:
                continue
            if mask & selectors.EVENT_WRITE:
                self._write(key.data)
            else:
                self._read(key.data)
        for zygote in [each for each in self.active if each.orders and time.monotonic() > each.deadline]:
            self._bury(zygote)

    def _write(self, zygote: _Zygote) -> None:
        try:
            while zygote.outgoing:
                written = os.write(zygote.stdin, zygote.outgoing[0])
                zygote.outgoing[0] = zygote.outgoing[0][written:]
                if not zygote.outgoing[0]:
                    zygote.outgoing.popleft()
        except BlockingIOError:
            pass
        except OSError:
            self._bury(zygote)
            return
        self._watch_writing(zygote)

    def _watch_writing(self, zygote: _Zygote) -> None:
        watched = zygote.stdin in self.selector.get_map()
        if zygote.outgoing and not watched:
            self.selector.register(zygote.stdin, selectors.EVENT_WRITE, zygote)
        elif watched and not zygote.outgoing:
            self.selector.unregister(zygote.stdin)

    def _read(self, zygote: _Zygote) -> None:
        try:
            data = os.read(zygote.stdout, 1 << 20)
        except BlockingIOError:
            return
        if not data:
            self._bury(zygote)
            return
        zygote.incoming += data
        try:
            for kind, body in _frames(zygote.incoming):
                self._take(zygote, kind, body)
        except (struct.error, ValueError, IndexError):
            self._bury(zygote)

    def _take(self, zygote: _Zygote, kind: bytes, body: bytes) -> None:
        order = zygote.orders[0]
        if kind == b"R":
            order.reports.append(body)
        elif kind == b"O":
            order.printed = body
        elif kind == b"E":
            zygote.orders.popleft()
            self._conclude(order, _END.unpack(body))
        else:
            raise ValueError(f"unknown frame {kind!r}")
        if zygote.orders:
            following = zygote.orders[0]
            zygote.deadline = time.monotonic() + _allowance(self.tasks[following.task], following)

    def _bury(self, zygote: _Zygote) -> None:
        """A zygote died or fell silent: its orders start over, the ones that had their second chance are lost."""
        orders = list(zygote.orders)
        self._discard(zygote)
        for order in reversed(orders):
            order.attempts += 1
            order.reports.clear()
            order.printed = None
            if order.attempts < 2:
                self.waiting.appendleft(order)
            else:
                self._lose(order)

    def _lose(self, order: _Order) -> None:
        self._fill(order, order.first, order.count, _INFRA)

    # ---- concluding ----

    def _fill(self, order: _Order, first: int, count: int, execution: Execution) -> None:
        self.results[order.task][first : first + count] = [execution] * count

    def _conclude(self, order: _Order, end: tuple[int, int, int, float, float]) -> None:
        """Reads what a child reported, judges how it ended, and orders what is left."""
        task = self.tasks[order.task]
        kinds = [report[:1] for report in order.reports]
        if b"I" in kinds[:2]:
            self._lose(order)
        elif kinds[1:2] != [b"L"]:
            self._fill(order, order.first, order.count, _not_loaded(order.reports[1:2]))
        elif not task.entry_point:
            self._fill(order, order.first, 1, _program(order, end, task))
        else:
            self._conclude_calls(order, end, task)

    def _conclude_calls(self, order: _Order, end: tuple[int, int, int, float, float], task: Task) -> None:
        done = 0
        for report in order.reports[2 : 2 + order.count]:
            execution = _call(report, task)
            self.results[order.task][order.first + done] = execution
            done += 1
        if done == order.count:
            return
        ended = Execution("timeout", seconds=task.limits.cpu_seconds) if _timed_out(end) else Execution("crashed")
        self._fill(order, order.first + done, 1, ended)
        left = order.count - done - 1
        if left:
            self.waiting.appendleft(_Order(order.task, order.first + done + 1, left))


_INFRA = Execution("infra_error")


def _orders(index: int, task: Task) -> Iterable[_Order]:
    if task.entry_point:
        return [_Order(index, 0, len(task.inputs))] if task.inputs else []
    return [_Order(index, first, 1) for first in range(len(task.inputs))]


def _packed(task: Task, order: _Order) -> tuple[bytes, bytes]:
    """The order's header and body."""
    limits = task.limits
    inputs = task.inputs[order.first : order.first + order.count]
    body = json.dumps([task.source, task.entry_point, inputs], separators=(",", ":")).encode()
    if len(body) > _LONGEST_ORDER:
        raise ValueError(f"an order takes {len(body)} bytes, the limit is {_LONGEST_ORDER}")
    header = _ORDER.pack(
        0 if task.entry_point else 1,
        order.count,
        limits.cpu_seconds,
        _wall_seconds(task),
        limits.memory_mib << 20,
        limits.output_bytes,
        len(body),
    )
    return header, body


def _wall_seconds(task: Task) -> float:
    """The backstop: CPU time is what is limited, but a sleeping program uses none."""
    return 5.0 * task.limits.cpu_seconds + 1.0


def _allowance(task: Task, order: _Order) -> float:
    return _wall_seconds(task) * (order.count + 1) + _PATIENCE


def _frames(buffer: bytearray) -> Iterable[tuple[bytes, bytes]]:
    """Takes the whole frames off the front of the buffer."""
    position = 0
    try:
        while len(buffer) - position >= _FRAME.size:
            kind, length = _FRAME.unpack_from(buffer, position)
            start = position + _FRAME.size
            if len(buffer) - start < length:
                return
            position = start + length
            yield kind, bytes(buffer[start:position])
    finally:
        del buffer[:position]


def _timed_out(end: tuple[int, int, int, float, float]) -> bool:
    reason, status = end[0], end[1]
    return reason in (_CPU, _WALL) or (reason == _DONE and os.WIFSIGNALED(status) and os.WTERMSIG(status) == 24)


def _clamped(seconds: float, task: Task) -> float:
    return min(max(seconds, 0.0), task.limits.cpu_seconds) if seconds == seconds else 0.0


def _not_loaded(reports: list[bytes]) -> Execution:
    names = _names(reports[0][1:]) if reports and reports[0][:1] == b"N" else ()
    return Execution("not_collected", exception=names)


def _names(text: bytes) -> tuple[str, ...]:
    try:
        names = json.loads(text)
    except (ValueError, RecursionError):
        return ()
    return tuple(name for name in names if isinstance(name, str)) if isinstance(names, list) else ()


def _call(report: bytes, task: Task) -> Execution:
    """What one report says; a forged or broken one is a crash."""
    kind, rest = report[:1], report[1:]
    if kind not in (b"V", b"X") or len(rest) < _SECONDS.size:
        return Execution("crashed")
    seconds = _clamped(_SECONDS.unpack_from(rest)[0], task)
    body = rest[_SECONDS.size :]
    if kind == b"X":
        return Execution("raised", exception=_names(body), seconds=seconds)
    try:
        return Execution("returned", value=body.decode("ascii"), seconds=seconds)
    except UnicodeDecodeError:
        return Execution("crashed", seconds=seconds)


def _program(order: _Order, end: tuple[int, int, int, float, float], task: Task) -> Execution:
    """A program's run: it returned only with exit status 0 and output within the cap."""
    reason, status, _, cpu, _ = end
    seconds = _clamped(cpu, task)
    if _timed_out(end):
        return Execution("timeout", seconds=task.limits.cpu_seconds)
    printed = order.printed or b""
    text = printed[: task.limits.output_bytes].decode("utf-8", "replace")
    if reason != _DONE or not os.WIFEXITED(status):
        return Execution("crashed", text, seconds=seconds)
    if len(printed) > task.limits.output_bytes:
        return Execution("raised", text, ("OutputTooLarge",), seconds)
    if status == 0:
        return Execution("returned", text, seconds=seconds)
    raised = next((_names(report[9:]) for report in order.reports[2:] if report[:1] == b"X"), ("SystemExit",))
    return Execution("raised", text, raised, seconds)
