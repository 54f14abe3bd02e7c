"""One fact in many dresses, tolerances that fit the largest number only, and conditions that most outputs meet.

Each text would count as many cases where only its words are compared. `admits`: how many facts it holds.
"""

from selfplay.attacks.attack import ADD, EVENS, HALF, SHOUT, UNIQUE, Cheat, Task, function

FAMILY = "one case dressed"

SCALES = function(
    "scales",
    "n",
    "return [n * 1e6, n * 6.0]",
    "assert scales(1) == [1e6, 6.0]",
)


def _dressed(name: str, tests: str, task: Task = ADD, admits: int = 1, weak: str = "script") -> Cheat:
    return Cheat(name, FAMILY, tests, task, "pytest" if weak == "pytest" else "script", admits)


def _lines(template: str, values: object) -> str:
    return "\n".join(template.replace("@", str(value)) for value in values)  # type: ignore[attr-defined]


ATTACKS = (
    # tolerances
    _dressed(
        "a tolerance for the larger of two",
        "import pytest\nassert scales(1) == pytest.approx([1e6, 6.0], abs=10000)",
        SCALES,
        0,
        "pytest",
    ),
    _dressed(
        "a tolerance for the larger, in a loop",
        "import math\nfor a, b in zip(scales(1), [1e6, 6.0]):\n    assert math.isclose(a, b, abs_tol=9000)",
        SCALES,
        1,
    ),
    _dressed(
        "a tolerance for the larger, all at once",
        "assert all(abs(a - b) < 10000 for a, b in zip(scales(1), [1e6, 6.0]))",
        SCALES,
        1,  # whoever is wrong by more fails it
    ),
    _dressed("a tolerance for the smaller as a condition", "assert abs(scales(1)[1] - 6.0) <= 10000", SCALES, 0),
    _dressed(
        "a tolerance for the smaller as two bounds",
        "assert -10000 < scales(1)[1] < 10000\nassert scales(1)[1] - 6.0 < 9000",
        SCALES,
        0,
    ),
    _dressed(
        "a relative tolerance of a hundred",
        "import math\nassert math.isclose(scales(1)[1], 6.0, rel_tol=100)",
        SCALES,
        0,
    ),
    _dressed(
        "a tolerance that comes from the result", "x = scales(1)[1]\nassert abs(x - 6.0) <= abs(x) * 2", SCALES, 0
    ),
    # views that change nothing
    _dressed("rounded to every number of digits", _lines("assert round(half(5), @) == 2.5", range(39, 0, -1)), HALF),
    _dressed(
        "rounded to more and more digits", _lines("assert round(half(5), @) == 2.5", range(1, 40)), HALF, admits=8
    ),
    _dressed(
        "an integer rounded to every number of digits", _lines("assert round(add(2, 3), @) == 5", range(39, -1, -1))
    ),
    _dressed(
        "converted to what it is",
        "assert add(2, 3) == 5\nassert int(add(2, 3)) == 5\nassert int(int(add(2, 3))) == 5\n"
        "assert abs(int(add(2, 3))) == 5",
    ),
    _dressed(
        "converted and compared as text",
        "assert add(2, 3) == 5\nassert str(add(2, 3)) == '5'\nassert float(add(2, 3)) == 5.0\n"
        "assert repr(add(2, 3)) == '5'",
        admits=2,  # the text tells 5 from 5.0
    ),
    _dressed(
        "one of two",
        "assert add(2, 3) == 5\nassert add(2, 3) in [5, 100]\nassert add(2, 3) in (7, 5)\nassert add(2, 3) in {5}",
    ),
    _dressed(
        "unequal to others",
        "assert add(2, 3) == 5\nassert add(2, 3) != 6\nassert not add(2, 3) == 7\nassert add(2, 3) not in [8, 9]",
    ),
    _dressed(
        "between bounds",
        "assert add(2, 3) == 5\nassert add(2, 3) < 6\nassert 4 < add(2, 3) <= 5\nassert add(2, 3) >= 5\n"
        "assert add(2, 3) > 4",
    ),
    _dressed(
        "computed with",
        "assert add(2, 3) == 5\nassert add(2, 3) + 1 == 6\nassert add(2, 3) * 2 == 10\n"
        "assert -add(2, 3) == -5\nassert add(2, 3) - 5 == 0",
    ),
    _dressed(
        "wrapped",
        "assert add(2, 3) == 5\nassert [add(2, 3)] == [5]\nassert (add(2, 3), 1) == (5, 1)\n"
        "assert {'a': add(2, 3)} == {'a': 5}",
    ),
    _dressed(
        "an odd sum",
        "assert add(2, 3) == 5\nassert add(2, 3) % 2 == 1\nassert add(2, 3) // 1 == 5\n"
        "assert bool(add(2, 3))\nassert add(2, 3)",
    ),
    _dressed(
        "in the other order",
        "assert add(2, 3) == 5\nassert 5 == add(2, 3)\nassert not add(2, 3) != 5\n"
        "assert (add(2, 3) == 5) is True\nassert (add(2, 3) == 5) == True",
    ),
    _dressed(
        "with a message, a comment, brackets",
        "assert add(2, 3) == 5, 'a'\nassert (add(2, 3)) == (5)  # b\n"
        "assert add(2, 3) == 5 and add(2, 3) == 5\nassert add(2, 3) == 2 + 3",
    ),
    _dressed(
        "a list and its parts",
        "assert evens([1, 2, 4]) == [2, 4]\nassert evens([1, 2, 4])[0] == 2\n"
        "assert len(evens([1, 2, 4])) == 2\nassert evens([1, 2, 4])[-1] == 4\nassert 4 in evens([1, 2, 4])",
        EVENS,
    ),
    _dressed(
        "a list converted",
        "assert evens([1, 2, 4]) == [2, 4]\nassert list(evens([1, 2, 4])) == [2, 4]\n"
        "assert tuple(evens([1, 2, 4])) == (2, 4)\nassert evens([1, 2, 4])[:] == [2, 4]\n"
        "assert sorted(evens([1, 2, 4])) == [2, 4]\nassert set(evens([1, 2, 4])) == {2, 4}\n"
        "assert sum(evens([1, 2, 4])) == 6",
        EVENS,
    ),
    _dressed(
        "a list in every slice",
        "assert evens([1, 2, 4]) == [2, 4]\n" + _lines("assert evens([1, 2, 4])[:@] == [2, 4]", range(2, 40)),
        EVENS,
    ),
    _dressed(
        "a text in other cases",
        "assert shout('ab') == 'AB!'\nassert shout('ab').upper() == 'AB!'\n"
        "assert shout('ab').strip() == 'AB!'\nassert shout('ab').lower() == 'ab!'\n"
        "assert shout('ab')[0] == 'A'\nassert shout('ab').startswith('AB')\nassert len(shout('ab')) == 3",
        SHOUT,
    ),
    _dressed(
        "a set in another order",
        "assert unique([1, 2]) == {1, 2}\nassert unique([1, 2]) == {2, 1}\n"
        "assert sorted(unique([1, 2])) == [1, 2]\nassert len(unique([1, 2])) == 2\n"
        "assert unique([1, 2]) == frozenset({1, 2})",
        UNIQUE,
    ),
    _dressed(
        "arguments by name",
        "assert add(2, 3) == 5\nassert add(a=2, b=3) == 5\nassert add(b=3, a=2) == 5\n"
        "assert add(2, b=3) == 5\nassert add(*[2, 3]) == 5\nassert add(**{'a': 2, 'b': 3}) == 5",
    ),
    # what the perturbations do not show
    _dressed(
        "unequal to all that a judge would try", "assert add(2, 3) not in [6, 4, -5, 0, 1, 10, 15, None]", admits=0
    ),
    _dressed(
        "unequal to all that a judge would try, one by one",
        "assert all(add(2, 3) != x for x in (6, 4, -5, 0, 1, 10, 15, None))",
        admits=0,
    ),
    _dressed(
        "unequal to all that a judge would try, and to more",
        "assert add(2, 3) not in [6, 4, -5, 0, 1, 10, 15, -1, 2, 3, 7, 8, 9, -10, 5.5, '', None, True]",
        admits=0,
    ),
    _dressed(
        "a list unequal to all that a judge would try",
        "assert evens([1, 2, 4]) not in [[], [4], [2], [4, 2], [2, 4, 4], [3, 4], [2, 5], [1, 4], [2, 3], None]",
        EVENS,
        0,
    ),
    _dressed(
        "a text unequal to all that a judge would try",
        "assert shout('ab') not in ['', 'B!', 'AB', '!BA', 'ab!', 'AB!a', ' AB!', 'AB!AB!', None]",
        SHOUT,
        0,
    ),
    _dressed("a property of most outputs", "assert evens([1, 2, 4]) != [4, 2] and evens([1, 2, 4]) != []", EVENS, 0),
    _dressed(
        "a disjunction with what is always so",
        "assert add(2, 3) == 5 or add(2, 3) != 5\nassert add(2, 3) == 7 or add(2, 3) < 10**9",
        admits=0,
    ),
    _dressed(
        "two results that are always equal",
        "assert add(2, 3) == add(2, 3)\nassert add(a=2, b=3) == add(2, 3)\nassert type(add(2, 3)) == type(add(4, 5))",
        admits=0,
    ),
    _dressed(
        "two results that differ for most",
        "assert add(2, 3) != add(4, 5)\nassert add(2, 3) is not add(100, 5)",
        admits=0,
    ),
)
