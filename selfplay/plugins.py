"""Things from outside, wherever a key of the configuration takes a name: a reference `module:name`, or an object.

    rewards: my_rules:strict                  in config.yaml; --rewards my_rules:strict on a command line
    selfplay.train(rewards=my_rules.strict)   the same: what a module holds is known by its reference
    selfplay.train(problems=[...])            what no module holds is known as `here:...` in this process alone

So a configuration stays a table of words, which another process and a resume read as they read any other. What is known
here alone trains in one process, and a resume asks for it again. What a thing must be says who uses it.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Iterable, Sized
from importlib import import_module
from typing import Any

from selfplay.errors import BadInput, suggestion

_REFERENCE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\s,:/]+")
_HERE = "here:"
_objects: dict[str, Any] = {}  # those of this process, by reference


def is_reference(value: object) -> bool:
    """Whether a value of a key is a reference, rather than a name of ours or a path."""
    return isinstance(value, str) and bool(_REFERENCE.fullmatch(value))


def word(value: Any) -> Any:
    """A value of a key as a table of words has it: a path as text, an object as its reference."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return value if value is None or isinstance(value, str | int | float) else reference(value)


def is_here(value: object) -> bool:
    """Whether a value refers to an object of this process alone."""
    return isinstance(value, str) and value.startswith(_HERE)


def reference(thing: Any) -> str:
    """What `load` gives `thing` back for."""
    module, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", None)
    if module and name and _is_at(thing, module, name):
        return f"{module}:{name}"
    for module, held in list(sys.modules.items()):
        for name, value in list(getattr(held, "__dict__", {}).items()):
            if value is thing and name.isidentifier() and _is_at(thing, module, name):
                return f"{module}:{name}"
    return _known_here(thing, name_of(thing).rpartition(".")[2])


def _is_at(thing: Any, module: str, name: str) -> bool:
    """Whether another process would find the thing there: a script has the module `__main__` to itself."""
    held = sys.modules.get(module)
    for part in name.split("."):
        held = getattr(held, part, None)
    return held is thing and module not in ("__main__", "__mp_main__")


def _known_here(thing: Any, name: str) -> str:
    label, number = f"{_HERE}{name}", 2
    if isinstance(thing, Sized) and isinstance(thing, Iterable):
        # By what it holds, so that a resume notices other problems.
        digest = hashlib.sha256("\n".join(map(repr, thing)).encode("utf-8", "surrogateescape")).hexdigest()
        label = f"{_HERE}{len(thing)}-{name}-{digest[:8]}"
        _objects[label] = thing
    while not _alike(_objects.setdefault(label, thing), thing):
        label, number = f"{_HERE}{name}-{number}", number + 1
    _objects[label] = thing
    return label


def _alike(one: Any, other: Any) -> bool:
    """Whether they are one thing: the same function defined once more, as a notebook does, is no second one."""
    code = getattr(one, "__code__", None)
    return one is other or (code is not None and code == getattr(other, "__code__", None))


def name_of(thing: Any) -> str:
    """What a thing is called in messages."""
    return getattr(thing, "__qualname__", type(thing).__name__)


def load(reference: str) -> Any:
    """What a reference stands for. Raises BadInput where it stands for nothing."""
    if is_here(reference):
        if reference not in _objects:
            raise BadInput(
                f"{reference} is an object of the process that began the run; give it again, or put it into a module and "
                "begin with a reference, module:name"
            )
        return _objects[reference]
    module, _, name = reference.partition(":")
    try:
        held = import_module(module)
    except ModuleNotFoundError as error:
        if f"{module}.".startswith(f"{error.name}."):
            raise BadInput(
                f"{reference}: there is no module {error.name!r}; run from its folder (here it is {os.getcwd()}), put that on "
                "PYTHONPATH, or install its package"
            ) from None
        raise BadInput(f"{reference}: {module} needs {error.name!r}, which is not installed") from error
    except ImportError as error:
        raise BadInput(f"{reference}: {module} cannot be imported ({error})") from error
    for part in name.split("."):
        if not hasattr(held, part):
            raise BadInput(f"{reference}: {module} has no {part!r}{suggestion(part, dir(held))}; name what it holds")
        held = getattr(held, part)
    return held
