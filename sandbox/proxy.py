"""What stands in a test where the program would: functions, classes, instances and exceptions that ask.

A proxy turns what a test does with it into an *operation* and hands that to `ask`, which answers with an *outcome*: a value
or an exception, what was printed, the arguments as they are afterwards. Nothing of the program is in this process, and
nothing of the test reaches the program but operations:

    ["call","add",ARGUMENTS,KEYWORDS]            ["new","Stack",ARGUMENTS,KEYWORDS]
    ["method",HANDLE,"push",ARGUMENTS,KEYWORDS]  ["get",HANDLE,"size"]   ["set",HANDLE,"size",VALUE]   ["del",HANDLE,"size"]
    ["cmethod","Stack","of",ARGUMENTS,KEYWORDS]  ["cget","Stack","LIMIT"]  ["const","LIMIT"]

Operators are methods of their special name. Private names do not cross, nor do special names that are no operators: how a
program is built is not its result. What an interface holds is told at `Interface`.
"""

import builtins
import json
import operator
import sys
from typing import Any

from sandbox import codec

_OPERATORS = (
    "eq ne lt le gt ge len bool contains iter next reversed getitem setitem delitem call enter exit add "
    "radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow matmul rmatmul and rand "
    "or ror xor rxor lshift rshift iadd isub imul neg pos abs invert int float index round hash str repr "
    "format copy deepcopy"
)
OPERATORS = frozenset(f"__{name}__" for name in _OPERATORS.split())
FUNCTIONS = {
    f"{module}{name}": getattr(owner, name)
    for module, owner, names in (
        ("", builtins, "abs all any bin bool chr complex dict float frozenset hex int len list max min oct ord range repr "
                       "reversed round set sorted str sum tuple"),
        ("operator.", operator, "add sub mul truediv floordiv mod pow neg pos abs eq ne lt le gt ge and_ or_ xor not_ "
                                "contains concat truth index invert lshift rshift"),
        ("str.", str, "upper lower strip title capitalize isdigit isalpha isupper islower swapcase"),
    )
    for name in names.split()
}  # fmt: skip
SLICE = "lambda: slice("  # how a slice is written
_GENERAL = ("__call__", "__contains__", "__eq__", "__getitem__", "__iter__", "__len__", "__next__")
_LONGEST = 4 << 20  # bytes of the arguments of an operation
FUNCTIONS["NotImplemented"] = NotImplemented  # what an operator may return
_NAMES = {id(function): name for name, function in FUNCTIONS.items()}


class Ended(BaseException):
    """The host has gone, or wants no more of this test."""


class CannotCross(AttributeError, TypeError):
    """A test needs of what is under test what neither asks nor tells: a private name, a function as an argument."""


class Interface:
    """What is under test, as the reference told it: by public name a kind ("function", "class", "error", "constant") and,
    for classes and exceptions, the names of their bases and members."""

    def __init__(self, told, ask):
        self.ask_text = ask
        self.kinds = told
        self.names = frozenset(told)
        self.proxies, self.instances, self.lambdas = {}, {}, {}
        for name, (kind, *more) in told.items():
            if kind == "function":
                self.proxies[name] = self._function(name)
            elif kind == "class":
                self.proxies[name] = self._class(name, *more)
            elif kind == "error":
                self.proxies[name] = self._known_error(name) or self._new_error(name, more[0])

    def value(self, name):
        """What stands for a public name; a constant is asked for."""
        return self.proxies[name] if name in self.proxies else self.ask("const", [name], None)

    # ---- asking ----

    def ask(self, kind, target, arguments, keywords=None):
        """The value of an operation's outcome; raises what it raised. `arguments` None: the operation has none."""
        parts = [json.dumps(kind), *(self._text(part) for part in target)]
        if arguments is not None:
            parts += [self._text(tuple(arguments)), self._text(keywords or {})]
        return self._take(self.ask_text("[" + ",".join(parts) + "]"), arguments or (), keywords or {})

    def _text(self, value):
        return codec.Encoder(_LONGEST, self).text(value)

    def _take(self, text, arguments, keywords):
        outcome = json.loads(text)
        if "p" in outcome:
            sys.stdout.write(outcome["p"])
        if "c" in outcome:
            self._change((*arguments, *(keywords[name] for name in sorted(keywords))), outcome["c"])
        if "x" in outcome:
            raise self._raised(outcome)
        if outcome.get("i", len(arguments)) < len(arguments):
            return arguments[outcome["i"]]
        return codec.build(outcome["v"], self)

    def _change(self, values, tree):
        """Gives arguments that the program changed in place their new content."""
        for value, now in zip(values, tree[1:], strict=False):
            if isinstance(value, (list, bytearray)):
                value[:] = codec.build(now, self)
            elif isinstance(value, (dict, set)):
                new = codec.build(now, self)
                value.clear()
                value.update(new)
            elif hasattr(value, "extend") and hasattr(value, "clear"):  # a deque
                new = codec.build(now, self)
                value.clear()
                value.extend(new)

    # ---- what crosses that is no data: see codec.py ----

    def write(self, value):
        """The text of an instance, a listed function or a lambda; None for anything else."""
        if id(value) in _NAMES and FUNCTIONS[_NAMES[id(value)]] is value:
            return codec.to_json(["u", _NAMES[id(value)]])
        if id(value) in self.lambdas:
            return codec.to_json(["y", self.lambdas[id(value)][0]])
        if type(value) is slice:
            return codec.to_json(["y", f"{SLICE}{value.start!r}, {value.stop!r}, {value.step!r})"])
        name = type(value).__dict__.get("__proxied__")
        if name is not None and "__handle__" in vars(value):
            return codec.to_json(["h", name, vars(value)["__handle__"]])
        if callable(value):
            raise CannotCross(
                "this function cannot be handed to what is under test: only listed functions and plain lambdas can"
            )
        raise CannotCross(f"a {type(value).__name__} cannot be handed to what is under test")

    def read(self, tree):
        """The value of such a tree."""
        tag, *parts = tree
        if tag == "h":
            return self._instance(*parts)
        if tag == "u":
            return FUNCTIONS[parts[0]]
        return type(str(parts[0]), (), {})()  # an object of which nothing is known

    def error(self, name, message):
        """What an iterator raised."""
        return self._raised({"x": [name], "m": message})

    def note_lambda(self, function, text):
        """Keeps what a lambda of the test says."""
        self.lambdas[id(function)] = text, function  # the function is held, so that its id stays its own
        return function

    def _instance(self, name, handle):
        if handle not in self.instances:
            kind = self.proxies.get(name)
            if not isinstance(kind, type) or "__proxied__" not in kind.__dict__:
                kind = self.proxies[name] = self._class(name, [], {}, _GENERAL)
            instance = object.__new__(kind)
            vars(instance)["__handle__"] = handle
            self.instances[handle] = instance
        return self.instances[handle]

    # ---- functions, classes, exceptions ----

    def _function(self, name):
        def function(*arguments, **keywords):
            return self.ask("call", [name], arguments, keywords)

        function.__name__ = function.__qualname__ = name
        function.__module__ = "solution"
        return function

    def _class(self, name, bases, members, operators):
        """A class whose instances ask. `members`: kinds by name ("method", "static", "data"); `operators`: special names."""
        interface = self
        above = tuple(self.proxies[base] for base in bases if isinstance(self.proxies.get(base), type)) or (object,)

        def make(kind, *arguments, **keywords):
            if kind is not proxy:
                raise CannotCross(f"{name} cannot be derived from in a test")
            return interface.ask("new", [name], arguments, keywords)

        space = {"__new__": make, "__init__": lambda self, *a, **k: None, "__proxied__": name, "__module__": "solution"}
        space["__getattr__"] = lambda self, attribute: interface._attribute(self, attribute, members)
        space["__delattr__"] = lambda self, attribute: interface.ask("del", [self, attribute], None)
        space["__setattr__"] = lambda self, attribute, value: interface._set(self, attribute, value)
        for special in operators:
            if special in OPERATORS:
                space[special] = self._operator(special)
        if "__eq__" in space:
            space["__hash__"] = self._operator("__hash__")  # to have none is the program's own affair
        space["__copy__"] = lambda self: interface.ask("method", [self, "__copy__"], ())
        space["__deepcopy__"] = lambda self, memo: interface.ask("method", [self, "__deepcopy__"], ())
        space["__told__"] = self, name, members
        proxy = _Meta(name, above, space)
        return proxy

    def _operator(self, special):
        def method(instance, *arguments):
            if special == "__exit__":
                left = arguments[0].__mro__[:-1] if arguments[0] else ()
                arguments = [kind.__name__ for kind in left], str(arguments[1])
            value = self.ask("method", [instance, special], arguments)
            return iter(value) if special == "__iter__" and isinstance(value, list) else value

        method.__name__ = special
        return method

    def _attribute(self, instance, attribute, members):
        _check_public(attribute)
        if members.get(attribute) in ("static", "method"):
            return lambda *arguments, **keywords: self.ask("method", [instance, attribute], arguments, keywords)
        return self.ask("get", [instance, attribute], None)

    def _set(self, instance, attribute, value):
        _check_public(attribute)
        self.ask("set", [instance, attribute, value], None)

    def _known_error(self, name):
        found = self.proxies.get(name) or getattr(builtins, name, None)
        return found if isinstance(found, type) and issubclass(found, BaseException) else None

    def _new_error(self, name, bases):
        """The class of an exception. `bases`: names of the classes above it, nearest first."""
        kind = Exception
        for place, base in reversed(list(enumerate(bases))):
            above, kind = kind, self._known_error(base) or _library_error(bases[place:])
            if kind is None:
                kind = self.proxies[base] = type(base, (above,), {"__module__": "solution"})
        return type(name, (kind,), {"__module__": "solution", "__str__": _message_of})

    def _raised(self, outcome):
        names = [name for name in outcome["x"] if isinstance(name, str)] or ["Exception"]
        kind = self._known_error(names[0]) or _library_error(names)
        if kind is None:
            kind = self.proxies[names[0]] = self._new_error(names[0], names[1:])
        error: Any = kind.__new__(kind)
        told = codec.build(outcome["a"], self) if "a" in outcome else ((outcome.get("m", ""),), {})
        error.args, more = told
        if getattr(kind, "__module__", "") == "solution":
            error.__message__ = outcome.get("m", "")
        error.__dict__.update(more)
        return error


class _Meta(type):
    """The class of all proxies of classes, so that one may derive from another: asks for what a test reads of a class."""

    def __getattr__(cls, attribute):
        _check_public(attribute)
        interface, name, members = cls.__dict__["__told__"]
        if members.get(attribute) in ("static", "method"):
            return lambda *arguments, **keywords: interface.ask("cmethod", [name, attribute], arguments, keywords)
        return interface.ask("cget", [name, attribute], None)

    def __instancecheck__(cls, value):
        named = isinstance(value, tuple) and hasattr(value, "_fields") and type(value).__name__ == cls.__name__
        return named or type.__instancecheck__(cls, value)  # a named tuple crosses as data


def _library_error(names):
    """The exception of the standard library that has these classes, most derived first; None where there is no such one."""
    found, waiting = set(), [Exception]
    while waiting:
        kind = waiting.pop()
        waiting += type.__subclasses__(kind)
        library = kind.__module__.partition(".")[0] in sys.stdlib_module_names
        if kind.__name__ == names[0] and library and [one.__name__ for one in kind.__mro__[:-1]] == names:
            found.add(kind)
    return found.pop() if len(found) == 1 else None


def _message_of(error):
    return getattr(error, "__message__", None) or Exception.__str__(error)


def _check_public(name):
    if name.startswith("_"):
        raise CannotCross(f"{name} is private: it does not cross to what is under test")
