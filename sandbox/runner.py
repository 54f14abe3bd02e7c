"""What runs a program: in a child of the zygote, behind its walls, and nowhere else.

Everything here shares its process with the program and is at its mercy: it reports what the program did, and whatever
it reports is taken as the program's own word. It holds no expected value and decides nothing. The broad excepts are
meant: a program may raise whatever it likes.

Each report is a frame on the result pipe: length (4 bytes, of what follows), kind (1 byte), body.

    L  the program is loaded            N  (in its place) it could not be: names of the exception, where and why
    V  a call's CPU and wall-clock seconds (8 bytes each) and the canonical text of its value
    X  its seconds and the exception's names
"""

import atexit
import builtins
import io
import json
import os
import random
import struct
import sys
import types
from time import monotonic, process_time

from sandbox import codec

_write, _exit = os.write, os._exit
_CLASSES = [value for value in vars(builtins).values() if isinstance(value, type)]
_BUILTIN = {id(kind): kind.__name__ for kind in _CLASSES if issubclass(kind, BaseException)}
_BUILTIN_NAMES = frozenset(_BUILTIN.values())
_SEED = 0
# Who names neither draws no numbers; to seed costs as much as the rest of a short call.
_DRAWING = ("random", "statistics")


class Report:
    """Writes frames to the zygote."""

    def __init__(self, pipe):
        self.pipe = pipe

    def __call__(self, kind, body=b""):
        frame = memoryview(struct.pack("!I", len(body) + 1) + kind + body)
        while frame:
            frame = frame[_write(self.pipe, frame) :]


def take(pipe, count):
    """Exactly `count` bytes, or None where the host is gone."""
    parts = []
    while count:
        part = os.read(pipe, min(count, 1 << 20))
        if not part:
            return None
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def listener(pipe):
    """A function that waits for the host's next word; None where there will be none."""

    def listen():
        head = take(pipe, 4)
        return None if head is None else take(pipe, int.from_bytes(head, "big"))

    return listen


def names_of(error):
    """The names of an exception's classes, most derived first, as JSON. One that poses as a built-in is told apart."""
    return json.dumps(_names_of(error)).encode()


def _names_of(error):
    classes = type.__dict__["__mro__"].__get__(type(error))[:-1]
    return [_name_of(kind)[:100] for kind in classes[:20]]


def why_not_loaded(error):
    """The names, the line of the source and what the exception says, as JSON; the program may have a hand in its words."""
    try:
        line, text = _line_of(error.__traceback__), error
        if isinstance(error, SyntaxError):
            line, text = error.lineno, error.msg
        elif type(error) is KeyError and error.args:
            text = error.args[0]
        said = f"line {line}: {text}" if line else str(text)
    except BaseException:  # noqa: BLE001
        said = ""
    return json.dumps([_names_of(error), said[:200]]).encode()


def _line_of(traceback):
    """The last line of the program's own source that an exception came through."""
    line = None
    while traceback:
        if traceback.tb_frame.f_code.co_filename == "<solution>":
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return line


def _name_of(kind):
    if id(kind) in _BUILTIN:
        return _BUILTIN[id(kind)]
    name = str.__str__(type.__dict__["__name__"].__get__(kind))
    return f"solution.{name}" if name in _BUILTIN_NAMES else name


def new_module(name):
    module = types.ModuleType(name)
    sys.modules[name] = module
    return module


def run_function(source, entry_point, inputs, report, output_bytes):
    """Loads the source once and calls the entry point with each input, decoded afresh."""
    function = load(source, entry_point, report)
    if function is None:
        return
    draws = any(word in source for word in _DRAWING)
    for text in inputs:
        if draws:
            random.seed(_SEED)
        call(function, text, report, output_bytes)


def load(source, entry_point, report):
    """The entry point, or None after reporting why there is none."""
    try:
        random.seed(_SEED)
        module = new_module("solution")
        exec(compile(source, "<solution>", "exec", dont_inherit=True), module.__dict__)
        if entry_point not in module.__dict__:
            raise KeyError(f"it defines no {entry_point}")
        function = module.__dict__[entry_point]
        if not callable(function):
            raise TypeError(f"{entry_point} is not callable")
    except BaseException as error:  # noqa: BLE001
        report(b"N", why_not_loaded(error))
        return None
    report(b"L")
    return function


def call(function, text, report, output_bytes):
    """One call; whatever the program does, one frame says it."""
    start = process_time(), monotonic()
    try:
        arguments = codec.decode(text)
        # A sequence holds positional arguments; a dictionary keyword arguments, and under "" the positional ones.
        keywords = arguments if type(arguments) is dict else {"": arguments}
        body, kind = codec.encode(function(*keywords.pop(""), **keywords), output_bytes).encode(), b"V"
    except BaseException as error:  # noqa: BLE001
        body, kind = names_of(error), b"X"
    report(kind, _since(start) + body)


def _since(start):
    """CPU and wall-clock seconds, packed."""
    return struct.pack("!dd", process_time() - start[0], monotonic() - start[1])


def run_program(source, report):
    """Runs the source as `__main__` with standard input and output already in place. Returns the exit status."""
    try:
        code = compile(source, "solution.py", "exec", dont_inherit=True)
    except BaseException as error:  # noqa: BLE001
        report(b"N", why_not_loaded(error))
        return 1
    report(b"L")
    sys.stdin = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
    output = io.BufferedWriter(io.FileIO(1, "w", closefd=False))
    sys.stdout = io.TextIOWrapper(output, "utf-8", "surrogateescape")
    sys.__stdin__, sys.__stdout__ = sys.stdin, sys.stdout
    start = process_time(), monotonic()
    try:
        random.seed(_SEED)
        main = new_module("__main__")
        main.__dict__["__file__"] = "solution.py"
        exec(code, main.__dict__)
    except SystemExit as error:
        code = error.code
        return max(_finish(), 0 if code is None else code & 0xFF if isinstance(code, int) else 1)
    except BaseException as error:  # noqa: BLE001
        report(b"X", _since(start) + names_of(error))
        _finish()
        return 1
    return _finish()


def _finish():
    """What the interpreter does at exit: waits for threads, runs exit handlers, flushes. 1 where that failed."""
    try:
        if "threading" in sys.modules:  # the zygote does not load it
            sys.modules["threading"]._shutdown()
        atexit._run_exitfuncs()
        sys.stdout.flush()
    except BaseException:  # noqa: BLE001  # the program's own exit handlers may raise anything
        return 1
    return 0
