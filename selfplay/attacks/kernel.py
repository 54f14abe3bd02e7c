"""System calls beyond the allow-list, with arguments that do nothing: an errno other than EPERM or ENOSYS shows that the
kernel was reached. A call that a kernel lacks, or keeps for root, cannot be shown there."""

import errno

from selfplay.attacks.attack import Escape

FAMILY = "kernel surface"
_CLOSED = (errno.EPERM, errno.ENOSYS)

# name: (x86_64, aarch64), arguments that are refused for their value, why it may not be shown
CALLS = {
    "ptrace": ((101, 117), (9999, 0, 0, 0), ""),
    "process_vm_readv": ((310, 270), (0, 0, 0, 0, 0, 99), ""),
    "process_vm_writev": ((311, 271), (0, 0, 0, 0, 0, 99), ""),
    "bpf": ((321, 280), (9999, 0, 0), "a kernel may keep it for root"),
    "io_uring_setup": ((425, 425), (0, 0), "a kernel may have switched it off"),
    "io_uring_enter": ((426, 426), (-1, 0, 0, 0, 0, 0), "a kernel may have switched it off"),
    "userfaultfd": ((323, 282), (-1,), "a kernel may keep it for root"),
    "perf_event_open": ((298, 241), (0, 0, -1, -1, 0), "a kernel may keep it for root"),
    "keyctl": ((250, 219), (9999, 0, 0, 0, 0), "a container may forbid it"),
    "add_key": ((248, 217), (0, 0, 0, 0, 0), "a container may forbid it"),
    "mount": ((165, 40), (0, 0, 0, 0, 0), ""),
    "umount2": ((166, 39), (0, 0), ""),
    "fsopen": ((430, 430), (0, 0), "needs root"),
    "unshare": ((272, 97), (0,), ""),
    "setns": ((308, 268), (-1, 0), ""),
    "clone3": ((435, 435), (0, 0), ""),
    "pivot_root": ((155, 41), (0, 0), "needs root"),
    "open_by_handle_at": ((304, 265), (-1, 0, 0), "needs root"),
    "name_to_handle_at": ((303, 264), (-1, 0, 0, 0, 0), ""),
    "openat2": ((437, 437), (-1, 0, 0, 0), ""),
    "shmget": ((29, 194), (0, 0, 0), ""),
    "semget": ((64, 190), (0, -1, 0), ""),
    "msgget": ((68, 186), (0, 0o600), "leaves a queue behind"),
    "mq_open": ((240, 180), (0, 0, 0, 0), ""),
    "memfd_create": ((319, 279), (0, 0), ""),
    "memfd_secret": ((447, 447), (-1,), "a kernel may have switched it off"),
    "pidfd_open": ((434, 434), (-1, 0), ""),
    "pidfd_getfd": ((438, 438), (-1, 0, 0), ""),
    "splice": ((275, 76), (-1, 0, -1, 0, 1, 0), ""),
    "vmsplice": ((278, 75), (-1, 0, 0, 0), ""),
    "sendmsg": ((46, 211), (-1, 0, 0), ""),
    "recvmsg": ((47, 212), (-1, 0, 0), ""),
    "seccomp": ((317, 277), (9999, 0, 0), ""),
    "landlock_create_ruleset": ((444, 444), (0, 0, 99), "needs the kernel's Landlock"),
    "execveat": ((322, 281), (-1, 0, 0, 0, 0), ""),
    "inotify_init1": ((294, 26), (-1,), ""),
    "fanotify_init": ((300, 262), (-1, -1), "a kernel may keep it for root"),
    "timer_create": ((222, 107), (-99, 0, 0), ""),
    "sched_setaffinity": ((203, 122), (0, 0, 0), ""),
    "personality": ((135, 92), (0xFFFFFFFF,), ""),
    "syslog": ((103, 116), (9999, 0, 0), "a kernel may keep it for root"),
    "init_module": ((175, 105), (0, 0, 0), "needs root"),
    "swapon": ((167, 224), (0, 0), "needs root"),
    "setresuid": ((117, 147), (-1, -1, -1), ""),
    "capset": ((126, 91), (0, 0), ""),
    "kcmp": ((312, 272), (0, 0, 0, 0, 0), ""),
}

_REACHED = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
number = {numbers}[os.uname().machine == "aarch64"]
result = libc.syscall(number, *map(ctypes.c_long, {arguments}))
return result != -1 or ctypes.get_errno() not in {closed}
"""

# getpid by int 0x80: the other calling convention of x86_64, with numbers of its own
_FOREIGN = """
import ctypes, mmap
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes.fromhex("53b814000000cd805bc3"))
address = ctypes.addressof(ctypes.c_char.from_buffer(code))
return ctypes.CFUNCTYPE(ctypes.c_int)(address)() > 0
"""

ATTACKS = (
    *(
        Escape(name, FAMILY, _REACHED.format(numbers=numbers, arguments=arguments, closed=_CLOSED), "unjailed", unshown)
        for name, (numbers, arguments, unshown) in CALLS.items()
        if name != "msgget"
    ),
    Escape("the 32-bit calling convention", FAMILY, _FOREIGN, "unjailed", "needs x86_64 with 32-bit support"),
)
