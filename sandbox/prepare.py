"""A text of tests made ready to run: copies of what is under test dropped, every assertion in a straight line made a site.

A *site* is an assertion that stands in the straight line of a test, of the module, or of a helper that is only ever called
as a statement there: an `assert`, a `self.assert...`, a `with raises`. It records whether it held and lets the test go on,
so one run gives a verdict for each. What stands inside `try`, `while` or a nested function stays as it is: there a failure
must be raised. The statements that a site rests on (its slice) are found by names, backwards, as a reader would.

Runs in the child of a test, on the test's own text; whatever it gets wrong, it gets wrong for every program alike.
"""

import ast
import sys
from functools import cache
from typing import Any

MAX_SITES = 2_000  # of a text, as it is written; rows of a loop are counted where they happen
_SHOWN = 2_000  # characters of a site's source
_GUARDS = {"raises", "warns", "deprecated_call", "assertRaises", "assertRaisesRegex", "assertWarns", "assertWarnsRegex"}
_GUARDS |= {"assertLogs", "assertNoLogs"}


class Refused(Exception):
    """The text cannot be run; the message says what it needs and does not get."""


def prepared(text, public, file, rewrite=None):
    """The code of a text, and what is known of it as plain data; see Prepared. `rewrite` changes its assertions so that they
    say why they fail. Raises Refused."""
    try:
        made = Prepared(text, public)
        if rewrite:
            rewrite(made.tree, text.encode("utf-8", "surrogatepass"))
        code = compile(made.tree, file, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        raise Refused(f"not Python: {error}") from None
    names = ("sources", "rests", "modules", "plain", "shared", "bound", "free_names")
    return code, {name: getattr(made, name) for name in names}


class Prepared:
    """`tree` to compile; `sources` of the sites by number; `modules` that are the module under test; `plain` where calling
    its functions is what pytest does; names of fixtures that tests have `shared`; names `bound` in each line of the module;
    `free_names` that it uses and does not bind."""

    def __init__(self, text, public):
        self.tree = ast.parse(text)
        self.public = frozenset(public)
        self.modules = _modules_under_test(self.tree, self.public)
        self.sources = []
        self.rests = {}  # by line of a site or of a helper's call: lines it rests on, lines of its loop
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        self.tree.body = [node for node in self.tree.body if not (isinstance(node, kinds) and node.name in self.public)]
        self.plain = _is_plain(self.tree)
        functions = [node for node in ast.walk(self.tree) if isinstance(node, ast.FunctionDef)]
        self.shared = {node.name for node in functions if _is_shared(node)}
        self.bound = {line: _bound(node) for node in self.tree.body for line in _lines(node)}
        names = [node for node in ast.walk(self.tree) if isinstance(node, ast.Name)]
        stored = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
        self.free_names = {node.id for node in names} - stored
        self._helpers, self.slicer = _helpers(self.tree), Slicer(self.tree)
        self.tree.body = self._block(self.tree.body, [], ())
        _Lambdas().visit(self.tree)
        ast.fix_missing_locations(self.tree)

    def _block(self, body, before, loops) -> list[Any]:
        """The statements with their sites wrapped. `before`: the blocks around, each up to here; `loops`: those around."""
        return [self._statement(node, [*before, body[:place]], loops) for place, node in enumerate(body)]

    def _statement(self, node, around, loops):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            if isinstance(node, ast.ClassDef) or _is_test(node) or node.name in self._helpers:
                node.body = self._block(node.body, [], ())
            return node
        if _is_site(node):
            return self._site(node, around, loops)
        if isinstance(node, ast.Expr):
            self._note(node, around, loops)
        inside = [*around, [node]]
        if isinstance(node, ast.For):
            node.body = self._block(node.body, inside, (*loops, node))
            node.orelse = self._block(node.orelse, around, loops)
        elif isinstance(node, (ast.If, ast.With)):
            node.body = self._block(node.body, inside, loops)
            if isinstance(node, ast.If):
                node.orelse = self._block(node.orelse, inside, loops)
        return node

    def _note(self, node, around, loops):
        rests = self.slicer.lines(node, around, loops), _lines(loops[0]) if loops else frozenset()
        self.rests.update(dict.fromkeys(_lines(node), rests))

    def _site(self, node, around, loops):
        number = len(self.sources)
        if number >= MAX_SITES:
            raise Refused(f"more than {MAX_SITES} assertions")
        self.sources.append(ast.unparse(node)[:_SHOWN])
        self._note(node, around, loops)
        handler = ast.ExceptHandler(
            _hook("errors"), "__error__", [_call("failed", number, ast.Name("__error__", ast.Load()))]
        )
        wrapped = ast.Try([node], [handler], [_call("held", number)], [])
        for each in (wrapped, handler, *handler.body, *wrapped.orelse):
            ast.copy_location(each, node)
        return wrapped


def _hook(name):
    return ast.Attribute(ast.Name("__sites__", ast.Load()), name, ast.Load())


def _call(name, number, *further):
    return ast.Expr(ast.Call(_hook(name), [ast.Constant(number), *further], []))


class _Lambdas(ast.NodeTransformer):
    """Lets the proxies know a lambda's text: `lambda x: x + 1` becomes `__sites__.function(lambda x: x + 1, "...")`."""

    def visit_Lambda(self, node):
        text = ast.Constant(ast.unparse(node)[:_SHOWN])
        self.generic_visit(node)
        return ast.copy_location(ast.Call(_hook("function"), [node, text], []), node)


# ---- what is what ----


def _is_site(node):
    match node:
        case ast.Assert():
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name))):
            return name.startswith("assert")
        case ast.With():
            return any(_name_of(item.context_expr) in _GUARDS for item in node.items)
    return False


def _name_of(node):
    """The last name of what is called."""
    if not isinstance(node, ast.Call):
        return ""
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def _is_test(node):
    return node.name.startswith(("test", "setUp", "tearDown", "setup", "teardown"))


def _helpers(tree):
    """Names of functions that hold assertions and whose every mention is a call that stands as a statement."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    names = {node.name for node in functions if not _is_test(node)}
    asserting = {node.name for node in functions if node.name in names and any(map(_is_site, ast.walk(node)))}
    visitor = _Mentions(asserting)
    visitor.visit(tree)
    return asserting - visitor.otherwise


class _Mentions(ast.NodeVisitor):
    """Which names are mentioned otherwise than as a call that stands as a statement and may not be caught."""

    def __init__(self, names):
        self.names, self.otherwise, self.caught = names, set(), 0

    def visit_Try(self, node):
        self.caught += 1
        self.generic_visit(node)
        self.caught -= 1

    def visit_With(self, node):
        guarded = _is_site(node)
        self.caught += guarded
        self.generic_visit(node)
        self.caught -= guarded

    def visit_Expr(self, node):
        if isinstance(node.value, ast.Call) and not self.caught:
            call = node.value
            parts = [*call.args, *call.keywords]
            if isinstance(call.func, ast.Attribute):
                parts.append(call.func.value)
            elif not isinstance(call.func, ast.Name):
                parts.append(call.func)
            for part in parts:
                self.visit(part)
        else:
            self.generic_visit(node)

    def visit_Name(self, node):
        if node.id in self.names:
            self.otherwise.add(node.id)

    def visit_Attribute(self, node):
        if node.attr in self.names:
            self.otherwise.add(node.attr)
        self.generic_visit(node)

    def visit_FunctionDef(self, node):
        if node.decorator_list:
            self.otherwise.add(node.name)
        self.generic_visit(node)


_FIXED = {"setup_module", "teardown_module", "setup_function", "teardown_function", "setUpModule", "tearDownModule"}
_FIXED |= {"setup_class", "teardown_class", "setUpClass", "tearDownClass"}


def _is_shared(function):
    """Whether a function sets up something for several tests: a fixture with a scope, or a set-up of a module or class."""
    scoped = [one for one in function.decorator_list if isinstance(one, ast.Call) and _name_of(one) == "fixture"]
    return function.name in _FIXED or any(word.arg == "scope" for one in scoped for word in one.keywords)


def _bound(node):
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}


def _is_plain(tree):
    """Whether calling the test functions one by one does what pytest does: nothing but functions without parameters and
    decorators, and no word of pytest's that it looks for in a module."""
    for node in tree.body:
        if isinstance(node, (ast.ClassDef, ast.AsyncFunctionDef)):
            return False
        if isinstance(node, ast.FunctionDef) and (node.decorator_list or node.name in _FIXED):
            return False
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            arguments = node.args
            if arguments.args or arguments.posonlyargs or arguments.kwonlyargs or arguments.vararg or arguments.kwarg:
                return False
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Yield, ast.YieldFrom, ast.Await)):
            return False
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "pytest":
            names.add(node.attr)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in ("pytest", "_pytest"):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.Name) and node.id.startswith(("pytest_", "pytestmark")):
            return False
    return names <= {"raises", "approx", "fail"}


# ---- which modules are the one under test ----


def _modules_under_test(tree, public):
    """Modules that nobody has and of which the text takes nothing but public names of what is under test."""
    found, aliases = set(), {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            taken = {alias.name for alias in node.names}
            module = node.module or ""
            if node.level or (_is_unknown(module) and (taken <= public or taken == {"*"})):
                found.add(module)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if _is_unknown(alias.name):
                    aliases[alias.asname or alias.name.partition(".")[0]] = alias.name
    for name, module in aliases.items():
        if _taken_of(tree, name) <= public | set(module.split(".")[1:]):
            found.add(module)
    return {
        ".".join(parts[:end]) for parts in (module.split(".") for module in found) for end in range(1, len(parts) + 1)
    }


def _is_unknown(module):
    return module.partition(".")[0] not in sys.stdlib_module_names | {"pytest", "_pytest"}


def _taken_of(tree, name):
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name
    }


# ---- slices ----


def _lines(node):
    return frozenset(range(node.lineno, (node.end_lineno or node.lineno) + 1))


class Slicer:
    """Finds the lines that a site rests on: its own, and of the statements before it those that bind or touch a name that
    it uses, and so on. What stands in a loop with the site counts wherever it stands there. Names that the text imports
    are never touched by a call of them; `self.x` is a name of its own."""

    def __init__(self, tree):
        aliases = [each for each in ast.walk(tree) if isinstance(each, ast.alias)]
        self.imported = {each.asname or each.name.partition(".")[0] for each in aliases}
        # asked once for every site after a statement
        self._loaded, self._touched = cache(self._find_loaded), cache(self._find_touched)

    def lines(self, site, around, loops):
        """`around`: the statements before the site, block by block from the outside; `loops`: those that it stands in."""
        needed, lines = self._loaded(site), set(_lines(site))
        earlier = [one for block in around for one in block]
        earlier += [one for loop in loops for one in loop.body if one is not site]
        before = -1
        while before != len(needed) + len(lines):
            before = len(needed) + len(lines)
            wanted = set(needed)
            for one in reversed(earlier):
                touched = self._touched(one)
                own = "self.*" in touched and any(name.startswith("self.") for name in wanted)
                if own or not touched.isdisjoint(wanted):
                    lines |= _lines(one)
                    found = self._loaded(one)
                elif hasattr(one, "body") and site.lineno in _lines(one):  # what the site stands in
                    lines.add(one.lineno)
                    found = self._loaded_in_head(one)
                else:
                    continue
                needed |= found
                if isinstance(one, ast.Assign) and not loops:
                    wanted -= {target.id for target in one.targets if isinstance(target, ast.Name)}
                wanted |= found
        return frozenset(lines)

    def _find_loaded(self, node):
        """Names that a statement reads."""
        found = {f"self.{attribute}" for attribute in _own_attributes(node, ast.Load)}
        names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}
        return (found | names) - self.imported - {"self"}

    def _loaded_in_head(self, node):
        parts = [getattr(node, field) for field in ("iter", "test") if hasattr(node, field)]
        parts += [item.context_expr for item in getattr(node, "items", ())]
        return {name for part in parts for name in self._loaded(part)}

    def _find_touched(self, node):
        """Names that a statement binds, or whose value it may change: it calls a method of it, or hands it to a call."""
        found = {f"self.{attribute}" for attribute in _own_attributes(node, (ast.Store, ast.Del))}
        for each in ast.walk(node):
            if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load):
                found.add(each.id)
            elif isinstance(each, (ast.Attribute, ast.Subscript)) and not isinstance(each.ctx, ast.Load):
                found |= self._loaded(each.value)
            elif isinstance(each, ast.Call):
                found |= self._touched_by(each)
            elif isinstance(each, (ast.FunctionDef, ast.ClassDef)):
                found.add(each.name)
        return found - self.imported - {"self"}

    def _touched_by(self, call):
        parts = [*call.args, *(keyword.value for keyword in call.keywords)]
        found = {name for part in parts if isinstance(part, (ast.Name, ast.Attribute)) for name in self._loaded(part)}
        if isinstance(call.func, ast.Attribute):
            of = call.func.value
            if isinstance(of, ast.Name) and of.id == "self":
                found |= set() if call.func.attr.startswith("assert") else {"self.*"}
            else:
                found |= self._loaded(of)
        return found


def _own_attributes(node, context):
    return {
        each.attr
        for each in ast.walk(node)
        if isinstance(each, ast.Attribute)
        and isinstance(each.ctx, context)
        and isinstance(each.value, ast.Name)
        and each.value.id == "self"
    }
