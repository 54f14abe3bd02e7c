"""What performs operations on a program: in a child of its own, one at a time, each when the last one was answered.

The program is loaded once and lives through the operations of one text of tests, as under pytest. It gets an operation only
when the host sends it, and the host sends one only when the program has given what its arguments are made of: there is
nothing to read ahead. Operations are listed in proxy.py. An outcome is JSON:

    {"v": TREE}                               what it returned
    {"x": [NAMES], "m": MESSAGE, "a": TREE}   what it raised: classes, words, arguments and attributes where they are data
    "p": TEXT   what it printed besides       "c": TREE   the arguments, where it changed them
    "i": PLACE  of the argument that it returned, where that is a list, a dictionary or the like

Instances of the program's classes stay here and cross as handles, numbered in order of appearance. Like runner.py this
shares its process with the program: what it tells is the program's own word.
"""

import ast
import copy
import functools
import io
import json
import operator
import random
import sys

from sandbox import codec, proxy, runner

_PRINTED, _MESSAGE, _NAMES, _CONSTANT = 100_000, 2_000, 200, 10_000  # characters; names; characters of a constant
_SEED = 0
_PURE = (
    ast.Expression, ast.Lambda, ast.arguments, ast.arg, ast.Constant, ast.Name, ast.Load, ast.UnaryOp, ast.unaryop,
    ast.BinOp, ast.operator, ast.BoolOp, ast.boolop, ast.Compare, ast.cmpop, ast.IfExp, ast.Subscript, ast.Slice,
    ast.Tuple, ast.List, ast.Call, ast.keyword,
)  # fmt: skip


def serve(source, entry_point, public, objects, report, listen, output_bytes):
    """Loads the program, tells its interface, performs what comes until nothing does. `public` None: every public name.

    `objects` False: the reference gives data alone, so nothing that a program returns may answer for itself. A subclass of a
    list is the list that it holds, and another instance is opaque.
    """
    module = runner.new_module("solution")
    try:
        random.seed(_SEED)
        exec(compile(source, "<solution>", "exec", dont_inherit=True), module.__dict__)
    except BaseException as error:  # noqa: BLE001
        report(b"N", runner.why_not_loaded(error))
        return
    told = interface(module, entry_point, public)
    report(b"L", json.dumps(told).encode())
    session = Session(module, frozenset(told), output_bytes, objects)  # what it imports is nobody's business
    text = listen()
    while text is not None:
        report(b"V", session.perform(text.decode()).encode())
        text = listen()


# ---- what a program has to offer ----


def interface(module, entry_point, public):
    """By public name what it is; see proxy.Interface."""
    found = {}
    for name, value in list(vars(module).items())[: 10 * _NAMES]:
        if not name.startswith("_") and (public is None or name in public) and len(found) < _NAMES:
            kind = _kind(name, value, name == entry_point)
            if kind:
                found[name] = kind
    return found


def _kind(name, value, is_entry):
    if isinstance(value, type):
        if getattr(value, "__module__", "") != "solution":
            return ["function"] if is_entry else None
        above = [base.__name__ for base in value.__mro__[1:-1]]
        if issubclass(value, BaseException):
            return ["error", above]
        return [
            "class",
            [base for base in above if not hasattr(runner.builtins, base)],
            _members(value),
            _operators(value),
        ]
    if callable(value):
        own = getattr(value, "__module__", "") == "solution" or hasattr(value, "__wrapped__")
        return ["function"] if own or is_entry else None
    try:
        is_own = type(value).__module__ == "solution"  # an instance, which crosses by handle
        return ["constant"] if is_own or '["o"' not in codec.encode(value, _CONSTANT) else None
    except codec.TooLarge:
        return None


def _members(kind):
    """The public members of a class by name: called, or read."""
    found = {}
    for owner in reversed(kind.__mro__[:-1]):
        for name, value in list(vars(owner).items())[:_NAMES]:
            if not name.startswith("_"):
                static = isinstance(value, (staticmethod, classmethod))
                found[name] = "static" if static else "method" if callable(value) else "data"
    return found


def _operators(kind):
    own = [name for owner in kind.__mro__[:-1] for name in vars(owner) if name in proxy.OPERATORS]
    return sorted({name for name in own if getattr(kind, name, None) is not None})


# ---- performing ----


class Session:
    """A program at work: its module, and the instances that have crossed."""

    def __init__(self, module, public, output_bytes, objects):
        self.module, self.public, self.output_bytes = module, public, output_bytes
        self.encoder = Encoder if objects else codec.Encoder
        self.objects, self.handles = [], {}
        self.functions, self.objects_read = {}, []
        self.draws = "random" in sys.modules and hasattr(module, "random")

    def perform(self, text):
        """The outcome of an operation, as text."""
        printed = sys.stdout = _Printed()
        try:
            kind, *parts = json.loads(text)
            arguments, keywords = (), {}
            if kind in ("call", "new", "method", "cmethod"):
                arguments, keywords = (codec.build(part, self) for part in parts[-2:])
            try:
                value = self._performed(kind, parts, arguments, keywords)
                outcome = f'{{"v":{self._encoded(value)}{_which(value, arguments)}'
            except BaseException as error:  # noqa: BLE001
                outcome = self._raised(error)
            return outcome + self._besides(printed, parts, arguments, keywords) + "}"
        except BaseException as error:  # noqa: BLE001  # an operation that nobody can perform, an outcome that nobody can write
            return self._raised(error) + "}"
        finally:
            sys.stdout = sys.__stdout__

    def _besides(self, printed, parts, arguments, keywords):
        told = f',"p":{json.dumps(printed.text())}' if printed.text() else ""
        if any(isinstance(value, (*_CHANGING, tuple)) for value in (*arguments, *keywords.values())):
            before = [*parts[-2][1:], *(value for _, value in sorted(parts[-1][1:]))]
            after = self._encoded((*arguments, *(keywords[name] for name in sorted(keywords))))
            if after != json.dumps(["t", *before], separators=(",", ":")):
                told += f',"c":{after}'
        return told

    def _encoded(self, value):
        return self.encoder(self.output_bytes, self).text(value)

    def _raised(self, error):
        try:
            message = str.__str__(str(error))[:_MESSAGE]
        except BaseException:  # noqa: BLE001
            message = ""
        told = f'{{"x":{runner.names_of(error).decode()},"m":{json.dumps(message)}'
        try:
            public = {name: value for name, value in vars(error).items() if not name.startswith("_")}
            told += f',"a":{self.encoder(_MESSAGE, self).text((error.args, public))}'
        except BaseException:  # noqa: BLE001  # what is no data does not cross
            return told
        return told

    def _public(self, name):
        if name not in self.public or name not in vars(self.module):
            raise NameError(f"name {name!r} is not defined")
        return vars(self.module)[name]

    def _performed(self, kind, parts, arguments, keywords):
        if kind in ("call", "new"):
            if self.draws:
                random.seed(_SEED)
            return self._public(parts[0])(*arguments, **keywords)
        if kind == "const":
            return self._public(parts[0])
        owner = self._public(parts[0]) if kind in ("cmethod", "cget") else self.read(parts[0])
        if kind == "method" and parts[1] in proxy.OPERATORS:
            return _operated(owner, parts[1], arguments)
        name = _public_name(parts[1])
        if kind in ("method", "cmethod"):
            return getattr(owner, name)(*arguments, **keywords)
        if kind == "set":
            return setattr(owner, name, codec.build(parts[2], self))
        return delattr(owner, name) if kind == "del" else getattr(owner, name)

    # ---- what crosses that is no data ----

    def write(self, value):
        """The text of a function that came as an argument, or of NotImplemented."""
        return '["u","NotImplemented"]' if value is NotImplemented else self.functions.get(id(value))

    def read(self, tree):
        """An instance by its handle, a listed function, a lambda of plain operators."""
        tag, *parts = tree
        if tag == "h":
            return self.objects[parts[1]]
        function = proxy.FUNCTIONS[parts[0]] if tag == "u" else _lambda(parts[0])
        if tag == "y" and parts[0].startswith(proxy.SLICE):
            return function()
        self.functions[id(function)] = json.dumps(tree, separators=(",", ":"))
        self.objects_read.append(function)  # held, so that its id stays its own
        return function

    def error(self, name, message):
        """What an iterator among the arguments raised."""
        kind = getattr(runner.builtins, name, None)
        return (kind if isinstance(kind, type) and issubclass(kind, Exception) else RuntimeError)(message)

    def handle(self, value):
        """The number of an instance."""
        if id(value) not in self.handles:
            self.handles[id(value)] = len(self.objects)
            self.objects.append(value)  # held, so that its id stays its own
        return self.handles[id(value)]


_OPERATIONS = {
    "__contains__": operator.contains, "__len__": len, "__bool__": bool, "__iter__": iter, "__next__": next,
    "__reversed__": reversed, "__getitem__": operator.getitem, "__setitem__": operator.setitem,
    "__delitem__": operator.delitem, "__eq__": operator.eq, "__ne__": operator.ne, "__lt__": operator.lt,
    "__le__": operator.le, "__gt__": operator.gt, "__ge__": operator.ge, "__neg__": operator.neg, "__pos__": operator.pos,
    "__abs__": abs, "__invert__": operator.invert, "__int__": int, "__float__": float, "__index__": operator.index,
    "__round__": round, "__hash__": hash, "__str__": str, "__repr__": repr, "__format__": format,
    "__call__": lambda instance, *arguments: instance(*arguments), "__copy__": copy.copy, "__deepcopy__": copy.deepcopy,
}  # fmt: skip


def _operated(instance, name, arguments):
    """As Python does it, so that a program may lack an operator and do what Python does without; the arithmetic ones as the
    methods that they are, because which operand is asked is not known here."""
    if name in _OPERATIONS:
        return _OPERATIONS[name](instance, *arguments)
    if name == "__exit__":
        arguments = _left_with(*arguments, sys.modules["solution"])
    return getattr(type(instance), name)(instance, *arguments)


def _left_with(names, message, module):
    """What `__exit__` is called with where a block was left by an exception of these classes, or by none."""
    if not names:
        return None, None, None
    kinds = (getattr(module, name, None) or getattr(runner.builtins, name, None) for name in names)
    kind = next(kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseException))
    return kind, kind(message), None


_CHANGING = (list, dict, set, bytearray, codec.deque)  # may be changed in place
_VIEWS = [type(view) for view in ({}.keys(), {}.values(), {}.items())]
_HANDED = {*_VIEWS, type(_operated), functools.partial}  # what else stays here, and answers as an instance does


class Encoder(codec.Encoder):
    """Instances of the program's own classes cross as handles, whatever they derive from; its named tuples as data."""

    def __init__(self, max_bytes, session):
        codec.Encoder.__init__(self, max_bytes, session)
        self.session = session

    def _text(self, value, depth):
        kind = type(value)
        own = kind.__module__ == "solution" and not (issubclass(kind, tuple) and "_fields" in kind.__dict__)
        if own or (kind in _HANDED and id(value) not in self.session.functions):
            self._spend(1, 20)
            return json.dumps(["h", kind.__name__, self.session.handle(value)], separators=(",", ":"))
        return codec.Encoder._text(self, value, depth)


class _Printed(io.TextIOBase):
    """What a program prints, as far as anybody will look."""

    def __init__(self):
        self.parts, self.room = [], _PRINTED

    def writable(self):
        return True

    def write(self, text):
        self.parts.append(text[: self.room])
        self.room -= len(self.parts[-1])
        return len(text)

    def text(self):
        return "".join(self.parts)


def _which(value, arguments):
    """The place of the argument that a value is, as a part of an outcome."""
    for place, argument in enumerate(arguments):
        if argument is value and isinstance(value, _CHANGING):
            return f',"i":{place}'
    return ""


def _public_name(name):
    if name.startswith("_"):
        raise AttributeError(f"{name} is private")
    return name


def _lambda(text):
    """The function of a lambda that is nothing but its parameters, constants, operators and listed functions."""
    tree = ast.parse(text, mode="eval")
    function = tree.body
    parameters = {one.arg for one in ast.walk(function) if isinstance(one, ast.arg)}
    for node in ast.walk(tree):
        if not isinstance(node, _PURE) or (
            isinstance(node, ast.Name) and node.id not in parameters | {"slice"} and node.id not in proxy.FUNCTIONS
        ):
            raise TypeError("a lambda is handed over only where it is made of parameters, constants and operators")
    if not isinstance(function, ast.Lambda):
        raise TypeError("not a lambda")
    names = {name: value for name, value in proxy.FUNCTIONS.items() if name.isidentifier()} | {"slice": slice}
    return eval(compile(tree, "<lambda>", "eval"), {"__builtins__": {}, **names})
