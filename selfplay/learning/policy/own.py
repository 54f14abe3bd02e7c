"""The sampler `own`: our loop over any transformers model's forward and cache, on any device.

Rows are padded on the left, equal prompts are fed once and prompts in chunks, finished rows are dropped, and every token has
its own keyed random number (draw.py). A turn ends, truncated, where the model's context does. A batch is of one role, whose
adapter is live. Reusing keys and values from turn to turn was left out: the layout of a cache differs from model to model.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import DynamicCache

from selfplay.learning.policy.draw import pick, uniforms
from selfplay.learning.policy.row import Row
from selfplay.learning.policy.turns import LiveSampler, chunks, left_padded


class OwnSampler(LiveSampler):
    """Feeds prompts in chunks, then a token at a time, and drops rows that are finished."""

    def _play(self, model: Any, rows: list[Row], temperature: float) -> None:
        context = self._batching.context
        cache, mask, logits = _prefill(model, rows, self._batching.prefill_tokens)
        while True:
            _draw(rows, logits, temperature, self._ends)
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


def _draw(rows: list[Row], logits_BV: Tensor, temperature: float, ends: frozenset[int]) -> None:
    drawn = uniforms([row.seed for row in rows], [len(row.ids) for row in rows])
    ids, logprobs = pick(logits_BV, temperature, drawn)
    for row, token, logprob in zip(rows, ids.tolist(), logprobs.tolist(), strict=True):
        if not row.done:
            row.add(token, logprob, ends)


def _prefill(model: Any, rows: list[Row], tokens: int) -> tuple[DynamicCache, Tensor, Tensor]:
    """Cache, attention mask [B, T] and first logits [B, V] of the prompts, fed at most `tokens` at once."""
    prompts = list(dict.fromkeys(row.prompt for row in rows))  # by length, as the rows are
    pieces = chunks(prompts, tokens) if _joinable(model.config) else [slice(None)]
    fed = [_feed(model, prompts[piece]) for piece in pieces]
    cache, mask, logits = fed[0] if len(fed) == 1 else _joined(model, fed)
    if len(prompts) == len(rows):
        return cache, mask, logits
    place = {prompt: i for i, prompt in enumerate(prompts)}
    chosen = torch.tensor([place[row.prompt] for row in rows], device=mask.device)
    cache.batch_select_indices(chosen)
    return cache, mask[chosen], logits[chosen]


def _feed(model: Any, prompts: list[tuple[int, ...]]) -> tuple[DynamicCache, Tensor, Tensor]:
    ids, mask = left_padded(prompts, model.device)
    cache = DynamicCache(config=model.config)
    return cache, mask, _forward(model, ids, mask, (mask.cumsum(1) - 1).clamp(min=0), cache)


def _joinable(config: Any) -> bool:
    """Whether every layer keeps all keys and values; those of a sliding window do not line up in chunks."""
    return set(getattr(config.get_text_config(), "layer_types", None) or ["full_attention"]) == {"full_attention"}


def _joined(model: Any, fed: list[tuple[DynamicCache, Tensor, Tensor]]) -> tuple[DynamicCache, Tensor, Tensor]:
    """Chunks as one batch, padded on the left to the widest, layer by layer, so that no more than one is held twice."""
    width = max(mask.shape[1] for _, mask, _ in fed)
    whole = DynamicCache(config=model.config)
    for i in range(len(fed[0][0].layers)):
        keys, values = (
            torch.cat(
                [F.pad(getattr(cache.layers[i], name), (0, 0, width - mask.shape[1], 0)) for cache, mask, _ in fed]
            )
            for name in ("keys", "values")
        )
        whole.update(keys, values, i)
        for cache, _, _ in fed:
            layer: Any = cache.layers[i]
            del layer.keys, layer.values
    masks = [F.pad(mask, (width - mask.shape[1], 0)) for _, mask, _ in fed]
    return whole, torch.cat(masks), torch.cat([logits for _, _, logits in fed])


def _forward(model: Any, ids: Tensor, mask: Tensor, positions: Tensor, cache: DynamicCache) -> Tensor:
    out = model(
        input_ids=ids,
        attention_mask=mask,
        position_ids=positions,
        past_key_values=cache,
        use_cache=True,
        # By index, not as a slice: for a view of all states a CPU in 16 bit copies the head once for each row.
        logits_to_keep=ids.new_full((1,), -1),
    )
    return out.logits[:, -1]
