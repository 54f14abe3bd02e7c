"""The walls: what the zygote takes away from itself once, and each child from itself before it runs a program.

Zygote, before it reads its first order: no new privileges, not dumpable (its memory and environment are closed to other
processes of the same user), Landlock (read the standard library, its shared objects and the named packages; write
/dev/null; no TCP, no abstract sockets), the long seccomp filter.
Child: resource limits, an unprivileged user where it started as root, death with the zygote, the short seccomp filter.

Every wall is optional: one that the kernel lacks is reported by name with the reason, and the host derives its tier
from that report. `self_test` does not trust the report but tries to break out.
Left out: namespaces and chroot (refused in containers), cgroups (need a delegated tree).
"""

import contextlib
import ctypes
import errno
import os
import resource
import struct
import sys

from sandbox import syscalls

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_KEEPCAPS, _PR_SET_SECCOMP = 1, 4, 8, 22
_PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 36, 38
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446
_READ_FILE, _READ_DIR, _WRITE_FILE = 1 << 2, 1 << 3, 1 << 1
_CAPABILITY_VERSION = 0x20080522
_DAC_OVERRIDE, _DAC_READ_SEARCH = 1, 2
_SYS_CAPSET = {"x86_64": 126}.get(os.uname().machine, 91)
_SIGKILL = 9
_STACK = 64 << 20
THREADS = 64  # of one program, counted by watch.py
_TASKS = 1024  # of one user: a backstop between two looks, with room for neighbours that were given the same user

_libc = ctypes.CDLL(None, use_errno=True)


def _call(name, *arguments):
    """A libc function that answers -1 for failure, raised as OSError."""
    result = getattr(_libc, name)(*arguments)
    if result == -1:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")
    return result


def _prctl(option, value=0, pointer=None):
    _call("prctl", option, ctypes.c_ulong(value), pointer or ctypes.c_ulong(0), ctypes.c_ulong(0), ctypes.c_ulong(0))


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_char_p)]


def _install(code):
    program = _Program(len(code) // 8, code)
    _prctl(_PR_SET_SECCOMP, 2, ctypes.byref(program))


def _try(wall, *arguments):
    try:
        wall(*arguments)
    except (OSError, syscalls.Unsupported) as error:
        return str(error)
    return ""


# ---- Landlock ----


def _landlock(abi, grants):
    if abi < 1:
        raise OSError(errno.ENOSYS, "this kernel does not offer Landlock (5.13 or newer, enabled at boot)")
    files = (1 << {1: 13, 2: 14, 3: 15, 4: 15}.get(abi, 16)) - 1
    no_tcp, no_abstract_sockets_or_signals = [3] * (abi >= 4), [3] * (abi >= 6)
    fields = [files, *no_tcp, *no_abstract_sockets_or_signals]
    attributes = struct.pack(f"={len(fields)}Q", *fields)
    ruleset = _call("syscall", _LANDLOCK_CREATE, attributes, ctypes.c_size_t(len(attributes)), 0)
    try:
        for path in [*standard_library(), *shared_objects(grants), *grants]:
            _grant(ruleset, path, _READ_FILE | _READ_DIR)
        _grant(ruleset, "/dev/null", _READ_FILE | _WRITE_FILE | (files & 1 << 14))
        _call("syscall", _LANDLOCK_RESTRICT, ruleset, 0)
    finally:
        os.close(ruleset)


def _grant(ruleset, path, rights):
    try:
        beneath = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # not there: nothing to grant
    try:
        if not os.path.isdir(path):
            rights &= ~_READ_DIR
        _call("syscall", _LANDLOCK_ADD, ruleset, 1, struct.pack("=Qi", rights, beneath), 0)
    finally:
        os.close(beneath)


def standard_library():
    """The standard library's entries, each alone: installed packages (our own data, too) may lie in its folder."""
    folder = os.path.dirname(os.path.realpath(os.__file__))
    installed = ("site-packages", "dist-packages")
    paths = [os.path.join(folder, name) for name in os.listdir(folder) if name not in installed]
    elsewhere = [path for path in sys.path if path.endswith("lib-dynload") and not path.startswith(folder)]
    return [*paths, *elsewhere, "/usr/share/zoneinfo", "/etc/ld.so.cache", "/dev/urandom"]


def shared_objects(grants):
    """The libraries that extension modules load, found by loading them all in a child and reading its memory map."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            _load_all(grants)
            with open("/proc/self/maps", "rb") as maps:
                paths = {line.split(maxsplit=5)[5].strip() for line in maps if b".so" in line and b" /" in line}
            with open(writer, "wb") as pipe:
                pipe.write(b"\n".join(sorted(paths)))
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader, "rb") as pipe:
        paths = pipe.read().decode("utf-8", "surrogateescape").splitlines()
    os.waitpid(pid, 0)
    return paths


def _load_all(grants):
    folders = [path for path in sys.path if path.endswith("lib-dynload")] + list(filter(os.path.isdir, grants))
    files = [os.path.join(root, name) for top in folders for root, _, names in os.walk(top) for name in names]
    for path in [*(path for path in files if path.endswith(".so")), "libgcc_s.so.1"]:
        with contextlib.suppress(OSError):  # what cannot be loaded here cannot be loaded by a program either
            ctypes.CDLL(path, os.RTLD_LAZY | os.RTLD_LOCAL)


# ---- the walls ----


_DONE, _REFUSED, _BROKEN = 0, 1, 2
WALLS: tuple[str, ...] = ("rlimits", "user", "no_new_privs", "landlock", "seccomp")
_ESCAPES = {
    "landlock": lambda: os.listdir("/"),
    "seccomp": lambda: os.fork() == 0 and os._exit(_DONE),
    "rlimits": lambda: _raise_limit(),
}


class Walls:
    """All walls of one zygote and its children; made before the first goes up, because then /proc is closed."""

    def __init__(self):
        self.linux = sys.platform == "linux"
        self.root = os.geteuid() == 0
        self.user = _free_user() if self.root else os.geteuid()
        self.readable = 0
        if self.root and self.linux:
            with open("/proc/self/status") as lines:
                self.readable = next(int(line.split()[1], 16) for line in lines if line.startswith("CapPrm"))
        self.capabilities = 0
        self.child_filter = []
        self.children = _try_open(f"/proc/self/task/{os.getpid()}/children")
        self.report = dict.fromkeys(WALLS, "not asked for")

    def confine_zygote(self, grants):
        """Puts up the zygote's own walls. `grants` are folders and files of named packages."""
        self.report = dict.fromkeys(WALLS, "")
        if not self.linux:
            self.report.update(dict.fromkeys(("no_new_privs", "landlock", "seccomp"), "only Linux has it"))
            return
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        _prctl(_PR_SET_DUMPABLE, 0)
        abi = max(0, _libc.syscall(_LANDLOCK_CREATE, None, ctypes.c_size_t(0), 1))
        self.report["no_new_privs"] = _try(_prctl, _PR_SET_NO_NEW_PRIVS, 1)
        self.report["landlock"] = _try(_landlock, abi, grants)
        may_open_for_writing = self.landlock and abi >= 3  # older Landlock does not see truncation
        self.report["seccomp"] = _try(self._install_filters, may_open_for_writing)

    def _install_filters(self, may_open_for_writing):
        self.child_filter = syscalls.child_filter()
        _install(syscalls.zygote_filter(may_open_for_writing))

    @property
    def landlock(self):
        return self.report["landlock"] == ""

    @property
    def seccomp(self):
        return self.report["seccomp"] == ""

    def enter(self, memory_bytes, cpu_seconds, file_bytes):
        """The child's walls: resource limits, another user, death with the parent, the short filter. Raises OSError."""
        own_user = self.root and self.report["user"] == ""
        _limits(memory_bytes, cpu_seconds, file_bytes, _TASKS if own_user else None)
        if own_user:
            self._drop()
        if self.linux:
            _prctl(_PR_SET_PDEATHSIG, _SIGKILL)
            if self.report["no_new_privs"] == "":
                _prctl(_PR_SET_DUMPABLE, 0)
        if self.seccomp:
            _install(struct.pack("=I", os.getpid()).join(self.child_filter))

    def _drop(self):
        if self.capabilities:
            _prctl(_PR_SET_KEEPCAPS, 1)
        os.setgroups([])
        os.setresgid(self.user, self.user, self.user)
        os.setresuid(self.user, self.user, self.user)
        if self.capabilities:
            _set_capabilities(self.capabilities)

    def self_test(self):
        """Tries to break out of a child; a wall that does not hold is reported as such."""
        late = os.path.realpath(os.__file__)
        if self._attempt(lambda: self._drop() if self.root else None) != _DONE:
            self.report["user"] = "this process may not change its user"
        elif self.root and self._attempt(lambda: (self._drop(), os.close(os.open(late, os.O_RDONLY)))) != _DONE:
            self._keep_reading()
        for wall, escape in _ESCAPES.items():
            if self.report[wall] == "" and self._attempt(lambda run=escape: self._run_inside(run)) != _REFUSED:
                self.report[wall] = "installed, but an escape went through"

    def _run_inside(self, escape):
        self.enter(1 << 32, 10, 0)
        escape()

    def _keep_reading(self):
        """Only root can reach the standard library: a child may read as root does, where Landlock says what."""
        if not self.landlock:
            self.report["user"] = (
                "only root can read Python's standard library here, and no Landlock to grant just that"
            )
            return
        self.capabilities = self.readable & 1 << _DAC_READ_SEARCH or self.readable & 1 << _DAC_OVERRIDE

    def _attempt(self, action):
        """What became of `action` in a child: done, refused, or neither."""
        pid = os.fork()
        if pid == 0:
            try:
                action()
                os._exit(_DONE)
            except OSError:
                os._exit(_REFUSED)
            finally:
                os._exit(_BROKEN)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _raise_limit():
    if resource.getrlimit(resource.RLIMIT_CPU)[1] != resource.RLIM_INFINITY:
        raise PermissionError("limited")


def _try_open(path):
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return -1


_FREE_USERS = range(0x70000000, 0x7FFE0000)  # above what service managers give to containers and services


def _free_user():
    """A user id that owns nothing, drawn by lot: a process id would be the same one in the next container."""
    try:
        with open("/proc/self/uid_map") as lines:
            spans = [range(first, first + count) for first, _, count in (map(int, line.split()) for line in lines)]
    except OSError:
        spans = []
    if not spans or any(_FREE_USERS[0] in span and _FREE_USERS[-1] in span for span in spans):
        return _drawn(_FREE_USERS)
    widest = max(spans, key=len)
    return _drawn(widest[len(widest) // 2 :]) if len(widest) > 1 else 65534


def _drawn(users):
    return users[int.from_bytes(os.urandom(8), "big") % len(users)]


def _set_capabilities(mask):
    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    _call("syscall", _SYS_CAPSET, header, struct.pack("=6I", mask, mask, 0, 0, 0, 0))


def _limits(memory_bytes, cpu_seconds, file_bytes, threads):
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_CPU, int(cpu_seconds) + 2)
    _limit(resource.RLIMIT_FSIZE, file_bytes)
    _limit(resource.RLIMIT_NOFILE, 128)
    if hasattr(resource, "RLIMIT_MSGQUEUE"):
        _limit(resource.RLIMIT_MSGQUEUE, 0)
        _limit(resource.RLIMIT_MEMLOCK, 0)
    _limit(resource.RLIMIT_STACK, _STACK, soft=True)
    if threads:  # counts all of a user's processes, so only a user of our own can be limited
        _limit(resource.RLIMIT_NPROC, threads)
    if sys.platform == "linux":
        _limit(resource.RLIMIT_AS, memory_bytes)


def _limit(which, value, soft=False):
    hard = resource.getrlimit(which)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(which, (value, hard if soft else value))
