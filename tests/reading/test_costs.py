"""What evaluating may cost: everything offered is paid for before it runs, and large arguments by their bytes."""

from __future__ import annotations

import ast
import time
import tracemalloc
from collections.abc import Mapping

import pytest

from selfplay.reading import costs, read_cases
from selfplay.reading.budget import FUNCTION_STEPS, MODULE_STEPS, Budget, module_steps
from selfplay.reading.interpret import Interpreter
from selfplay.reading.known import BUILTINS
from selfplay.reading.methods import METHODS, MODULES
from selfplay.reading.names import ModuleNames, Scope
from selfplay.reading.native import Native, Offered
from selfplay.reading.refusals import NotReadable
from selfplay.reading.unknown import Lazy

PAY_AS_THEY_GO = {
    *("len", "list", "tuple", "set", "frozenset", "any", "all", "reversed", "iter", "next", "dict", "sum", "sorted"),
    *("min", "max", "zip", "enumerate", "map", "filter", "pow", "isinstance", "type", "print", "bytes", "bytearray"),
    *("prod", "Counter", "reduce", "chain", "accumulate", "product", "permutations", "combinations"),
    *("extend", "sort", "update", "format"),
}
SHARED = "t = (1,)\nfor i in range(60):\n    t = (t, t)"
SLICES = "t = 1\nfor i in range(60):\n    t = slice(t, t)"
BIG = "a = (1 << 9900) + 1\nb = (1 << 9900) + 3"
LONG = "L = list(range(20000))\ns = 'a' * 90000\nd = dict(zip(L, L))"


STEPS = 60_000  # a tenth of what a function may spend: what is not paid for takes as long, what is paid for a tenth


def evaluated(expression: str, before: str = "") -> object:
    """The value of `expression` within few steps, behind statements that may take many."""
    scope = Scope({name: ModuleNames(name, names) for name, names in MODULES.items()})
    Interpreter(Budget(100 * STEPS)).run(ast.parse(before).body, scope)
    return Interpreter(Budget(STEPS)).value(ast.parse(expression, mode="eval").body, scope)


def tables() -> list[Mapping[str, object]]:
    return [BUILTINS, *MODULES.values(), *METHODS.values()]


def test_every_function_offered_has_a_cost_or_is_known_to_pay_as_it_goes() -> None:
    functions = [function for table in tables() for function in table.values() if isinstance(function, Native)]
    assert len(functions) > 150
    for function in functions:
        assert isinstance(function, Offered) or function.name in PAY_AS_THEY_GO, function.name


def test_an_offer_pays_before_it_calls() -> None:
    called: list[object] = []
    offer = Offered("f", costs.deep(), called.append)
    with pytest.raises(NotReadable, match="budget"):
        offer.function(Budget(10), Interpreter().apply, [[0] * 1000], {})
    assert called == []


@pytest.mark.parametrize(
    ("expression", "before"),
    [
        ("round(5, -10**9)", ""),
        ("{t}", SHARED),
        ("{t: 1}", SHARED),
        ("t == (t, 1)", SHARED),
        ("repr(t)", SHARED),
        ("sorted([t, t])", SHARED),
        ("t in [t]", SHARED),
        ("f'{t}'", SHARED),
        ("copy.deepcopy(t)", SHARED),
        ("[{}][t]", SHARED),
        ("t == t", SLICES),
        ("([L] * 100000).count(M)", "L = list(range(2000))\nM = L[:-1] + [-5]"),
        ("([L] * 90000).index(0)", LONG),
        ("max([L] * 90000)", LONG),
        ("('\\u1234' * 90000).encode('punycode')", ""),
        ("str(b'a' * 90000, 'punycode')", ""),
        ("pow(a, b, b)", BIG),
        ("sum([[]] * 10**5, L)", LONG),
        ("math.lcm(*[10**300 + i for i in range(900)])", ""),
        ("math.comb(10**6, 5 * 10**5)", ""),
        ("math.perm(10**5)", ""),
        ("[L[:] for _ in L]", LONG),
        ("[s[1:] for _ in L]", LONG),
        ("[s.upper() for _ in L]", LONG),
        ("[s.ljust(90000) for _ in L]", LONG),
        ("[s.rfind('b' + 'a' * 40000) for _ in L]", LONG),
        ("[s.strip('b' * 40000 + 'a') for _ in L]", LONG),
        ("[s.split('a') for _ in L]", LONG),
        ("[f'{s}{s}' for _ in L]", LONG),
        ("[list(s) for _ in L]", LONG),
        ("[set(L) for _ in L]", LONG),
        ("[d.copy() for _ in L]", LONG),
        ("[list(d.items()) for _ in L]", LONG),
        ("[L.pop(0) + L.insert(0, 1) for _ in L]", LONG.replace("20000", "400000")),
        ("[bytes(90000) for _ in L]", LONG),
        ("[s.join(s) for _ in L]", LONG),
        ("[print(**{str(i): i for i in range(2000)}) for _ in L]", LONG),
        ("('{a}' * 33000).format(a=s)", LONG),
        ("list(itertools.accumulate([L] * 20))", LONG.replace("20000", "90000")),
        ("list(itertools.product([1], repeat=10**7))", ""),
        ("list(itertools.permutations(range(5), 10**9))", ""),
        ("list(itertools.combinations(range(90000), 89999))", ""),
        ("[str(a) for _ in L]", f"{BIG}\n{LONG}"),
        ("[a * b for _ in L]", f"a = 1 << 4900\nb = 3**3000\n{LONG}"),
        ("[int('7' * 3000) for _ in L]", LONG),
        ("[f(*L) for _ in L]", f"{LONG}\nf = lambda *a: 0"),
        ("f()", "f = lambda: 0\nfor i in range(100):\n    f = (lambda g: lambda: g)(f)\nf = 1\nf.a"),
        ("d", "d = {}\nfor i in range(5000):\n    d[i * (2**61 - 1)] = 1"),
        ("d", "d = set()\nfor i in range(5000):\n    d.add(i * (2**61 - 1))"),
        ("d", "d = {}\nfor i in range(5000):\n    d.setdefault(complex(1000003 * i, -i))"),
    ],
)
def test_what_would_take_long_or_much_memory_is_refused(expression: str, before: str) -> None:
    start = time.process_time()
    with pytest.raises(NotReadable):
        evaluated(expression, before)
    assert time.process_time() - start < 3


@pytest.mark.parametrize(
    "expression",
    [
        "[s.zfill(90000) for _ in L]",
        "[L[:] for _ in L]",
        "[d.copy() for _ in L]",
        "[{1: 1} for _ in L for _ in L]",
        "[{1} for _ in L for _ in L]",
        "[lambda: 0 for _ in L for _ in L]",
        "[''.join for _ in L for _ in L]",
        "[str(i) for i in L for _ in L]",
        "[s.split('a') for _ in L]",
        "[list('\u1234' * 900) for _ in L]",
    ],
)
def test_what_is_held_at_once_follows_from_the_steps(expression: str) -> None:
    scope = Scope()
    Interpreter(Budget(100 * STEPS)).run(ast.parse(LONG).body, scope)
    tracemalloc.start()
    try:
        with pytest.raises(NotReadable, match="steps"):
            Interpreter(Budget(STEPS)).value(ast.parse(expression, mode="eval").body, scope)
        assert tracemalloc.get_traced_memory()[1] < 100 * STEPS
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "argument",
    [
        "'(' * 10**6",
        "'(' * 500000 + ')' * 500000",
        "list(range(10**5))",
        "[i for i in range(10**5)]",
        "[i % 7 for i in range(10**5)]",
        "[0] * 10**5",
        "list(range(10**5, 0, -1))",
        "sorted([(i * 7919) % 100003 for i in range(50000)])",
        "{i: i * i for i in range(20000)}",
        "set(range(50000))",
        "[[i, i + 1] for i in range(20000)]",
        "' '.join(str(i) for i in range(10000))",
        "list(zip(range(10000), range(10000)))",
        "'ab' * 50000 + 'c'",
        "[1.5 * i for i in range(20000)]",
        "{(i, j): i for i in range(50) for j in range(50)}",
        "[[0] * 300 for _ in range(300)]",
        f"{[*range(20000)]}",
        f"{'x' * 500000!r}",
    ],
    ids=lambda text: text[:40],
)
def test_a_large_argument_costs_its_bytes(argument: str) -> None:
    (case,) = read_cases(f"def test_large():\n    assert f({argument}) == 1", "f").cases
    assert len(case.arguments) > 9_000


def test_a_list_may_be_grown_item_by_item() -> None:
    text = "def test_grown():\n    xs = []\n    for i in range(30000):\n        xs.append(i)\n    assert f(xs) == 1"
    assert len(read_cases(text, "f").cases) == 1


def test_keys_that_share_a_hash_are_counted_over_all_containers() -> None:
    text = "for i in range(20):\n    {i * (2**61 - 1) for i in range(i, i + 4)}"
    with pytest.raises(NotReadable, match="share a hash"):
        evaluated("1", text)


def test_what_was_refused_beforehand_is_not_spent() -> None:
    budget = Budget(100)
    with pytest.raises(NotReadable):
        budget.spend(101)
    budget.spend(100)


def test_a_part_may_spend_no_more_than_its_share_or_what_is_left() -> None:
    budget = Budget(100)
    budget.begin(60)
    budget.spend(60)
    with pytest.raises(NotReadable):
        budget.spend()
    budget.begin(60)
    budget.spend(40)
    with pytest.raises(NotReadable):
        budget.spend()


def test_a_short_text_may_take_less_than_a_long_one() -> None:
    assert FUNCTION_STEPS < module_steps("a" * 100) < module_steps("a" * 1000) < MODULE_STEPS
    assert module_steps("a" * 10**6) == MODULE_STEPS


def test_a_module_of_endless_loops_ends() -> None:
    text = "\n".join(
        f"def test_{i}():\n    while True:\n        x = [[], {{}}]\n    assert f(1) == 1" for i in range(50)
    )
    start = time.process_time()
    assert {one.reason for one in read_cases(text, "f").refused} == {"budget"}
    assert time.process_time() - start < 10


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("(list(x), list(x))", ([1, 2, 3], [])),
        ("(next(x), next(x), list(x))", (1, 2, [3])),
        ("(next(x), next(x), next(x), next(x, 9))", (1, 2, 3, 9)),
        ("[(a, next(x, 0)) for a in x]", [(1, 2), (3, 0)]),
        ("(2 in x, sum(x))", (True, 3)),
    ],
)
def test_an_iterator_is_used_up_as_in_python(expression: str, value: object) -> None:
    assert evaluated(expression, "x = iter([1, 2, 3])") == value


def test_a_dictionarys_views_may_be_iterated_again() -> None:
    assert evaluated("(list(x), list(x), len(x))", "x = {1: 2}.items()") == ([(1, 2)], [(1, 2)], 1)


def test_iterators_have_no_length_and_are_no_data() -> None:
    for expression in ("len(iter([1]))", "[iter([1])] == [1]", "isinstance(iter([1]), list)"):
        with pytest.raises(NotReadable):
            evaluated(expression)
    assert isinstance(evaluated("iter([1])"), Lazy)


HELPER = "def g(n):\n" + "    n = n + 1\n" * 2500 + "    return n\n"
FIXTURES = "import pytest\n" + "".join(f"@pytest.fixture\ndef g{i}(): 0\n" for i in range(1000))
TESTS = "".join(f"  def test_{i}(self): 0\n" for i in range(1000))
LOOP = "    for i in range(10**5):\n        "


@pytest.mark.parametrize(
    "text",
    [
        f"{HELPER}def test_a():\n    x = f(1)\n{LOOP}y = x.foo() + g(1)\n    assert f(1) == 1",
        f"def test_a():\n    x = f(1)\n{LOOP}x = repr([x, x])\n    assert x == 1",
        f"def test_a():\n    x = f(0)\n    for i in range(480):\n        x = x or f(i) == i\n{LOOP}y = x or f(1) == 1",
        f"def test_a():\n    x = f(1) in list(range(10**5))\n{LOOP}y = x or f(1) == -i",
        f"def test_a():\n    x = f(1) == list(range(10**5))\n{LOOP}assert x or f(2) == -i",
        "f = lambda x: 0\n" * 5000 + "x = 1\n" * 20000,
        "def test_a():\n    for x in f(1):\n" + "        y = [1, 2, 3, 4, 5, 6]\n" * 3000,
        "import pytest\nN = 'a,' * 500000\n"
        + "".join(f"@pytest.mark.parametrize(N, [])\ndef test_{i}(): 0\n" for i in range(300)),
        f"{FIXTURES}@pytest.mark.parametrize('a', range(4000))\ndef test_a(a): assert f(a) == 1",
        "class TestA(" + "B, " * 20000 + f"):\n{TESTS}",
        f"class TestA:\n{TESTS}" + "".join(f"class TestB{i}(TestA): 0\n" for i in range(1000)),
        "def test_a():\n  " + "assert f(1).x;" * 60000,
        "import pytest\nclass TestA:\n" + "  @a\n" * 9000 + "  def g(self): 0\n"
        "  @pytest.mark.parametrize('x', range(4000))\n  def test_a(self, x): assert f(x) == 1",
        f"def test_a():\n{LOOP}import " + "math, " * 5000 + "math",
        f"def test_a():\n{LOOP}" + "x = " * 5000 + "1",
    ],
    ids=(
        *("a helper walked", "doubled terms", "many alternatives", "a list of alternatives", "written over and over"),
        *("copies", "gathering", "names of a row", "fixtures", "many bases", "heirs", "one line"),
        *("decorators", "imports", "targets"),
    ),
)
def test_what_is_looked_through_for_every_statement_is_paid_for(text: str) -> None:
    start = time.process_time()
    read_cases(text, "f")
    assert time.process_time() - start < 4
