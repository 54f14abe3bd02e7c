"""How the embedded player is made: what is scored, how rows are batched, and that the optimiser turns as it should."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from random import Random

import pytest
import torch
from transformers import PreTrainedTokenizerFast

from selfplay.tiny.corpus import Message
from selfplay.tiny.make import (
    ASSISTANT,
    END,
    IGNORED,
    PHASES,
    SPECIAL,
    USER,
    VOCABULARY,
    Muon,
    Row,
    batches,
    encode,
    make_model,
    make_optimizers,
    make_tokenizer,
    orthogonal,
)

TEXTS = [
    "def f(xs: list[int]) -> int:\n    return [x for x in xs if x >= 12]",
    "assert f([1, 2]) == 3",
    "1. drop 'a'\n2. 7",
]
TALK = [Message(False, "Do this: add 12."), Message(True, "add 12"), Message(False, "code"), Message(True, TEXTS[0])]


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    return make_tokenizer(iter(TEXTS * 50))


@pytest.mark.parametrize("text", [*TEXTS, "", "größer 🙂", "\n\n  x", "<|end|"])
def test_text_survives_the_tokenizer(tokenizer: PreTrainedTokenizerFast, text: str) -> None:
    ids = tokenizer.encode(text, add_special_tokens=False)
    assert tokenizer.decode(ids) == text
    assert max(ids, default=0) < VOCABULARY


def test_numbers_are_spelled_and_phrases_are_merged(tokenizer: PreTrainedTokenizerFast) -> None:
    pieces = tokenizer.tokenize("[x for x in xs if x >= 12]")
    assert pieces[-3:] == ["1", "2", "]"]
    assert len(pieces) <= 5


def test_what_the_player_says_is_scored_and_nothing_else(tokenizer: PreTrainedTokenizerFast) -> None:
    ids, labels = encode(tokenizer.backend_tokenizer, TALK)
    scored = [label for label in labels if label != IGNORED]
    said = [*tokenizer.encode("add 12"), *tokenizer.encode(END), *tokenizer.encode(TEXTS[0]), *tokenizer.encode(END)]
    assert scored == said
    assert all(label in (IGNORED, token) for token, label in zip(ids, labels, strict=True))


def test_a_conversation_has_the_ids_that_the_chat_template_gives_it(tokenizer: PreTrainedTokenizerFast) -> None:
    roles = {False: "user", True: "assistant"}
    messages = [{"role": roles[message.said_by_player], "content": message.text} for message in TALK]
    text = str(tokenizer.apply_chat_template(messages, tokenize=False))
    assert encode(tokenizer.backend_tokenizer, TALK)[0] == tokenizer.encode(text, add_special_tokens=False)


def test_a_special_token_in_a_text_is_told_from_a_turn_s_end(tokenizer: PreTrainedTokenizerFast) -> None:
    assert len({str(tokenizer.convert_tokens_to_ids(name)) for name in SPECIAL}) == len(SPECIAL)
    ids, _ = encode(tokenizer.backend_tokenizer, TALK)
    assert [ids.count(int(tokenizer.convert_tokens_to_ids(name))) for name in (USER, ASSISTANT, END)] == [2, 2, 4]  # type: ignore[arg-type]


def rows(seed: int) -> Iterator[Row]:
    random = Random(seed)
    for number in range(1024):
        length = random.randint(1, 20)
        yield [number + 1] * length, [number + 1] * length


def test_every_row_is_in_one_batch_with_padding_that_is_not_scored() -> None:
    seen: dict[int, int] = {}
    for ids, labels in islice(batches(rows(0), 100, 0, Random(1)), 200):
        assert ids.shape == labels.shape
        assert ((ids == 0) == (labels == IGNORED)).all()
        for row in ids.tolist():
            own = {token for token in row if token}
            assert len(own) == 1
            seen[own.pop()] = seen.get(row[0], 0) + 1
        if len(seen) == 1024:
            break
    assert seen == dict.fromkeys(range(1, 1025), 1)


def test_a_batch_stays_near_its_tokens_and_little_of_it_is_padding() -> None:
    for ids, _ in islice(batches(rows(0), 100, 0, Random(1)), 50):
        assert int((ids != 0).sum()) <= 100
        lengths = (ids != 0).sum(1)
        assert lengths.max() - lengths.min() <= 2 or len(ids) <= 100


@pytest.mark.parametrize("shape", [(4, 4), (8, 3), (3, 8)])
def test_a_matrix_becomes_nearly_orthogonal_and_keeps_its_directions(shape: tuple[int, int]) -> None:
    torch.manual_seed(0)
    matrix = torch.randn(1, *shape)
    left, _, right = torch.linalg.svd(matrix[0], full_matrices=False)
    found = left.T @ orthogonal(matrix)[0] @ right.T
    assert torch.allclose(found, torch.diag(found.diagonal()), atol=1e-3)
    assert ((found.diagonal() > 0.5) & (found.diagonal() < 1.3)).all()


def test_matrices_of_a_stack_are_turned_each_by_itself_whatever_their_size() -> None:
    torch.manual_seed(0)
    stack = torch.randn(3, 5, 4)
    alone = torch.cat([orthogonal(matrix[None]) for matrix in stack])
    assert torch.allclose(orthogonal(stack), alone, atol=1e-5)
    assert torch.allclose(orthogonal(stack * 1000), orthogonal(stack), atol=1e-3)
    assert torch.equal(orthogonal(torch.zeros(1, 3, 3)), torch.zeros(1, 3, 3))


def test_muon_finds_the_least_of_a_bowl() -> None:
    torch.manual_seed(0)
    weight = torch.nn.Parameter(torch.randn(6, 4))
    target, optimizer = torch.randn(6, 4), Muon([weight], lr=0.05)
    before = float((weight - target).detach().norm())
    for _ in range(100):
        optimizer.zero_grad()
        ((weight - target) ** 2).sum().backward()
        optimizer.step()
    assert float((weight - target).detach().norm()) < before / 5


def test_every_parameter_has_one_optimizer(tokenizer: PreTrainedTokenizerFast) -> None:
    model = make_model(tokenizer)
    muon, adam = make_optimizers(model, PHASES[0])
    own = [id(p) for optimizer in (muon, adam) for group in optimizer.param_groups for p in group["params"]]
    assert sorted(own) == sorted(id(p) for p in model.parameters())
    assert all(p.ndim == 2 for group in muon.param_groups for p in group["params"])
    assert any(p is model.get_input_embeddings().weight for g in adam.param_groups for p in g["params"])
