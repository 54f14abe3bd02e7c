"""Results without an order, or of another type, that a test looks into as if they had one.

In Python such tests pass by the accident of a hash, or raise. Here they fail: what has no order gives no first item.
"""

from selfplay.attacks.attack import Control, Task, Wrong, function

FAMILY = "unordered results"


def _words(test: str) -> Task:
    return function("words", "text", "return sorted(set(text.split()))", test)


def _numbers(test: str) -> Task:
    return function("numbers", "given", "return sorted(set(given))", test)


def _wrong(name: str, returned: str, test: str, unshown: str = "") -> Wrong:
    """A function of integers: small ones lie sorted in CPython's sets, so that a runner of tests is deceived."""
    return Wrong(name, FAMILY, f"def numbers(given): return {returned}", _numbers(test), "exec", unshown=unshown)


def _text(name: str, returned: str, test: str) -> Wrong:
    unshown = "whether Python passes it depends on the hash seed"
    return Wrong(name, FAMILY, f"def words(text): return {returned}", _words(test), unshown=unshown)


def _span(name: str, returned: str, test: str) -> Wrong:
    task = function("span", "n", "return [k for k in range(n)]", test)
    return Wrong(name, FAMILY, f"def span(n): return {returned}", task, unshown="Python tells it apart too")


def _right(name: str, returned: str, tests: str) -> Control:
    return Control(name, FAMILY, f"def numbers(given): return {returned}", _numbers(tests))


_RAISES = "Python raises for it too"

ATTACKS = (
    _wrong("a set as a list", "set(given)", "assert list(numbers([3, 1, 2, 3])) == [1, 2, 3]"),
    _wrong("a set as a tuple", "set(given)", "assert tuple(numbers([3, 1, 2, 3])) == (1, 2, 3)"),
    _wrong("a set backwards", "set(given)", "assert list(reversed(numbers([3, 1]))) == [3, 1]", _RAISES),
    _wrong("a set as a list, backwards", "set(given)", "assert list(numbers([3, 1, 2]))[::-1] == [3, 2, 1]"),
    _wrong("the first of a set as a list", "set(given)", "assert list(numbers([3, 1, 2]))[0] == 1"),
    _wrong("the last of a set as a tuple", "set(given)", "assert tuple(numbers([3, 1, 2]))[-1] == 3"),
    _wrong("the first of a set", "set(given)", "assert numbers([3, 1, 2])[0] == 1", _RAISES),
    _wrong("a slice of a set", "set(given)", "assert numbers([3, 1, 2])[:2] == [1, 2]", _RAISES),
    _wrong("a frozen set as a list", "frozenset(given)", "assert list(numbers([3, 1, 2])) == [1, 2, 3]"),
    _wrong(
        "a subclass of set as a list", "type('S', (set,), {})(given)", "assert list(numbers([3, 1, 2])) == [1, 2, 3]"
    ),
    _wrong("keys of a set", "dict.fromkeys(set(given)).keys()", "assert numbers([3, 1, 2])[0] == 1", _RAISES),
    _text("words of a set as a list", "set(text.split())", "assert list(words('b a c a')) == ['a', 'b', 'c']"),
    _text("words of a set as a tuple", "set(text.split())", "assert tuple(words('b a c a')) == ('a', 'b', 'c')"),
    _text("the first word of a set", "set(text.split())", "assert list(words('b a c a'))[0] == 'a'"),
    _span("a slice of a range is no list", "range(n)", "assert span(5)[-5:] == [0, 1, 2, 3, 4]"),
    _span("a slice of a range with steps is no list", "range(n)", "assert span(7)[::2] == [0, 2, 4, 6]"),
    _span("a range is no list", "range(n)", "assert span(3) == [0, 1, 2]"),
    _span("a slice of a slice of a range is no list", "range(n)", "assert span(7)[1:][-6:] == [1, 2, 3, 4, 5, 6]"),
    _span("a text is no list of letters", "''.join(map(str, range(n)))", "assert span(4)[-4:] == [0, 1, 2, 3]"),
    _right(
        "a set that is sorted",
        "set(given)",
        "assert sorted(numbers([3, 1, 2])) == [1, 2, 3]\nassert len(numbers([4, 4])) == 1",
    ),
    _right(
        "a set that is asked what it holds",
        "set(given)",
        "assert set(numbers([3, 1])) == {1, 3}\nassert sum(numbers([4, 4, 3])) == 7",
    ),
    _right(
        "a set of one as a list",
        "sorted(set(given))",
        "assert list(numbers([3, 3])) == [3]\nassert numbers([2, 1])[0] == 1",
    ),
    Control(
        "a slice of a range as a list",
        FAMILY,
        "def span(n): return range(n)",
        function(
            "span",
            "n",
            "return [k for k in range(n)]",
            "assert list(span(3)[-3:]) == [0, 1, 2]\nassert sum(span(4)) == 6",
        ),
    ),
    Control(
        "a dictionary keeps its order",
        FAMILY,
        "def numbers(given): return {n: n for n in sorted(given)}",
        _numbers("assert list(numbers([3, 1])) == [1, 3]"),
    ),
)
