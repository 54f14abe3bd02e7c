"""Conditions on results that no operator and view of a case says, as data: `all(x % 2 for x in f(n))`, `f(a) == f(b)`.

A case with the operator `satisfies` holds a term in `expected`, as JSON:

    ["result", 0]                            what the first call returned (1, 2, ...: the further calls)
    ["data", TREE]                           a constant, as a tree of values.py
    ["item", 3]                              the variable with this number, bound by a "for" around it
    ["call", NAME, TERM, ...]                a function, method or operator: "len", "sorted", "%", "==", "in", "not",
                                             "[]" (item), "[:]" (slice: of, start, stop, step), ".startswith", ...
    ["and", TERM, ...]  ["or", TERM, ...]    with Python's shortcuts
    ["if", CONDITION, TERM, TERM]
    ["for", KIND, [[ITERABLE, [NUMBER, ...], [CONDITION, ...]], ...], TERM]
                                             a comprehension; KIND is "list" or "set", several numbers unpack an item

The case passes where the term is true of the returned trees. Evaluation never builds objects of the program's choosing,
spends from one budget of steps, and what Python would raise fails the case.
"""
