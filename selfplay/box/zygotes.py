"""Zygote processes, seen from the host: started by exec with an empty environment, fed through two pipes.

The interpreter gets a few lines of bootstrap; the code of the top-level folder `sandbox/` follows through the pipe as
text, so nothing of the package has to be readable inside. Left out: fork from the host (a trainer is large: 44 ms with
1 GiB resident) and the -I flag (it would ignore PYTHONHASHSEED; its parts are given one by one).
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Sequence

from selfplay.box.orders import Order
from selfplay.box.packages import locate
from selfplay.box.wire import FRAME
from selfplay.errors import SelfplayError
from selfplay.resources import resource

# What programs commonly import. The rest a child imports itself, in 1 to 20 ms, because every module here makes every
# fork dearer: threading (it resets its locks in each child) and dataclasses by half a millisecond each.
PREIMPORTED = (
    "math", "collections", "collections.abc", "itertools", "functools", "re", "heapq", "bisect", "string", "random",
    "typing", "datetime", "json", "operator", "copy", "abc", "enum", "array", "time", "contextlib", "cmath",
)  # fmt: skip

_MODULES = ("syscalls", "jail", "codec", "runner", "proxy", "session", "watch", "talk")
_FOR_TESTS = ("prepare", "tester")  # only where tests run, and never in the cloud
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
FLAGS = ("-s", "-S", "-P", "-B", "-c", _BOOT)  # -S keeps installed packages off the path, -P the working folder
_SEATBELT = """(version 1) (deny default) (allow process-fork) (allow process-exec (literal "{python}"))
(allow signal (target same-sandbox)) (allow sysctl-read) (allow mach-lookup)
(allow file-read*) (deny file-read* (subpath "{home}"))
(allow file-read* (subpath "{prefix}")) (allow file-write* (literal "/dev/null") (subpath "{temporary}"))"""


class BoxUnavailable(SelfplayError):
    """This machine cannot run the local box; the message says why and what to do instead."""


class Zygote:
    """One zygote process, its pipes, and the orders that it holds.

    `hashes`: it runs tests, with this seed of Python's hashes; None: it runs programs.
    """

    def __init__(self, imports: tuple[str, ...], jail: bool, hashes: int | None = None) -> None:
        self.imports = imports
        self.orders: deque[Order] = deque()
        self.outgoing: deque[memoryview] = deque()
        self.incoming = bytearray()
        self.deadline = 0.0
        command = [sys.executable, *FLAGS]
        if sys.platform == "darwin" and jail:
            python = os.path.realpath(sys.executable)  # not the virtual environment's link, which home may hide
            profile = _seatbelt(python, locate(imports).grants)
            command = ["/usr/bin/sandbox-exec", "-p", profile, python, *FLAGS]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(imports) | ({} if hashes is None else {"PYTHONHASHSEED": str(hashes)}),
            close_fds=True,
            bufsize=0,
            cwd="/",
            start_new_session=True,  # Ctrl-C is for the host
        )
        assert self.process.stdin
        assert self.process.stdout
        self.stdin, self.stdout = self.process.stdin.fileno(), self.process.stdout.fileno()
        self.hello = self._greet(_configuration(imports, jail, tests=hashes is not None))

    def _greet(self, configuration: bytes) -> dict[str, object]:
        """Ships the box's code and waits for the zygote's first frame."""
        try:
            view = memoryview(configuration)
            while view:
                view = view[os.write(self.stdin, view) :]
            kind, length = FRAME.unpack(_read_exactly(self.stdout, FRAME.size))
            hello = json.loads(_read_exactly(self.stdout, length))
        except (OSError, EOFError, struct.error) as error:
            raise BoxUnavailable(self._last_words(error)) from None
        assert kind == b"H"
        assert self.process.stderr
        self.process.stderr.close()
        os.set_blocking(self.stdin, False)
        os.set_blocking(self.stdout, False)
        return hello

    def _last_words(self, error: Exception) -> str:
        assert self.process.stderr
        self.process.kill()
        lines = self.process.stderr.read().decode("utf-8", "replace").strip().splitlines()
        reason = lines[-1] if lines else f"{type(error).__name__}: {error}"
        self.close()
        return f"the sandbox process did not start ({sys.executable}): {reason}; see selfplay.doctor, or --sandbox e2b"

    def close(self) -> None:
        """Kills the process; its child dies with it."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe:
                pipe.close()


def _seatbelt(python: str, grants: Sequence[str]) -> str:
    """macOS: no network, no writing beyond a temporary folder, no reading under home but Python and named packages."""
    profile = _SEATBELT.format(
        python=python,
        home=os.path.expanduser("~"),
        prefix=os.path.realpath(sys.base_prefix),
        temporary=os.path.realpath(tempfile.gettempdir()),
    )
    return profile + "".join(f'(allow file-read* (subpath "{path}"))' for path in grants)


def environment(imports: tuple[str, ...]) -> dict[str, str]:
    """A zygote's environment variables."""
    variables = {"PYTHONHASHSEED": "0", "PYTHONUTF8": "1", "TZ": "UTC", "LC_ALL": "C.UTF-8"}
    if imports:  # a library that starts threads at import could not be forked
        variables |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    return variables


def box_modules(tests: bool = False) -> list[tuple[str, str]]:
    """Names and texts of the modules that a zygote consists of."""
    folder = resource("sandbox")
    names = (*_MODULES, *(_FOR_TESTS if tests else ()), "zygote")
    return [(name, (folder / f"{name}.py").read_text("utf-8")) for name in names]


def _configuration(imports: tuple[str, ...], jail: bool, tests: bool) -> bytes:
    packages = locate((*imports, "pytest") if tests else imports)
    configuration = {
        "modules": box_modules(tests),
        "tests": tests,
        "jail": jail,
        "preimport": PREIMPORTED,
        "packages": packages.names,
        "path": packages.folders,
        "grants": packages.grants,
    }
    text = json.dumps(configuration).encode()
    return struct.pack("!I", len(text)) + text


def _read_exactly(pipe: int, count: int) -> bytes:
    data = b""
    while len(data) < count:
        part = os.read(pipe, count - len(data))
        if not part:
            raise EOFError("it ended before its first word")
        data += part
    return data
