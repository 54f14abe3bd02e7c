"""The operations that procedural problems are made of: what they say, how they are right and how they are misunderstood.

A problem is a pipeline of one or two operations on a list of integers `xs`, an integer `n` or a string `s`. Some
operations carry a **misconception**: an expression that a player often writes instead and that agrees with the right one
on happy paths (values distinct, positive, off the boundary, nothing empty). Texts may hold `{k}`, a small constant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Type = Literal["xs", "n", "s"]
ANNOTATIONS: dict[Type, str] = {"xs": "list[int]", "n": "int", "s": "str"}


@dataclass(frozen=True, slots=True)
class Operation:
    """One step from a value of type `takes` to one of type `gives`.

    `says` words it in the description, `step` in a plan; `right` is its expression over the variable named by `takes`.
    `wrong`, if any, is its misconception; `edge` and `edge_wrong` are what either says of the case that tells them apart.
    """

    takes: Type
    gives: Type
    says: str
    step: str
    right: str
    wrong: str = ""
    edge: str = ""
    edge_wrong: str = ""

    @property
    def has_constant(self) -> bool:
        return "{k}" in self.right


def _op(
    flow: str, says: str, step: str, right: str, wrong: str = "", edge: str = "", edge_wrong: str = ""
) -> Operation:
    takes, gives = flow.split(">")
    return Operation(takes, gives, says, step, right, wrong, edge, edge_wrong)  # type: ignore[arg-type]


# fmt: off
OPERATIONS: tuple[Operation, ...] = (
    # lists to lists
    _op("xs>xs", "keep the numbers that are at least {k}", "keep from {k}", "[x for x in xs if x >= {k}]",
        "[x for x in xs if x > {k}]", "{k} stays", "{k} goes"),
    _op("xs>xs", "keep the numbers that are at most {k}", "keep to {k}", "[x for x in xs if x <= {k}]",
        "[x for x in xs if x < {k}]", "{k} stays", "{k} goes"),
    _op("xs>xs", "drop the negative numbers", "drop negatives", "[x for x in xs if x >= 0]",
        "[x for x in xs if x > 0]", "0 stays", "0 goes"),
    _op("xs>xs", "take absolute values", "absolute", "[abs(x) for x in xs]",
        "[max(x, 0) for x in xs]", "-1 gives 1", "-1 gives 0"),
    _op("xs>xs", "keep the first of equal numbers", "unique", "list(dict.fromkeys(xs))",
        "[x for x in xs if xs.count(x) == 1]", "twins leave one", "twins go"),
    _op("xs>xs", "replace numbers below {k} by {k}", "raise to {k}", "[max(x, {k}) for x in xs]"),
    _op("xs>xs", "keep the numbers above {k}", "keep above {k}", "[x for x in xs if x > {k}]"),
    _op("xs>xs", "keep the even numbers", "keep even", "[x for x in xs if x % 2 == 0]"),
    _op("xs>xs", "keep the odd numbers", "keep odd", "[x for x in xs if x % 2 == 1]"),
    _op("xs>xs", "add {k} to each number", "add {k}", "[x + {k} for x in xs]"),
    _op("xs>xs", "multiply each number by {k}", "times {k}", "[x * {k} for x in xs]"),
    _op("xs>xs", "sort upwards", "sort up", "sorted(xs)"),
    _op("xs>xs", "reverse the order", "reverse", "xs[::-1]"),
    _op("xs>xs", "take the first {k}", "first {k}", "xs[:{k}]"),
    _op("xs>xs", "skip the first {k}", "skip {k}", "xs[{k}:]"),
    # lists to integers
    _op("xs>n", "find the largest, 0 if there is none", "largest", "max(xs) if xs else 0",
        "max([0] + xs)", "all negative works", "all negative gives 0"),
    _op("xs>n", "find the smallest, 0 if there is none", "smallest", "min(xs) if xs else 0",
        "min(xs)", "empty gives 0", "never empty"),
    _op("xs>n", "find the first, 0 if there is none", "head", "xs[0] if xs else 0",
        "xs[0]", "empty gives 0", "never empty"),
    _op("xs>n", "find the last, -1 if there is none", "tail", "xs[-1] if xs else -1",
        "xs[-1]", "empty gives -1", "never empty"),
    _op("xs>n", "find the span from smallest to largest, 0 if there is none", "span", "max(xs) - min(xs) if xs else 0",
        "max(xs) - min(xs)", "empty gives 0", "never empty"),
    _op("xs>n", "count the numbers that are at least {k}", "count from {k}", "sum(x >= {k} for x in xs)",
        "sum(x > {k} for x in xs)", "{k} counts", "{k} does not count"),
    _op("xs>n", "count different numbers", "count different", "len(set(xs))",
        "len(xs)", "twins count once", "twins count twice"),
    _op("xs>n", "add up absolute values", "absolute sum", "sum(abs(x) for x in xs)",
        "abs(sum(xs))", "signs do not cancel", "signs cancel"),
    _op("xs>n", "add up", "sum", "sum(xs)"),
    _op("xs>n", "count all", "count", "len(xs)"),
    _op("xs>n", "add up the positive numbers", "sum positive", "sum(x for x in xs if x > 0)"),
    # integers
    _op("n>n", "take the absolute value", "absolute", "abs(n)", "max(n, 0)", "-1 gives 1", "-1 gives 0"),
    _op("n>n", "add up the digits, ignoring a sign", "digit sum", "sum(int(d) for d in str(abs(n)))",
        "sum(int(d) for d in str(n))", "minus is ignored", "never negative"),
    _op("n>n", "count the digits, ignoring a sign", "digit count", "len(str(abs(n)))",
        "len(str(n))", "minus is ignored", "minus counts"),
    _op("n>n", "halve, rounding toward zero", "half", "int(n / 2)", "n // 2", "-3 gives -1", "-3 gives -2"),
    _op("n>n", "take the last digit, ignoring a sign", "last digit", "abs(n) % 10",
        "n % 10", "minus is ignored", "minus stays"),
    _op("n>n", "add {k}", "add {k}", "n + {k}"),
    _op("n>n", "multiply by {k}", "times {k}", "n * {k}"),
    _op("n>n", "subtract {k}", "minus {k}", "n - {k}"),
    _op("n>n", "take the remainder by {k}", "mod {k}", "n % {k}"),
    _op("n>xs", "list the digits, ignoring a sign", "digits", "[int(d) for d in str(abs(n))]",
        "[int(d) for d in str(n)]", "minus is ignored", "never negative"),
    # strings
    _op("s>s", "remove vowels of either case", "no vowels", "''.join(c for c in s if c not in 'aeiouAEIOU')",
        "''.join(c for c in s if c not in 'aeiou')", "A goes", "A stays"),
    _op("s>s", "squeeze and trim the spaces", "squeeze", "' '.join(s.split())",
        "s.strip()", "two spaces leave one", "inner spaces stay"),
    _op("s>s", "reverse the text", "reverse", "s[::-1]"),
    _op("s>s", "make it upper case", "upper", "s.upper()"),
    _op("s>s", "take the first {k} characters", "first {k}", "s[:{k}]"),
    _op("s>n", "count vowels of either case", "count vowels", "sum(c in 'aeiouAEIOU' for c in s)",
        "sum(c in 'aeiou' for c in s)", "A counts", "A does not count"),
    _op("s>n", "count words between spaces", "count words", "len(s.split())",
        "s.count(' ') + 1", "empty gives 0", "empty gives 1"),
    _op("s>n", "count different letters, ignoring case", "count letters", "len(set(s.lower()))",
        "len(set(s))", "A is a", "A is not a"),
    _op("s>n", "count characters", "length", "len(s)"),
    _op("s>xs", "list the lengths of words between spaces", "word lengths", "[len(w) for w in s.split()]",
        "[len(w) for w in s.split(' ')]", "two spaces are one", "two spaces give 0"),
)
# fmt: on
CONSTANTS: tuple[int, ...] = (2, 3, 4, 5)
