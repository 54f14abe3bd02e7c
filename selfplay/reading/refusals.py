"""Why a test is refused: every reason that is counted, and for each of its kinds the sentence for who wrote the test.

A sentence says what was met, in words of testing, and what to write instead. `docs/reading-tests.md` lists them.
"""

from __future__ import annotations

from typing import NoReturn


class NotReadable(ValueError):
    """Code that is not evaluated. `reason` is a short slug that is counted, `detail` says what was met."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


# What to do about a refusal whose sentence says only what was met, by its reason.
ADVICE = {
    "unsupported": "write plain values and calls of the function under test",
    "unreadable": "running this test would raise an error before it says anything: correct it",
    "budget": "the test is too large to be read: use smaller values",
    "syntax": "the text is not Python: correct it",
    "property": "write the expected value out",
}

# kind: (reason, sentence)
SENTENCES: dict[str, tuple[str, str]] = {
    # nothing is said about the function under test
    "known": ("not_a_call", "this holds whatever the program does: assert something about what {entry} returns"),
    "nothing": ("not_a_call", "no assertion about a call of {entry}: call it and assert what it returns"),
    "same_call": ("not_a_call", "both sides are the same call: write the expected value out"),
    "object": ("not_a_call", "this asserts an object that is always true: compare what {entry} returns with a value"),
    "false": ("false", "this is false before any program runs (a changed argument, perhaps): assert what {entry} returns"),
    "fails": ("false", "this always fails: state which value or exception is expected"),
    "undefined": ("wrong_entry", "{name} is not {entry} and is not defined: only {entry} is under test"),
    "wrong_entry": ("wrong_entry", "{name} is not {entry}: only {entry} is under test, write what {name} gives as a value"),
    # what relates calls, or depends on them
    "on_result": ("property", "a call whose arguments depend on a result: write the value in between out"),
    "decides": ("property", "the course of the test depends on a result: assert the result itself"),
    "several_raise": ("property", "an expected exception around several calls or none: put exactly one call into the block"),
    "around_call": ("unsupported", "an expected exception around more than the call: put only the call into the block"),
    "many_calls": ("property", "one assertion relates more than {limit} calls: assert them one by one"),
    "mixed": ("property", "results inside of {what}: assert the results one by one"),
    "helper": ("property", "the problem's own {name} on a result: write the value that {entry} must return"),
    "nodes": ("budget", "one assertion has more than {limit} steps: assert less at once"),
    "long_condition": ("budget", "one assertion holds more than {limit} characters of values: use smaller values"),
    "size": ("budget", "{size} characters where {limit} are read: split the tests or use smaller values"),
    "too_many": ("too_many", "only the first {limit} cases of a text are read: write fewer"),
    # results
    "attribute": ("class", "{name} of what {entry} returns: tests of objects are not read, only of values a function returns"),
    "changes": ("unsupported", "{name}() changes a result: compare sorted(...), [...] or a copy instead"),
    "on_value": ("unsupported", "{name} of a result is not read: write the expected value out"),
    "iterator": ("unsupported", "{name} is compared as it is: put list(...) or sorted(...) around it"),
    "identity": ("unsupported", "`is` with a value: use == (`is` only with None, True and False)"),
    "nested_unpacking": ("unsupported", "unpacking in a loop over a result goes one level deep: use item[0], item[1]"),
    "tolerance": ("tolerance", "a tolerance of {tolerance}: give finite numbers that are not negative"),
    "keywords": ("keywords", "the keyword {name!r} is no name: write keywords as name=value"),
    # exceptions
    "message": ("message", "of an exception only the class is judged: leave out what its message says"),
    "own_exception": ("unsupported", "an exception class that is not builtin: expect a builtin one"),
    "any_exception": ("unsupported", "an exception that a failing assertion is as well: expect a narrower class"),
    "try": ("unsupported", "a try statement: write `with pytest.raises(...)`"),
    "with": ("unsupported", "this `with` block: only pytest.raises, assertRaises and subTest are read"),
    # what surrounds a test
    "import": ("import", "{name} is not part of this problem: write expected values out"),
    "followed": ("unsupported", "{name} is not evaluated: write its value out"),
    "chance": ("unsupported", "{name} gives other values each time: write values out"),
    "clock": ("unsupported", "{name}: time is judged by limits, not by tests; leave it out"),
    "patched": ("patched", "{entry} is replaced by the test itself: test the program's own {entry}"),
    "patches": ("patched", "{name} is replaced while the test runs: test {entry} by its arguments and result"),
    "skip": ("skip", "the test is skipped by its own mark: remove the mark"),
    "xfail": ("skip", "the test is expected to fail: state what holds instead"),
    "mark": ("unsupported", "this decorator of a test: use pytest.mark.parametrize, or none"),
    "indirect": ("unsupported", "{name} of parametrize is not read: give argnames, argvalues and ids"),
    "fixture": ("unsupported", "the fixture {name!r}: define it in the file, or write its value out"),
    "async": ("unsupported", "an async test: test a plain function"),
    "class_statement": ("unsupported", "{name} in a test class: use plain values and methods"),
    "self": ("unsupported", "self.{name} is not known: set it in setUp, or use a plain assert"),
    "shadowed": ("shadowed", "a later test has the same name: give each its own"),
    "left_out": ("unsupported", "its condition is not known before it runs: write tests without an `if` around them"),
    "spoiled": ("unsupported", "{name} may have been changed by a statement that is not evaluated: write its value out"),
}  # fmt: skip


def refuse(kind: str, entry: str = "the function under test", **facts: object) -> NoReturn:
    """Raise the refusal of a kind."""
    raise refusal(kind, entry, **facts)


def refusal(kind: str, entry: str = "the function under test", **facts: object) -> NotReadable:
    """The refusal of a kind, with the facts that its sentence names."""
    reason, sentence = SENTENCES[kind]
    error = NotReadable(reason, sentence.format(entry=entry, **facts))
    error.add_note(kind)
    return error


def kind_of(error: NotReadable) -> str:
    """The kind of a refusal made here, else empty."""
    return next(iter(getattr(error, "__notes__", ())), "")


MAX_DETAIL = 500  # characters: it may quote what was read


def why(error: Exception) -> tuple[str, str]:
    """Reason and sentence of a refusal; what evaluating raised by itself is code that would raise."""
    if isinstance(error, NotReadable):
        reason, detail = error.reason, error.detail[:MAX_DETAIL]
    elif isinstance(error, RecursionError):
        reason, detail = "budget", "nested too deep"
    else:
        reason, detail = "unreadable", f"{type(error).__name__}: {error}"[:200]
    if getattr(error, "__notes__", None) or reason not in ADVICE:
        return reason, detail
    return reason, f"{detail}: {ADVICE[reason]}" if detail else ADVICE[reason]
