"""One sandbox: created, fed with batches, killed. Every call of the SDK is here, and every failure is a Fault.

A batch takes three requests: write the orders, run the in-box runner, read the answers. Left out: a resident process
with an open stream (a cut connection would lose what it holds; three requests can be repeated elsewhere).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from selfplay.box.e2b.batch import Answer, Batch, box_files, inside, records_of
from selfplay.box.e2b.faults import Fault, Kind, calling
from selfplay.box.e2b.settings import E2BSettings
from selfplay.box.tiers import Tier

if TYPE_CHECKING:
    from e2b import Sandbox

_FOLDER = "selfplay"  # in root's home: programs run as a user that cannot look there
_COMMAND = f"cd && exec python3 -I -B {_FOLDER}/batch.py {_FOLDER}"
_KILL_TIMEOUT = 10.0


class Machine:
    """A running sandbox. `ends` is the monotonic time at which E2B ends it by itself."""

    def __init__(self, sandbox: Sandbox, settings: E2BSettings, began: float, lifetime: float) -> None:
        self.sandbox, self.settings = sandbox, settings
        self.began, self.ends = began, began + lifetime
        self.installed = False
        self.inside: Tier | None = None  # how it confines programs, once it has run some

    @property
    def id(self) -> str:
        """E2B's name of the sandbox."""
        return self.sandbox.sandbox_id

    def run(self, batch: Batch) -> list[Answer]:
        """One answer per program. Raises Fault."""
        packed = batch.pack()
        if not self.installed:
            for name, content in box_files().items():
                self._write(name, content)
            self.installed = True
        self._write("orders", packed)
        with calling("running a batch"):
            self.sandbox.commands.run(_COMMAND, user="root", timeout=batch.limit)
        try:
            answers, hello = batch.answers(records_of(self._read("answers", batch.most_bytes)))
            self.inside = inside(hello)
        except ValueError as error:
            raise Fault(Kind.LOST, f"reading a batch's answers: {error}") from None
        return answers

    def _write(self, name: str, content: bytes) -> None:
        with calling(f"writing {name}"):
            timeout = self.settings.request_timeout
            self.sandbox.files.write(f"{_FOLDER}/{name}", content, user="root", request_timeout=timeout)

    def _read(self, name: str, most: int) -> Iterator[bytes]:
        """The parts of a file as they come."""
        size = 0
        with calling(f"reading {name}"):
            timeout = self.settings.request_timeout
            path = f"{_FOLDER}/{name}"
            with self.sandbox.files.read(path, format="stream", user="root", request_timeout=timeout) as parts:
                for part in parts:
                    size += len(part)
                    if size > most:
                        raise Fault(Kind.LOST, f"reading {name}: more than {most} bytes")
                    yield part

    def seconds(self) -> float:
        """What it has cost so far, in sandbox-seconds."""
        return max(0.0, min(time.monotonic(), self.ends) - self.began)


def create(settings: E2BSettings, lifetime: int, metadata: dict[str, str], ticket: str) -> Machine:
    """A new sandbox. `ticket` makes a repeated request the same request. Raises Fault."""
    from e2b import Sandbox

    began = time.monotonic()
    with calling("creating a sandbox"):
        sandbox = Sandbox.create(
            settings.template,
            timeout=lifetime,
            metadata=metadata,
            allow_internet_access=settings.internet,
            idempotency_key=ticket,
            **_options(settings.request_timeout),
        )
    return Machine(sandbox, settings, began, lifetime)


def kill(sandbox_id: str) -> bool:
    """Ends a sandbox; False where it was gone already. Raises Fault."""
    from e2b import Sandbox

    with calling("killing a sandbox"):
        return Sandbox.kill(sandbox_id, **_options(_KILL_TIMEOUT))


def listed(metadata: dict[str, str], timeout: float) -> list[tuple[str, dict[str, str]]]:
    """Ids and metadata of the sandboxes that carry this metadata. Raises Fault."""
    from e2b import Sandbox, SandboxQuery

    found: list[tuple[str, dict[str, str]]] = []
    with calling("listing sandboxes"):
        pages = Sandbox.list(SandboxQuery(metadata=metadata), **_options(timeout))
        while pages.has_next:
            found += [(each.sandbox_id, dict(each.metadata or {})) for each in pages.next_items()]
    return found


def _options(timeout: float) -> Any:
    """What every control-plane call takes. Debug mode would pretend to create and kill."""
    return {"request_timeout": timeout, "debug": False}
