"""Which system calls the box may make: an allow-list as seccomp filters for x86_64 and aarch64.

Two filters stack, and the stricter answer wins. The long one (`ZYGOTE`) is installed once, in the zygote, and inherited
through fork; the short one (`CHILD`) is added by each child and takes away what only the zygote needs: new processes,
signals to others, changes of identity and limits. A name-based block-list would be no boundary; this is the opposite.

Denied calls answer EPERM (or ENOSYS, where a program then takes another road: clone3, openat2), so honest programs
degrade. A call in a foreign calling convention kills the process.
"""

import errno
import os
import struct

ALLOW, KILL, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
DENY, ABSENT = ERRNO | errno.EPERM, ERRNO | errno.ENOSYS

# name: (x86_64, aarch64); None where the machine lacks the call. Reading, memory, time, threads, waiting.
_PLAIN = {
    "read": (0, 63), "write": (1, 64), "readv": (19, 65), "writev": (20, 66), "pread64": (17, 67),
    "pwrite64": (18, 68), "preadv": (295, 69), "lseek": (8, 62), "close": (3, 57), "close_range": (436, 436),
    "fstat": (5, 80), "newfstatat": (262, 79), "statx": (332, 291), "stat": (4, None), "lstat": (6, None),
    "access": (21, None), "faccessat": (269, 48), "faccessat2": (439, 439), "readlink": (89, None),
    "readlinkat": (267, 78), "getdents64": (217, 61), "getcwd": (79, 17), "fsync": (74, 82), "fdatasync": (75, 83),
    "dup": (32, 23), "dup2": (33, None), "dup3": (292, 24), "pipe": (22, None), "pipe2": (293, 59),
    "select": (23, None), "pselect6": (270, 72), "poll": (7, None), "ppoll": (271, 73), "epoll_create": (213, None),
    "epoll_create1": (291, 20), "epoll_ctl": (233, 21), "epoll_wait": (232, None), "epoll_pwait": (281, 22),
    "epoll_pwait2": (441, 441), "eventfd2": (290, 19), "mmap": (9, 222), "mprotect": (10, 226), "munmap": (11, 215),
    "mremap": (25, 216), "madvise": (28, 233), "brk": (12, 214), "membarrier": (324, 283),
    "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139), "rt_sigpending": (127, 136),
    "rt_sigsuspend": (130, 133), "rt_sigtimedwait": (128, 137), "sigaltstack": (131, 132),
    "restart_syscall": (219, 128), "pause": (34, None), "alarm": (37, None), "setitimer": (38, 103),
    "getitimer": (36, 102), "nanosleep": (35, 101), "clock_nanosleep": (230, 115), "clock_gettime": (228, 113),
    "clock_getres": (229, 114), "gettimeofday": (96, 169), "time": (201, None), "times": (100, 153),
    "getrusage": (98, 165), "getrlimit": (97, 163), "sysinfo": (99, 179), "uname": (63, 160),
    "sched_yield": (24, 124), "sched_getaffinity": (204, 123), "getcpu": (309, 168), "getpid": (39, 172),
    "getppid": (110, 173), "gettid": (186, 178), "getuid": (102, 174), "geteuid": (107, 175), "getgid": (104, 176),
    "getegid": (108, 177), "getresuid": (118, 148), "getresgid": (120, 150), "getgroups": (115, 158),
    "getpgrp": (111, None), "getpgid": (121, 155), "getsid": (124, 156), "getrandom": (318, 278), "futex": (202, 98),
    "set_robust_list": (273, 99), "set_tid_address": (218, 96), "rseq": (334, 293), "exit": (60, 93),
    "exit_group": (231, 94), "shutdown": (48, 210), "getsockopt": (55, 209),
    "getsockname": (51, 204), "getpeername": (52, 205),
}  # fmt: skip

# What only the zygote needs; each child gives it up.
_ZYGOTE_ONLY = {
    "wait4": (61, 260), "waitid": (247, 95), "setresuid": (117, 147), "setresgid": (119, 149),
    "setgroups": (116, 159), "capset": (126, 91), "seccomp": (317, 277), "memfd_create": (319, 279),
    "setsid": (112, 157), "pidfd_open": (434, 434), "setsockopt": (54, 208),
}  # fmt: skip

_CHECKED = {
    "open": (2, None), "openat": (257, 56), "fcntl": (72, 25), "ioctl": (16, 29), "clone": (56, 220),
    "clone3": (435, 435), "openat2": (437, 437), "socketpair": (53, 199), "sendto": (44, 206), "recvfrom": (45, 207),
    "kill": (62, 129), "tgkill": (234, 131), "prlimit64": (302, 261), "prctl": (157, 167),
}  # fmt: skip

_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7), "arm64": (1, 0xC00000B7)}

_FCNTL = (0, 1, 2, 3, 4, 5, 6, 7, 1030, 1031, 1032)  # dup, flags, locks, pipe size; no owner, lease or notification
_SET_PIPE_SIZE = 1031
_IOCTL = (0x5401, 0x5413, 0x5421, 0x541B, 0x5450, 0x5451)  # TCGETS, TIOCGWINSZ, FIONBIO, FIONREAD, FIO(N)CLEX
_SENDING = 0x40 | 0x4000 | 0x8000  # MSG_DONTWAIT, MSG_NOSIGNAL, MSG_MORE; not MSG_OOB, the least tried path there
_RECEIVING = 0x2 | 0x20 | 0x40 | 0x100  # MSG_PEEK, MSG_TRUNC, MSG_DONTWAIT, MSG_WAITALL
_THREAD = 0x00010900  # CLONE_THREAD | CLONE_SIGHAND | CLONE_VM
_WRITING = 0o1 | 0o2 | 0o100 | 0o1000 | 0o20000000  # O_WRONLY O_RDWR O_CREAT O_TRUNC and O_TMPFILE's own bit
_NAMES = (15, 16)  # PR_SET_NAME, PR_GET_NAME
_PID = 0xDEADFEED  # stands for the child's pid, which is never as large


class Unsupported(Exception):
    """No table of system calls for this machine."""


def machine():
    """The column of the tables and the kernel's name for this architecture."""
    try:
        return _MACHINES[os.uname().machine]
    except KeyError:
        raise Unsupported(f"no system call table for {os.uname().machine}") from None


def _step(code, jump_true, jump_false, value):
    return struct.pack("=HBBI", code, jump_true, jump_false, value & 0xFFFFFFFF)


def _load(offset):
    return _step(0x20, 0, 0, offset)


def _low(argument):
    return _load(16 + 8 * argument)  # both machines are little-endian


def _high(argument):
    return _load(20 + 8 * argument)


def _equal(value, jump_true, jump_false):
    return _step(0x15, jump_true, jump_false, value)


def _ret(action):
    return _step(0x06, 0, 0, action)


def _one_of(argument, values, inside=ALLOW, outside=DENY):
    """Ends the filter: `inside` where the argument is one of the values."""
    tests = [piece for value in values for piece in (_equal(value, 0, 1), _ret(inside))]
    return [_low(argument), *tests, _ret(outside)]


def _masked(argument, mask, value):
    return [_low(argument), _step(0x54, 0, 0, mask), _equal(value, 0, 1), _ret(ALLOW), _ret(DENY)]


def _masked_then(argument, mask, rest):
    """Denied where a bit of the mask is set, else `rest` decides."""
    return [_low(argument), _step(0x54, 0, 0, mask), _equal(0, 1, 0), _ret(DENY), *rest]


def _null(argument):
    return [_low(argument), _equal(0, 0, 3), _high(argument), _equal(0, 0, 1), _ret(ALLOW), _ret(DENY)]


def _local_stream_pair():
    """socketpair(AF_UNIX, SOCK_STREAM | flags, ...) and nothing else."""
    return [_low(0), _equal(1, 0, 4), _low(1), _step(0x54, 0, 0, 0xF), _equal(1, 0, 1), _ret(ALLOW), _ret(DENY)]


def _only(number, body):
    """`body` where the call is `number`, else go on. Bodies end the filter, so the number stays loaded outside them."""
    return [_equal(number, 0, len(body)), *body]


def _head(architecture):
    foreign = [_load(4), _equal(architecture, 1, 0), _ret(KILL), _load(0)]
    return [*foreign, _step(0x35, 0, 1, 0x40000000), _ret(KILL)]  # x32 shares x86_64's architecture word


def _checks(writing_opens):
    """The calls whose arguments decide, as the zygote may use them."""
    free = [_ret(ALLOW)]
    reading = free if writing_opens else None
    return {
        "open": reading or _masked(1, _WRITING, 0),
        "openat": reading or _masked(2, _WRITING, 0),
        "fcntl": _one_of(1, _FCNTL),
        "ioctl": _one_of(1, _IOCTL),
        "clone": free,
        "clone3": [_ret(ABSENT)],
        "openat2": [_ret(ABSENT)],
        "socketpair": _local_stream_pair(),
        "sendto": _masked_then(3, ~_SENDING, _null(4)),
        "recvfrom": _masked_then(3, ~_RECEIVING, [_ret(ALLOW)]),
        "kill": free,
        "tgkill": free,
        "prlimit64": free,
        "prctl": free,
    }


def zygote_filter(writing_opens):
    """The long filter. `writing_opens`: files may be opened for writing, because Landlock decides which."""
    column, architecture = machine()
    filter = _head(architecture)
    for numbers in [*_PLAIN.values(), *_ZYGOTE_ONLY.values()]:
        if numbers[column] is not None:
            filter += _only(numbers[column], [_ret(ALLOW)])
    for name, body in _checks(writing_opens).items():
        if _CHECKED[name][column] is not None:
            filter += _only(_CHECKED[name][column], body)
    return b"".join([*filter, _ret(DENY)])


def child_filter():
    """The short filter of a child, as pieces between which its pid belongs (to put it together costs a child less than
    to make it): threads, no processes, signals to itself alone, nothing of the zygote's."""
    column, architecture = machine()
    filter = _head(architecture)
    for numbers in _ZYGOTE_ONLY.values():
        filter += _only(numbers[column], [_ret(DENY)])
    bodies = {
        "clone": _masked(0, _THREAD, _THREAD),
        "kill": _one_of(0, (_PID,)),
        "tgkill": _one_of(0, (_PID,)),
        "prlimit64": _null(2),
        "prctl": _one_of(0, _NAMES),
        "fcntl": _one_of(1, (_SET_PIPE_SIZE,), inside=DENY, outside=ALLOW),
    }
    for name, body in bodies.items():
        filter += _only(_CHECKED[name][column], body)
    return b"".join([*filter, _ret(ALLOW)]).split(struct.pack("=I", _PID))
