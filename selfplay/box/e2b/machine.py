"""One virtual machine: created, fed with batches of tasks, killed. Every call of the SDK is here; every failure is a Fault.

A batch takes three requests: write the tasks, run them, read the answers. The SDK itself waits and asks again where E2B is busy
or limits the rate. Everything from a machine is read with suspicion: answers that are broken or incomplete are a Fault, and the
batch is asked of another machine. Left out: a resident process with an open stream (a cut connection would lose what it
holds; three requests can be repeated elsewhere).
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import time
import uuid
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from selfplay.box.e2b.remote import ANSWERS, TASKS
from selfplay.box.task import Execution, Task
from selfplay.box.tiers import TIERS, Tier
from selfplay.resources import resource

if TYPE_CHECKING:
    from e2b import Sandbox

MAX_BYTES = 32 << 20  # of tasks in a batch; of answers after which a machine leaves out the rest
_RETRIES = 6  # of a request that E2B asks to repeat: the SDK waits a few seconds in all, or as long as E2B says
_PATIENCE = 60.0  # seconds beyond every limit after which a batch is given up
_KILL_TIMEOUT = 10.0
_EXECUTION_BYTES = 16_384  # that words and numbers of an execution take beside its value
_ESCAPED = 6  # bytes that a character of a value takes as JSON at most
_LONGEST = 1e9  # seconds; a whole number of many digits is no float
_STATUSES = get_args(get_type_hints(Execution)["status"])
_FOLDER = "selfplay"  # in root's home: programs run as a user that cannot look there
_CODE = "box.zip"
_COMMAND = (
    f"cd && cd {_FOLDER} && (test -d sandbox || python3 -m zipfile -e {_CODE} .) && "
    "exec python3 -s -B -m selfplay.box.e2b.remote"
)

Rows = dict[int, tuple[Execution, ...]]  # executions by the task's number


class Fault(Exception):
    """A failure of the cloud, never of a program. The message never holds the key. `refused`: it is the key that fails."""

    def __init__(self, what: str, why: str, refused: bool = False) -> None:
        super().__init__(f"{what}: {why}")
        self.what, self.refused = what, refused


@contextlib.contextmanager
def calling(what: str) -> Iterator[None]:
    """Around calls of the SDK: any exception becomes a Fault."""
    try:
        yield
    except Fault:
        raise
    # The SDK raises its own trees, httpx's, Connect's, bare Exceptions and, on garbage, whatever its parsers do.
    except Exception as error:  # noqa: BLE001
        written = str(getattr(error, "stderr", "") or "").strip().splitlines()
        why = f"{type(error).__name__}: {written[-1] if written else error}"
        if key := os.environ.get("E2B_API_KEY"):
            why = why.replace(key, "E2B_API_KEY")  # should a server repeat it
        raise Fault(what, why[:300], type(error).__name__ == "AuthenticationException") from None


class Machine:
    """A running machine. `ends` is the monotonic time at which E2B ends it by itself."""

    def __init__(self, sandbox: Sandbox, began: float, lifetime: float, timeout: float) -> None:
        self.sandbox, self.timeout = sandbox, timeout
        self.began, self.ends = began, began + lifetime
        self.installed = False
        self.inside: Tier | None = None  # how it confines programs, once it has run some

    @property
    def left(self) -> float:
        """Seconds that it has left."""
        return max(0.0, self.ends - time.monotonic())

    def run(self, tasks: Sequence[Task], seconds: float) -> Rows:
        """The executions of those tasks that were done in about so many seconds, at least of one. Raises Fault."""
        if not self.installed:
            self._write(_CODE, code())
            self.installed = True
        batch = {"seconds": seconds, "bytes": MAX_BYTES, "tasks": [asdict(task) for task in tasks]}
        self._write(TASKS, json.dumps(batch).encode())
        with calling("running a batch"):
            self.sandbox.commands.run(_COMMAND, user="root", timeout=seconds_for(tasks, seconds))
        try:
            rows, self.inside = read_answers(self._read(ANSWERS, MAX_BYTES + max(map(_most_bytes, tasks))), tasks)
        except ValueError as error:
            raise Fault("reading answers", str(error)) from None
        return rows

    def _write(self, name: str, content: bytes) -> None:
        with calling(f"writing {name}"):
            self.sandbox.files.write(f"{_FOLDER}/{name}", content, user="root", request_timeout=self.timeout)

    def _read(self, name: str, most: int) -> bytes:
        content, options = bytearray(), {"user": "root", "request_timeout": self.timeout}
        with (
            calling(f"reading {name}"),
            self.sandbox.files.read(f"{_FOLDER}/{name}", format="stream", **options) as parts,
        ):
            for part in parts:
                content += part
                if len(content) > most:
                    raise Fault(f"reading {name}", f"more than {most} bytes")
        return bytes(content)


def seconds_for(tasks: Sequence[Task], seconds: float) -> float:
    """Within which a batch must be done: its last task begins within `seconds`."""
    return seconds + max(task.limits.total_wall_seconds(len(task.inputs)) for task in tasks) + _PATIENCE


def _most_bytes(task: Task) -> int:
    """The longest answer that can be honest."""
    owners = len({owner for asking in task.owners for owner in asking}) or 1
    each = _EXECUTION_BYTES + (0 if task.entry_point else task.limits.output_bytes * _ESCAPED)
    return len(task.inputs) * each + owners * task.limits.answer_bytes * 2


def read_answers(content: bytes, tasks: Sequence[Task]) -> tuple[Rows, Tier]:
    """What a machine says of these tasks, and how it confines programs. Raises ValueError where a sound one says otherwise."""
    *lines, last = content.split(b"\n")[:-1] or [b""]
    count, name, missing = _parts(last, 3)
    if count != len(lines) or not lines or not content.endswith(b"\n") or name not in TIERS:
        raise ValueError("the answers have not the end that they announce")
    rows: Rows = {}
    for line in lines:
        number, *told = _parts(line)
        if type(number) is not int or not 0 <= number < len(tasks) or number in rows:
            raise ValueError(f"an answer to task {number!r:.20} of {len(tasks)}")
        if len(told) != len(tasks[number].inputs):
            raise ValueError(f"{len(told)} executions of task {number}, which has {len(tasks[number].inputs)} inputs")
        rows[number] = tuple(map(_execution, told))
    if not isinstance(missing, list) or any(not isinstance(each, list) or len(each) != 2 for each in missing):
        raise ValueError("the answers do not say how programs were confined")
    return rows, Tier(name, tuple((str(wall), str(why)) for wall, why in missing))


def _parts(line: bytes, count: int | None = None) -> list[Any]:
    try:
        parts = json.loads(line)
    except RecursionError:
        raise ValueError("a line is nested too deeply") from None
    if not isinstance(parts, list) or not parts or (count is not None and len(parts) != count):
        raise ValueError("a line is no answer")
    return parts


def _execution(told: object) -> Execution:
    match told:
        case [str(status), str(value), [*names], float() | int() as seconds, str(detail)]:
            if status in _STATUSES and all(isinstance(name, str) for name in names) and 0 <= seconds < _LONGEST:
                return Execution(status, value, tuple(names), float(seconds), detail)  # type: ignore[arg-type]
    raise ValueError("an execution is none")


def code() -> bytes:
    """The local box as an archive of its modules and of what they ship to a child; packages are without their own text."""
    content, package = io.BytesIO(), Path(__file__).parents[2]
    modules = ["errors.py", "resources.py", "box/e2b/remote.py"]
    modules += [f"box/{path.name}" for path in (package / "box").glob("*.py") if path.name != "__init__.py"]
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("__init__.py", "box/__init__.py", "box/e2b/__init__.py"):
            archive.writestr(f"selfplay/{name}", "")
        for name in modules:
            archive.write(package / name, f"selfplay/{name}")
        for path in resource("sandbox").glob("*.py"):
            archive.write(path, f"sandbox/{path.name}")
    return content.getvalue()


def create(lifetime: int, metadata: Mapping[str, str], timeout: float) -> Machine:
    """A new machine, offline. A request that the SDK repeats is the same request. Raises Fault."""
    from e2b import Sandbox

    began = time.monotonic()
    with calling("creating a sandbox"):
        sandbox = Sandbox.create(
            timeout=lifetime,
            metadata=dict(metadata),
            allow_internet_access=False,
            idempotency_key=str(uuid.uuid4()),
            **_options(timeout),
        )
    return Machine(sandbox, began, lifetime, timeout)


def kill(sandbox_id: str) -> None:
    """Ends a machine that is there or not. Raises Fault."""
    from e2b import Sandbox

    with calling("killing a sandbox"):
        Sandbox.kill(sandbox_id, **_options(_KILL_TIMEOUT))


def listed(metadata: Mapping[str, str], timeout: float) -> list[tuple[str, dict[str, str]]]:
    """Ids and metadata of the machines that carry this metadata. Raises Fault."""
    from e2b import Sandbox, SandboxQuery

    found: list[tuple[str, dict[str, str]]] = []
    with calling("listing sandboxes"):
        pages = Sandbox.list(SandboxQuery(metadata=dict(metadata)), **_options(timeout))
        while pages.has_next:
            found += [(each.sandbox_id, dict(each.metadata or {})) for each in pages.next_items()]
    return found


def _options(timeout: float) -> Any:
    """What every control-plane call takes. Debug mode would pretend to create and kill."""
    return {"request_timeout": timeout, "retries": _RETRIES, "debug": False}
