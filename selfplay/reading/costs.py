"""What a call of an offered function costs, as shapes: each pays, from the arguments alone, before the call is made.

A cost is called with the budget and the call's arguments, a method's receiver first. It need not be exact, only never
far below what the call takes in time (a step is a microsecond) and in memory (`STEP_BYTES` a step). A call whose cost
cannot be told from its arguments is refused; a function whose cost cannot be told at all is not offered.

Integers hold `MAX_BITS` at most, so that one quadratic operation on them is paid for by weighing them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from selfplay.reading.budget import MAX_BITS, Budget
from selfplay.reading.refusals import NotReadable
from selfplay.reading.unknown import Arguments, Data, Keywords

Cost: TypeAlias = Callable[[Budget, Arguments, Keywords], None]

MAX_DIGITS = 400  # that round() counts: no float has more
MAX_TUPLES = 10_000  # of a product or of combinations
_CODECS = frozenset({"utf8", "ascii", "latin1", "iso88591"})
_ON_ERROR = frozenset({"strict", "ignore", "replace"})


def fixed(budget: Budget, arguments: Arguments, keywords: Keywords) -> None:
    """Nothing beyond the call itself, whatever the arguments hold."""


def deep(times: int = 1) -> Cost:
    """Looks through all arguments, as trees, and makes no more than a few times what it reads."""

    def cost(budget: Budget, arguments: Arguments, keywords: Keywords) -> None:
        budget.weigh(list(arguments), times)
        budget.weigh(list(keywords.values()), times)

    return cost


def copied(budget: Budget, arguments: Arguments, keywords: Keywords) -> None:
    """Copies its arguments, their parts left as they are."""
    budget.copied(*arguments, *keywords.values())


def appended(budget: Budget, arguments: Arguments, keywords: Keywords) -> None:
    """Makes a list longer by one item."""
    budget.sized(len(arguments[0]) + 1)


def shifted(budget: Budget, arguments: Arguments, keywords: Keywords) -> None:
    """Moves a list's items by one place, or turns them round."""
    budget.spend(len(arguments[0]) // 512 + 1)


def entered(each: int) -> Cost:
    """Looks keys up in a set or dictionary, or enters them with `each` bytes for an entry."""

    def cost(budget: Budget, arguments: Arguments, keywords: Keywords) -> None:
        budget.made(1, each)
        budget.keys(arguments[1:2])

    return cost


def listed(each: int) -> Cost:
    """Makes a list of a dictionary's entries, with `each` bytes for one."""

    def cost(budget: Budget, arguments: Arguments, keywords: Keywords) -> None:
        budget.made(len(arguments[0]), each)

    return cost


def merged(budget: Budget, arguments: Arguments, keywords: Keywords) -> None:
    """Builds a set of the receiver and of everything in the arguments, or compares it with them."""
    budget.copied(arguments[0])
    budget.weigh(arguments[0])
    for argument in arguments[1:]:
        if type(argument) not in (set, frozenset):
            budget.keys(argument if type(argument) in (list, tuple, dict) else budget.items(argument))
        budget.weigh(argument)
        budget.made(len(argument), 64)


# Texts.


def width(*texts: Data) -> int:
    """The most bytes that a character of these texts takes."""
    return 1 if all(type(text) is not str or text.isascii() for text in texts) else 4


def scanned(budget: Budget, arguments: Arguments, keywords: Keywords) -> None:
    """Goes through a text by character and makes up to three for each."""
    deep(4)(budget, arguments, keywords)


def prefixed(budget: Budget, arguments: Arguments, keywords: Keywords) -> None:
    """Compares an end of the receiver with the arguments, and may copy the rest."""
    budget.copied(arguments[0])
    budget.weigh(list(arguments[1:]))


def searched(budget: Budget, arguments: Arguments, keywords: Keywords) -> None:
    """Looks for the second text in the first. Python's search is linear for long needles alone."""
    _search(budget, arguments, 128)


def searched_back(budget: Budget, arguments: Arguments, keywords: Keywords) -> None:
    """Looks for the second text in the first from the end, or for any of its characters: product of the lengths."""
    _search(budget, arguments, MAX_BITS)


def _search(budget: Budget, arguments: Arguments, longest: int) -> None:
    budget.weigh(list(arguments))
    text, needle = arguments[0], arguments[1] if len(arguments) > 1 else None
    compared = len(needle) if isinstance(needle, (str, bytes)) else 1
    if longest < MAX_BITS:
        compared = min(compared, longest)
    budget.copied(text)
    budget.spend(len(text) * compared // 2048)


def split(budget: Budget, arguments: Arguments, keywords: Keywords) -> None:
    """Cuts a text in as many pieces as its separators allow."""
    given = (arguments[1] if len(arguments) > 1 else keywords.get("sep")) or " "
    searched_back(budget, (arguments[0], given), {})
    pieces = len(arguments[0]) // (max(1, len(given)) if isinstance(given, str) else 1) + 1
    limit = arguments[2] if len(arguments) > 2 else keywords.get("maxsplit", -1)
    if type(limit) is int and 0 <= limit < pieces:
        pieces = limit + 1
    budget.made(pieces, 40)


def lines(budget: Budget, arguments: Arguments, keywords: Keywords) -> None:
    """Cuts a text after each line; every character may end one."""
    scanned(budget, arguments, keywords)
    budget.made(len(arguments[0]), 8)


def joined(budget: Budget, arguments: Arguments, keywords: Keywords) -> None:
    """Writes the texts of a list, or of anything iterable, one after the other, the receiver between them."""
    between, texts = arguments
    texts = budget.items(budget.weigh(texts))
    if set(map(type, texts)) <= {str}:
        budget.made(len(between) * len(texts) + sum(map(len, texts)), width(between, *texts))


def replaced(budget: Budget, arguments: Arguments, keywords: Keywords) -> None:
    """Writes the second text again with a third in place of each first."""
    searched(budget, arguments, keywords)
    text, old, new = arguments[:3]
    if isinstance(old, str) and isinstance(new, str):
        found = text.count(old) if old else len(text) + 1
        budget.made(len(text) + found * len(new), width(text, new))


def padded(budget: Budget, arguments: Arguments, keywords: Keywords) -> None:
    """Writes a text again, as wide as the second argument says."""
    budget.weigh(list(arguments))
    if type(arguments[1]) is int:
        budget.made(max(len(arguments[0]), arguments[1]), width(*arguments))


def coded(budget: Budget, arguments: Arguments, keywords: Keywords) -> None:
    """Between text and bytes, in the encodings that take linear time."""
    given = dict(zip(("encoding", "errors"), arguments[1:], strict=False)) | dict(keywords)
    encoding, errors = given.get("encoding", "utf-8"), given.get("errors", "strict")
    if not isinstance(encoding, str) or encoding.lower().replace("-", "").replace("_", "") not in _CODECS:
        raise NotReadable("unsupported", "an encoding other than utf-8, ascii and latin-1")
    if errors not in _ON_ERROR:
        raise NotReadable("unsupported", "this way to treat what cannot be encoded")
    scanned(budget, arguments[:1], {})


# Numbers.


def written(budget: Budget, arguments: Arguments, keywords: Keywords) -> None:
    """str() and repr() of data; of bytes with an encoding, decoding."""
    if len(arguments) > 1 or keywords:
        coded(budget, arguments, keywords)
    budget.weigh(list(arguments), 4)


def numeral(budget: Budget, arguments: Arguments, keywords: Keywords) -> None:
    """A number from a text: quadratic in its digits."""
    budget.weigh([*arguments, *keywords.values()])
    if arguments and type(arguments[0]) in (str, bytes, bytearray):
        if len(arguments[0]) > MAX_BITS:
            raise NotReadable("budget", f"a number of more than {MAX_BITS} digits")
        budget.spend(len(arguments[0]) // 32)


def rounded(budget: Budget, arguments: Arguments, keywords: Keywords) -> None:
    """round(x, digits): with a power of ten as long as `digits`."""
    budget.weigh([*arguments, *keywords.values()])
    digits = arguments[1] if len(arguments) > 1 else keywords.get("ndigits")
    if isinstance(digits, int) and abs(digits) > MAX_DIGITS:
        raise NotReadable("budget", f"rounding to more than {MAX_DIGITS} digits")


def bounds(budget: Budget, arguments: Arguments, keywords: Keywords) -> None:
    """A slice: of integers alone, so that nothing hides in it."""
    budget.weigh(list(arguments))
    if not all(part is None or isinstance(part, int) for part in arguments):
        raise NotReadable("unsupported", "a slice of something else than integers")


def counting(budget: Budget, arguments: Arguments, keywords: Keywords) -> None:
    """factorial(n), perm(n, k) and comb(n, k): no more factors than the result may have bits."""
    budget.weigh(list(arguments))
    if arguments and all(isinstance(argument, int) for argument in arguments):
        n, k = arguments[0], arguments[-1]
        size = max(0, k) * max(n, 0).bit_length()
        if size > MAX_BITS:
            raise NotReadable("budget", f"a number that may have {size} bits where {MAX_BITS} are allowed")
        budget.spend(size // 16)


def chosen(budget: Budget, arguments: Arguments, keywords: Keywords) -> None:
    """comb(n, k), which is comb(n, n - k)."""
    if len(arguments) == 2 and all(isinstance(argument, int) for argument in arguments):
        n, k = arguments
        counting(budget, (n, min(k, n - k)), keywords)


def multiple(budget: Budget, arguments: Arguments, keywords: Keywords) -> None:
    """lcm(...): as long as all its arguments together."""
    budget.weigh(list(arguments), 2)
    total = sum(argument.bit_length() for argument in arguments if isinstance(argument, int))
    if total > MAX_BITS:
        raise NotReadable("budget", f"a number that may have {total} bits where {MAX_BITS} are allowed")
    budget.spend(len(arguments) * (total // 64 + 1))


def power_modulo(budget: Budget, arguments: Arguments, keywords: Keywords) -> None:
    """pow(base, exponent, modulus): a multiplication for each bit of the exponent; for an inverse, of the modulus."""
    budget.weigh(list(arguments), 2)
    if all(isinstance(argument, int) for argument in arguments):
        _, exponent, modulus = arguments
        words = modulus.bit_length() // 64 + 1
        budget.spend(exponent.bit_length() * (words * words // 128 + 1))
        if exponent < 0:
            budget.spend(modulus.bit_length() * (words // 32 + 1))


# Many tuples.


def product_of(budget: Budget, columns: Arguments, keywords: Keywords) -> None:
    """product(*columns, repeat=1)."""
    times = keywords.get("repeat", 1)
    if not isinstance(times, int) or len(columns) * times > MAX_TUPLES:
        raise NotReadable("budget", f"a product of more than {MAX_TUPLES} columns")
    count = 1
    for column in [*columns] * times:
        count *= len(column)
        budget.spend()
        if count > MAX_TUPLES:
            break
    _tuples(budget, count, len(columns) * max(times, 0))


def permutations_of(budget: Budget, arguments: Arguments, keywords: Keywords) -> None:
    """permutations(items, r): n * (n - 1) * ... tuples."""
    n, r = _of_n(arguments, keywords)
    count = 1
    for taken in range(r):
        count = count * (n - taken) if count <= MAX_TUPLES else count
    _tuples(budget, count, r)


def combinations_of(budget: Budget, arguments: Arguments, keywords: Keywords) -> None:
    """combinations(items, r): as many as of the n - r items left out."""
    n, r = _of_n(arguments, keywords)
    count = 1
    for taken in range(min(r, n - r)):
        count = count * (n - taken) // (taken + 1) if count <= MAX_TUPLES else count
    _tuples(budget, count, r)


def _of_n(arguments: Arguments, keywords: Keywords) -> tuple[int, int]:
    n = len(arguments[0])
    r = arguments[1] if len(arguments) > 1 else keywords.get("r", n)
    if not isinstance(r, int) or not 0 <= r <= n:
        raise NotReadable("unsupported", f"not a number of items that can be chosen of {n}")
    return n, r


def _tuples(budget: Budget, count: int, length: int) -> None:
    if count > MAX_TUPLES:
        raise NotReadable("budget", f"more than {MAX_TUPLES} combinations")
    budget.made(count, 64 + 8 * length)
