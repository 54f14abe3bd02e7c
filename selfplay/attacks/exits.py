"""Leaving early: a runner that takes a quiet end for a pass is told that all is well."""

from selfplay.attacks.attack import ADD, ROOT, Wrong

FAMILY = "exit tricks"

ATTACKS = (
    Wrong("sys.exit(0) at import", FAMILY, "import sys\nsys.exit(0)", weak="script"),
    Wrong("sys.exit(0) in the call", FAMILY, "import sys\ndef add(a, b): sys.exit(0)", weak="script"),
    Wrong("os._exit(0) at import", FAMILY, "import os\nos._exit(0)", weak="pytest"),
    Wrong("os._exit(0) in the call", FAMILY, "import os\ndef add(a, b): os._exit(0)", weak="pytest"),
    Wrong(
        "exit status rewritten at exit",
        FAMILY,
        "import atexit, os\natexit.register(os._exit, 0)\ndef add(a, b): return None",
        weak="script",
    ),
    Wrong(
        "exit through an excepthook",
        FAMILY,
        "import os, sys\nsys.excepthook = lambda *_: os._exit(0)\ndef add(a, b): return None",
        weak="script",
    ),
    Wrong("exit status cut to eight bits", FAMILY, "import sys\ndef add(a, b): sys.exit(256)", weak="script"),
    Wrong(
        "exit from another thread",
        FAMILY,
        "import os, threading, time\n\ndef add(a, b):\n    threading.Thread(target=os._exit, args=(0,)).start()\n"
        "    time.sleep(5)",
        weak="script",
    ),
    Wrong(
        "exit from a destructor",
        FAMILY,
        "import os\nclass Bye:\n    def __del__(self): os._exit(0)\ndef add(a, b): Bye(); return 0",
        weak="script",
    ),
    Wrong(
        "exit from a signal handler",
        FAMILY,
        "import os, signal, time\nsignal.signal(signal.SIGALRM, lambda *_: os._exit(0))\n"
        "def add(a, b):\n    signal.setitimer(signal.ITIMER_REAL, 0.01)\n    time.sleep(5)",
        weak="script",
    ),
    Wrong(
        "raise SystemExit where an exception is asked",
        FAMILY,
        "def root(n): raise SystemExit(0)",
        ROOT,
        weak="script",
        weak_tests="try: root(-1)\nexcept ValueError: pass\nelse: raise AssertionError",
    ),
    Wrong(
        "swallow assertions through the trace",
        FAMILY,
        "import sys, os\n\ndef trace(frame, event, arg):\n    if event == 'exception': os._exit(0)\n    return trace\n"
        "sys.settrace(trace)\nsys._getframe().f_back and None\ndef add(a, b):\n"
        "    frame = sys._getframe(1)\n    frame.f_trace = trace\n    return None",
        ADD,
        weak="script",
    ),
)
