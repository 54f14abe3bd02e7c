"""The fast decoder for small models on a CPU: ragged rows, dropped when finished, and a cache of earlier turns.

Rows of different lengths share a batch: each writes its keys and values at its own position, so no padding on the left.
A conversation is sampled turn by turn, and what was computed for its earlier turns is found again by the longest common prefix
with any row kept from earlier calls. Cache, batch layout and finished rows change results by rounding alone, because
the random numbers belong to the turn (draw.py). A decoder lives as long as its weights: a new one is made after an update.
Paged attention, speculative decoding and CUDA graphs were left out: nothing here is large enough to need them.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from selfplay.game.players import Completion, Request, Sampling
from selfplay.learning.policy.draw import pick, turn_seed, uniforms
from selfplay.learning.policy.qwen2 import Weights, extend

Ids = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Limits:
    """`rows` share a batch; `prefill_tokens` (padded) are fed at once; `cache_mib` of keys and values are kept."""

    rows: int = 256
    prefill_tokens: int = 8192
    cache_mib: int = 256


@dataclass(slots=True)
class _Row:
    """One turn in the making. `limit`: how many tokens it may still get, by request and by the model's positions."""

    index: int
    prompt: Ids
    seed: int
    limit: int
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    ended: bool = False

    @property
    def fed(self) -> Ids:
        """The ids whose keys and values are known: all but the last."""
        return self.prompt + tuple(self.ids[:-1])

    @property
    def done(self) -> bool:
        return self.ended or len(self.ids) >= self.limit


class Decoder:
    """Completes conversations with fixed `weights`; `ends` are the ids that end a turn."""

    def __init__(self, weights: Weights, ends: frozenset[int], seed: int, limits: Limits | None = None) -> None:
        self._weights, self._ends, self._seed = weights, ends, seed
        self._limits = limits or Limits()
        self._cache = PrefixCache(self._limits.cache_mib << 20)
        self.prefilled = 0  # tokens fed in prompts, for benchmarks and tests of the cache

    @torch.inference_mode()
    def complete(self, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        rows = [self._row(i, request, sampling) for i, request in enumerate(requests)]
        waiting = sorted((row for row in rows if row.limit > 0), key=lambda row: len(row.prompt))
        for start in range(0, len(waiting), self._limits.rows):
            self._play(waiting[start : start + self._limits.rows], sampling.temperature)
        return [Completion(tuple(row.ids), tuple(row.logprobs), truncated=not row.ended) for row in rows]

    def _row(self, index: int, request: Request, sampling: Sampling) -> _Row:
        """A conversation that fills the model's positions gets an empty, truncated turn: data, not a crash."""
        room = self._weights.cos.shape[0] - len(request.ids)
        return _Row(index, request.ids, turn_seed(self._seed, request.key), min(sampling.max_tokens, room))

    def _play(self, rows: list[_Row], temperature: float) -> None:
        kv, logits = self._prefill(rows)
        while True:
            self._draw(rows, logits, temperature)
            kept = [i for i, row in enumerate(rows) if not row.done]
            if not kept:
                self._cache.keep([row.fed for row in rows], kv)
                return
            if len(kept) <= 0.8 * len(rows):
                rows, kv = self._drop_finished(rows, kept, kv)
            # Finished rows that are still in the batch repeat their last step.
            last = torch.tensor([[row.ids[-1]] for row in rows])
            start = torch.tensor([len(row.prompt) + len(row.ids) - 1 for row in rows])
            logits = extend(self._weights, kv, last, start)[:, -1] @ self._weights.head.T

    def _draw(self, rows: list[_Row], logits: Tensor, temperature: float) -> None:
        drawn = uniforms([row.seed for row in rows], [len(row.ids) for row in rows])
        ids, logprobs = pick(logits, temperature, drawn)
        for row, token, logprob in zip(rows, ids.tolist(), logprobs.tolist(), strict=True):
            if not row.done:
                row.ids.append(token)
                row.logprobs.append(logprob)
                row.ended = token in self._ends

    def _drop_finished(self, rows: list[_Row], kept: list[int], kv: Tensor) -> tuple[list[_Row], Tensor]:
        finished = [i for i, row in enumerate(rows) if row.done]
        self._cache.keep([rows[i].fed for i in finished], kv.index_select(2, torch.tensor(finished)))
        return [rows[i] for i in kept], kv.index_select(2, torch.tensor(kept))

    def _prefill(self, rows: list[_Row]) -> tuple[Tensor, Tensor]:
        """Keys and values of the prompts with room for the turns, and the logits that follow. Equal prompts are fed once."""
        prompts = list(dict.fromkeys(row.prompt for row in rows))
        room = max(len(row.prompt) + row.limit for row in rows)
        kv = self._empty(len(prompts), room)
        known = [self._cache.restore(prompt, kv[:, :, i]) for i, prompt in enumerate(prompts)]
        logits = torch.empty(len(prompts), self._weights.head.shape[0])
        for batch in self._batches([len(prompt) - n for prompt, n in zip(prompts, known, strict=True)]):
            logits[batch] = self._feed(kv, batch, [prompts[i] for i in batch], [known[i] for i in batch])
        if len(prompts) == len(rows):
            return kv, logits
        place = {prompt: i for i, prompt in enumerate(prompts)}
        chosen = torch.tensor([place[row.prompt] for row in rows])
        return kv.index_select(2, chosen), logits[chosen]

    def _empty(self, rows: int, room: int) -> Tensor:
        # Zeros, not empty: a masked value still enters a product with weight 0, and 0 times NaN is NaN.
        shape = self._weights.shape
        return torch.zeros(len(self._weights.layers), 2, rows, shape.kv_heads, room, shape.head_size)

    def _batches(self, lengths: list[int]) -> list[list[int]]:
        """Indices by length, cut so that a padded batch stays within the token limit."""
        batches: list[list[int]] = []
        for i in sorted(range(len(lengths)), key=lengths.__getitem__):
            if not batches or (len(batches[-1]) + 1) * lengths[i] > self._limits.prefill_tokens:
                batches.append([])
            batches[-1].append(i)
        return batches

    def _feed(self, kv: Tensor, batch: list[int], prompts: list[Ids], known: list[int]) -> Tensor:
        suffixes = [prompt[n:] for prompt, n in zip(prompts, known, strict=True)]
        steps = max(map(len, suffixes))
        self.prefilled += sum(map(len, suffixes))
        padded = torch.tensor([suffix + (0,) * (steps - len(suffix)) for suffix in suffixes])
        width = max(known) + steps  # padding may reach beyond the rows' room
        chosen = torch.tensor(batch)
        part = torch.nn.functional.pad(kv[:, :, chosen], (0, 0, 0, max(0, width - kv.shape[4])))
        states = extend(self._weights, part, padded, torch.tensor(known))
        kv[:, :, chosen] = part[..., : kv.shape[4], :]
        last = torch.tensor([len(suffix) - 1 for suffix in suffixes])
        return states[torch.arange(len(batch)), last] @ self._weights.head.T


class PrefixCache:
    """Keys and values of rows fed earlier, found by longest common prefix; the oldest calls go first when it is full.

    In sorted order the row that shares the longest prefix with a query is one of its two neighbours.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit, self._bytes = limit_bytes, 0
        self._rows: list[Ids] = []
        self._places: dict[Ids, tuple[Tensor, int]] = {}
        self._blocks: deque[tuple[Tensor, list[Ids]]] = deque()

    def keep(self, rows: list[Ids], kv: Tensor) -> None:
        """Remembers `rows` [layer, 2, len(rows), ...] of `kv`."""
        block = kv[..., : max(map(len, rows)), :].contiguous()
        size = block.numel() * block.element_size()
        if size > self._limit:
            return
        while self._bytes + size > self._limit:
            self._forget()
        self._bytes += size
        self._blocks.append((block, rows))
        for i, ids in enumerate(rows):
            if ids not in self._places:
                insort(self._rows, ids)
            self._places[ids] = (block, i)

    def restore(self, prompt: Ids, into: Tensor) -> int:
        """Copies the longest known prefix of `prompt` to `into`; its length, which leaves at least one id to feed."""
        place = bisect_left(self._rows, prompt)
        near = self._rows[max(0, place - 1) : place + 1]
        best = max(near, key=lambda row: _common(row, prompt), default=())
        known = min(_common(best, prompt), len(prompt) - 1)
        if known:
            block, i = self._places[best]
            into[..., :known, :] = block[:, :, i, :, :known]
        return known

    def _forget(self) -> None:
        block, rows = self._blocks.popleft()
        self._bytes -= block.numel() * block.element_size()
        for ids in rows:
            if ids in self._places and self._places[ids][0] is block:
                del self._places[ids]
                del self._rows[bisect_left(self._rows, ids)]


def _common(left: Ids, right: Ids) -> int:
    """Length of the longest common prefix, by halving: comparing tuples is fast, a Python loop is not."""
    low, high = 0, min(len(left), len(right))
    if left[:high] == right[:high]:
        return high
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if left[low:middle] == right[low:middle] else (low, middle - 1)
    return low
