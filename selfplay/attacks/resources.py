"""Using things up. The weak runner is a bare interpreter without limits; every bomb is bounded to what is harmless."""

from selfplay.attacks.attack import Escape

FAMILY = "resources"


def _escape(name: str, body: str, unshown: str = "", bulk: bool = False, cpu_seconds: float = 1.0) -> Escape:
    return Escape(name, FAMILY, body, "bare", unshown, bulk, cpu_seconds)


ATTACKS = (
    _escape(
        "raise its limits",
        """
        import resource
        for which in (resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE):
            hard = resource.getrlimit(which)[1]
            resource.setrlimit(which, (hard, hard))
        return True""",
    ),
    _escape(
        "have no limits",
        """
        import resource
        return resource.getrlimit(resource.RLIMIT_AS)[1] == resource.RLIM_INFINITY""",
    ),
    _escape("memory bomb (reserved, not touched)", "import mmap\nmmap.mmap(-1, 3 << 30)\nreturn True"),
    _escape(
        "memory bomb in small pieces",
        """
        import mmap
        held = [mmap.mmap(-1, 16 << 20) for _ in range(150)]
        return len(held) == 150""",
    ),
    _escape(
        "open two hundred descriptors", "import os\nheld = [os.dup(0) for _ in range(200)]\nreturn len(held) == 200"
    ),
    _escape(
        "two thousand threads",
        """
        import threading
        threading.stack_size(65536)
        gate = threading.Event()
        held = [threading.Thread(target=gate.wait, daemon=True) for _ in range(2000)]
        try:
            for thread in held: thread.start()
            return threading.active_count() > 2000
        finally: gate.set()""",
        unshown="a container may limit processes",
    ),
    _escape(
        "fill a disk (four megabytes)",
        """
        import os
        with open('@FOLDER@/filled', 'wb') as file: file.write(bytes(4 << 20))
        return os.path.getsize('@FOLDER@/filled') == 4 << 20""",
    ),
    _escape(
        "lock memory",
        """
        import ctypes, mmap
        memory = mmap.mmap(-1, 64 << 10)
        address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        return ctypes.CDLL(None).mlock(ctypes.c_void_p(address), 64 << 10) == 0""",
    ),
    _escape(
        "take all cores for a while",
        """
        import threading, time
        def spin():
            while time.process_time() < 0.8: pass
        threads = [threading.Thread(target=spin) for _ in range(4)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        return True""",
        cpu_seconds=0.3,
    ),
    _escape("sleep past every clock", "import time\ntime.sleep(3)\nreturn True", cpu_seconds=0.1),
    _escape(
        "ignore every signal and spin",
        """
        import signal, time
        for number in range(1, 65):
            try: signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError): pass
        while time.process_time() < 0.8: pass
        return True""",
        cpu_seconds=0.3,
    ),
    _escape(
        "stop itself",
        """
        import os, signal, threading, time
        threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGCONT))
        os.kill(os.getpid(), signal.SIGSTOP)
        return True""",
        unshown="a bare runner would wait for ever",
    ),
    _escape("return a hundred megabytes", "return 'x' * (100 << 20)", bulk=True),
    _escape(
        "return a list nested fifty thousand deep",
        """
        deep = []
        for _ in range(50_000): deep = [deep]
        return deep""",
        "a bare interpreter cannot print it",
        bulk=True,
    ),
    _escape("return a list that holds itself", "own = []\nown.append(own)\nreturn own", bulk=True),
    _escape(
        "return a billion items that share their parts",
        """
        shared = [0] * 10
        for _ in range(9): shared = [shared] * 10
        return shared""",
        "a bare interpreter would fill the memory",
        bulk=True,
    ),
    _escape(
        "return an integer of ten million bits",
        "return 1 << 10_000_000",
        "a bare interpreter cannot print it",
        bulk=True,
    ),
    _escape("return a million small items", "return list(range(1_000_000))", bulk=True),
    _escape(
        "flood the result pipe",
        """
        import os
        while True: os.write(3, b'\\xff' * 65536)""",
        unshown="a bare runner has no such pipe",
    ),
    _escape(
        "flood the result pipe with small reports",
        """
        import os, struct
        while True: os.write(3, (struct.pack('!I', 1) + b'V') * 10_000)""",
        unshown="a bare runner has no such pipe",
    ),
    _escape(
        "close every descriptor", "import os\nos.closerange(0, 4096)\nreturn True", unshown="it only silences itself"
    ),
)
