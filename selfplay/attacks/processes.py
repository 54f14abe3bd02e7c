"""Escapes to other processes. The victim is a sleeping process of the battery with a secret in its environment."""

from selfplay.attacks.attack import Escape, Weak

FAMILY = "processes"

_LIBC = "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"


def _escape(name: str, body: str, unshown: str = "", weak: Weak = "unjailed") -> Escape:
    return Escape(name, FAMILY, body, weak, unshown)


ATTACKS = (
    _escape("read another process's environment", "return open('/proc/@VICTIM@/environ').read()"),
    _escape("read the parent's environment", "import os\nreturn len(open(f'/proc/{os.getppid()}/environ').read()) > 0"),
    _escape("read its own environment from the kernel", "return len(open('/proc/self/environ').read()) > 0"),
    _escape("read another process's command line", "return len(open('/proc/@VICTIM@/cmdline').read()) > 0"),
    _escape("list all processes", "import os\nreturn len([p for p in os.listdir('/proc') if p.isdigit()]) > 1"),
    _escape(
        "read another process's memory",
        """
        import re
        maps = open('/proc/@VICTIM@/maps').read()
        low, high = [int(x, 16) for x in re.search(r'^(\\S+)-(\\S+) .*\\[stack\\]', maps, re.M).groups()]
        memory = open('/proc/@VICTIM@/mem', 'rb', 0)
        memory.seek(low)
        return memory.read(high - low).decode('latin-1')[-3000:]""",
        unshown="a kernel may forbid it (ptrace_scope)",
    ),
    _escape(
        "read the parent's memory",
        """
        import os
        open(f'/proc/{os.getppid()}/mem', 'rb', 0)
        return True""",
        unshown="a kernel may forbid it (ptrace_scope)",
    ),
    _escape(
        "trace another process",
        _LIBC + "return libc.ptrace(16, @VICTIM@, 0, 0) == 0",
        unshown="a kernel may forbid it (ptrace_scope)",
    ),
    _escape("kill another process", "import os\nos.kill(@VICTIM@, 9)\nreturn True"),
    _escape("stop another process", "import os\nos.kill(@VICTIM@, 19)\nos.kill(@VICTIM@, 18)\nreturn True"),
    _escape("probe its parent", "import os\nos.kill(os.getppid(), 0)\nreturn True"),
    _escape(
        "signal through a process descriptor",
        """
        import os, signal
        signal.pidfd_send_signal(os.pidfd_open(@VICTIM@), 9)
        return True""",
    ),
    _escape("slow another process down", "import os\nos.setpriority(os.PRIO_PROCESS, @VICTIM@, 19)\nreturn True"),
    _escape("fork", "import os\nif os.fork() == 0: os._exit(0)\nos.wait()\nreturn True"),
    _escape(
        "fork a few times (a bounded fork bomb)",
        """
        import os
        started = 0
        for _ in range(20):
            if os.fork() == 0: os._exit(0)
            started += 1
        return started == 20""",
    ),
    _escape(
        "leave a process behind",
        """
        import os, time
        if os.fork() == 0:
            os.setsid()
            time.sleep(0.5)
            os._exit(0)
        return True""",
    ),
    _escape(
        "vfork through a raw call",
        _LIBC + "return libc.syscall(58 if '@MACHINE@' == 'x86_64' else 220, 17, 0, 0, 0, 0) >= 0",
        unshown="returning twice on one stack would crash the runner",
    ),
    _escape("spawn", "import os\nreturn os.posix_spawn('/bin/sh', ['sh', '-c', ':'], {}) > 0"),
    _escape("run a command", "import subprocess\nreturn subprocess.run(['/bin/sh', '-c', 'exit 7']).returncode == 7"),
    _escape("become another program", "import os\nos.execv('/bin/sh', ['sh', '-c', 'mkdir @FOLDER@/executed'])"),
    _escape(
        "run a program from memory",
        """
        import os
        fd = os.memfd_create('x', 0)
        os.write(fd, b'#!/bin/sh\\necho x > @FOLDER@/from-memory\\n')
        os.execve(f'/proc/self/fd/{fd}', ['x'], {})""",
        weak="bare",
    ),
    _escape(
        "a pool of processes",
        "import multiprocessing as m\nwith m.Pool(1) as pool: return pool.map(abs, [-1]) == [1]",
        weak="bare",
    ),
    _escape("become root", "import os\nos.setuid(0)\nreturn os.getuid() == 0", unshown="needs root"),
    _escape("become another group", "import os\nos.setgroups([4242])\nreturn True", unshown="needs root"),
    _escape("still be root", "import os\nreturn os.geteuid() == 0", unshown="needs root"),
    _escape(
        "leave its session",
        "import os\nos.setpgid(0, 0) if os.getpgid(0) != os.getpid() else os.setsid()\nreturn True",
        unshown="a box gives its children their own session",
    ),
    _escape(
        "hold capabilities to change files",
        """
        caps = next(l for l in open('/proc/self/status') if l.startswith('CapEff'))
        return int(caps.split()[1], 16) & 2 > 0""",
        unshown="needs root",
    ),
)
