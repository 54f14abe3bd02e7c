"""Literal tests, read to data without being run; what else a text of tests holds is left to be run.

    reading = read_cases(text, "f", "def f(a, b=2):")
    reading.cases     of asserts of one call and a known value (evaluate.py): bare, in the straight line of a plain test
                      function or of HumanEval's check(candidate), as rows of a table, as JSON [[arguments, expected], ...]
    reading.rest      the module without them, to be run; "" where nothing that is a test remains

A plain function has no parameters and no decorators. Where a text binds the name of the function under test, reaches for
what could replace it or the streams, or sets up something for all its tests, nothing in it is literal; nor is anything
where the entry point is a class. A copy of the function under test is dropped: the program's own is tested.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from selfplay.cases.calls import normal_call, parameters, stdin_call
from selfplay.cases.case import Case, Refusal
from selfplay.cases.evaluate import Evaluator, Names
from selfplay.cases.values import MAX_BYTES
from selfplay.game.problems import Problem, StdinTest

MAX_TEXT = 1 << 20  # characters
COMPILED = 1 << 16
MAX_CASES = 1_024  # of one text
MAX_SOURCE = 2_000  # characters of a case's source
_WORDS = (
    "globals vars setattr delattr exec eval __import__ __builtins__ builtins __dict__ modules importlib mock patch "
    "monkeypatch autouse pytestmark pytest_generate_tests setup_module teardown_module setup_function teardown_function "
    "setUpModule tearDownModule __test__ stdout stderr redirect_stdout redirect_stderr ctypes gc _getframe settrace"
)
_BLOCKING = frozenset(_WORDS.split())
_ENDING = frozenset(["skip", "fail", "xfail", "importorskip", "exit", "quit", "_exit", "abort"])
_BROKEN = (SyntaxError, ValueError, RecursionError, MemoryError)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_ROWS = (ast.List, ast.Tuple)
_DEFINITIONS = (*_FUNCTIONS, ast.ClassDef)


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text of tests holds: literal cases, what is no test and why, and the `rest`, to be run. `salvaged`: copies of
    the entry point, dropped."""

    cases: tuple[Case, ...] = ()
    refused: tuple[Refusal, ...] = ()
    rest: str = ""
    salvaged: int = 0


def read_cases(text: str, entry_point: str, signature: str = "", limit: int = MAX_CASES) -> Reading:
    """Read `text`; never raises. Of more than `limit` cases the rest is refused with one count."""
    if not text.strip():
        return Reading()
    if len(text) > MAX_TEXT:
        return _unreadable(text, "size", f"{len(text)} characters, the limit is {MAX_TEXT}")
    lost: list[Refusal] = []
    rows = _json_rows(text)
    try:
        body = _parsed(rows or text)
    except _BROKEN as error:
        why = f"no Python: {error or 'nested too deep'}"[:200]
        body, lost = _salvaged(text, why, limit)
        if not body:
            return _unreadable(text, "unreadable", why)
    module = _Module(body, entry_point, signature, limit, bool(rows))
    try:
        kept = module.read()
        rest = text if _holds_tests(kept, entry_point) else ""
        if rest and (module.has_changed or lost):
            rest = ast.unparse(ast.Module(kept, []))
    except (ValueError, RecursionError):  # an integer, a formatted string, a nesting that cannot be written as source
        return Reading(rest=text)
    if not (module.cases or module.refused or lost or rest):
        return _unreadable(text, "no_test", "it holds no assertion and no test")
    return Reading(tuple(module.cases), (*module.refused, *lost), rest, module.salvaged)


def _unreadable(text: str, reason: str, detail: str) -> Reading:
    return Reading(refused=(Refusal("module", text[:MAX_SOURCE], reason, detail),))


def _json_rows(text: str) -> str:
    """JSON `[[arguments, expected], ...]` as Python; empty where the text is something else."""
    try:
        rows = json.loads(text) if text.lstrip().startswith("[") else None
    except (ValueError, RecursionError):
        return ""
    return repr(rows) if rows and all(isinstance(row, list) and len(row) >= 2 for row in rows) else ""


def _parsed(text: str) -> list[ast.stmt]:
    """The statements of a module. Raises what Python raises for a text that it would not compile; a long one is not tried,
    since that takes the square of the number of constants that share a hash."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(text)
        if len(text) < COMPILED:
            compile(tree, "<tests>", "exec", dont_inherit=True)
    return tree.body


def _salvaged(text: str, why: str, limit: int) -> tuple[list[ast.stmt], list[Refusal]]:
    """The statements of a broken text of nothing but assertions and rows, as one that breaks off, and what is lost of it."""
    kept: list[ast.stmt] = []
    lost: list[Refusal] = []
    for chunk in re.split(r"\n(?=[^\s)\]}])", text):
        try:
            body = _parsed(chunk)
        except _BROKEN:
            lost.append(Refusal("assert", chunk[:MAX_SOURCE], "unreadable", why))
            continue
        tests = [isinstance(node, ast.Assert) or isinstance(getattr(node, "value", 0), _ROWS) for node in body]
        if not all(tests) and not isinstance(body[0], (ast.Import, ast.ImportFrom)):
            return [], []
        kept += body
    return (kept, lost[:limit]) if any(hasattr(node, "test") or hasattr(node, "value") for node in kept) else ([], [])


class _Module:
    """A module of tests while its literal assertions are taken out."""

    def __init__(self, body: list[ast.stmt], entry_point: str, signature: str, limit: int, is_json: bool) -> None:
        self.entry, self.signature, self.limit, self.is_json = entry_point, signature, limit, is_json
        self.cases: list[Case] = []
        self.refused: list[Refusal] = []
        self.left_out = 0
        copies = {node for node in body if _is_copy(node, entry_point)}
        tests = {node.name for node in body if isinstance(node, _FUNCTIONS) and _is_test(node)}
        self.body = [node for node in body if node not in copies and not _is_harness(node, tests)]
        self.salvaged, self.has_changed = len(copies), len(self.body) < len(body)
        self.names = Names(self.body)
        self.evaluator = Evaluator(self.names)
        of_class = signature.lstrip().startswith("class") or any(isinstance(one, ast.ClassDef) for one in copies)
        self.is_literal = not (of_class or self.names.may_replace(entry_point) or self.names.words & _BLOCKING)

    def read(self) -> list[ast.stmt]:
        """Fills `cases` and `refused`; the statements that remain."""
        body = [each for node in self.body for each in self._asserted(node)]
        check, calls = self._check(body)
        reached = _reached("assert", body)
        kept: list[ast.stmt] = []
        for node in body:
            if isinstance(node, ast.FunctionDef) and (node is check or self._is_plain(node)):
                kept += self._function(node, {self.entry, "candidate"} if node is check else {self.entry})
            elif node not in calls and not self._is_taken(node, reached, {self.entry}):
                kept.append(node)
        if check in kept:
            kept.append(ast.Expr(ast.Call(ast.Name("check", ast.Load()), [ast.Name(self.entry, ast.Load())], [])))
            self.has_changed = self.has_changed or not calls
        if self.left_out:
            detail = f"{self.limit} cases of one text are read, it holds {self.left_out} more"
            self.refused.append(Refusal("assert", "", "too_many", detail))
        return kept

    def _check(self, body: Sequence[ast.stmt]) -> tuple[ast.FunctionDef | None, set[ast.stmt]]:
        """HumanEval's `def check(candidate)`, and the statements `check(entry_point)`, where nothing else calls it."""
        calls: set[ast.stmt] = set()
        found: ast.FunctionDef | None = None
        for node in body:
            match node:
                case ast.FunctionDef("check", ast.arguments([], [ast.arg("candidate")], None, [], [], None, [])):
                    found = node
                case ast.Expr(ast.Call(ast.Name("check"), [ast.Name(name)], [])) if name == self.entry:
                    calls.add(node)
        alone = self.names.bound["check"] == self.names.bound["candidate"] == 1
        if (
            found is None
            or not alone
            or self.names.mentioned["check"] != len(calls)
            or found.decorator_list
            or _yields(found)
        ):
            return None, set()
        return found, calls

    def _function(self, node: ast.FunctionDef, subjects: set[str]) -> list[ast.stmt]:
        """What remains of a function: itself, or nothing where all that it states was read."""
        reached = _reached(node.name, node.body)
        kept = [each for each in node.body if not self._is_taken(each, reached, subjects)]
        if len(kept) == len(node.body):
            return [node]
        node.body = kept
        return [node] if any(_is_telling(inner, subjects) for each in kept for inner in ast.walk(each)) else []

    def _is_taken(self, node: ast.stmt, reached: Mapping[ast.stmt, str], subjects: set[str]) -> bool:
        """Whether a statement is read, or states nothing, and so goes."""
        name = reached.get(node)
        if name is None or (name and not self.is_literal):
            return False
        if name:
            try:
                stated = self.evaluator.stated(node, subjects)
                source = ast.unparse(ast.Assert(node.test) if isinstance(node, ast.Assert) else node)[:MAX_SOURCE]
            except ValueError:
                return False
            if len(self.cases) < self.limit:
                self.cases.append(Case(name, source, *stated, calls=(normal_call(stated.arguments, self.signature),)))
            else:
                self.left_out += 1
        self.has_changed = True
        return True

    def _is_plain(self, node: ast.FunctionDef) -> bool:
        """Whether pytest calls a function once, with nothing, and nobody else does."""
        alone = self.names.bound[node.name] == 1 and node.name not in self.names.mentioned
        bare = not node.decorator_list and not any(isinstance(one, ast.arg) for one in ast.walk(node.args))
        return _is_test(node) and alone and bare and not _yields(node)

    def _asserted(self, node: ast.stmt) -> Iterator[ast.stmt]:
        """A statement; of a table the rows, as assertions."""
        rows = self._rows(node)
        if rows is None:
            yield node
            return
        self.has_changed = True
        for row in rows:
            assertion = self._of_row(row)
            if assertion is not None:
                yield assertion
            elif len(self.refused) < self.limit:
                why = "a row that is no pair of arguments and expected value"
                self.refused.append(Refusal("assert", ast.unparse(row)[:MAX_SOURCE], "unreadable", why))

    def _rows(self, node: ast.stmt) -> list[ast.expr] | None:
        match node:
            case ast.Expr(ast.Tuple([ast.Tuple() | ast.List() as row])) | ast.Expr(ast.Tuple() as row):
                return [row]  # the first is a line of a list: it ends with a comma
            case ast.Expr(ast.List(rows)):
                return rows
            case ast.Assign([ast.Name(name)], ast.List(rows) | ast.Tuple(rows)):
                is_table = rows and all(isinstance(row, _ROWS) and len(row.elts) > 1 for row in rows)
                return rows if is_table and name not in self.names.mentioned else None
        return None

    def _of_row(self, row: ast.expr) -> ast.Assert | None:
        """The assertion of a row, arguments and expected value told apart by the number of parameters where it is known."""
        if not isinstance(row, _ROWS) or len(row.elts) < 2:
            return None
        first, expected = row.elts[0], row.elts[-1]
        spec = parameters(self.signature)
        count = None if spec is None or spec.vararg else len(spec.posonlyargs) + len(spec.args)
        packed = first.elts if isinstance(first, ast.List if self.is_json else ast.Tuple) else None
        whole = count == len(row.elts) - 1 or (count is None and (len(row.elts) == 2 or not self.is_json))
        if len(row.elts) == 2 and packed is not None and (count is None or len(packed) == count or not whole):
            arguments = packed  # of the wrong number: for the reference to refuse
        elif whole:
            arguments = row.elts[:-1]
        else:
            return None
        call = ast.Call(ast.Name(self.entry, ast.Load()), arguments, [])
        return ast.Assert(ast.Compare(call, [ast.Eq()], [expected]))


def _reached(name: str, body: Sequence[ast.stmt]) -> dict[ast.stmt, str]:
    """The assertions that nothing before them keeps from being reached, each with its name: `test_x`, or `test_x[3]` where
    there are several. What states nothing has none."""
    found: dict[ast.stmt, str] = {}
    several, count = sum(map(_is_assertion, body)) > 1, 0
    for node in body:
        if _is_assertion(node):
            found[node] = f"{name}[{count}]" if several else name
            count += 1
        elif _states_nothing(node):
            found[node] = ""
        elif _ends(node):
            break
    return found


# ---- what a statement is ----


def _is_test(node: ast.AST) -> bool:
    return isinstance(node, _FUNCTIONS) and node.name.startswith("test")


def _yields(node: ast.AST) -> bool:
    return any(isinstance(inner, (ast.Yield, ast.YieldFrom)) for inner in ast.walk(node))


def _is_assertion(node: ast.stmt) -> bool:
    if isinstance(node, ast.With):
        return _called(node.items[0].context_expr) == "raises"
    return isinstance(node, ast.Assert) and not _states_nothing(node)


def _states_nothing(node: ast.stmt) -> bool:
    """`assert True`, as HumanEval writes it."""
    return isinstance(node, ast.Assert) and isinstance(node.test, ast.Constant) and bool(node.test.value)


def _is_copy(node: ast.stmt, entry_point: str) -> bool:
    match node:
        case ast.Assign([ast.Name(name)], ast.Lambda()):
            return name == entry_point
    return isinstance(node, _DEFINITIONS) and node.name == entry_point


def _is_harness(node: ast.stmt, tests: set[str]) -> bool:
    """What runs tests and is none: pytest never comes to the first, and does the others itself."""
    match node:
        case ast.If(ast.Compare(ast.Name("__name__"), [ast.Eq()], [ast.Constant("__main__")])):
            return True
        case ast.Expr(ast.Call(ast.Attribute(ast.Name("unittest" | "pytest"), "main"))):
            return True
        case ast.Expr(ast.Call(ast.Name(name), [], [])):
            return name in tests
    return False


def _called(node: ast.AST) -> str:
    """The last name of what is called; empty for what is no call."""
    match node:
        case ast.Call(ast.Attribute(attr=name) | ast.Name(id=name)):
            return name
    return ""


def _ends(node: ast.stmt) -> bool:
    """Whether what follows a statement may not be reached."""
    ending = (ast.Return, ast.Raise, ast.Yield, ast.YieldFrom, ast.Await)
    found = any(isinstance(inner, ending) or _called(inner) in _ENDING for inner in ast.walk(node))
    return found and not isinstance(node, _DEFINITIONS)


def _holds_tests(body: Sequence[ast.stmt], entry_point: str) -> bool:
    """Whether there is anything to run: tests, or statements of the module that assert or use what is defined here."""
    names = {entry_point} | {node.name for node in body if isinstance(node, _DEFINITIONS)}
    for node in body:
        if isinstance(node, ast.ClassDef):
            found = (node.name.startswith("Test") or node.bases) and any(map(_is_test, ast.walk(node)))
        elif isinstance(node, (*_FUNCTIONS, ast.Import, ast.ImportFrom)):
            found = _is_test(node)
        else:
            found = any(_is_telling(inner, names) for inner in ast.walk(node))
        if found:
            return True
    return False


def _is_telling(node: ast.AST, names: set[str]) -> bool:
    """Whether something may fail, or ask something of what has one of the `names`."""
    match node:
        case ast.Name(name) | ast.Attribute(attr=name) if name in names:
            return True
        case ast.Assert() | ast.Raise():
            return True
    return _called(node) not in ("", "print") or _is_test(node)


# ---- data ----


def read_stdin_cases(tests: Sequence[StdinTest], tolerance: float | None = None) -> Reading:
    """Pairs of input and output as cases; `tolerance` where the problem lets numbers differ."""
    cases: list[Case] = []
    refused: list[Refusal] = []
    allowed = (0.0, 0.0) if tolerance is None else (tolerance, tolerance)
    for position, test in enumerate(tests):
        name = f"stdin[{position}]" if len(tests) > 1 else "stdin"
        size, shown = len(test.input) + len(test.output), test.input[:MAX_SOURCE]
        if size > MAX_BYTES:
            refused.append(Refusal(name, shown, "budget", f"{size} characters, the limit is {MAX_BYTES}"))
        else:
            cases.append(Case(name, shown, test.input, "stdout", test.output, allowed, (stdin_call(test.input),)))
    return Reading(tuple(cases), tuple(refused))


def problem_cases(problem: Problem, which: Literal["baseline", "hidden"] = "baseline") -> Reading:
    """The problem's own tests, each read by itself; what remains of them, one after the other."""
    tests = problem.baseline_tests if which == "baseline" else problem.hidden_tests
    texts = [test for test in tests if isinstance(test, str)]
    readings = [read_cases(text, problem.entry_point, problem.signature) for text in texts]
    if len(readings) > 1:
        readings = [_numbered(reading, f"{which}[{position}]") for position, reading in enumerate(readings)]
    readings.append(read_stdin_cases([test for test in tests if isinstance(test, StdinTest)], problem.tolerance))
    return Reading(
        tuple(case for reading in readings for case in reading.cases),
        tuple(refusal for reading in readings for refusal in reading.refused),
        "\n\n".join(reading.rest for reading in readings if reading.rest),
        sum(reading.salvaged for reading in readings),
    )


def _numbered(reading: Reading, name: str) -> Reading:
    cases = tuple(replace(case, name=name + "".join(case.name.partition("[")[1:])) for case in reading.cases)
    refused = tuple(
        replace(refusal, name=name + "".join(refusal.name.partition("[")[1:])) for refusal in reading.refused
    )
    return replace(reading, cases=cases, refused=refused)
