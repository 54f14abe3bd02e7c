"""Each operation says one thing, and its misconception is another function that happy paths do not show."""

from __future__ import annotations

import ast
from random import Random

import pytest

from selfplay.tiny.family import NO_ANSWER, Pipeline, as_test, compiled, edge_input, happy_input
from selfplay.tiny.operations import ANNOTATIONS, CONSTANTS, OPERATIONS, Operation

TYPES = {"xs": list, "n": int, "s": str}
EACH = pytest.mark.parametrize("operation", OPERATIONS, ids=lambda o: f"{o.takes}>{o.gives} {o.step}")


def alone(operation: Operation, k: int = 3) -> Pipeline:
    return Pipeline((operation,), (k if operation.has_constant else 0,))


@EACH
def test_an_operation_gives_the_type_that_it_says(operation: Operation) -> None:
    answer, random = compiled(alone(operation).code()), Random(0)
    for draw in (happy_input, edge_input):
        for _ in range(20):
            value = draw(operation.takes, random)
            assert type(value) is TYPES[operation.takes]
            found = answer(value)
            assert isinstance(found, TYPES[operation.gives])


@EACH
def test_an_operation_leaves_its_argument_as_it_was(operation: Operation) -> None:
    answer, random = compiled(alone(operation).code()), Random(1)
    for _ in range(10):
        value = edge_input(operation.takes, random)
        before = repr(value)
        answer(value)
        assert repr(value) == before


@EACH
def test_a_misconception_has_words_for_both_sides_of_its_edge(operation: Operation) -> None:
    told = (operation.wrong, operation.edge, operation.edge_wrong)
    assert all(told) or not any(told)
    assert operation.edge != operation.edge_wrong or not operation.wrong


@EACH
def test_a_constant_stands_in_the_words_wherever_it_stands_in_the_code(operation: Operation) -> None:
    for text in (operation.says, operation.step):
        assert ("{k}" in text) == operation.has_constant
    assert ("{k}" in operation.wrong) == (operation.has_constant and bool(operation.wrong))


@pytest.mark.parametrize("field", ["says", "step"])
def test_no_two_operations_on_one_type_are_called_the_same(field: str) -> None:
    named = [(operation.takes, operation.gives, getattr(operation, field)) for operation in OPERATIONS]
    assert len(set(named)) == len(named)


@EACH
@pytest.mark.parametrize("k", CONSTANTS)
def test_code_is_one_function_of_the_annotated_type(operation: Operation, k: int) -> None:
    for wrong in [(), (0,)] if operation.wrong else [()]:
        [function] = ast.parse(alone(operation, k).code(wrong)).body
        assert isinstance(function, ast.FunctionDef)
        assert (function.name, len(function.args.args)) == ("f", 1)
        [argument] = function.args.args
        assert argument.annotation is not None
        assert ast.unparse(argument.annotation) == ANNOTATIONS[operation.takes]
        assert "{k}" not in alone(operation, k).code(wrong)


def test_the_second_operation_works_on_what_the_first_one_gives() -> None:
    evens = next(o for o in OPERATIONS if o.step == "keep even")
    add_up = next(o for o in OPERATIONS if o.step == "sum")
    both = Pipeline((evens, add_up), (0, 0))
    assert both.description == "Do this: keep the even numbers, then add up."
    assert compiled(both.code())([1, 2, 4]) == 6
    assert (both.takes, both.gives, both.misconceivable) == ("xs", "n", ())


def test_a_variant_that_raises_gives_no_answer() -> None:
    smallest = next(o for o in OPERATIONS if o.step == "smallest")
    right, wrong = alone(smallest).variants()
    assert (right([]), wrong([])) == (0, NO_ANSWER)
    assert right([3, 1]) == wrong([3, 1]) == 1


@pytest.mark.parametrize(("argument", "value"), [([1, 2], 3), ("a'b", [1]), (-4, ""), ([], [])])
def test_a_test_is_a_line_that_holds_for_its_value(argument: object, value: object) -> None:
    scope = {"f": lambda given: value if given == argument else None}
    exec(as_test(argument, value), scope)
    with pytest.raises(AssertionError):
        exec(as_test(argument, [value, value]), scope)
