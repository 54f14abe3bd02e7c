"""What runs a text of tests: in a child of a zygote that has imported pytest, behind the walls, with no program near.

The text becomes a module whose public names of what is under test are proxies (proxy.py) and whose assertions are sites
(prepare.py); real pytest collects and runs it, fixtures, parametrize, unittest and all. Where a module holds plain functions
alone, they are called one by one, which is the same and four times cheaper. With the host it takes turns, a frame each:

    child   {"prepared": BLOB}             before the first line of the text runs, where the order brought no blob: what
                                           preparing it came to, for the children that will run it again
            {"e": EVENTS, "q": OPERATION}  asks, and waits for the outcome's text
            {"e": EVENTS, "end": ""}       is done; a word in "end" says why nothing could be run
    events  ["t", TEST]                    a test begins
            ["s", SITE, HELD, WHY, OPERATIONS]   a site's verdict, with the numbers of the operations that it rests on
            ["d", TEST, OUTCOME, WHY]      a test is over: passed, failed, skipped, error
            ["n", NUMBER, SOURCE]          the source of the sites of this number
            ["x", SITE, TEXT]              what pytest says of a site that failed, where people asked for it

Everything here shares its process with the test and is at its mercy. That changes nothing: what it tells is a function of
the text and of outcomes, or it is not, and then it is refused, because it is run more than once. Clocks stand still and
`sleep` does nothing, so an honest test is no coin. Left out: capfd, tmp_path and whatever else needs a file.
"""

import base64
import importlib.abc
import importlib.machinery
import json
import marshal
import os
import random
import sys
import time
import types
from typing import Any

from sandbox import prepare, proxy

FILE = "<tests>"
_OFF = (
    "cacheprovider terminal logging tmpdir faulthandler junitxml doctest pastebin stepwise warnings setuponly setupplan "
    "threadexception unraisableexception"
)
_NOW = 1_700_000_000.0


class Warm:
    """pytest, imported and configured once in the zygote, and run once so that no child has to import what it needs."""

    def __init__(self):
        os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        import pytest
        from _pytest import config, main

        options = ["-s", "--assert=plain", "--rootdir=/", "-c", os.devnull]
        options += [part for name in _OFF.split() for part in ("-p", f"no:{name}")]
        self.config = config._prepareconfig(options, [])
        self.config.option.tbstyle = "native"  # cheap, and it asks nothing of the values
        self.config._do_configure()
        self.config.pluginmanager.register(self)
        self.subtests = []
        self.session = main.Session.from_config(self.config)
        self.config.hook.pytest_sessionstart(session=self.session)
        self.failed = (Exception, pytest.fail.Exception)
        self.module_class = _module_class(pytest)
        self._run(_WARMING, {}, {"skip": [], "seed": 0}, lambda events, **more: "{}")
        del sys.modules["tests"]

    def run(self, text, told, settings, report, listen):
        """A text of tests from beginning to end; in a child, and never raises what a test did.

        `told`: the interface of what is under test. `settings`: tests to `skip`, and the `seed` of random numbers.
        """
        say = _speaker(report, listen)
        _stop_clocks()
        try:
            say(self._run(text, told, settings, say).events, end="")
        except prepare.Refused as error:
            say([], end=str(error)[:300])
        except (RecursionError, MemoryError) as error:
            say([], end=f"{type(error).__name__} while it was prepared")

    def _run(self, text, told, settings, say):
        random.seed(settings["seed"])
        sites = Sites(say, self.failed, settings.get("explain"))
        sites.interface = interface = proxy.Interface(told, sites.ask)
        code, sites.prepared = self._prepared(text, interface.names, settings, say)
        prepared = sites.prepared
        sites.events += [["n", number, source] for number, source in enumerate(prepared["sources"])]
        finder = Finder(prepared["modules"], interface)
        sys.meta_path.insert(0, finder)
        try:
            run = _call_functions if prepared["plain"] else self._run_pytest
            run(code, sites, frozenset(settings["skip"]))
        finally:
            sys.meta_path.remove(finder)
        return sites

    def _prepared(self, text, public, settings, say):
        """The code to run, and what is known of it; made here, or by the first child that was given this text."""
        if settings.get("prepared"):
            return marshal.loads(base64.b64decode(settings["prepared"]))
        made = prepare.prepared(text, public, FILE, self._explaining if settings.get("explain") else None)
        say([], prepared=base64.b64encode(marshal.dumps(made)).decode())
        return made

    def _explaining(self, tree, source):
        """Has assertions say what pytest says of them; for people, since a test can tell."""
        from _pytest.assertion import rewrite, util

        def compared(operator, left, right):
            told = self.config.hook.pytest_assertrepr_compare(config=self.config, op=operator, left=left, right=right)
            lines = next(filter(None, told), None)
            return lines and "\n~".join(line.replace("\n", "\\n") for line in lines).replace("%", "%%")

        self.config.option.assertmode, util._reprcompare = "rewrite", compared
        rewrite.rewrite_asserts(tree, source, config=self.config)

    def _run_pytest(self, code, sites, skipped):
        import pathlib

        from _pytest import runner

        module = self.module_class.from_parent(self.session, path=pathlib.Path("/tests.py"))
        module.code, module.sites = code, sites
        items = [item for item in self.session.genitems(module) if _name(item) not in skipped]
        self.session.items = items
        if self.session.testsfailed and ["d", "module", "error"] not in [event[:3] for event in sites.events]:
            sites.finish("module", "error", "it holds a test that pytest does not run")
        for item, after in zip(items, [*items, None][1:], strict=True):
            sites.begin(_name(item))
            self.subtests = []
            reports = runner.runtestprotocol(item, log=False, nextitem=after)
            sites.finish(_name(item), *_outcome([*self.subtests, *reports], sites))

    def pytest_runtest_logreport(self, report):
        """A hook: only subtests are logged, and of their failures nothing else tells."""
        self.subtests.append(report)


_WARMING = """
import unittest, pytest
@pytest.fixture
def one(): yield 1
@pytest.mark.parametrize("a", [1, 2])
def test_a(a, one, monkeypatch, capsys): assert a + one == pytest.approx(a + 1)
class TestB(unittest.TestCase):
    def test_b(self):
        with self.subTest(a=1), pytest.raises(ValueError, match="x"): raise ValueError("x")
"""


def _stop_clocks():
    for name in ("time", "monotonic", "perf_counter", "process_time", "thread_time"):
        setattr(time, name, lambda: _NOW)
        setattr(time, f"{name}_ns", lambda: int(_NOW) * 10**9)
    time.sleep = lambda seconds: None


# ---- two ways to run ----


def _new_module(sites):
    module = sys.modules["tests"] = types.ModuleType("tests")
    module.__dict__.update(sites.interface.proxies, __file__=FILE, __sites__=sites)
    for name in sorted(sites.prepared["free_names"] & sites.interface.names):
        if name not in module.__dict__:  # a public constant that the text names without importing or binding it
            module.__dict__[name] = sites.interface.value(name)
    return module


def _execute(code, sites):
    """The module, executed as a test of its own called `module`: bare assertions are sites of it."""
    sites.begin("module")
    try:
        module = _new_module(sites)
        exec(code, module.__dict__)
    except proxy.Ended:
        raise
    except BaseException as error:
        sites.finish("module", "error", _said(error))
        raise
    sites.finish("module", "failed" if sites.has_failed else "passed", "")
    return module


def _call_functions(code, sites, skipped):
    try:
        module = _execute(code, sites)
    except proxy.Ended:
        raise
    except BaseException:  # noqa: BLE001  # what a test file raises is what it says
        return
    for name, function in list(vars(module).items()):
        if name.startswith("test") and isinstance(function, types.FunctionType) and name not in skipped:
            sites.begin(name)
            try:
                function()
            except proxy.Ended:
                raise
            except BaseException as error:  # noqa: BLE001
                sites.finish(name, "failed", _said(error))
            else:
                sites.finish(name, "failed" if sites.has_failed else "passed", "")


def _outcome(reports, sites):
    """One word for a test, as pytest would sum it up, and why. A skip and an expected failure are no pass."""
    for report in reports:
        if report.failed:
            return ("failed" if report.when == "call" else "error"), str(report.longrepr)[-300:]
        if report.skipped or hasattr(report, "wasxfail"):
            return "skipped", ""
    return ("failed" if sites.has_failed else "passed"), ""


def _name(item):
    return item.nodeid.partition("::")[2]


def _said(error, most=300):
    try:
        return f"{type(error).__name__}: {error}"[:most]
    except BaseException:  # noqa: BLE001
        return type(error).__name__


def _module_class(pytest):
    class TextModule(pytest.Module):
        """A module from a text in memory."""

        def _getobj(self):
            return _execute(self.code, self.sites)

        _importtestmodule = _getobj

    return TextModule


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the module under test, by whatever name the text imports it."""

    def __init__(self, modules, interface):
        self.modules, self.interface = modules, interface

    def find_spec(self, name, path=None, target=None):
        if name in self.modules:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        interface = self.interface

        class Solution(types.ModuleType):
            def __getattr__(self, name):
                if name in interface.names:
                    return interface.value(name)
                raise AttributeError(f"what is under test has no public name {name!r}")

        module = Solution(spec.name)
        module.__dict__.update(interface.proxies, __path__=[], __all__=sorted(interface.names))
        return module

    def exec_module(self, module):
        pass


# ---- sites ----


class Sites:
    """What the wrapped assertions call (prepare.py), and what is told to the host of them."""

    def __init__(self, say, errors, explain=False):
        self.say, self.errors, self.explain = say, errors, explain
        self.interface: Any = None  # both are made when the text is prepared, which asks already
        self.prepared: dict[str, Any] = {}
        self.events, self.operations = [], []  # an operation: whose it is, and its frames of the text, outermost first
        self.test, self.has_failed, self.seen, self.last = "", False, {}, {}
        self.first, self.common = 0, []  # the first operation of the test; those of earlier ones that several rest on

    def begin(self, test):
        self.test, self.has_failed, self.seen, self.last = test, False, {}, {}
        for index in range(self.first, len(self.operations)):
            outermost = self.operations[index][1][0][0].f_code.co_name
            if outermost == "<module>" or outermost in self.prepared["shared"]:
                self.common.append(index)
        self.first = len(self.operations)
        self.events.append(["t", test])

    def finish(self, test, outcome, why):
        self.events.append(["d", test, outcome, why])

    def held(self, number):
        self._record(number, True, "")

    def failed(self, number, error):
        import unittest

        if isinstance(error, unittest.SkipTest):
            raise error
        self.has_failed = True
        self._record(number, False, "" if isinstance(error, AssertionError) else type(error).__name__[:100])
        if self.explain:
            self.events.append(["x", self.events[-1][1], _said(error, 2_000)])

    def function(self, value, text):
        return self.interface.note_lambda(value, text)

    def _record(self, number, held, why):
        place = self.seen[number] = self.seen.get(number, -1) + 1
        frames = _frames(sys._getframe(2))
        candidates = [*self.common, *range(self.first, len(self.operations))]
        rests = [index for index in candidates if self._rests(frames, self.operations[index], index)]
        self.last.update(((frame, line), len(self.operations)) for frame, line in frames)
        self.events.append(["s", f"{self.test}:{number}.{place}", held, why, rests])

    def _rests(self, frames, operation, index):
        """Whether a site that stands in `frames` rests on an operation; see prepare.Slicer."""
        test, asked = operation
        outermost, at = asked[0]
        if outermost.f_code.co_name == "<module>" and outermost is not frames[0][0]:
            return not self.prepared["bound"].get(at, set()).isdisjoint(frames[0][0].f_code.co_names)
        if test != self.test:
            return outermost.f_code.co_name in self.prepared["shared"]
        for (frame, line), (other, at) in zip(frames, asked, strict=False):
            if frame is not other:
                return frame is frames[0][0]  # by a fixture, a set-up or the module; else by another call of a helper
            lines, loop = self.prepared["rests"].get(line, ((line,), ()))
            if at in loop and index < self.last.get((frame, line), 0):
                return False
            if line != at or frame is frames[-1][0]:
                return at in lines
        return True

    def ask(self, operation):
        frame = sys._getframe(1)
        self.operations.append((self.test, _frames(frame) or [(frame, 0)]))
        events, self.events = self.events, []
        return self.say(events, q=operation)


def _frames(frame):
    """The frames of the text that are running, outermost first, each with its line. They are held: none is made twice."""
    found = []
    while frame is not None:
        if frame.f_code.co_filename == FILE:
            found.append((frame, frame.f_lineno))
        frame = frame.f_back
    return found[::-1]


def _speaker(report, listen):
    """A function that sends a frame to the host and gives its answer."""

    def say(events, **more):
        report(b"T", json.dumps({"e": events, **more}).encode())
        answer = listen()
        if answer is None:
            raise proxy.Ended
        return answer.decode()

    return say
