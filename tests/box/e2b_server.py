"""A server that speaks E2B's protocol to the real SDK: the control plane's REST and envd's files and Connect streams.

Commands run as real processes of this machine, each sandbox in a folder of its own, so verdicts are real. Faults are put
in by `server.faults.append((where, action))` with `where` one of create, list, kill, write, run, read; each happens once.
Left out: what the box does not use (pausing, templates, watching, terminals).
"""

from __future__ import annotations

import base64
import contextlib
import email.parser
import email.policy
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

KEY = "e2b_0123456789abcdef0123456789abcdef01234567"
_ENVD = "0.6.5"


class Answered(Exception):
    """A fault has answered in place of the server."""


Action = Callable[["Handler"], None]


@dataclass
class Machine:
    """One sandbox: its folder, its label, what runs in it."""

    id: str
    home: Path
    metadata: dict[str, str]
    ends: float
    token: str = field(default_factory=lambda: uuid.uuid4().hex)
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def end(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        shutil.rmtree(self.home, ignore_errors=True)


class E2BServer:
    """The control plane and every sandbox's envd on one port."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.key = KEY
        self.faults: list[tuple[str, Action]] = []
        self.requests: list[tuple[str, str]] = []  # method and path
        self.created: list[dict[str, Any]] = []  # bodies
        self.tickets: dict[str, str] = {}  # idempotency key -> sandbox
        self.uploads: list[bytes] = []
        self.alive: dict[str, Machine] = {}
        self.concurrent = 20
        self.memory_mib = 0  # that a command and what it starts may address, each; 0: any
        self.lock = threading.Lock()
        self.creating = threading.Lock()  # two that are created at once are not both the last that a plan allows
        self.http = _Http(("127.0.0.1", 0), Handler)
        self.http.e2b = self
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True).start()

    def fault(self, where: str) -> Action | None:
        with self.lock:
            index = next((i for i, (place, _) in enumerate(self.faults) if place == where), None)
            return None if index is None else self.faults.pop(index)[1]

    def add(self, metadata: dict[str, str], seconds: float) -> Machine:
        name = f"i{uuid.uuid4().hex[:16]}"
        home = Path(tempfile.mkdtemp(prefix=name, dir=self.folder))
        (home / ".profile").write_text(f'PATH="{Path(sys.executable).parent}:$PATH"\n')
        with self.lock:
            self.alive[name] = Machine(name, home, metadata, time.monotonic() + seconds)
            return self.alive[name]

    def remove(self, name: str) -> bool:
        with self.lock:
            machine = self.alive.pop(name, None)
        if machine:
            machine.end()
        return machine is not None

    def find(self, name: str) -> Machine | None:
        with self.lock:
            machine = self.alive.get(name)
        if machine and time.monotonic() > machine.ends:
            self.remove(name)
            return None
        return machine

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()
        for name in list(self.alive):
            self.remove(name)


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    e2b: E2BServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Connections that a fault or a client has cut are no news."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def e2b(self) -> E2BServer:
        assert isinstance(self.server, _Http)
        return self.server.e2b

    def log_message(self, format: str, *args: object) -> None:
        pass

    # ---- routes ----

    def do_POST(self) -> None:
        self._serve()

    def do_GET(self) -> None:
        self._serve()

    def do_DELETE(self) -> None:
        self._serve()

    def _serve(self) -> None:
        self.body = self._read_body()
        parts = urlsplit(self.path)
        self.query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        self.e2b.requests.append((self.command, parts.path))
        with contextlib.suppress(Answered):
            self._route(parts.path)

    def _read_body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _route(self, path: str) -> None:
        if path == "/v2/sandboxes":
            self._control("create" if self.command == "POST" else "list")
        elif path.startswith("/sandboxes/") and self.command == "DELETE":
            self._control("kill", path.rpartition("/")[2])
        elif path == "/health":
            self._with_machine(lambda machine: self.answer(204))
        elif path == "/files":
            self._with_machine(self._write if self.command == "POST" else self._read)
        elif path == "/process.Process/Start":
            self._with_machine(self._run)
        else:
            self.answer(404, {"code": 404, "message": f"no route {self.command} {path}"})

    def _faults(self, where: str) -> None:
        action = self.e2b.fault(where)
        if action:
            action(self)

    # ---- the control plane ----

    def _control(self, where: str, *arguments: str) -> None:
        self._faults(where)
        if self.headers.get("X-API-KEY") != self.e2b.key:
            told = f"invalid API key {self.headers.get('X-API-KEY')}"  # a careless server, to test the client with
            return self.answer(401, {"code": 401, "message": told})
        return {"create": self._create, "list": self._list, "kill": self._kill}[where](*arguments)

    def _create(self) -> None:
        body = json.loads(self.body)
        ticket = self.headers.get("Idempotency-Key", "")
        with self.e2b.creating:
            machine = self.e2b.find(self.e2b.tickets.get(ticket, ""))
            if machine is None and len(self.e2b.alive) < self.e2b.concurrent:
                machine = self.e2b.add(body["metadata"], body["timeout"])
                self.e2b.tickets[ticket] = machine.id
        if machine is None:
            told = f"you have reached the maximum number of concurrent E2B sandboxes ({self.e2b.concurrent})"
            return self.answer(429, {"code": 429, "message": told}, {"Should-Retry": "false"})
        self.e2b.created.append(body)
        described = {"templateID": "base", "sandboxID": machine.id, "clientID": "c", "envdVersion": _ENVD}
        return self.answer(201, described | {"envdAccessToken": machine.token})

    def _list(self) -> None:
        pairs = parse_qs(self.query.get("metadata", ""))
        wanted = {unquote(name): unquote(values[0]) for name, values in pairs.items()}
        now = datetime.now(UTC)
        found = [
            {
                "templateID": "base",
                "sandboxID": machine.id,
                "clientID": "c",
                "envdVersion": _ENVD,
                "startedAt": now.isoformat(),
                "endAt": (now + timedelta(hours=1)).isoformat(),
                "cpuCount": 2,
                "memoryMB": 512,
                "diskSizeMB": 1024,
                "state": "running",
                "metadata": machine.metadata,
            }
            for machine in list(self.e2b.alive.values())
            if wanted.items() <= machine.metadata.items()
        ]
        self.answer(200, found)

    def _kill(self, name: str) -> None:
        self.answer(204 if self.e2b.remove(name) else 404)

    # ---- envd ----

    def _with_machine(self, serve: Callable[[Machine], None]) -> None:
        """As the proxy before envd does it: a sandbox that is gone is a 502 that says so."""
        if self.path.startswith("/files"):
            self._faults("write" if self.command == "POST" else "read")
        elif self.path.startswith("/process"):
            self._faults("run")
        name = self.headers.get("E2b-Sandbox-Id", "")
        machine = self.e2b.find(name)
        if machine is None:
            return self.answer(502, {"sandboxId": name, "message": "The sandbox was not found", "code": 502})
        if self.path != "/health" and self.headers.get("X-Access-Token") != machine.token:
            return self.answer(401, {"code": 401, "message": "wrong access token"})
        return serve(machine)

    def _path(self, machine: Machine) -> Path:
        assert self.query["username"] == "root"
        return machine.home / self.query["path"]

    def _write(self, machine: Machine) -> None:
        head = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode()
        message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + self.body)
        content = b"".join(part.get_payload(decode=True) for part in message.iter_parts())  # type: ignore[attr-defined]
        path = self._path(machine)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        self.e2b.uploads.append(content)
        self.answer(200, [{"name": path.name, "path": str(path), "type": "file"}])

    def _read(self, machine: Machine) -> None:
        path = self._path(machine)
        if not path.is_file():
            return self.answer(404, {"code": 404, "message": f"path '{path}' does not exist"})
        return self.answer_bytes(200, path.read_bytes(), "application/octet-stream")

    def _run(self, machine: Machine) -> None:
        request = json.loads(self.body[5:])["process"]
        assert base64.b64decode(self.headers["Authorization"].split()[1]) == b"root:"
        process = self.start(machine, request)
        self.begin_stream()
        self.event({"start": {"pid": process.pid}})
        out, err = process.communicate()
        for name, text in (("stdout", out), ("stderr", err)):
            if text:
                self.event({"data": {name: base64.b64encode(text).decode()}})
        code = process.returncode
        self.event({"end": {"exitCode": max(code, 0), "exited": code >= 0, "status": f"exit status {code}"}})
        self.end_stream()

    def start(self, machine: Machine, request: dict[str, Any]) -> subprocess.Popen[bytes]:
        *arguments, command = request["args"]
        limit = f"ulimit -v {self.e2b.memory_mib << 10}; " if self.e2b.memory_mib else ""
        process = subprocess.Popen(
            [request["cmd"], *arguments, limit + command],
            cwd="/",
            env={"HOME": str(machine.home), "PATH": os.environ.get("PATH", os.defpath), "USER": "root"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        machine.processes.append(process)
        return process

    # ---- answering ----

    def answer(self, status: int, body: object = None, headers: dict[str, str] | None = None) -> None:
        self.answer_bytes(status, b"" if body is None else json.dumps(body).encode(), "application/json", headers)

    def answer_bytes(self, status: int, body: bytes, kind: str, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def begin_stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/connect+json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def event(self, event: dict[str, Any]) -> None:
        self.envelope(0, json.dumps({"event": event}).encode())

    def envelope(self, flags: int, body: bytes) -> None:
        self.chunk(struct.pack("!BI", flags, len(body)) + body)

    def chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def end_stream(self) -> None:
        self.envelope(2, b"{}")
        self.wfile.write(b"0\r\n\r\n")

    def cut(self) -> None:
        """Closes the connection under the client."""
        self.close_connection = True
        self.wfile.flush()
        self.connection.shutdown(2)


# ---- faults ----


def status(code: int, message: str = "no", **headers: str) -> Action:
    """Answers with this status."""

    def act(handler: Handler) -> None:
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        handler.answer(code, {"code": code, "message": message}, names)
        raise Answered

    return act


def cut(handler: Handler) -> None:
    """Cuts the connection without an answer."""
    handler.cut()
    raise Answered


def cut_stream(handler: Handler) -> None:
    """Starts the command's stream and cuts it in the middle."""
    handler.begin_stream()
    handler.event({"start": {"pid": 1}})
    cut(handler)


def half_envelope(handler: Handler) -> None:
    """Ends the command's stream within a message."""
    handler.begin_stream()
    handler.event({"start": {"pid": 1}})
    handler.chunk(struct.pack("!BI", 0, 100) + b'{"event":')
    handler.wfile.write(b"0\r\n\r\n")
    raise Answered


def garbage_envelope(handler: Handler) -> None:
    """Sends noise where the command's stream belongs."""
    handler.begin_stream()
    handler.chunk(struct.pack("!BI", 0, 6) + b"\x00\xff\x13noi")
    handler.end_stream()
    raise Answered


def no_end_event(handler: Handler) -> None:
    """Ends the command's stream in order, but never says that the command has ended."""
    handler.begin_stream()
    handler.event({"start": {"pid": 1}})
    handler.end_stream()
    raise Answered


def failing(handler: Handler) -> None:
    """The command ends with an error."""
    handler.begin_stream()
    handler.event({"start": {"pid": 1}})
    handler.event({"data": {"stderr": base64.b64encode(b"Killed\n").decode()}})
    handler.event({"end": {"exitCode": 137, "exited": True, "status": "exit status 137"}})
    handler.end_stream()
    raise Answered


def gone(handler: Handler) -> None:
    """The sandbox has ended before the request came."""
    handler.e2b.remove(handler.headers["E2b-Sandbox-Id"])


def slow(seconds: float) -> Action:
    """Answers late."""

    def act(handler: Handler) -> None:
        time.sleep(seconds)

    return act


def content(change: Callable[[bytes], bytes]) -> Action:
    """Hands out a changed file."""

    def act(handler: Handler) -> None:
        machine = handler.e2b.find(handler.headers["E2b-Sandbox-Id"])
        assert machine
        path = machine.home / handler.query["path"]
        path.write_bytes(change(path.read_bytes()))

    return act
