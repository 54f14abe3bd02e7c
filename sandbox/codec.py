"""Values as text, on the untrusted side: decode arguments, encode what the program returned.

Text is canonical JSON of tagged trees: null, true, false, strings and integers below 2**53 are themselves; everything
else is an array whose first item is a tag. Nothing is ever pickled or evaluated.

    ["I","-0xff"] integer   ["f","0.1"] float   ["l",...] list   ["t",...] tuple   ["s",...] set   ["z",...] frozenset
    ["d",[k,v],...] dict    ["b","00ff"] bytes  ["B","00ff"] bytearray   ["c","1.0","2.0"] complex   ["r",0,9,1] range
    ["o","type name"] anything else: it equals nothing, so it can only fail or be seen to be an object.

Subclasses are reduced to their standard library base by the base's own methods, so an overridden `__eq__`, `__iter__`
or `__len__` has no say. The host has its own reader of this format; this file is not trusted, only honest by default.
"""

import json
import math

EXACT = 1 << 53  # integers below this survive any JSON reader
MAX_NODES = 200_000
MAX_DEPTH = 100

_to_json = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), check_circular=False).encode
_from_json = json.JSONDecoder().decode
_PLAIN = {int, str, bool, type(None)}


class TooLarge(Exception):
    """A value past the caps on nodes, depth or bytes."""


class Encoder:
    """Encodes one value; counts nodes and bytes as it goes, so that a huge value is refused before it is written."""

    def __init__(self, max_bytes):
        self.max_bytes = max_bytes
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
            return _to_json(value)
        for base, write in _WRITERS:
            if kind is base or issubclass(kind, base):
                return write(self, value, depth)
        return _to_json(["o", str.__str__(type.__dict__["__name__"].__get__(kind))])

    def _integer(self, value, depth):
        number = int.__int__(value)
        if -EXACT < number < EXACT:
            return int.__repr__(number)
        self._spend(0, number.bit_length() // 4)
        return '["I","' + hex(number) + '"]'

    def _string(self, value, depth):
        text = str.__str__(value)
        self._spend(0, len(text))
        return _to_json(text)

    def _float(self, value, depth):
        return '["f","' + float.__repr__(value) + '"]'

    def _complex(self, value, depth):
        real, imaginary = complex.real.__get__(value), complex.imag.__get__(value)
        return f'["c","{float.__repr__(real)}","{float.__repr__(imaginary)}"]'

    def _bytes(self, value, depth):
        self._spend(0, 2 * bytes.__len__(value))
        return '["b","' + bytes.hex(value) + '"]'

    def _bytearray(self, value, depth):
        self._spend(0, 2 * bytearray.__len__(value))
        return '["B","' + bytearray.hex(value) + '"]'

    def _range(self, value, depth):
        parts = [self._text(part, depth + 1) for part in (value.start, value.stop, value.step)]
        return '["r",' + ",".join(parts) + "]"

    def _list(self, value, depth):
        return self._items('["l"', list.__iter__(value), list.__len__(value), depth)

    def _tuple(self, value, depth):
        return self._items('["t"', tuple.__iter__(value), tuple.__len__(value), depth)

    def _items(self, head, iterator, length, depth):
        if length == 0:
            return head + "]"
        if length > MAX_NODES:
            raise TooLarge(f"more than {MAX_NODES} nodes")
        items = list(iterator)
        if _is_plain(items):
            text = _to_json(items)
            self._spend(length, len(text))
            return head + "," + text[1:]
        return head + "," + ",".join([self._text(item, depth + 1) for item in items]) + "]"

    def _set(self, value, depth):
        return self._sorted('["s"', set.__iter__(value), set.__len__(value), depth)

    def _frozenset(self, value, depth):
        return self._sorted('["z"', frozenset.__iter__(value), frozenset.__len__(value), depth)

    def _sorted(self, head, iterator, length, depth):
        if length > MAX_NODES:
            raise TooLarge(f"more than {MAX_NODES} nodes")
        return ",".join([head, *sorted([self._text(item, depth + 1) for item in iterator])]) + "]"

    def _dict(self, value, depth):
        if dict.__len__(value) > MAX_NODES:
            raise TooLarge(f"more than {MAX_NODES} nodes")
        pairs = [f"[{self._text(k, depth + 1)},{self._text(v, depth + 1)}]" for k, v in list(dict.items(value))]
        return ",".join(['["d"', *pairs]) + "]"


_WRITERS = (
    (int, Encoder._integer),
    (str, Encoder._string),
    (float, Encoder._float),
    (list, Encoder._list),
    (tuple, Encoder._tuple),
    (dict, Encoder._dict),
    (set, Encoder._set),
    (frozenset, Encoder._frozenset),
    (bytes, Encoder._bytes),
    (bytearray, Encoder._bytearray),
    (complex, Encoder._complex),
    (range, Encoder._range),
)


def _is_plain(items):
    """Whether JSON writes every item as it is: no tags needed."""
    kinds = set(map(type, items))
    if not kinds <= _PLAIN:
        return False
    if int not in kinds:
        return True
    numbers = items if kinds == {int} else [item for item in items if type(item) is int]
    return max(numbers) < EXACT and min(numbers) > -EXACT


def encode(value, max_bytes):
    """The canonical text of a value. Raises TooLarge past the caps."""
    return Encoder(max_bytes).text(value)


def decode(text):
    """The value of a canonical text, built anew at each call."""
    return _build(_from_json(text))


def _build(tree):
    if type(tree) is not list:
        return tree
    tag, items = tree[0], tree[1:]
    if tag == "l":
        return items if list not in set(map(type, items)) else [_build(item) for item in items]
    return _BUILDERS[tag](items)


_BUILDERS = {
    "t": lambda items: tuple([_build(item) for item in items]),
    "d": lambda items: {_build(key): _build(value) for key, value in items},
    "s": lambda items: {_build(item) for item in items},
    "z": lambda items: frozenset([_build(item) for item in items]),
    "I": lambda items: int(items[0], 16),
    "f": lambda items: _float_of(items[0]),
    "b": lambda items: bytes.fromhex(items[0]),
    "B": lambda items: bytearray.fromhex(items[0]),
    "c": lambda items: complex(_float_of(items[0]), _float_of(items[1])),
    "r": lambda items: range(*[_build(item) for item in items]),
}


def _float_of(text):
    return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}.get(text) or float(text)
