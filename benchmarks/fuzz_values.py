"""Values and canonical texts, drawn at random: plain data, values that are nearly equal, and what a hostile program sends."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from random import Random
from typing import Any

from selfplay.cases.values import dump, encode

SCALARS: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        2,
        3,
        10,
        2**53 - 1,
        2**53,
        2**53 + 1,
        -(2**64),
        10**30,
        0.0,
        -0.0,
        0.5,
        1.0,
        2.0,
        0.1,
    ),
    *(
        1e16,
        9007199254740993.0,
        1e308,
        float("inf"),
        float("-inf"),
        "",
        "a",
        "ab",
        "b",
        "A",
        " a ",
        "1",
        "0",
        "é",
        "ß",
        "\0",
    ),
    *("a b", "[1]", b"", b"a", bytearray(b"a"), 1j, 1 + 0j, 0.5j, range(0), range(3), range(1, 7, 2), range(1, 8, 2)),
)


def value(random: Random, depth: int = 3) -> Any:
    """Plain data, small, without NaN."""
    draw = random.random()
    if depth <= 0 or draw < 0.45:
        return random.choice(SCALARS)
    parts = [value(random, depth - 1) for _ in range(random.randint(0, 4))]
    if draw < 0.5:
        parts = sorted(random.choices(range(-3, 9), k=len(parts)))
    if draw < 0.68:
        return parts
    if draw < 0.8:
        return tuple(parts)
    hashable = [part for part in parts if _is_hashable(part)]
    if draw < 0.86:
        return set(hashable)
    if draw < 0.89:
        return frozenset(hashable)
    return dict(zip(hashable, parts, strict=False))


def _is_hashable(item: Any) -> bool:
    try:
        hash(item)
    except TypeError:
        return False
    return True


def canonical_text(random: Random) -> str:
    """What a program may send as its answer: well-formed, hostile or broken."""
    draw = random.random()
    if draw < 0.45:
        return encode(value(random, 4))
    if draw < 0.8:
        return hostile(random)
    return broken(random, encode(value(random, 4)) if random.random() < 0.7 else hostile(random))


def hostile(random: Random) -> str:
    """Well-formed text that is made to be expensive: wide, deep, crowded, huge, unsorted, repeated."""
    wide, tag = random.choice((10, 100, 1500, 5000)), random.choice("lltsz")
    leaf = random.choice(LEAVES)
    return random.choice(_HOSTILE)(random, wide, tag, leaf)


def _nested(random: Random, leaf: str) -> str:
    for _ in range(random.choice((3, 30, 90, 97))):
        leaf = f'["{random.choice("lltsz")}",{leaf}]'
    return leaf


def _many_nested(random: Random, wide: int, tag: str, leaf: str) -> str:
    nested = _nested(random, leaf)
    return _of(tag, [nested] * min(wide, 1 + 1_000_000 // len(nested)))


def _of(tag: str, parts: Iterable[str]) -> str:
    return f'["{tag}",{",".join(parts)}]'


def _crowded(random: Random, wide: int, tag: str, leaf: str) -> str:
    """Integers of one hash."""
    return _of(tag, (dump(["I", hex(n * (2**61 - 1) + 2**70)]) for n in range(1, min(wide, 1500))))


LEAVES = (
    "1",
    "null",
    '"a"',
    '["f","0.5"]',
    '["l"]',
    '["s",1,2]',
    '["r",0,9,1]',
    f'["I","0x{"f" * 99}"]',
    '["f","nan"]',
)
_HOSTILE: tuple[Callable[[Random, int, str, str], str], ...] = (
    _many_nested,
    _many_nested,
    _crowded,
    lambda random, wide, tag, leaf: _of(tag, [leaf] * wide),
    lambda random, wide, tag, leaf: _of(tag, map(str, range(wide, 0, -1))),
    lambda random, wide, tag, leaf: _of(tag, [_of("t", [str(n), leaf]) for n in range(wide)]),
    lambda random, wide, tag, leaf: _of("d", (f"[{n},{leaf}]" for n in range(wide))),
    lambda random, wide, tag, leaf: _of("d", [f"[1,{leaf}]"] * wide),
    lambda random, wide, tag, leaf: _of("l", [json.dumps("a" * 999)] * min(wide, 99)),
    lambda random, wide, tag, leaf: f'["I","0x{"f" * wide * 20}"]',
    lambda random, wide, tag, leaf: f'["r",0,{random.choice((wide * 100, 2**50))},{random.choice((1, 3))}]',
    lambda random, wide, tag, leaf: json.dumps(random.choice(("a", "\ud800é\0", "9", "([", " a,")) * wide * 20),
    lambda random, wide, tag, leaf: f'["b","{"61" * wide * 10}"]',
    lambda random, wide, tag, leaf: f'["c","{wide}.0","nan"]',
    lambda random, wide, tag, leaf: f'["o","{leaf[:2]}Evil"]'.replace('"["', '"'),
    lambda random, wide, tag, leaf: _of("t", [leaf, _nested(random, leaf), _nested(random, leaf)]),
)


def broken(random: Random, text: str) -> str:
    """The text with characters cut, doubled or exchanged."""
    for _ in range(random.randint(1, 3)):
        at = random.randrange(len(text) + 1)
        text = random.choice(
            (
                *(
                    text[:at],
                    text[at:],
                    text[:at] + text[at + 1 :],
                    text[:at] + random.choice('[]{}",:-0e.\\"lIfNaN \n\ud800') + text[at:],
                ),
                *(
                    text + text[:50],
                    text.replace('"l"', '"x"'),
                    text.replace("1", "1e999999", 1),
                    text.replace("1", "9" * 5000, 1),
                ),
                *(
                    "[" * 20000 + text,
                    text.replace('"l"', '"d"'),
                    text.replace("0x", "0x_"),
                    text.replace("null", "NaN"),
                    text.upper(),
                ),
            )
        )
    return text
