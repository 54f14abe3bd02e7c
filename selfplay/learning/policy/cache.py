"""Keys and values kept from a call of a sampler to the next, so that a conversation that goes on feeds only what is new.

TurnCache are those of one role, a sampler's batch as one block: nothing is copied but rows that finish early. A call begins by
looking up each of its prompts; what none of them continues is dropped there, and a block as soon as its last row has gone on.
So it holds what the next turns need, within its limit of bytes; a block that would exceed it is not kept, and its
conversations are fed anew. Dropping the oldest to make room was left out: turns come round in the order of the turns before,
and each would be dropped just before it is needed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

from selfplay.game.episode import Role
from selfplay.learning.policy.attention import whole_cache

Ids = tuple[int, ...]
ROOM = 64  # tokens for which a layer has room when it is copied


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Rows and their keys and values, [rows, heads, slots, size] for each layer. `mask` [rows, slots]: which slots hold a row's
    ids, in their order; a row may have more of them than ids."""

    rows: tuple[Ids, ...]
    layers: tuple[tuple[Tensor, Tensor], ...]
    mask: Tensor

    @property
    def size(self) -> int:
        return _bytes(self.layers)


@dataclass(frozen=True, slots=True)
class Prefix:
    """The first `length` ids of a prompt are those of row `row` of `block`."""

    length: int = 0
    block: Block | None = None
    row: int = 0


NO_PREFIX = Prefix()


class TurnCache:
    """The blocks that were kept, at most `limit` bytes of them."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.forget()

    def forget(self) -> None:
        self._role: Role | None = None
        self._before: list[Block] = []  # of the call before, read in this one
        self._now: list[Block] = []
        self._prefixes: dict[Ids, Prefix] = {}
        self._waiting: Counter[Ids] = Counter()

    @property
    def size(self) -> int:
        return sum(block.size for block in (*self._before, *self._now))

    def begin(self, role: Role, prompts: Sequence[Ids]) -> None:
        """A call: looks up its prompts, and drops what none of them continues."""
        self._before, self._now = (self._now if role == self._role else []), []
        self._role, self._waiting = role, Counter(prompts)
        places = sorted((ids, i, row) for i, block in enumerate(self._before) for row, ids in enumerate(block.rows))
        self._prefixes = {prompt: self._longest(prompt, places) for prompt in self._waiting}
        self._drop()

    def _longest(self, prompt: Ids, places: list[tuple[Ids, int, int]]) -> Prefix:
        """In sorted order the row that shares the longest prefix with a prompt is one of its two neighbours. At least one id is
        left to feed."""
        if not places:
            return NO_PREFIX
        at = bisect_left(places, (prompt, 0, 0))
        ids, i, row = max(places[max(0, at - 1) : at + 1], key=lambda place: common_prefix(place[0], prompt))
        length = min(common_prefix(ids, prompt), len(prompt) - 1)
        return Prefix(length, self._before[i], row) if length else NO_PREFIX

    def find(self, prompt: Ids) -> Prefix:
        """As it was looked up when the call began."""
        return self._prefixes.get(prompt, NO_PREFIX)

    def done(self, prompts: Sequence[Ids]) -> None:
        """These rows have gone on: what they began with is not needed for them again."""
        self._waiting -= Counter(prompts)
        self._prefixes = {prompt: prefix for prompt, prefix in self._prefixes.items() if prompt in self._waiting}
        self._drop()

    def _drop(self) -> None:
        needed = {id(prefix.block) for prefix in self._prefixes.values()}
        self._before = [block for block in self._before if id(block) in needed]

    def keep(self, rows: Sequence[Ids], cache: DynamicCache, mask: Tensor, chosen: Tensor | None = None) -> None:
        """Keeps the rows of a cache, or those `chosen`, which are copied; not where there is no room for them."""
        pairs, share = layers_of(cache), 1.0 if chosen is None else len(rows) / len(mask)
        if self.size + share * _bytes(pairs) > self.limit:
            return
        if chosen is not None:
            pairs, mask = tuple((keys[chosen], values[chosen]) for keys, values in pairs), mask[chosen]
        self._now.append(Block(tuple(rows), pairs, mask))


class GrowingLayer(DynamicLayer):
    """A layer's keys and values with room for tokens to come; transformers' own copies all of them at every token."""

    _wide: tuple[Tensor, Tensor] | None = None

    @classmethod
    def of(cls, keys: Tensor, values: Tensor, length: int) -> GrowingLayer:
        """Of which the first `length` slots are filled."""
        layer = cls()
        layer.lazy_initialization(keys, values)
        layer._wide = keys, values
        layer.keys, layer.values = keys[:, :, :length], values[:, :, :length]
        return layer

    def update(self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        start = self.get_seq_length()
        end = start + key_states.shape[2]
        if self._wide is None or end > self._wide[0].shape[2]:
            self._wide = _widened(self.keys, key_states, start), _widened(self.values, value_states, start)
        for wide, new in zip(self._wide, (key_states, value_states), strict=True):
            wide[:, :, start:end] = new
        self.keys, self.values = (wide[:, :, :end] for wide in self._wide)
        return self.keys, self.values

    def batch_select_indices(self, indices: Tensor) -> None:
        super().batch_select_indices(indices)
        self._wide = None


def _widened(held: Any, new: Tensor, length: int) -> Tensor:
    rows, heads, steps, size = new.shape
    wide = new.new_empty(rows, heads, length + steps + ROOM, size)
    if length:
        wide[:, :, :length] = held
    return wide


def join(caches: Sequence[DynamicCache], width: int) -> DynamicCache:
    """The rows of several caches as one, padded on the left to `width`; they give up what they hold, layer by layer, so that no
    more than one layer is held twice."""
    whole = DynamicCache()
    for i in range(len(caches[0].layers)):
        layers: list[Any] = [cache.layers[i] for cache in caches]
        keys, values = (_stacked([getattr(layer, name) for layer in layers], width) for name in ("keys", "values"))
        whole.layers.append(GrowingLayer.of(keys, values, width))
        for cache in caches:
            cache.layers[i] = GrowingLayer()
    return whole


def _stacked(parts: Sequence[Tensor], width: int) -> Tensor:
    _, heads, _, size = parts[0].shape
    # Zeros, not empty: a masked value still enters a product with weight 0, and 0 times NaN is NaN.
    whole, start = parts[0].new_zeros(sum(map(len, parts)), heads, width + ROOM, size), 0
    for part in parts:
        whole[start : start + len(part), :, width - part.shape[2] : width] = part
        start += len(part)
    return whole


def empty_cache(config: Any) -> DynamicCache:
    """An empty cache for a model, with room where it keeps everything."""
    cache = DynamicCache(config=config)
    if whole_cache(config):
        cache.layers[:] = [GrowingLayer() for _ in cache.layers]
    return cache


def gather(prefixes: Sequence[Prefix], config: Any, device: torch.device, room: int) -> tuple[DynamicCache, Tensor]:
    """A cache that begins with the prefix of each row, with room for so many tokens, and its mask [rows, slots]; what is
    known ends together."""
    cache, width = empty_cache(config), max(each.length for each in prefixes)
    mask = torch.tensor([[0] * (width - each.length) + [1] * each.length for each in prefixes], device=device)
    if not width:
        return cache, mask.view(len(prefixes), 0).long()
    members: dict[int, list[int]] = {}
    for i, each in enumerate(prefixes):
        members.setdefault(id(each.block), []).append(i)
    takes = [_Take.of([prefixes[i] for i in rows], rows, width) for rows in members.values() if prefixes[rows[0]].block]
    for i in range(len(cache.layers)):
        keys, values = (_laid(takes, i, half, len(prefixes), width, room) for half in (0, 1))
        cache.layers[i] = GrowingLayer.of(keys, values, width)
    return cache, mask


@dataclass(frozen=True, slots=True)
class _Take:
    """What one kept block gives: its rows and slots, and where in the new cache they go."""

    block: Block
    rows: Tensor
    slots: Tensor  # [rows, width]; the first slot stands for padding
    into: Tensor

    @classmethod
    def of(cls, prefixes: Sequence[Prefix], into: list[int], width: int) -> _Take:
        block = prefixes[0].block
        assert block is not None
        slots = torch.zeros(len(prefixes), width, dtype=torch.long, device=block.mask.device)
        for i, each in enumerate(prefixes):
            slots[i, width - each.length :] = block.mask[each.row].nonzero()[: each.length, 0]
        rows = torch.tensor([each.row for each in prefixes], device=block.mask.device)
        return cls(block, rows, slots, torch.tensor(into, device=block.mask.device))


def _laid(takes: Sequence[_Take], layer: int, half: int, rows: int, width: int, room: int) -> Tensor:
    """Keys or values of one layer, [rows, heads, width + room, size]; zeros where nothing is known, as in `_stacked`."""
    like = takes[0].block.layers[layer][half]
    whole = like.new_zeros(rows, like.shape[1], width + room, like.shape[3])
    for take in takes:
        held = take.block.layers[layer][half]
        whole[take.into, :, :width] = held[take.rows[:, None], :, take.slots].transpose(1, 2)
    return whole


def layers_of(cache: DynamicCache) -> tuple[tuple[Tensor, Tensor], ...]:
    """Keys and values by layer."""
    layers: list[Any] = cache.layers
    return tuple((layer.keys, layer.values) for layer in layers)


def _bytes(pairs: Sequence[tuple[Tensor, Tensor]]) -> int:
    return sum(each.untyped_storage().nbytes() for pair in pairs for each in pair)


def common_prefix(left: Ids, right: Ids) -> int:
    """Length of the longest common prefix, by halving: comparing tuples is fast, a Python loop is not."""
    low, high = 0, min(len(left), len(right))
    if left[:high] == right[:high]:
        return high
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if left[low:middle] == right[low:middle] else (low, middle - 1)
    return low
