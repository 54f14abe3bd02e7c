"""What stands beside a function and is no part of it: calls that show its use, asserts, prompts, a main guard, prose.

A statement is left out where it shows something (it calls the entry point or `print`, reads input, asserts, ends the
process, or uses what such a statement made) and neither binds nor changes anything that the entry point may need.
Everything else stays: a table, a partial or a lambda may name the entry point without calling it. In doubt a statement
stays, as most examples do no harm.
"""

from __future__ import annotations

import ast
import builtins
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass, field
from typing import TypeGuard

from selfplay.game.syntax import bound, globals_by_line

_IMPORTS = (ast.Import, ast.ImportFrom)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS = (*_FUNCTIONS, ast.ClassDef, *_IMPORTS)
_BUILT_IN = frozenset(dir(builtins)) | {"__file__"}
_SHOWING = frozenset({"print", "input", "exit", "quit"})
_ENDING = frozenset({"exit", "main", "testmod"})  # of modules: sys.exit, unittest.main, pytest.main, doctest.testmod
_HARMLESS = _BUILT_IN - {"next", "setattr", "delattr"}  # leave as it is what they are given
_LONGEST_CHAIN = 40  # of a.b[0].c(): each link would be followed once for each call in the chain
_DYNAMIC = frozenset({"globals", "locals", "vars", "exec", "eval", "modules"})  # with these any name may be used


@dataclass(slots=True)
class _Part:
    """Top-level statements that share lines, mostly one. Names are the module's."""

    statements: list[ast.stmt]
    first: int
    last: int
    binds: set[str] = field(default_factory=set)
    changes: set[str] = field(default_factory=set)  # whose values may change while it loads
    runs: set[str] = field(default_factory=set)  # that are read while it loads
    holds: set[str] = field(default_factory=set)  # whose values may be part of what it binds
    later: set[str] = field(default_factory=set)  # that its functions use when they are called
    shows: bool = False
    stays: bool = False

    @property
    def defines(self) -> bool:
        """Whether it is nothing but functions, classes and imports."""
        return all(isinstance(each, _DEFINITIONS) for each in self.statements)


class Program:
    """A module around an entry point; "" for a program, which is needed whole.

    `live`: names that the entry point may need; `missing`: those that the module does not have.
    """

    def __init__(self, source: str, tree: ast.Module, entry_point: str) -> None:
        self.source, self.entry_point = source, entry_point
        self.harmless = _HARMLESS | {entry_point}
        self.imported = {name for each in tree.body if isinstance(each, _IMPORTS) for name in bound(each)}
        self.drivers = {
            each.name
            for each in tree.body
            if isinstance(each, _FUNCTIONS) and each.name != entry_point and any(map(self._is_showing, ast.walk(each)))
        }
        self.parts = _parts(tree)
        used = globals_by_line(source)
        for part in self.parts:
            part.later.update(*(used.get(line, ()) for line in range(part.first, part.last + 1)))
            for statement in part.statements:
                self._describe(part, statement)
        self.bound = {name for part in self.parts for name in part.binds}
        self._judge()
        self.live = self._live()
        if any(_spells(node, _DYNAMIC) for node in ast.walk(tree)):
            self.live |= self.bound
        self.missing = set[str]() if "*" in self.bound else self.live - self.bound - _BUILT_IN

    def without_examples(self) -> str:
        """The source without the lines of its examples."""
        examples = (part for part in self.parts if part.shows and not part.stays)
        cut = [part for part in examples if not (part.binds | self._reached(part.changes)) & self.live]
        dropped = {line for part in cut for line in range(part.first, part.last + 1)}
        lines = enumerate(self.source.split("\n"), 1)
        return "\n".join(line for number, line in lines if number not in dropped).strip("\n")

    def _reached(self, names: Set[str]) -> set[str]:
        """The names, and those whose values their values may be made of: a method of `k = K()` may change what K holds."""
        reached = _closure(
            names, lambda name: (other for part in self.parts if name in part.binds for other in part.holds | part.runs)
        )
        return (reached - self.imported - {self.entry_point}) | names

    def _describe(self, part: _Part, statement: ast.stmt) -> None:
        """Notes what the statement binds, changes and reads, and whether it shows something."""
        if _is_main_guard(statement):  # nothing in it ever runs
            part.shows, part.later = True, set()
            part.binds |= bound(statement) & {self.entry_point}
            return
        binds, copied = part.binds | bound(statement), set[int]()
        for node in _loading(statement):
            part.binds.update(_bound(node))
            part.changes.update(self._changed(node))
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store):
                part.runs.add(node.id)
                part.holds.update(() if id(node) in copied else (node.id,))
            elif _calls(node, self.harmless):
                copied.update(map(id, node.args))
            part.shows = part.shows or self._is_showing(node) or _calls(node, self.drivers)
        if isinstance(statement, _DEFINITIONS):
            part.binds = binds  # without what a class binds in its body
            outer = [*getattr(statement, "decorator_list", ()), *getattr(statement, "bases", ())]
            part.changes.update(name for each in outer for name in self._base(each))
        part.changes -= self.imported

    def _is_showing(self, node: ast.AST) -> bool:
        match node:
            case ast.Assert() | ast.Attribute(value=ast.Name(id="sys"), attr="stdin"):
                return True
            case ast.Name(id="stdin"):
                return "stdin" in self.imported
            case ast.Call(func=ast.Name(id=name)):
                return name == self.entry_point or name in _SHOWING
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=module), attr=name))):
                return name in _ENDING and module in self.imported
            case _:
                return False

    def _changed(self, node: ast.AST) -> Iterator[str]:
        """Names whose values may change where the node is evaluated."""
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            yield from self._base(node)
        elif isinstance(node, ast.Call) and not _calls(node, self.harmless):
            if isinstance(node.func, ast.Attribute):
                yield from self._base(node.func)
            for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
                yield from self._base(argument)

    def _base(self, node: ast.expr) -> Iterator[str]:
        """The name that an expression such as `a.b[0].c()` begins with; what the entry point returns has none."""
        for _ in range(_LONGEST_CHAIN):
            if isinstance(node, ast.Name):
                yield node.id
                return
            if isinstance(node, ast.Call) and not _calls(node, {self.entry_point}):
                node = node.func
            elif isinstance(node, ast.Attribute | ast.Subscript | ast.Starred):
                node = node.value
            else:
                return

    def _judge(self) -> None:
        """What shows because it uses what an example made, and what stays whatever is needed."""
        shown, unsteady = set[str](), self._unsteady()  # shown: what examples bind
        for part in self.parts:
            part.stays = bool(part.runs & unsteady)
            if part.defines:
                part.shows = False
            elif any(map(self._is_prose, part.statements)):
                part.shows, part.stays = True, False
            else:
                part.shows = part.shows or not shown.isdisjoint(part.runs) or isinstance(part.statements[0], ast.Raise)
                part.stays |= any(self._is_opaque(node) for each in part.statements for node in _loading(each))
                shown |= part.binds if part.shows else set()

    def _unsteady(self) -> set[str]:
        """Names of functions whose call may change what the module holds; those that call one are unsteady too."""
        callers, changing = defaultdict[str, set[str]](set), set[str]()
        for part in self.parts:
            for name in part.later:
                callers[name] |= part.binds
            inside = (node for each in part.statements for node in ast.walk(each)) if part.later else ()
            if any(name in part.later for node in inside for name in (*_bound(node), *self._changed(node))):
                changing |= part.binds
        callers[self.entry_point] = set()
        return _closure(changing, lambda name: callers[name]) - {self.entry_point}

    def _is_prose(self, statement: ast.stmt) -> bool:
        """Whether it is surely a NameError: `Done`, `Complexity: O(n)`."""
        if not isinstance(statement, ast.Expr) and not (isinstance(statement, ast.AnnAssign) and not statement.value):
            return False
        names = {node.id for node in _loading(statement) if isinstance(node, ast.Name)}
        return "*" not in self.bound and not names <= self.bound | _BUILT_IN

    def _is_opaque(self, node: ast.AST) -> bool:
        """A call for its effect on what is not the program's own, an attribute that is set there, a use of any name."""
        match node:
            case ast.Name(id=name):
                return name in _DYNAMIC
            case ast.Expr(value=ast.Call(func=ast.Name(id=name))):
                return name in self.imported or (name not in self.bound and name not in _SHOWING)
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name) as function)):
                return name not in _ENDING and not self.imported.isdisjoint(self._base(function))
            case ast.Attribute(ctx=ast.Store()):
                return not self.imported.isdisjoint(self._base(node))
            case _:
                return False

    def _live(self) -> set[str]:
        """The names that the entry point may need, and those of all that stays."""
        touching = defaultdict[str, list[set[str]]](list)  # by name: what else is needed with it
        variables = {name for part in self.parts if not part.defines for name in part.binds} - {self.entry_point}
        waiting = [self.entry_point]
        for part in self.parts:
            uses, binds = part.runs | part.later, set(part.binds)
            for name in part.binds | part.changes:
                touching[name].append(uses)
            for name in part.holds & variables:
                touching[name].append(binds)
            whole = part.stays or not self.entry_point or not (part.defines or part.shows)
            waiting += uses if whole else part.runs if part.defines else ()

        def needed(name: str) -> Iterator[str]:
            for names in touching[name]:
                yield from names
                names.clear()  # several names share it, and once is enough

        return _closure(waiting, needed)


def _closure(names: Iterable[str], following: Callable[[str], Iterable[str]]) -> set[str]:
    """The names, those that follow from them, and so on."""
    found, waiting = set[str](), list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += following(name)
    return found


def _parts(tree: ast.Module) -> list[_Part]:
    parts: list[_Part] = []
    for statement in tree.body:
        first = min([statement.lineno, *(each.lineno for each in getattr(statement, "decorator_list", ()))])
        last = statement.end_lineno or statement.lineno
        if parts and parts[-1].last >= first:
            parts[-1].statements.append(statement)
            parts[-1].last = max(parts[-1].last, last)
        else:
            parts.append(_Part([statement], first, last))
    return parts


def _loading(statement: ast.stmt) -> Iterator[ast.AST]:
    """What is evaluated while the module loads: all but the bodies of functions."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, _FUNCTIONS):
            waiting += [*node.decorator_list, node.args, *filter(None, [node.returns])]
        elif isinstance(node, ast.Lambda):
            waiting.append(node.args)
        else:
            waiting += ast.iter_child_nodes(node)


def _bound(node: ast.AST) -> Iterable[str]:
    """Names that a node itself binds or deletes."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            return (name,)
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return (name,)
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            return (name,)
        case ast.MatchMapping(rest=str(name)):
            return (name,)
        case ast.Import() | ast.ImportFrom():
            return bound(node)
        case _:
            return ()


def _calls(node: ast.AST, names: Set[str]) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names


def _spells(node: ast.AST, names: frozenset[str]) -> bool:
    return (isinstance(node, ast.Name) and node.id in names) or (isinstance(node, ast.Attribute) and node.attr in names)


def _is_main_guard(statement: ast.stmt) -> bool:
    match statement:
        case ast.If(test=ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]), orelse=[]):
            sides = [getattr(each, "id", None) or getattr(each, "value", None) for each in (left, right)]
            return "__name__" in sides and "__main__" in sides
        case _:
            return False
