"""The walls: what a jailed program cannot reach, and that honest programs do not notice them."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from selfplay.box.local import LocalBox, probe
from selfplay.box.task import Execution, Limits, Task
from selfplay.box.tiers import TIERS, Tier, rank, tier_of
from selfplay.resources import resource

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="these walls are Linux's")


@pytest.fixture(scope="module")
def box() -> Iterator[LocalBox]:
    with LocalBox() as box:
        if box.tier != "jailed":
            pytest.skip(f"this machine offers less: {box.confinement}")
        yield box


def run(box: LocalBox, body: str, imports: tuple[str, ...] = ()) -> Execution:
    source = "def f():\n" + "\n".join(f"    {line}" for line in body.splitlines())
    return box.run([Task(source, "f", ('["t"]',), imports, Limits(cpu_seconds=2.0))])[0][0]


DENIED = {
    "read a system file": "return open('/etc/passwd').read()",
    "list the root": "import os\nreturn os.listdir('/')",
    "read its parent's environment": "import os\nreturn open(f'/proc/{os.getppid()}/environ').read()",
    "read its own memory map": "return open('/proc/self/maps').read()",
    "write a file": "open('/tmp/selfplay-escape', 'w').write('x')",
    "make a folder": "import os\nos.mkdir('/tmp/selfplay-escape')",
    "change a mode": "import os\nos.chmod('/dev/null', 0o600)",
    "remove a file": "import os\nos.unlink('/tmp/selfplay-none')",
    "link a file": "import os\nos.symlink('/etc/passwd', '/tmp/selfplay-escape')",
    "fork": "import os\nos.fork()",
    "spawn": "import os\nos.posix_spawn('/bin/true', ['true'], {})",
    "exec": "import os\nos.execv('/bin/true', ['true'])",
    "run a command": "import subprocess\nsubprocess.run(['true'])",
    "open a socket": "import socket\nsocket.socket()",
    "open a raw socket": "import socket\nsocket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
    "pair datagram sockets": "import socket\nsocket.socketpair(type=socket.SOCK_DGRAM)",
    "signal its parent": "import os\nos.kill(os.getppid(), 0)",
    "signal everyone": "import os\nos.kill(-1, 0)",
    "become root": "import os\nos.setuid(0)",
    "leave its session": "import os\nos.setsid()",
    "raise a limit": "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))",
    "make a memory file": "import os\nos.memfd_create('x')",
    "change root": "import os\nos.chroot('/')",
    "change its priority": "import os\nos.nice(-5)",
}


@pytest.mark.parametrize("body", DENIED.values(), ids=DENIED.keys())
def test_a_program_may_not(box: LocalBox, body: str) -> None:
    execution = run(box, body)
    assert execution.status == "raised"
    assert {"OSError", "ValueError"} & set(execution.exception)


RAW_CALLS = {  # x86_64, aarch64
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "bpf": (321, 280),
    "io_uring_setup": (425, 425),
    "userfaultfd": (323, 282),
    "unshare": (272, 97),
    "mount": (165, 40),
    "open_by_handle_at": (304, 265),
    "shmget": (29, 194),
    "keyctl": (250, 219),
    "perf_event_open": (298, 241),
    "sendmsg": (46, 211),
    "seccomp": (317, 277),
    "clone3": (435, 435),
    "memfd_create": (319, 279),
    "setresuid": (117, 147),
    "pidfd_open": (434, 434),
}


@pytest.mark.parametrize("name", RAW_CALLS)
def test_a_system_call_beyond_the_list_is_refused(box: LocalBox, name: str) -> None:
    number = RAW_CALLS[name][os.uname().machine == "aarch64"]
    body = f"""import ctypes
libc = ctypes.CDLL(None, use_errno=True)
return [libc.syscall({number}, 0, 0, 0, 0, 0, 0), ctypes.get_errno()]"""
    assert run(box, body).value in ('["l",-1,1]', '["l",-1,38]')  # EPERM, ENOSYS


HONEST = {
    "threads": """from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(8) as pool: return sum(pool.map(abs, range(-50, 0)))""",
    "asyncio": """import asyncio
async def g():
    await asyncio.sleep(0.001)
    return sum(await asyncio.gather(*(asyncio.sleep(0, n) for n in range(51))))
return asyncio.run(g())""",
    "extension modules": """import sqlite3, lzma, bz2, zlib, hashlib, decimal, ctypes, _elementtree, unicodedata
return 1275""",
    "late pure modules": "import colorsys, csv, difflib, email, html, pprint, sched, uuid, xml.dom\nreturn 1275",
    "time zones": "import zoneinfo\nzoneinfo.ZoneInfo('Europe/Berlin')\nreturn 1275",
    "the null device": "open('/dev/null', 'w').write('x')\nreturn 1275",
    "deep recursion": """import sys
sys.setrecursionlimit(100_000)
def down(n): return 0 if n == 0 else 1 + down(n - 1)
return down(50_000) - 48_725""",
    "alarms": """import signal
def ring(*_): raise InterruptedError
signal.signal(signal.SIGALRM, ring)
signal.setitimer(signal.ITIMER_REAL, 0.01)
try: signal.pause()
except InterruptedError: return 1275""",
    "its own signals": "import signal\nsignal.signal(10, lambda *_: None)\nsignal.raise_signal(10)\nreturn 1275",
    "randomness": "import os, secrets\nos.urandom(8), secrets.token_hex()\nreturn 1275",
}


@pytest.mark.parametrize("body", HONEST.values(), ids=HONEST.keys())
def test_an_honest_program_does_not_notice_the_walls(box: LocalBox, body: str) -> None:
    execution = run(box, body)
    assert (execution.status, execution.value) == ("returned", "1275")


def test_the_environment_holds_nothing(box: LocalBox) -> None:
    execution = run(box, "import os\nreturn sorted(os.environ)")
    assert execution.value == '["l","LC_ALL","PYTHONHASHSEED","PYTHONUTF8","TZ"]'


def test_only_the_result_pipe_is_open(box: LocalBox) -> None:
    body = """import os
def is_open(n):
    try: os.fstat(n)
    except OSError: return False
    return True
return [n for n in range(500) if is_open(n)]"""
    assert run(box, body).value == '["l",0,1,2,3]'


FLAGS_LEFT = """import fcntl
import os
found = [fcntl.fcntl(fd, fcntl.F_GETFL) for fd in (0, 1, 2)]
for fd in (0, 1, 2): fcntl.fcntl(fd, fcntl.F_SETFL, os.O_NONBLOCK | os.O_APPEND)
changed = [fcntl.fcntl(fd, fcntl.F_GETFL) for fd in (0, 1, 2)]
return [found, found != changed]"""


def test_flags_of_open_files_do_not_outlive_a_program(box: LocalBox) -> None:
    first, second = run(box, FLAGS_LEFT), run(box, FLAGS_LEFT)
    assert first.value == second.value
    assert first.value.endswith(",true]")  # they could be set


def test_no_user_is_shared_between_boxes(box: LocalBox) -> None:
    if os.geteuid() != 0:
        pytest.skip("programs run as this user, whose processes nobody limits")
    users = set()
    for _ in range(3):
        with LocalBox() as other:
            users.add(run(other, "import os\nreturn os.getuid()").value)
    assert len(users) == 3


@pytest.mark.parametrize("spans", ["0 0 4294967295", "0 100000 65536", "0 0 1", "0 1000 1\n1 100000 5000", ""])
def test_the_user_of_programs_is_drawn_from_the_widest_span_there_is(
    spans: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(Path(str(resource("sandbox"))).parent)
    jail: Any = importlib.import_module("sandbox.jail")
    opened = tmp_path / "uid_map"
    opened.write_text(spans)
    monkeypatch.setattr("builtins.open", lambda *_: opened.open())
    users = {jail._free_user() for _ in range(20)}
    mapped = [range(int(line.split()[0]), sum(map(int, line.split()[::2]))) for line in spans.splitlines()]
    if spans == "0 0 1":
        assert users == {65534}
        return
    assert len(users) > 15
    assert 0 not in users
    assert all(not mapped or any(user in span for span in mapped) for user in users)


def test_urgent_bytes_are_refused(box: LocalBox) -> None:
    body = "import socket\na, b = socket.socketpair()\na.send(b'x')\nb.recv(1)\nreturn a.send(b'x', socket.MSG_OOB)"
    assert run(box, body).exception[0] == "PermissionError"


def test_root_gives_up_its_user(box: LocalBox) -> None:
    execution = run(box, "import os\nreturn [os.getuid() == 0, os.getgid() == 0, os.getgroups()]")
    assert execution.value == '["l",false,false,["l"]]'


def test_the_package_and_its_data_cannot_be_read(box: LocalBox) -> None:
    own = Path(__file__).resolve()
    assert run(box, f"return open({str(own)!r}).read()").status == "raised"


def test_only_named_packages_can_be_imported(box: LocalBox) -> None:
    pytest.importorskip("yaml")
    assert run(box, "import yaml").exception[0] == "ModuleNotFoundError"
    assert run(box, "import yaml\nreturn yaml.safe_load('[1]')", ("yaml",)).value == '["l",1]'
    assert run(box, "import pytest", ("yaml",)).exception[0] == "ModuleNotFoundError"


SEARCH_THE_HEAP = """import ctypes, os
step = 1 << 20
base = id(object()) & ~(step - 1)
reader, writer = os.pipe()
control = bytes(reversed(b"eldeen-a"))
secrets = controls = 0
for address in range(base - 8 * step, base + 8 * step, 4096):
    try: os.write(writer, (ctypes.c_char * 4096).from_address(address))
    except OSError: continue
    backwards = os.read(reader, 4096)[::-1]  # so that neither word stands in this program
    secrets += b"-rod4bu0rt" in backwards
    controls += b"eldeen-a" in backwards
return [secrets, controls > 0]"""


def test_no_later_child_finds_what_an_earlier_one_was_given_or_returned(box: LocalBox) -> None:
    secret = "tr0ub4dor-" + "x" * 40
    box.run([Task(f"# {secret}\ndef f(x): return x[::-1] * 50", "f", (f'["t","{secret[::-1]}"]',))])
    assert run(box, SEARCH_THE_HEAP).value == '["l",0,true]'


def test_the_probe_tells_the_tier_and_what_is_missing() -> None:
    tier = probe()
    assert tier.name in TIERS
    assert tier.name == "jailed" or tier.missing


OLDER_KERNEL = """
import ctypes, sys, types
source = {source!r}
package = sys.modules["sandbox"] = types.ModuleType("sandbox")
syscalls = types.ModuleType("syscalls")
exec(source, syscalls.__dict__)
column, architecture = syscalls.machine()
denied = [syscalls._ret(syscalls.ABSENT)]
filter = syscalls._head(architecture)
if "landlock" in sys.argv:
    for number in (444, 445, 446):
        filter += syscalls._only(number, denied)
if "seccomp" in sys.argv:
    body = syscalls._one_of(0, (22,), inside=syscalls.ABSENT, outside=syscalls.ALLOW)
    filter += syscalls._only(syscalls._CHECKED["prctl"][column], body)
code = b"".join([*filter, syscalls._ret(syscalls.ALLOW)])
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_char_p)]
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(Program(len(code) // 8, code)), 0, 0) == 0
from selfplay.box.task import Limits, Task
from selfplay.box.local import LocalBox
with LocalBox() as box:
    print(box.tier, *(wall for wall, _ in box.confinement.missing))
    bodies = ["return 7", "import os; os.fork(); return 0", "import os; return len(os.listdir('/')) > 0"]
    tasks = [Task("def f(): " + body, "f", ('["t"]',), limits=Limits(1.0)) for body in bodies]
    print(*(row[0].status for row in box.run(tasks)))
"""


@pytest.mark.parametrize(
    ("lacking", "tier", "forks", "lists"),
    [
        (("landlock",), "confined", "raised", "returned"),
        (("seccomp",), "confined", "returned", "raised"),
        (("landlock", "seccomp"), "limited", "returned", "returned"),
    ],
)
def test_a_kernel_that_lacks_a_wall_gives_a_lower_tier_and_still_judges(
    lacking: tuple[str, ...], tier: str, forks: str, lists: str
) -> None:
    script = OLDER_KERNEL.format(source=(resource("sandbox") / "syscalls.py").read_text("utf-8"))
    command = [sys.executable, "-c", script, *lacking]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    name, *missing = done.stdout.splitlines()[0].split()
    assert name == tier
    assert set(lacking) == set(missing) - {"user"}  # root's own Python may need Landlock to be read by another user
    assert done.stdout.splitlines()[1] == f"returned {forks} {lists}"


def test_a_missing_wall_lowers_the_tier_and_says_what_would_raise_it() -> None:
    walls = dict.fromkeys(("rlimits", "user", "no_new_privs", "landlock", "seccomp"), "")
    assert tier_of({"walls": walls}) == Tier("jailed")
    partly = tier_of({"walls": walls | {"landlock": "not in this kernel"}})
    assert partly.name == "confined"
    assert partly.missing == (("landlock", "not in this kernel"),)
    assert "Landlock" in partly.advice[0]
    assert tier_of({"walls": walls | {"landlock": "no", "seccomp": "no"}}).name == "limited"


def test_tiers_are_ordered_and_an_unknown_one_is_named() -> None:
    assert Tier("jailed").reaches("confined")
    assert not Tier("limited").reaches("confined")
    with pytest.raises(ValueError, match=r"'fortress'.*jailed"):
        rank("fortress")


def test_a_box_without_walls_says_so() -> None:
    with LocalBox(jail=False) as box:
        assert box.tier == "unjailed"
        assert run(box, "import os\nreturn len(os.listdir('/')) > 0").value == "true"


def test_a_program_cannot_start_threads_without_end(box: LocalBox) -> None:
    body = """import threading, time
threading.stack_size(65536)
gate = threading.Event()
for _ in range(2000): threading.Thread(target=gate.wait, daemon=True).start()
time.sleep(0.1)
return threading.active_count()"""
    assert run(box, body).status in ("raised", "crashed")


def test_as_many_threads_as_are_allowed_can_be_started(box: LocalBox) -> None:
    body = """import threading
threading.stack_size(65536)
gate = threading.Event()
held = [threading.Thread(target=gate.wait) for _ in range(60)]
for thread in held: thread.start()
count = threading.active_count()
gate.set()
return count"""
    assert run(box, body).value == "61"


def test_many_threads_are_noticed_from_outside(box: LocalBox) -> None:
    gate = threading.Event()
    before = watched_threads(os.getpid())
    helpers = [threading.Thread(target=gate.wait, daemon=True) for _ in range(5)]
    for helper in helpers:
        helper.start()
    assert watched_threads(os.getpid()) == before + 5
    gate.set()


def watched_threads(pid: int) -> int:
    """The count of sandbox/watch.py, which runs inside and is read as text."""
    source = (resource("sandbox") / "watch.py").read_text("utf-8")
    found = source[source.index("def threads_of(") : source.index("def _cpu_seconds(")]
    scope: dict[str, Any] = {"os": os}
    exec(found, scope)
    return scope["threads_of"](pid)
