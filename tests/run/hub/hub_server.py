"""A hub on this machine: the endpoints that a push and a download use, plain LFS, and faults on demand.

    with Hub() as hub: hub.url, hub.files("me/run"), hub.fails["/commit/"] = [503]

A fault is a status, `break` for a connection that ends in the middle, or `page` for an answer that is no JSON; each is used
up by one request. The one valid token is TOKEN, and it may write under `me/` alone. Left out: xet, pull requests, large files
in parts.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlparse

import yaml

TOKEN = "hf_" + "t" * 34


@dataclass
class Repository:
    private: bool
    branches: dict[str, dict[str, bytes]] = field(default_factory=lambda: {"main": {}})
    commits: int = 0

    @property
    def metadata(self) -> dict[str, Any]:
        page = self.branches["main"].get("README.md", b"").decode()
        found = re.match(r"---\n(.*?)\n---\n", page, re.DOTALL)
        return (yaml.safe_load(found[1]) or {}) if found else {}


class Hub:
    """The server and what it holds."""

    def __init__(self) -> None:
        self.repositories: dict[str, Repository] = {}
        self.objects: dict[str, bytes] = {}
        self.fails: dict[str, list[int | str]] = {}
        self.asked: list[str] = []
        hub = self

        class Handler(_Handler):
            state = hub

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Hub:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def put(self, repo: str, files: Mapping[str, bytes], private: bool = False) -> None:
        """A repository that somebody pushed earlier."""
        self.repositories[repo] = Repository(private, {"main": dict(files)})

    def files(self, repo: str, branch: str = "main") -> Mapping[str, bytes]:
        return self.repositories[repo].branches[branch]


class _Handler(BaseHTTPRequestHandler):
    state: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None: ...

    def do_GET(self) -> None:
        self._answer("GET")

    def do_HEAD(self) -> None:
        self._answer("HEAD")

    def do_POST(self) -> None:
        self._answer("POST")

    def do_PUT(self) -> None:
        self._answer("PUT")

    # ---- answering ----

    def _answer(self, method: str) -> None:
        path = unquote(urlparse(self.path).path)
        self.state.asked.append(f"{method} {path}")
        for part, faults in self.state.fails.items():
            if part in path and faults:
                return self._fail(faults.pop(0))
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)) if method in ("POST", "PUT") else b""
        if path.startswith("/blob/"):
            self.state.objects[path.removeprefix("/blob/")] = body
            return self._send(200)
        if path == "/verify":
            return self._send(200, {})
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            return self._send(401, {"error": "Invalid credentials in Authorization header"})
        for pattern, handler in ROUTES:
            found = re.fullmatch(pattern, path)
            if found:
                return handler(self, body, *found.groups())
        return self._send(404, {"error": f"no such path: {path}"})

    def _fail(self, fault: int | str) -> None:
        if fault == "break":
            self.rfile.read(1)
            self.close_connection = True
            self.connection.close()
            return None
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if fault == "page":
            return self._send(200, data=b"<html>Log in to this network</html>")
        return self._send(int(fault), {"error": "as the test wants it"})

    def _send(self, status: int, value: Any = None, data: bytes | None = None, **headers: str) -> None:
        content = data if data is not None else json.dumps(value).encode()
        self.send_response(status)
        for name, text in ({"Content-Type": "application/json"} | headers).items():
            self.send_header(name.replace("_", "-"), text)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _repository(self, name: str) -> Repository | None:
        found = self.state.repositories.get(name)
        if found is None:
            self._send(404, {"error": "Repository not found"}, X_Error_Code="RepoNotFound")
        return found

    # ---- endpoints ----

    def info(self, body: bytes, name: str, revision: str | None = None) -> None:
        held = self._repository(name)
        if held is not None and (revision or "main") not in (*held.branches, "f" * 40):
            return self._send(404, {"error": "no such revision"}, X_Error_Code="RevisionNotFound")
        if held is not None:
            files = [{"rfilename": path} for path in held.branches["main"]]
            about = {"id": name, "modelId": name, "private": held.private, "siblings": files}
            told = {"tags": held.metadata.get("tags", []), "cardData": held.metadata}
            self._send(200, about | told | {"sha": "f" * 40})
        return None

    def create(self, body: bytes) -> None:
        asked = json.loads(body)
        name = f"{asked.get('organization') or 'me'}/{asked['name']}"
        if not name.startswith("me/"):
            return self._send(403, {"error": "You don't have the rights to create a model under this namespace"})
        if name in self.state.repositories:
            return self._send(409, {"error": "You already created this model repo"})
        self.state.repositories[name] = Repository(asked.get("private") or asked.get("visibility") == "private")
        return self._send(200, {"url": f"{self.state.url}/{name}", "name": name})

    def validate(self, body: bytes) -> None:
        page = json.loads(body)["content"]
        found = re.match(r"---\n(.*?)\n---\n", page, re.DOTALL)
        wrong = [] if found and isinstance(yaml.safe_load(found[1]), dict) else [{"message": "no metadata"}]
        self._send(400 if wrong else 200, {"errors": wrong, "warnings": []})

    def branch(self, body: bytes, name: str, branch: str) -> None:
        held = self._repository(name)
        if held is not None:
            held.branches.setdefault(branch, dict(held.branches["main"]))
            self._send(200, {})

    def preupload(self, body: bytes, name: str, revision: str) -> None:
        asked = json.loads(body)["files"]
        mode = {True: "lfs", False: "regular"}
        files = [
            {"path": each["path"], "uploadMode": mode[each["path"].endswith(".safetensors")], "shouldIgnore": False}
            for each in asked
        ]
        self._send(200, {"files": files})

    def batch(self, body: bytes, name: str) -> None:
        objects = [
            each
            | {
                "actions": {
                    "upload": {"href": f"{self.state.url}/blob/{each['oid']}"},
                    "verify": {"href": f"{self.state.url}/verify"},
                }
            }
            for each in json.loads(body)["objects"]
        ]
        self._send(200, {"transfer": "basic", "objects": objects})

    def commit(self, body: bytes, name: str, revision: str) -> None:
        held = self._repository(name)
        if held is None:
            return
        files = held.branches[revision]
        for line in map(json.loads, body.splitlines()):
            value = line["value"]
            if line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            if line["key"] == "lfsFile":
                content = self.state.objects[value["oid"]]
                assert hashlib.sha256(content).hexdigest() == value["oid"]
                files[value["path"]] = content
        held.commits += 1
        self._send(200, {"commitUrl": f"{self.state.url}/{name}/commit/{'f' * 40}", "commitOid": "f" * 40})

    def tree(self, body: bytes, name: str, revision: str, folder: str | None = None) -> None:
        held = self._repository(name)
        if held is not None:
            inside = folder.strip("/") + "/" if folder else ""
            files = [
                {"type": "file", "path": path, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}
                for path, data in held.branches["main"].items()
                if path.startswith(inside)
            ]
            self._send(200, files)

    def resolve(self, body: bytes, name: str, revision: str, path: str) -> None:
        held = self._repository(name)
        if held is None:
            return
        data = held.branches["main"].get(path)
        if data is None:
            self._send(404, {"error": "Entry not found"}, X_Error_Code="EntryNotFound", X_Repo_Commit="f" * 40)
        else:
            tag = f'"{hashlib.sha256(data).hexdigest()}"'
            self._send(200, data=data, ETag=tag, X_Repo_Commit="f" * 40, Content_Type="application/octet-stream")


_NAME = r"([\w.-]+/[\w.-]+)"
ROUTES = (
    (rf"/api/models/{_NAME}", _Handler.info),
    (rf"/api/models/{_NAME}/revision/(.+)", _Handler.info),
    (r"/api/repos/create", _Handler.create),
    (r"/api/validate-yaml", _Handler.validate),
    (rf"/api/models/{_NAME}/branch/(.+)", _Handler.branch),
    (rf"/api/models/{_NAME}/preupload/(.+)", _Handler.preupload),
    (rf"/{_NAME}\.git/info/lfs/objects/batch", _Handler.batch),
    (rf"/api/models/{_NAME}/commit/(.+)", _Handler.commit),
    (rf"/api/models/{_NAME}/tree/([^/]+)(/.*)?", _Handler.tree),
    (rf"/{_NAME}/resolve/([^/]+)/(.+)", _Handler.resolve),
)
