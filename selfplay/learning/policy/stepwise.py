"""The sampler `own`: a token at a time, by our loop over any transformers model's forward and cache, on any device.

A conversation is sampled turn by turn: the keys and values of a call are kept for the next one (cache.py), which feeds only
what is new, in chunks; equal prompts, and what several begin with, are fed once. Finished rows are dropped. Every token has its
own keyed random number (draw.py), so none of this changes a turn beyond rounding. A turn ends, truncated, where the model's
context does. A batch is of one role, whose adapter is live.

A row's cached and new tokens may have masked padding between them. That works for models with a full cache that take positions
as an input; a trial on a few tokens decides. All others are fed whole conversations.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import DynamicCache

from selfplay.game.episode import Role
from selfplay.learning.policy.attention import near, whole_cache
from selfplay.learning.policy.cache import (
    NO_PREFIX,
    ROOM,
    Block,
    Ids,
    Prefix,
    TurnCache,
    common_prefix,
    gather,
    join,
    layers_of,
)
from selfplay.learning.policy.turns import LiveSampler, Row, chunks, draw_next, left_padded

STEM = 32  # tokens that prompts must share to be worth a pass of their own
Fed = tuple[DynamicCache, Tensor, Tensor]  # cache, attention mask [B, T] and next logits [B, V]


class StepwiseSampler(LiveSampler):
    """Feeds what is new of prompts in chunks, then a token at a time, and drops rows that are finished."""

    def __init__(self, *rest: Any, **more: Any) -> None:
        super().__init__(*rest, **more)
        self._cache = TurnCache(self._choice.cache_mib << 20)
        self._reuses: bool | None = None  # whether the model can go on from what was kept; not tried yet
        self.prefilled = 0  # tokens fed in prompts, for benchmarks and tests of what is kept

    @property
    def cached_bytes(self) -> int:
        """What is kept for the next call."""
        return self._cache.size

    def weights_changed(self, role: Role) -> None:
        self._cache.forget()

    def forget(self) -> None:
        self._cache.forget()

    def _spare(self) -> bool:
        """Keeps nothing from then on."""
        held = self._cache.size > 0
        self._cache = TurnCache(0)
        return held

    def _prepare(self, model: Any, role: Role, rows: Sequence[Row]) -> None:
        if self._reuses is None:
            self._reuses = self._cache.limit > 0 and goes_on(model)
        if self._reuses:
            self._cache.begin(role, [row.prompt for row in rows])

    def _play(self, model: Any, rows: list[Row], temperature: float) -> None:
        prompts = [row.prompt for row in rows]
        context = self._choice.context
        cache, mask, logits = self._prefill(model, rows)
        while True:
            draw_next(rows, logits, temperature, self._ends)
            kept = [i for i, row in enumerate(rows) if not row.done]
            if not kept:
                break
            if len(kept) <= 0.8 * len(rows):
                rows, mask = self._drop_finished(rows, kept, cache, mask)
            mask = torch.cat([mask, mask.new_ones(len(rows), 1)], dim=1)
            last = torch.tensor([[row.ids[-1]] for row in rows], device=mask.device)
            # Finished rows are fed on until enough of them are dropped, but never past the model's last position.
            positions = (mask.sum(1, keepdim=True) - 1).clamp(max=context - 1)
            logits = _forward(model, last, mask, positions, cache)
        self._cache.done(prompts)
        if self._reuses:
            self._cache.keep([row.fed for row in rows], cache, mask)

    def _drop_finished(
        self, rows: list[Row], kept: list[int], cache: DynamicCache, mask: Tensor
    ) -> tuple[list[Row], Tensor]:
        if self._reuses:
            finished = [i for i, row in enumerate(rows) if row.done]
            self._cache.keep([rows[i].fed for i in finished], cache, mask, torch.tensor(finished, device=mask.device))
        chosen = torch.tensor(kept, device=mask.device)
        cache.batch_select_indices(chosen)
        return [rows[i] for i in kept], mask[chosen]

    def _prefill(self, model: Any, rows: list[Row]) -> Fed:
        """What is new of the prompts; equal prompts once, and what several begin with."""
        found = {row.prompt: self._cache.find(row.prompt) for row in rows}
        if self._reuses and self._cache.limit:
            found |= self._stems_fed(model, found)
        prompts, (cache, mask, logits) = self._fed(model, found)
        if prompts == [row.prompt for row in rows]:
            return cache, mask, logits
        place = {prompt: i for i, prompt in enumerate(prompts)}
        chosen = torch.tensor([place[row.prompt] for row in rows], device=mask.device)
        cache.batch_select_indices(chosen)
        return cache, mask[chosen], logits[chosen]

    def _stems_fed(self, model: Any, found: Mapping[Ids, Prefix]) -> dict[Ids, Prefix]:
        """What prompts with a common stem begin with, once that was fed."""
        shared = stems(found)
        if not shared:
            return {}
        order, (cache, mask, _) = self._fed(model, {stem: found[own[0]] for stem, own in shared.items()})
        block = Block(tuple(order), layers_of(cache), mask)
        return {prompt: Prefix(len(stem), block, row) for row, stem in enumerate(order) for prompt in shared[stem]}

    def _fed(self, model: Any, found: Mapping[Ids, Prefix]) -> tuple[list[Ids], Fed]:
        """Feeds what is new of prompts, at most `prefill_tokens` at once; they come ordered by how much that is."""
        prompts = sorted(found, key=lambda prompt: len(prompt) - found[prompt].length)
        suffixes = [prompt[found[prompt].length :] for prompt in prompts]
        self.prefilled += sum(map(len, suffixes))
        whole = whole_cache(model.config)  # the slots of other caches do not line up in chunks
        pieces = chunks(suffixes, self._choice.prefill_tokens) if whole else [slice(None)]
        fed = [_feed(model, [found[prompt] for prompt in prompts[piece]], suffixes[piece]) for piece in pieces]
        return prompts, fed[0] if len(fed) == 1 else _joined(fed)


def stems(found: Mapping[Ids, Prefix]) -> dict[Ids, list[Ids]]:
    """Beginnings that several prompts share, well beyond what was found for them; in sorted order these are neighbours. A run
    ends where the next prompt shares less than half of what the run does."""
    runs: list[tuple[Ids, list[Ids]]] = [((), [])]
    for prompt in sorted(found):
        stem, run = runs[-1]
        length = min(common_prefix(stem, prompt), len(prompt) - 1)
        known = max(found[each].length for each in (prompt, *run))
        if length >= known + STEM and (len(run) == 1 or 2 * length >= len(stem)):
            runs[-1] = stem[:length], [*run, prompt]
        else:
            runs.append((prompt[:-1], [prompt]))
    return {stem: run for stem, run in runs if len(run) > 1}


def _feed(model: Any, found: Sequence[Prefix], suffixes: Sequence[Ids]) -> Fed:
    ids, new = left_padded(suffixes, model.device)
    cache, known = gather(found, model.config, model.device, ids.shape[1] + ROOM)
    mask = torch.cat([known, new], dim=1)
    positions = (mask.cumsum(1) - 1).clamp(min=0)[:, known.shape[1] :]
    return cache, mask, _forward(model, ids, mask, positions, cache)


@torch.no_grad()
def goes_on(model: Any) -> bool:
    """Whether a model says the same when it goes on from kept keys and values, with a gap behind them."""
    if not whole_cache(model.config):
        return False
    rows = [tuple(range(1, 6)), tuple(range(6, 48))]
    known, suffixes = [row[:4] for row in rows], [row[4:] for row in rows]
    *_, expected = _feed(model, [NO_PREFIX] * len(rows), rows)
    kept = TurnCache(sys.maxsize)
    kept.begin("generator", known)
    cache, mask, _ = _feed(model, [NO_PREFIX] * len(rows), known)
    kept.keep(known, cache, mask)
    kept.begin("generator", rows)
    *_, logits = _feed(model, [kept.find(row) for row in rows], suffixes)
    return near(logits, expected)


def _joined(fed: list[Fed]) -> Fed:
    """Chunks as one batch, padded on the left to the widest."""
    width = max(mask.shape[1] for _, mask, _ in fed)
    masks = [F.pad(mask, (width - mask.shape[1], 0)) for _, mask, _ in fed]
    cache = join([cache for cache, _, _ in fed], width)
    return cache, torch.cat(masks), torch.cat([logits for _, _, logits in fed])


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
