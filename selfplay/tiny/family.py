"""The procedural family: pipelines of operations as problems, and the inputs that show or hide a misconception.

`python -m selfplay.tiny.family` writes `datasets/procedural/{train,dev,test}.jsonl` again, the same bytes each time.
Problems are equal when their references agree on 200 seeded inputs, whatever their wording: such a class lies wholly in
one split, so that a held-out problem computes a function that no training problem computes.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice, product
from pathlib import Path

from selfplay.tiny.operations import ANNOTATIONS, CONSTANTS, OPERATIONS, Operation, Type

HELD_OUT = {"dev": 160, "test": 200}  # problems of each split; all others are for training
HIDDEN_TESTS = 20  # of which the first half are happy paths
NO_ANSWER = ("no answer",)  # what a variant gives on an input where it raises


@dataclass(frozen=True, slots=True)
class Pipeline:
    """One or two operations with their constants (0 where an operation has none)."""

    operations: tuple[Operation, ...]
    constants: tuple[int, ...]

    @property
    def takes(self) -> Type:
        return self.operations[0].takes

    @property
    def gives(self) -> Type:
        return self.operations[-1].gives

    @property
    def signature(self) -> str:
        return f"def f({self.takes}: {ANNOTATIONS[self.takes]}) -> {ANNOTATIONS[self.gives]}:"

    @property
    def description(self) -> str:
        return f"Do this: {', then '.join(self.fill('says'))}."

    @property
    def misconceivable(self) -> tuple[int, ...]:
        """Positions of the operations that have a misconception."""
        return tuple(i for i, operation in enumerate(self.operations) if operation.wrong)

    def fill(self, field: str, wrong: Iterable[int] = ()) -> list[str]:
        """One text per operation, its constant filled in; with `wrong`, the misconception's at these positions."""
        other = {"right": "wrong", "edge": "edge_wrong"}.get(field, field)
        return [
            getattr(operation, other if i in wrong else field).replace("{k}", str(k))
            for i, (operation, k) in enumerate(zip(self.operations, self.constants, strict=True))
        ]

    def code(self, wrong: Iterable[int] = ()) -> str:
        """Source of the function `f`, with the misconceptions at the positions in `wrong`."""
        *first, last = self.fill("right", frozenset(wrong))
        lines = [f"{operation.gives} = {text}" for operation, text in zip(self.operations, first, strict=False)]
        return "\n    ".join([self.signature, *lines, f"return {last}"])

    def variants(self) -> list[Callable[[object], object]]:
        """The right function first, then one for each misconception on its own."""
        return [compiled(self.code(wrong)) for wrong in [(), *((i,) for i in self.misconceivable)]]


@cache
def compiled(code: str) -> Callable[[object], object]:
    """The function of one of our own sources; gives `NO_ANSWER` where that raises."""
    scope: dict[str, Callable[[object], object]] = {}
    exec(code, scope)  # our own text, made a moment ago

    def answer(argument: object) -> object:
        try:
            return scope["f"](argument)
        except (ArithmeticError, LookupError, ValueError):
            return NO_ANSWER

    return answer


def happy_input(takes: Type, rng: random.Random) -> object:
    """What comes to mind first: values distinct, positive, in no order, words in lower case between single spaces."""
    if takes == "xs":
        return rng.sample(range(1, 10), rng.choice((2, 3, 3)))
    if takes == "n":
        return rng.randint(7, 49)
    return " ".join(_word(rng) for _ in range(rng.choice((1, 1, 1, 2))))


def edge_input(takes: Type, rng: random.Random) -> object:
    """Empty, single, repeated, negative, zero, small; upper case and odd spaces."""
    if takes == "xs":
        values = [rng.choice((-3, -2, -1, 0, 1, *CONSTANTS, 6, 7)) for _ in range(rng.choice((0, 1, 1, 2, 2, 2)))]
        if values and rng.random() < 0.4:
            values.append(rng.choice(values))
        return values
    if takes == "n":
        return rng.choice((0, 1, *CONSTANTS, -1, -2, -rng.randint(3, 9), -rng.randint(10, 49)))
    word = _word(rng)
    return rng.choice(
        ("", word.upper(), word.title(), f"{word}  {_word(rng)}", f" {word}", f"{word} ", word[0] * 2, "A")
    )


def _word(rng: random.Random) -> str:
    return "".join(rng.choice("aeobcdt") for _ in range(rng.choice((2, 3, 3))))


def draw_input(
    pipeline: Pipeline,
    happy: bool,
    rng: random.Random,
    draw_happy: Callable[[Type, random.Random], object] = happy_input,
) -> object:
    """An input of the kind asked for, where fifty draws find one.

    A happy input hides every misconception of the pipeline and gives something (no 0, nothing empty); an edge input shows
    a misconception.
    """
    right, *misconceived = pipeline.variants()
    draw = draw_happy if happy else edge_input
    value = draw(pipeline.takes, rng)
    for _ in range(50):
        answer = right(value)
        hidden = all(variant(value) == answer for variant in misconceived)
        if (hidden and bool(answer)) if happy else (not hidden or not misconceived):
            break
        value = draw(pipeline.takes, rng)
    return value


def as_test(argument: object, expected: object) -> str:
    return f"assert f({argument!r}) == {expected!r}"


def function_class(pipeline: Pipeline) -> str:
    """What the function does on 200 seeded inputs: the same text for equal functions."""
    answer = compiled(pipeline.code())
    return repr([answer(value) for value in _class_inputs(pipeline.takes)])


@cache
def _class_inputs(takes: Type) -> tuple[object, ...]:
    rng = random.Random(f"class {takes}")
    return tuple((happy_input if i % 2 else edge_input)(takes, rng) for i in range(200))


def _is_dull(pipeline: Pipeline) -> bool:
    """Whether it hardly depends on its input, or does nothing to it."""
    answer = compiled(pipeline.code())
    answers = [answer(value) for value in _class_inputs(pipeline.takes)]
    return len({repr(a) for a in answers}) < 6 or answers == list(_class_inputs(pipeline.takes))


def every_pipeline() -> Iterator[Pipeline]:
    """All pipelines of one or two operations that fit together, with all their constants."""
    for first in OPERATIONS:
        yield from _with_constants((first,))
        for second in OPERATIONS:
            if second.takes == first.gives and second is not first:
                yield from _with_constants((first, second))


def _with_constants(operations: tuple[Operation, ...]) -> Iterator[Pipeline]:
    for constants in product(*(CONSTANTS if operation.has_constant else (0,) for operation in operations)):
        yield Pipeline(operations, constants)


def draw_family(seed: int = 0) -> dict[str, list[Pipeline]]:
    """One pipeline of each function class, the classes dealt out to the splits."""
    rng = random.Random(f"family {seed}")
    classes: dict[str, list[Pipeline]] = defaultdict(list)
    for pipeline in every_pipeline():
        if not _is_dull(pipeline):
            classes[function_class(pipeline)].append(pipeline)
    chosen = [rng.choice(members) for members in classes.values()]
    rng.shuffle(chosen)
    held_out = iter(chosen)
    family = {split: list(islice(held_out, size)) for split, size in HELD_OUT.items()}
    return {"train": list(held_out)} | family


def as_problem(pipeline: Pipeline, name: str, hidden: bool) -> dict[str, object]:
    """The problem as a line of our problem files: two happy-path baseline cases and, where asked for, hidden ones."""
    rng = random.Random(name)
    answer = compiled(pipeline.code())

    def tests(happy: bool, count: int) -> list[str]:
        values: list[object] = []
        for _ in range(count * 20):
            value = draw_input(pipeline, happy, rng)
            if len(values) < count and value not in values:
                values.append(value)
        return [as_test(value, answer(value)) for value in values]

    baseline = tests(True, 2)
    return {
        "id": name,
        "description": pipeline.description,
        "entry_point": "f",
        "signature": pipeline.signature,
        "baseline_tests": baseline,
        "reference_solution": pipeline.code(),
        "difficulty": "easy" if len(pipeline.operations) == 1 else "medium",
        "tags": ["procedural", {"xs": "list", "n": "integer", "s": "string"}[pipeline.takes]],
        "hidden_tests": [*tests(True, HIDDEN_TESTS // 2), *tests(False, HIDDEN_TESTS // 2)] if hidden else [],
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m selfplay.tiny.family", description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("datasets/procedural"), help="folder for the three files")
    folder: Path = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    for split, pipelines in draw_family().items():
        lines = [
            json.dumps(as_problem(pipeline, f"procedural-{split}-{i:04d}", hidden=split != "train"))
            for i, pipeline in enumerate(pipelines)
        ]
        (folder / f"{split}.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        print(f"{folder / split}.jsonl: {len(lines)} problems")


if __name__ == "__main__":
    main()
