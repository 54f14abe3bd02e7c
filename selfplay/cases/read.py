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
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from selfplay.cases.calls import normal_call, parameters, stdin_call
from selfplay.cases.case import Case, Refusal
from selfplay.cases.evaluate import Evaluator, Names
from selfplay.cases.values import MAX_BYTES
from selfplay.game.problems import Problem, StdinTest

MAX_TEXT = 1 << 20  # characters
MAX_CASES = 1_024  # of one text
MAX_SOURCE = 2_000  # characters of a case's source
_WORDS = (
    "globals vars setattr delattr exec eval __import__ __builtins__ builtins __dict__ modules importlib "
    "mock patch autouse monkeypatch pytestmark pytest_generate_tests setup_module teardown_module "
    "setup_function teardown_function setUpModule tearDownModule __test__ stdout stderr redirect_stdout "
    "redirect_stderr ctypes gc _getframe settrace"
)
_BLOCKING = frozenset(_WORDS.split())
_ENDING = frozenset(["skip", "fail", "xfail", "importorskip", "exit", "quit", "_exit", "abort"])
_CLOSING = (" ", "\t", ")", "]", "}")


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
    try:
        return _read(text, entry_point, signature, limit)
    except (RecursionError, MemoryError):
        return _unreadable(text, "unreadable", "nested too deep")


def _read(text: str, entry_point: str, signature: str, limit: int) -> Reading:
    lost: list[Refusal] = []
    rows = _json_rows(text)
    try:
        body = _parsed(text if rows is None else repr(rows))
    except (SyntaxError, ValueError) as error:
        body, lost = _salvaged(text, f"no Python: {error}"[:200])
        if not body:
            return _unreadable(text, "unreadable", f"no Python: {error}"[:200])
    module = _Module(body, entry_point, signature, limit, is_json=rows is not None)
    module.refused += lost[:limit]
    kept = module.read()
    if not _holds_tests(kept, entry_point):
        kept = []
    rest = text
    if module.has_changed or lost:
        try:
            rest = ast.unparse(ast.Module(kept, []))
        except ValueError:  # an integer, or a formatted string, that cannot be written
            return Reading(rest=text)
    if not module.cases and not module.refused and not kept:
        return _unreadable(text, "no_test", "it holds no assertion and no test")
    return Reading(tuple(module.cases), tuple(module.refused), rest if kept else "", module.salvaged)


def _unreadable(text: str, reason: str, detail: str) -> Reading:
    return Reading(refused=(Refusal("module", text[:MAX_SOURCE], reason, detail),))


def _json_rows(text: str) -> object:
    """The rows of JSON `[[arguments, expected], ...]`; None where the text is something else."""
    if not text.lstrip().startswith("["):
        return None
    try:
        rows = json.loads(text)
    except ValueError:
        return None
    return rows if rows and all(isinstance(row, list) and len(row) >= 2 for row in rows) else None


def _parsed(text: str) -> list[ast.stmt]:
    """The statements of a module. Raises SyntaxError and ValueError for what Python would not compile."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(text)
        compile(tree, "<tests>", "exec", dont_inherit=True)
    return tree.body


def _salvaged(text: str, why: str) -> tuple[list[ast.stmt], list[Refusal]]:
    """The statements of a broken text of nothing but assertions and rows, as one that breaks off, and what is lost of it."""
    chunks: list[list[str]] = []
    for line in text.split("\n"):
        if chunks and (not line.strip() or line.startswith(_CLOSING)):
            chunks[-1].append(line)
        else:
            chunks.append([line])
    kept: list[ast.stmt] = []
    lost: list[Refusal] = []
    for chunk in map("\n".join, chunks):
        try:
            body = _parsed(chunk)
        except (SyntaxError, ValueError):
            lost.append(Refusal("assert", chunk[:MAX_SOURCE], "unreadable", why))
            continue
        if not all(isinstance(node, (ast.Assert, ast.Import, ast.ImportFrom)) or _is_bare_row(node) for node in body):
            return [], []
        kept += body
    return (kept, lost) if any(isinstance(node, (ast.Assert, ast.Expr)) for node in kept) else ([], [])


class _Module:
    """A module of tests while its literal assertions are taken out."""

    def __init__(self, body: list[ast.stmt], entry_point: str, signature: str, limit: int, is_json: bool) -> None:
        self.entry, self.signature, self.limit, self.is_json = entry_point, signature, limit, is_json
        self.cases: list[Case] = []
        self.refused: list[Refusal] = []
        self.left_out = 0
        self.evaluator = Evaluator()
        copies = [node for node in body if _is_copy(node, entry_point)]
        tests = {node.name for node in body if isinstance(node, ast.FunctionDef) and _is_test(node)}
        going = {node for node in body if _is_copy(node, entry_point) or _is_harness(node, tests)}
        self.body = [node for node in body if node not in going]
        self.salvaged, self.has_changed = len(copies), len(going) > 0
        self.names = _Found(self.body)
        of_class = signature.lstrip().startswith("class") or any(isinstance(one, ast.ClassDef) for one in copies)
        self.is_literal = not of_class and not self.names.may_replace(entry_point)

    def read(self) -> list[ast.stmt]:
        """Fills `cases` and `refused`; the statements that remain."""
        body = [each for node in self.body for each in self._asserted(node)]
        check = self._check(body)
        calls = [node for node in body if check and _called(getattr(node, "value", node)) == "check"]
        kept: list[ast.stmt] = []
        loose = _Block("assert", body, self.entry)
        for node in body:
            if check is not None and node is check:
                kept += self._function(check, "candidate", self.entry)
            elif isinstance(node, ast.FunctionDef) and self._is_plain(node):
                kept += self._function(node, self.entry)
            elif node not in calls and not self._taken(node, loose):
                kept.append(node)
        if check in kept:
            kept.append(ast.Expr(ast.Call(ast.Name("check", ast.Load()), [ast.Name(self.entry, ast.Load())], [])))
            self.has_changed = self.has_changed or not calls
        if self.left_out:
            detail = f"{self.limit} cases of one text are read, it holds {self.left_out} more"
            self.refused.append(Refusal("assert", "", "too_many", detail))
        return kept

    def _check(self, body: Sequence[ast.stmt]) -> ast.FunctionDef | None:
        """HumanEval's `def check(candidate)`, which nobody calls but `check(entry_point)` in a line of its own."""
        called = 0
        found: ast.FunctionDef | None = None
        for node in body:
            match node:
                case ast.FunctionDef("check", ast.arguments(args=[ast.arg("candidate")])) if (
                    len(_parameters(node)) == 1
                ):
                    found = node
                case ast.Expr(ast.Call(ast.Name("check"), [ast.Name(name)], [])) if name == self.entry:
                    called += 1
        mentioned = sum(
            isinstance(inner, ast.Name) and inner.id == "check" for node in body for inner in ast.walk(node)
        )
        if found is None or found.decorator_list or mentioned != called or self.names.bound["check"] != 1:
            return None
        return None if _yields(found) or "candidate" in _Found(found.body).bound else found

    # ---- literal assertions ----

    def _taken(self, node: ast.stmt, block: _Block) -> bool:
        """Whether a statement is read, or states nothing, and so goes."""
        if not _is_assertion(node):
            block.live = block.live and not _ends(node)
            self.has_changed = self.has_changed or _states_nothing(node)
            return _states_nothing(node)
        name = block.next_name()
        if not (self.is_literal and block.live):
            return False
        try:
            stated = self.evaluator.stated(node, Names(block.subjects, self.names.bound, self.names.imports))
            source = ast.unparse(ast.Assert(node.test) if isinstance(node, ast.Assert) else node)[:MAX_SOURCE]
        except ValueError:
            return False
        self.has_changed = True
        if len(self.cases) < self.limit:
            calls = (normal_call(stated.arguments, self.signature),)
            self.cases.append(Case(name, source, *stated, calls=calls))
        else:
            self.left_out += 1
        return True

    def _function(self, node: ast.FunctionDef, *subjects: str) -> list[ast.stmt]:
        """What remains of a function: itself, or nothing where all that it states was read."""
        block = _Block(node.name, node.body, *subjects)
        kept = [each for each in node.body if not self._taken(each, block)]
        if len(kept) < len(node.body):
            node.body = kept
            return [] if _is_idle(kept, block.subjects) else [node]
        return [node]

    def _is_plain(self, node: ast.FunctionDef) -> bool:
        """Whether pytest calls a function once, with nothing, and nobody else does."""
        alone = self.names.bound[node.name] == 1 and node.name not in self.names.mentioned
        return _is_test(node) and alone and not node.decorator_list and not _parameters(node) and not _yields(node)

    # ---- rows ----

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
                self.refused.append(
                    Refusal(
                        "assert", _written(row), "unreadable", "a row that is no pair of arguments and expected value"
                    )
                )

    def _rows(self, node: ast.stmt) -> list[ast.expr] | None:
        match node:
            case ast.Expr(ast.Tuple([ast.Tuple() | ast.List() as row])):  # a line of a list: it ends with a comma
                return [row]
            case ast.Expr(ast.Tuple() as row):
                return [row]
            case ast.Expr(ast.List(rows)):
                return rows
            case ast.Assign([ast.Name(name)], ast.List(rows) | ast.Tuple(rows)) | ast.AnnAssign(
                ast.Name(name), _, ast.List(rows) | ast.Tuple(rows)
            ):
                is_table = rows and all(isinstance(row, (ast.List, ast.Tuple)) and len(row.elts) > 1 for row in rows)
                return rows if is_table and name not in self.names.mentioned else None
        return None

    def _of_row(self, row: ast.expr) -> ast.Assert | None:
        """The assertion of a row, arguments and expected value told apart by the number of parameters where it is known."""
        if not isinstance(row, (ast.List, ast.Tuple)) or len(row.elts) < 2:
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


class _Block:
    """Statements that are read one after the other: how their assertions are called, and whether what follows is reached."""

    def __init__(self, name: str, body: Sequence[ast.stmt], *subjects: str) -> None:
        self.name, self.subjects = name, frozenset(subjects)
        self.several = sum(map(_is_assertion, body)) > 1
        self.count, self.live = 0, True

    def next_name(self) -> str:
        """`test_x`, or `test_x[3]` where there are several."""
        self.count += 1
        return f"{self.name}[{self.count - 1}]" if self.several else self.name


class _Found:
    """The names of a text: how often it `bound` each, which it `mentioned`, what it `imports`, and all its `words`."""

    def __init__(self, body: Iterable[ast.stmt]) -> None:
        self.bound: Counter[str] = Counter()
        self.mentioned: set[str] = set()
        self.imports: dict[str, str] = {}
        self.words: set[str] = set()
        for node in (inner for statement in body for inner in ast.walk(statement)):
            self._enter(node)
        self.words |= self.mentioned | self.bound.keys()

    def _enter(self, node: ast.AST) -> None:
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                self.mentioned.add(name)
            case (
                ast.Name(id=name)
                | ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
            ):
                self.bound[name] += 1
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                self.bound[name] += 1
            case ast.MatchMapping(rest=str(name)) | ast.arg(arg=name):
                self.bound[name] += 1
            case ast.Attribute(attr=name, ctx=context):
                self.words.add(name)
                if not isinstance(context, ast.Load):
                    self.bound[name] += 1
            case ast.keyword(arg=str(name)):
                self.words.add(name)
            case ast.Import(aliases):
                for alias in aliases:
                    top = alias.name.partition(".")[0]
                    self._import(alias.asname or top, alias.name if alias.asname else top)
            case ast.ImportFrom(module, aliases):
                for alias in aliases:
                    self._import(alias.asname or alias.name, f"{module or ''}.{alias.name}")

    def _import(self, name: str, path: str) -> None:
        self.words.update(path.split("."))
        if self.imports.setdefault(name, path) != path:
            self.bound[name] += 1

    def may_replace(self, entry_point: str) -> bool:
        """Whether the text may give another meaning to the function under test or to what its tests are made of."""
        path = self.imports.get(entry_point, f".{entry_point}")
        stars = [source for name, source in self.imports.items() if name == "*"]
        foreign = any(source.partition(".")[0] in _FOREIGN for source in (path, *stars))
        return (
            entry_point in self.bound or foreign or not path.endswith(f".{entry_point}") or bool(self.words & _BLOCKING)
        )


_FOREIGN = sys.stdlib_module_names | {"pytest", "_pytest"}


# ---- what a statement is ----


def _is_test(node: ast.AST) -> bool:
    return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test")


def _parameters(node: ast.FunctionDef) -> list[str]:
    return [inner.arg for inner in ast.walk(node.args) if isinstance(inner, ast.arg)]


def _yields(node: ast.AST) -> bool:
    return any(isinstance(inner, (ast.Yield, ast.YieldFrom)) for inner in ast.walk(node))


def _is_assertion(node: ast.stmt) -> bool:
    match node:
        case ast.With(items=[ast.withitem(ast.Call(ast.Attribute(attr=name) | ast.Name(id=name)))]):
            return name == "raises"
    return isinstance(node, ast.Assert) and not _states_nothing(node)


def _states_nothing(node: ast.stmt) -> bool:
    """`assert True`, as HumanEval writes it."""
    return isinstance(node, ast.Assert) and isinstance(node.test, ast.Constant) and bool(node.test.value)


def _is_copy(node: ast.stmt, entry_point: str) -> bool:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return name == entry_point
        case ast.Assign([ast.Name(name)], ast.Lambda()):
            return name == entry_point
    return False


def _is_harness(node: ast.stmt, tests: set[str]) -> bool:
    """What runs tests and is none: pytest never comes to the first, and does the others itself."""
    match node:
        case ast.If(ast.Compare(ast.Name("__name__"), [ast.Eq()], [ast.Constant("__main__")])):
            return True
        case ast.Expr(ast.Call(ast.Name(name), [], [])):
            return name in tests
        case ast.Expr(ast.Call(ast.Attribute(ast.Name("unittest" | "pytest"), "main"))):
            return True
    return False


def _is_bare_row(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, (ast.Tuple, ast.List))


def _called(node: ast.AST) -> str:
    """The last name of what is called; empty for what is no call."""
    match node:
        case ast.Call(ast.Attribute(attr=name) | ast.Name(id=name)):
            return name
    return ""


def _ends(node: ast.stmt) -> bool:
    """Whether what follows a statement may not be reached."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return False
    ending = (ast.Return, ast.Raise, ast.Yield, ast.YieldFrom, ast.Await)
    return any(isinstance(inner, ending) or _called(inner) in _ENDING for inner in ast.walk(node))


def _is_idle(body: Sequence[ast.stmt], subjects: frozenset[str]) -> bool:
    """Whether statements neither fail nor ask anything."""
    inner = [each for node in body for each in ast.walk(node)]
    if any(isinstance(each, (ast.Assert, ast.Raise)) or _called(each) not in ("", "print") for each in inner):
        return False
    return not any(isinstance(each, ast.Name) and each.id in subjects for each in inner)


def _holds_tests(body: Sequence[ast.stmt], entry_point: str) -> bool:
    """Whether there is anything to run: tests, or statements of the module that assert or use what is defined here."""
    defined = {node.name for node in body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))}
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Import, ast.ImportFrom)):
            if _is_test(node):
                return True
        elif isinstance(node, ast.ClassDef):
            if (node.name.startswith("Test") or node.bases) and any(map(_is_test, ast.walk(node))):
                return True
        elif any(_is_telling(inner, {entry_point, *defined}) for inner in ast.walk(node)):
            return True
    return False


def _is_telling(node: ast.AST, names: set[str]) -> bool:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in names
    return isinstance(node, ast.Assert) or _is_test(node)


def _written(node: ast.expr) -> str:
    try:
        return ast.unparse(node)[:MAX_SOURCE]
    except ValueError:  # an integer that is too long to write
        return ""


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
            calls = (stdin_call(test.input),)
            cases.append(Case(name, shown, test.input, "stdout", test.output, allowed, calls))
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
    cases = tuple(replace(case, name=name + _index(case.name)) for case in reading.cases)
    refused = tuple(replace(refusal, name=name + _index(refusal.name)) for refusal in reading.refused)
    return replace(reading, cases=cases, refused=refused)


def _index(name: str) -> str:
    return name[name.index("[") :] if name.endswith("]") else ""
