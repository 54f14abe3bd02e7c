"""The sampler for any transformers model, on any device: a loop over the model's own forward and cache.

Rows are padded on the left, equal prompts are fed once, finished rows are dropped, and every token has its own keyed
random number (draw.py), which `model.generate` cannot offer. A turn ends, truncated, where the model's context does. A
batch is of one role, whose adapter is live. Reusing keys and values from turn to turn was left out: the layout of a
cache differs from model to model.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache

from selfplay.game.episode import Role
from selfplay.game.players import Completion, Request, Sampling, role_by_role
from selfplay.learning.policy.adapters import Adapters
from selfplay.learning.policy.draw import pick, turn_seed, uniforms


class GenerateSampler:
    """A `Sampler` over live adapters; nothing is kept between calls. `rows` share a batch."""

    def __init__(
        self, adapters: Adapters, ends: frozenset[int], seed: int, rows: int, context: int = sys.maxsize
    ) -> None:
        self._adapters, self._ends, self._seed, self._rows, self._context = adapters, ends, seed, rows, context

    def complete(self, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        return role_by_role(requests, lambda role, own: self._complete(role, own, sampling))

    def changed(self, role: Role) -> None: ...

    def forget(self) -> None: ...

    def _complete(self, role: Role, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        with self._adapters.role(role):
            model = self._adapters.model.eval()  # a trainer with checkpointing leaves it in training mode
            return complete(model, requests, sampling, self._ends, self._seed, self._rows, self._context)


@dataclass(slots=True)
class _Row:
    index: int
    prompt: tuple[int, ...]
    seed: int
    limit: int
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    ended: bool = False

    @property
    def done(self) -> bool:
        return self.ended or len(self.ids) >= self.limit


@torch.no_grad()
def complete(
    model: Any,
    requests: Sequence[Request],
    sampling: Sampling,
    ends: frozenset[int],
    seed: int,
    rows: int,
    context: int = sys.maxsize,
) -> list[Completion]:
    """One completion per request, by whatever adapter is active; `rows` share a batch.

    `context`: tokens that the model can attend to; a conversation that fills them gets an empty, truncated turn.
    """
    made = [
        _Row(
            i,
            request.ids,
            turn_seed(seed, request.key),
            min(sampling.max_tokens, context - len(request.ids)),
        )
        for i, request in enumerate(requests)
    ]
    ordered = sorted((row for row in made if row.limit > 0), key=lambda row: len(row.prompt))
    for start in range(0, len(ordered), rows):
        _play(model, ordered[start : start + rows], sampling, ends, context)
    return [Completion(tuple(row.ids), tuple(row.logprobs), truncated=not row.ended) for row in made]


def _play(model: Any, rows: list[_Row], sampling: Sampling, ends: frozenset[int], context: int) -> None:
    cache, mask, logits = _prefill(model, rows)
    while True:
        _draw(rows, logits, sampling.temperature, ends)
        kept = [i for i, row in enumerate(rows) if not row.done]
        if not kept:
            return
        if len(kept) <= 0.8 * len(rows):
            chosen = torch.tensor(kept, device=mask.device)
            cache.batch_select_indices(chosen)
            rows, mask = [rows[i] for i in kept], mask[chosen]
        mask = torch.cat([mask, mask.new_ones(len(rows), 1)], dim=1)
        last = torch.tensor([[row.ids[-1]] for row in rows], device=mask.device)
        # Finished rows are fed on until enough of them are dropped, but never past the model's last position.
        positions = (mask.sum(1, keepdim=True) - 1).clamp(max=context - 1)
        logits = _forward(model, last, mask, positions, cache)


def _draw(rows: list[_Row], logits: Tensor, temperature: float, ends: frozenset[int]) -> None:
    drawn = uniforms([row.seed for row in rows], [len(row.ids) for row in rows])
    ids, logprobs = pick(logits, temperature, drawn)
    for row, token, logprob in zip(rows, ids.tolist(), logprobs.tolist(), strict=True):
        if not row.done:
            row.ids.append(token)
            row.logprobs.append(logprob)
            row.ended = token in ends


def _prefill(model: Any, rows: list[_Row]) -> tuple[DynamicCache, Tensor, Tensor]:
    """Cache, attention mask [B, T] and first logits [B, V] of the prompts."""
    prompts = list(dict.fromkeys(row.prompt for row in rows))
    width = max(map(len, prompts))
    ids = torch.tensor([(0,) * (width - len(prompt)) + prompt for prompt in prompts], device=model.device)
    mask = torch.tensor([[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts], device=model.device)
    cache = DynamicCache(config=model.config)
    logits = _forward(model, ids, mask, (mask.cumsum(1) - 1).clamp(min=0), cache)
    if len(prompts) == len(rows):
        return cache, mask, logits
    place = {prompt: i for i, prompt in enumerate(prompts)}
    chosen = torch.tensor([place[row.prompt] for row in rows], device=model.device)
    cache.batch_select_indices(chosen)
    return cache, mask[chosen], logits[chosen]


def _forward(model: Any, ids: Tensor, mask: Tensor, positions: Tensor, cache: DynamicCache) -> Tensor:
    out = model(
        input_ids=ids,
        attention_mask=mask,
        position_ids=positions,
        past_key_values=cache,
        use_cache=True,
        logits_to_keep=1,
    )
    return out.logits[:, -1]
