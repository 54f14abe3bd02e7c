"""Programs that want more time than they have: a right answer, too late, with something said to the watch before.

Whoever prints the right answer within its time passes, so each of these is right and must not be credited. The weak
runner reads output and watches no clock but the wall's.
"""

from selfplay.attacks.attack import SUM, Escape, Wrong

FAMILY = "clocks"

_BEGIN = """
import os, struct, sys, threading, time
def frame(kind, body=b""): return struct.pack("!I", len(body) + 1) + kind + body
def forge(*frames):
    for fd in range(3, 12):
        try: os.write(fd, b"".join(frames))
        except OSError: pass
def spin(seconds, clock=time.process_time):
    end = clock() + seconds
    while clock() < end: pass
value = frame(b"V", struct.pack("!dd", 0, 0) + b"1")
"""


def _late(name: str, body: str) -> Wrong:
    return Wrong(name, FAMILY, f"{_BEGIN}\n{body}\nprint(12)", SUM, "lenient")


ATTACKS = (
    _late("no more than too late", "spin(1.8)"),
    _late("a report forged half way", "spin(0.85)\nforge(value)\nspin(0.85)"),
    _late(
        "an exception forged half way", "spin(0.85)\nforge(frame(b'X', struct.pack('!dd', 0, 0) + b'[]'))\nspin(0.85)"
    ),
    _late("loaded once more half way", "spin(0.85)\nforge(frame(b'L'))\nspin(0.85)"),
    _late("half a report half way", "spin(0.85)\nforge(value[:6])\nspin(0.85)"),
    _late(
        "empty reports every tenth of a second", "for _ in range(18):\n    spin(0.1)\n    forge(struct.pack('!I', 0))"
    ),
    _late("a stream of reports", "for _ in range(18):\n    spin(0.1)\n    forge(value)"),
    _late(
        "several threads",
        "threads = [threading.Thread(target=spin, args=(1.8,)) for _ in range(4)]\n"
        "for t in threads: t.start()\nfor t in threads: t.join()",
    ),
    _late("at exit", "import atexit\natexit.register(spin, 1.8)"),
    _late("asleep beyond the wall's clock, with a report half way", "time.sleep(3.6)\nforge(value)\ntime.sleep(3.6)"),
    Escape(
        "a user that is known beforehand",
        FAMILY,
        "import os\nreturn os.getuid() == 61184 + os.getppid() % 4000",
        unshown="a plain runner does not change its user",
    ),
)
