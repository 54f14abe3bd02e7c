"""Values as text, on the untrusted side: decode arguments, encode what the program returned.

Text is canonical JSON of tagged trees: null, true, false, strings and integers below 2**53 are themselves; everything
else is an array whose first item is a tag. Nothing is ever pickled or evaluated.

    ["I","-0xff"] integer   ["f","0.1"] float   ["l",...] list   ["t",...] tuple   ["s",...] set   ["z",...] frozenset
    ["d",[k,v],...] dict    ["b","00ff"] bytes  ["B","00ff"] bytearray   ["c","1.0","2.0"] complex   ["r",0,9,1] range
    ["n","Point",["x","y"],1,2] named tuple     ["q",null|maxlen,...] deque        ["g",...] iterator, read to its end
    ["C",[k,v],...] Counter   ["O",[k,v],...] OrderedDict   ["dd",[k,v],...] defaultdict (its factory does not cross)
    ["D","1.50"] Decimal      ["F","-1/3"] Fraction         ["date",iso]  ["datetime",iso]  ["time",iso]
    ["delta",days,seconds,microseconds]                     ["h","Stack",3] ["u","operator.add"] ["y","lambda x: x"]
    ["e","ValueError",message] in the place of an iterator's last item: it ended with an error
    ["o","type name"] anything else: it equals nothing, so it can only fail or be seen to be an object.

An instance by handle (h), a listed function (u) and a lambda (y) are written and read by `objects`, which the caller
brings; without it the first is opaque and the others are no values. Other subclasses are reduced to their standard
library base, all by the base's own methods, so an overridden `__eq__`, `__iter__` or `__len__` has no say. The host has
its own reader of this format; this file is not trusted, only honest by default.
"""

import itertools
import json
import sys
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple  # json has loaded them
from functools import lru_cache
from keyword import iskeyword
from typing import Any

EXACT = 1 << 53  # integers below this survive any JSON reader
MAX_NODES = 200_000
MAX_DEPTH = 100
MAX_DIGITS = 4_000  # of a Decimal, or of either part of a Fraction
MAX_READ = 10_000  # items of an iterator

to_json = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), check_circular=False).encode
_from_json = json.JSONDecoder().decode
_PLAIN = {int, str, bool, type(None)}


class TooLarge(Exception):
    """A value past the caps on nodes, depth, digits or bytes."""


class Encoder:
    """Encodes one value; counts nodes and bytes as it goes, so that a huge value is refused before it is written.

    `objects.write(value)` gives the canonical text of a value that would be opaque, or None.
    """

    def __init__(self, max_bytes, objects=None):
        self.max_bytes = max_bytes
        self.objects = objects
        self.nodes = 0
        self.bytes = 0

    def text(self, value):
        text = self._text(value, 0)
        if len(text) > self.max_bytes:
            raise TooLarge(f"more than {self.max_bytes} bytes")
        return text

    def _spend(self, nodes, size):
        self.nodes += nodes
        self.bytes += size
        if self.nodes > MAX_NODES:
            raise TooLarge(f"more than {MAX_NODES} nodes")
        if self.bytes > self.max_bytes:
            raise TooLarge(f"more than {self.max_bytes} bytes")

    def _text(self, value, depth):
        if depth > MAX_DEPTH:
            raise TooLarge(f"nested deeper than {MAX_DEPTH}")
        kind = type(value)
        self._spend(1, 2)
        if value is None or kind is bool:
            return to_json(value)
        write = _EXACT.get(id(kind)) or _writer_of(kind)
        return write(self, value, depth) if write else self._object(value, kind)

    def _object(self, value, kind):
        text = None if self.objects is None else self.objects.write(value)
        if text is None:
            return to_json(["o", str.__str__(type.__dict__["__name__"].__get__(kind))])
        self._spend(0, len(text))
        return text

    def _integer(self, value, depth):
        number = int.__int__(value)
        if -EXACT < number < EXACT:
            return int.__repr__(number)
        self._spend(0, number.bit_length() // 4)
        return '["I","' + hex(number) + '"]'

    def _string(self, value, depth):
        text = str.__str__(value)
        self._spend(0, len(text))
        return to_json(text)

    def _float(self, value, depth):
        return '["f","' + float.__repr__(value) + '"]'

    def _complex(self, value, depth):
        real, imaginary = complex.real.__get__(value), complex.imag.__get__(value)
        return f'["c","{float.__repr__(real)}","{float.__repr__(imaginary)}"]'

    def _range(self, value, depth):
        parts = [self._text(part, depth + 1) for part in (value.start, value.stop, value.step)]
        return '["r",' + ",".join(parts) + "]"

    def _list(self, value, depth):
        return self._items('["l"', list.__iter__(value), list.__len__(value), depth)

    def _tuple(self, value, depth):
        head = '["t"' if type(value) is tuple else _named(value)
        return self._items(head, tuple.__iter__(value), tuple.__len__(value), depth)

    def _deque(self, value, depth):
        head = '["q",' + to_json(deque.maxlen.__get__(value))
        return self._items(head, deque.__iter__(value), deque.__len__(value), depth)

    def _iterator(self, value, depth):
        parts = ['["g"']
        while True:
            try:
                item = next(value)
            except StopIteration:
                break
            except Exception as error:  # noqa: BLE001  # a program's own
                parts.append(_end_of(type.__dict__["__name__"].__get__(type(error)), str(error)))
                break
            if len(parts) > MAX_READ:
                parts.append(_end_of("TooLarge", f"more than {MAX_READ} items of an iterator were read ahead"))
                break
            parts.append(self._text(item, depth + 1))  # as it is now: the program may change it before the next one
        return ",".join(parts) + "]"

    def _items(self, head, iterator, length, depth):
        if length == 0:
            return head + "]"
        if length > MAX_NODES:
            raise TooLarge(f"more than {MAX_NODES} nodes")
        items = list(iterator)
        if _is_plain(items):
            text = to_json(items)
            self._spend(length, len(text))
            return head + "," + text[1:]
        return head + "," + ",".join([self._text(item, depth + 1) for item in items]) + "]"

    def _sorted(self, head, iterator, length, depth):
        if length > MAX_NODES:
            raise TooLarge(f"more than {MAX_NODES} nodes")
        return ",".join([head, *sorted([self._text(item, depth + 1) for item in iterator])]) + "]"

    def _pairs(self, head, items, length, depth):
        if length > MAX_NODES:
            raise TooLarge(f"more than {MAX_NODES} nodes")
        pairs = [f"[{self._text(k, depth + 1)},{self._text(v, depth + 1)}]" for k, v in list(items)]
        return ",".join([head, *pairs]) + "]"

    def _decimal(self, value, depth):
        text = sys.modules["decimal"].Decimal.__str__(value)
        if len(text) > MAX_DIGITS:
            raise TooLarge(f"a Decimal of more than {MAX_DIGITS} characters")
        return self._scalar("D", text)

    def _fraction(self, value, depth):
        kind = sys.modules["fractions"].Fraction
        parts = [int.__int__(part.__get__(value)) for part in (kind.numerator, kind.denominator)]
        if any(part.bit_length() > 3 * MAX_DIGITS for part in parts):
            raise TooLarge(f"a Fraction of more than {MAX_DIGITS} digits")
        return self._scalar("F", "/".join(map(int.__repr__, parts)))

    def _delta(self, value, depth):
        kind = sys.modules["datetime"].timedelta
        return self._scalar("delta", *[part.__get__(value) for part in (kind.days, kind.seconds, kind.microseconds)])

    def _scalar(self, *parts):
        text = to_json(parts)
        self._spend(0, len(text))
        return text


def _hexadecimal(tag, kind):
    def write(encoder, value, depth):
        encoder._spend(0, 2 * kind.__len__(value))
        return f'["{tag}","{kind.hex(value)}"]'

    return write


def _unordered(tag, kind):
    return lambda encoder, value, depth: encoder._sorted(f'["{tag}"', kind.__iter__(value), kind.__len__(value), depth)


def _paired(tag, items=dict.items):
    return lambda encoder, value, depth: encoder._pairs(f'["{tag}"', items(value), dict.__len__(value), depth)


def _moment(name):
    return lambda encoder, value, depth: encoder._scalar(name, getattr(sys.modules["datetime"], name).isoformat(value))


_WRITERS = (
    (int, Encoder._integer),
    (str, Encoder._string),
    (float, Encoder._float),
    (list, Encoder._list),
    (tuple, Encoder._tuple),
    (Counter, _paired("C")),
    (OrderedDict, _paired("O", OrderedDict.items)),  # its order is its own, not that of the dictionary it is made of
    (defaultdict, _paired("dd")),
    (dict, _paired("d")),
    (set, _unordered("s", set)),
    (frozenset, _unordered("z", frozenset)),
    (bytes, _hexadecimal("b", bytes)),
    (bytearray, _hexadecimal("B", bytearray)),
    (complex, Encoder._complex),
    (range, Encoder._range),
    (deque, Encoder._deque),
)
_IMPORTED = (  # classes that a program may have imported: only then can there be such a value
    ("decimal", "Decimal", Encoder._decimal),
    ("fractions", "Fraction", Encoder._fraction),
    ("datetime", "datetime", _moment("datetime")),
    ("datetime", "date", _moment("date")),
    ("datetime", "time", _moment("time")),
    ("datetime", "timedelta", Encoder._delta),
)
_DICTIONARY = {}
_SAMPLES = [*("", b"", bytearray(), [], (), set(), range(0), range(1 << 70), deque()), _DICTIONARY]
_VIEWS = (_DICTIONARY.keys(), _DICTIONARY.values(), _DICTIONARY.items())
_ITERATORS = {
    *(kind for kind in vars(itertools).values() if isinstance(kind, type) and hasattr(kind, "__next__")),
    *(map, filter, zip, enumerate, reversed, type(_ for _ in ()), type(iter(int, 0)), type(iter("\u00e9"))),
    *(type(iter(value)) for value in (*_SAMPLES, *_VIEWS)),
    *(type(reversed(value)) for value in ([], deque())),
    *(type(reversed(value)) for value in _VIEWS),
}
_EXACT = {id(kind): write for kind, write in _WRITERS} | {id(kind): Encoder._iterator for kind in _ITERATORS}


def _end_of(name, message):
    """How the text of an iterator ends that did not come to its end: with what it raised."""
    return to_json(["e", name, message[:1000]])


def _writer_of(kind):
    """The writer for a subclass, or for a class of a module that is not always there."""
    for base, write in _WRITERS:
        if issubclass(kind, base):
            return write
    for module, name, write in _IMPORTED:
        base = module in sys.modules and vars(sys.modules[module]).get(name)
        if isinstance(base, type) and issubclass(kind, base):
            return write
    return None


def _named(value):
    """How the text of a named tuple begins; of another subclass of tuple, as a tuple's."""
    kind = type(value)
    for one in type.__dict__["__mro__"].__get__(kind):
        fields = type.__dict__["__dict__"].__get__(one).get("_fields")
        if type(fields) is tuple and len(fields) == tuple.__len__(value):
            names = [type.__dict__["__name__"].__get__(kind), *fields]
            plain = all(type(name) is str and name.isidentifier() and not iskeyword(name) for name in names)
            if plain and len(set(fields)) == len(fields):
                return '["n",' + to_json(names[0]) + "," + to_json(names[1:])
    return '["t"'


def _is_plain(items):
    """Whether JSON writes every item as it is: no tags needed."""
    kinds = set(map(type, items))
    if not kinds <= _PLAIN:
        return False
    if int not in kinds:
        return True
    numbers = items if kinds == {int} else [item for item in items if type(item) is int]
    return max(numbers) < EXACT and min(numbers) > -EXACT


def encode(value, max_bytes, objects=None):
    """The canonical text of a value. Raises TooLarge past the caps."""
    return Encoder(max_bytes, objects).text(value)


def decode(text, objects=None):
    """The value of a canonical text, built anew at each call; `objects.read(tree)` gives what has no data of its own.

    Raises ValueError for such a value where there are no `objects`.
    """
    return build(_from_json(text), objects)


def build(tree, objects) -> Any:
    if type(tree) is not list:
        return tree
    tag, items = tree[0], tree[1:]
    if tag == "l":
        return items if list not in set(map(type, items)) else [build(item, objects) for item in items]
    if tag in _HOLDERS:
        return _HOLDERS[tag]([build(item, objects) for item in items])
    if tag in _PAIRS:
        return _PAIRS[tag]({build(key, objects): build(value, objects) for key, value in items})
    if tag == "q":
        return deque([build(item, objects) for item in items[1:]], items[0])
    if tag == "n":
        return _named_tuple(items[0], tuple(items[1]))(*[build(item, objects) for item in items[2:]])
    if tag in _SCALARS:
        return _SCALARS[tag](items)
    if tag == "e":
        return _End(RuntimeError(items[1]) if objects is None else objects.error(*items))
    if objects is None:
        raise ValueError(f"no value without objects: {tag}")
    return objects.read(tree)


@lru_cache(maxsize=64)
def _named_tuple(name, fields):
    return namedtuple(name, fields, rename=True)


def _generator(items):
    for item in items:
        if isinstance(item, _End):
            raise item.error
        yield item


class _End:
    """Stands behind the items of an iterator that ended with an error."""

    def __init__(self, error):
        self.error = error


def _class(module, name):
    """A class of a module that only a program with such values needs to import."""
    return getattr(__import__(module), name)


_HOLDERS = {"t": tuple, "s": set, "z": frozenset, "g": _generator}
_PAIRS = {"d": dict, "C": Counter, "O": OrderedDict, "dd": lambda pairs: defaultdict(None, pairs)}
_SCALARS = {
    "I": lambda items: int(items[0], 16),
    "f": lambda items: float(items[0]),
    "b": lambda items: bytes.fromhex(items[0]),
    "B": lambda items: bytearray.fromhex(items[0]),
    "c": lambda items: complex(float(items[0]), float(items[1])),
    "r": lambda items: range(*[build(item, None) for item in items]),
    "D": lambda items: _class("decimal", "Decimal")(items[0]),
    "F": lambda items: _class("fractions", "Fraction")(*map(int, items[0].split("/"))),
    "date": lambda items: _class("datetime", "date").fromisoformat(items[0]),
    "datetime": lambda items: _class("datetime", "datetime").fromisoformat(items[0]),
    "time": lambda items: _class("datetime", "time").fromisoformat(items[0]),
    "delta": lambda items: _class("datetime", "timedelta")(*items),
}
