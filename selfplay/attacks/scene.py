"""What escapes aim at, all made for the purpose: folders open to every user, a secret, a victim process, a port.

An escape counts where it returns True or the secret, or where the scene shows its effect from outside: a file that was
written, a victim that died.
"""

from __future__ import annotations

import platform
import secrets
import select
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import selfplay
from selfplay.resources import resource

_SENTINELS = ("to-remove", "to-rename")
_PATIENCE = 60.0  # seconds for the victim to answer, however loaded the machine is


class Scene:
    """Folders, secret, victim and port; a context manager that leaves nothing behind."""

    def __init__(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="selfplay-battery-"))
        self.root.chmod(0o711)
        self.secret = f"secret-{secrets.token_hex(12)}"
        self.folder = self._open_folder("folder")
        self.run = self._open_folder("folder/run")
        self.home = self._open_folder("home")
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.victim = self._start_victim()
        with closing(sqlite3.connect(self.run / "data.sqlite")) as database:
            database.execute("create table answers (answer text)")
        self._fill()

    def _open_folder(self, name: str) -> Path:
        path = self.root / name
        path.mkdir()
        path.chmod(0o777)
        return path

    def _fill(self) -> None:
        """Puts what may be read, spoilt or removed where it belongs, open to every user."""
        (self.run / "episodes.jsonl").write_text(f'{{"reference": "{self.secret}"}}\n')
        files = [self.folder / name for name in (*_SENTINELS, "own")]
        for path in files:
            path.write_text(self.secret)
        for path in (self.run / "episodes.jsonl", self.run / "data.sqlite", *files):
            path.chmod(0o666)

    def _start_victim(self) -> subprocess.Popen[bytes]:
        """A process that holds the secret in its environment, and so in its memory, and repeats what it is told."""
        return subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", "import sys\nfor line in sys.stdin: print(line, end='', flush=True)"],
            env={"BATTERY_SECRET": self.secret},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def _victim_answers(self) -> bool:
        """Asked, not looked at: a process that was killed a moment ago may still seem to live."""
        assert self.victim.stdin
        assert self.victim.stdout
        try:
            self.victim.stdin.write(b"there?\n")
        except BrokenPipeError:
            return False
        ready, _, _ = select.select([self.victim.stdout], [], [], _PATIENCE)
        return bool(ready) and self.victim.stdout.readline() == b"there?\n"

    def _end_victim(self) -> None:
        self.victim.kill()
        with self.victim:  # closes its pipes and waits for it
            pass

    def places(self) -> dict[str, str]:
        """What the marks in an escape's body stand for."""
        package = Path(selfplay.__file__).resolve().parent
        return {
            "@FOLDER@": str(self.folder),
            "@RUN@": str(self.run),
            "@HOME@": str(self.home),
            "@OWN@": str(self.folder / "own"),
            "@PROBLEMS@": str(next(resource("datasets").glob("*.jsonl"))),
            "@PACKAGE@": str(package),
            "@CHECKOUT@": str(package.parent),
            "@VICTIM@": str(self.victim.pid),
            "@PORT@": str(self.listener.getsockname()[1]),
            "@MACHINE@": platform.machine(),
        }

    def aimed(self, text: str) -> str:
        """The text of an attack with these places in it."""
        for mark, place in self.places().items():
            text = text.replace(mark, place)
        return text

    def effect(self) -> str:
        """What an escape left to be seen from outside, empty where nothing; the scene is mended afterwards."""
        seen = []
        if not self._victim_answers():
            seen.append("the victim died or stands still")
            self._end_victim()
            self.victim = self._start_victim()
        known = {"run", "own", *_SENTINELS}
        strange = [path for path in self.folder.iterdir() if path.name not in known] + list(self.home.iterdir())
        seen += [f"{path.name} was made" for path in strange]
        seen += [f"{name} is gone" for name in _SENTINELS if not (self.folder / name).exists()]
        for path in strange:
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        if self.secret not in (self.run / "episodes.jsonl").read_text():
            seen.append("a record was spoilt")
        self._fill()
        return ", ".join(seen)

    def new_folder(self) -> Path:
        """An empty private folder for one weak run."""
        return Path(tempfile.mkdtemp(dir=self.root))

    def close(self) -> None:
        self.listener.close()
        self._end_victim()
        shutil.rmtree(self.root, ignore_errors=True)

    def __enter__(self) -> Scene:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
