"""The sampler of small models on a CPU: ragged rows, dropped when finished, and a cache of earlier turns.

Rows of different lengths share a batch: each writes its keys and values at its own position, so no padding on the left.
A conversation is sampled turn by turn, and what was computed for its earlier turns is found again by the longest common
prefix with any row kept from earlier calls. Cache, batch layout and finished rows change results by rounding alone,
because the random numbers belong to the turn (draw.py). A role's decoder lives as long as its weights: after an update
a new one is made. Paged attention, speculative decoding and CUDA graphs were left out: nothing here is large enough to need
them.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from selfplay.game.episode import Role
from selfplay.game.players import Completion, Request, Sampling, role_by_role
from selfplay.learning.policy.cache import common_prefix
from selfplay.learning.policy.qwen2 import Weights, extend
from selfplay.learning.policy.settings import Choice
from selfplay.learning.policy.turns import Row, chunks, draw_next, turn_rows

Ids = tuple[int, ...]


class DecoderSampler:
    """A `Sampler` of one decoder for each role; `weights(role)` gives the role's as they are at that moment."""

    def __init__(
        self, weights: Callable[[Role], Weights], ends: frozenset[int], seed: int, choice: Choice | None = None
    ) -> None:
        self._weights, self._ends, self._seed, self._choice = weights, ends, seed, choice
        self._decoders: dict[Role, Decoder] = {}

    def complete(self, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        return role_by_role(requests, lambda role, own: self._decoder(role).complete(own, sampling))

    def weights_changed(self, role: Role) -> None:
        self._decoders.pop(role, None)  # its keys and values are of the old weights

    def forget(self) -> None:
        for decoder in self._decoders.values():
            decoder.forget()

    @torch.no_grad()
    def _decoder(self, role: Role) -> Decoder:
        if role not in self._decoders:
            self._decoders[role] = Decoder(self._weights(role), self._ends, self._seed, self._choice)
        return self._decoders[role]


class Decoder:
    """Completes conversations with fixed `weights`; `ends` are the ids that end a turn."""

    def __init__(self, weights: Weights, ends: frozenset[int], seed: int, choice: Choice | None = None) -> None:
        self._weights, self._ends, self._seed = weights, ends, seed
        self._choice = choice or Choice()
        self.prefilled = 0  # tokens fed in prompts, for benchmarks and tests of the cache
        self.forget()

    def forget(self) -> None:
        """Empties the cache of earlier turns."""
        self._cache = PrefixCache(self._choice.cache_mib << 20)

    @torch.inference_mode()
    def complete(self, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        rows = turn_rows(requests, sampling, self._seed, min(self._choice.context, len(self._weights.rotations)))
        waiting = sorted((row for row in rows if row.limit > 0), key=lambda row: len(row.prompt))
        for start in range(0, len(waiting), self._choice.rows):
            self._play(waiting[start : start + self._choice.rows], sampling.temperature)
        return [row.completion for row in rows]

    def _play(self, rows: list[Row], temperature: float) -> None:
        rows, kv, logits = self._prefill(rows)
        while True:
            draw_next(rows, logits, temperature, self._ends)
            kept = [i for i, row in enumerate(rows) if not row.done]
            if not kept:
                self._cache.keep([row.fed for row in rows], kv)
                return
            if len(kept) <= 0.9 * len(rows):
                rows, kv = self._drop_finished(rows, kept, kv)
            # Finished rows that are still in the batch repeat their last step.
            last = torch.tensor([[row.ids[-1]] for row in rows])
            start = torch.tensor([len(row.prompt) + len(row.ids) - 1 for row in rows])
            logits = extend(self._weights, kv, last, start)[:, -1] @ self._weights.head.T

    def _drop_finished(self, rows: list[Row], kept: list[int], kv: Tensor) -> tuple[list[Row], Tensor]:
        """The rows that go on, in the front of the same memory: the last of them move to where finished ones were."""
        finished = [i for i, row in enumerate(rows) if row.done]
        self._cache.keep([rows[i].fed for i in finished], kv, finished)
        free, last = [i for i in finished if i < len(kept)], [i for i in kept if i >= len(kept)]
        rows = list(rows)
        for hole, row in zip(free, last, strict=True):
            kv[:, :, hole], rows[hole] = kv[:, :, row], rows[row]
        return rows[: len(kept)], kv[:, :, : len(kept)]

    def _prefill(self, rows: list[Row]) -> tuple[list[Row], Tensor, Tensor]:
        """The rows in the order of what is new of their prompts, keys and values of these with room for the turns, and the next
        logits. Equal prompts are fed once."""
        room = max(len(row.prompt) + row.most for row in rows)
        known = {row.prompt: self._cache.find(row.prompt) for row in rows}
        prompts = sorted(known, key=lambda prompt: len(prompt) - known[prompt][0])
        lengths = [known[prompt][0] for prompt in prompts]
        suffixes = [prompt[length:] for prompt, length in zip(prompts, lengths, strict=True)]
        batches = list(chunks(suffixes, self._choice.prefill_tokens))
        padded = (max(lengths[batch]) + max(map(len, suffixes[batch])) for batch in batches)
        kv = self._empty(len(prompts), max(room, *padded))
        for i, prompt in enumerate(prompts):
            length, held = known[prompt]
            if held is not None:
                kv[:, :, i, :, :length] = held
        logits = torch.cat([self._feed(kv[:, :, batch], suffixes[batch], lengths[batch]) for batch in batches])
        place = {prompt: i for i, prompt in enumerate(prompts)}
        rows = sorted(rows, key=lambda row: place[row.prompt])
        if len(prompts) == len(rows):
            return rows, kv, logits
        chosen = torch.tensor([place[row.prompt] for row in rows])
        return rows, kv.index_select(2, chosen), logits[chosen]

    def _empty(self, rows: int, room: int) -> Tensor:
        # Zeros, not empty: a masked value still enters a product with weight 0, and 0 times NaN is NaN.
        shape = self._weights.shape
        return torch.zeros(len(self._weights.layers), 2, rows, shape.kv_heads, room, shape.head_size)

    def _feed(self, kv: Tensor, suffixes: list[Ids], lengths: list[int]) -> Tensor:
        self.prefilled += sum(map(len, suffixes))
        width = max(map(len, suffixes))
        padded = torch.tensor([suffix + (0,) * (width - len(suffix)) for suffix in suffixes])
        states = extend(self._weights, kv, padded, torch.tensor(lengths))
        last = torch.tensor([len(suffix) - 1 for suffix in suffixes])
        return states[torch.arange(len(suffixes)), last] @ self._weights.head.T


class PrefixCache:
    """Keys and values of rows fed earlier, found by longest common prefix; the oldest calls go first when it is full.

    In sorted order the row that shares the longest prefix with a query is one of its two neighbours.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit, self._bytes = limit_bytes, 0
        self._rows: list[Ids] = []
        self._places: dict[Ids, tuple[Tensor, int]] = {}
        self._blocks: deque[tuple[Tensor, list[Ids]]] = deque()

    def keep(self, rows: list[Ids], kv: Tensor, places: list[int] | None = None) -> None:
        """Remembers `rows`, which stand at `places` of `kv` [layer, 2, B, ...]; None: they are all of it."""
        used = kv[..., : max(map(len, rows)), :]
        block = used.contiguous() if places is None else used.index_select(2, torch.tensor(places))
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

    def find(self, prompt: Ids) -> tuple[int, Tensor | None]:
        """Length of the longest known prefix of `prompt` that leaves at least one id to feed, and its keys and values
        [layer, 2, heads, T, size]; None where nothing is known."""
        place = bisect_left(self._rows, prompt)
        near = self._rows[max(0, place - 1) : place + 1]
        best = max(near, key=lambda row: common_prefix(row, prompt), default=())
        known = min(common_prefix(best, prompt), len(prompt) - 1)
        if not known:
            return 0, None
        block, row = self._places[best]
        return known, block[:, :, row, :, :known]

    def _forget(self) -> None:
        block, rows = self._blocks.popleft()
        self._bytes -= block.numel() * block.element_size()
        for ids in rows:
            if ids in self._places and self._places[ids][0] is block:
                del self._places[ids]
                del self._rows[bisect_left(self._rows, ids)]
