"""What the update trains on: conversations with scored spans, and their padded micro-batches.

Rows are padded on the right, sorted by length and cut by a budget of padded tokens. Packing several conversations into
one row was left out: it does not pay on a CPU.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from selfplay.game.episode import Conversation
from selfplay.learning.policy.errors import PolicyError
from selfplay.learning.policy.protocol import Rows


@dataclass(frozen=True, slots=True)
class Span:
    """Scored tokens ids[start:end] of one turn, their advantage, and what the sampler said of them (may be empty)."""

    start: int
    end: int
    advantage: float
    logprobs: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Sample:
    """One conversation of the trained role. Tokens outside the spans are context."""

    ids: tuple[int, ...]
    spans: tuple[Span, ...]

    @property
    def needed(self) -> int:
        """Tokens up to the end of the last span: what follows changes nothing."""
        return max((span.end for span in self.spans), default=0)

    @property
    def prefix(self) -> tuple[int, ...]:
        """Ids before the state that the first scored token needs; conversations of one group share them."""
        return self.ids[: max(0, min((span.start for span in self.spans), default=0) - 1)]


def conversation_samples(conversation: Conversation, advantages: Sequence[float | None]) -> list[Sample]:
    """One sample per token sequence that holds a scored turn. `advantages`: of each turn, None for one that is context."""
    by_stage = dict(zip(conversation.stages, advantages, strict=True))
    samples: list[Sample] = []
    for turns in conversation.sequences:
        ids = tuple(i for turn in turns for part in (turn.prompt, turn.ids) for i in part)
        spans, end = [], 0
        for turn in turns:
            start, end = end + len(turn.prompt), end + len(turn.prompt) + len(turn.ids)
            value = by_stage[turn.stage]
            if value is not None and turn.ids:
                spans.append(Span(start, end, value, turn.logprobs))
        if spans:
            samples.append(Sample(ids, tuple(spans)))
    return samples


@dataclass(frozen=True, slots=True)
class Batch(Rows):
    """One micro-batch. Tensors of scored tokens follow the rows and their spans in order."""

    advantage_N: Tensor
    known_N: Tensor  # whether the sampler gave a log-probability
    sampled_K: Tensor  # those that it gave


def micro_batches(samples: Sequence[Sample], tokens: int, device: torch.device, share: bool = False) -> Iterator[Batch]:
    """Rows by length, cut so that a padded micro-batch stays within `tokens` (one row may exceed it).

    `share`: rows with the same prefix stay together and the prefix counts once, for a policy that computes it once.
    """
    rows: list[Sample] = []
    for sample in _ordered([s for s in samples if s.needed], share):
        if rows and _cost([*rows, sample], share) > tokens:
            yield _pad(rows, device)
            rows = []
        rows.append(sample)
    if rows:
        yield _pad(rows, device)


def _ordered(samples: list[Sample], share: bool) -> list[Sample]:
    if not share:
        return sorted(samples, key=lambda s: s.needed)
    groups: dict[tuple[int, ...], list[Sample]] = {}
    for sample in samples:
        groups.setdefault(sample.prefix, []).append(sample)
    ordered = sorted(groups.values(), key=lambda group: max(s.needed for s in group))
    return [sample for group in ordered for sample in group]


def _cost(rows: list[Sample], share: bool) -> int:
    """Padded tokens that a forward pass over `rows` computes."""
    prefixes = {row.prefix for row in rows} if share else {()}
    known = [len(row.prefix) if share else 0 for row in rows]
    return len(prefixes) * max(known) + len(rows) * max(row.needed - n for row, n in zip(rows, known, strict=True))


def _pad(rows: list[Sample], device: torch.device) -> Batch:
    width = max(row.needed for row in rows)
    for row in rows:
        for span in row.spans:
            _check_span(span, row)
    ids = torch.zeros(len(rows), width, dtype=torch.long)
    mask = torch.zeros(len(rows), width, dtype=torch.long)
    where = torch.zeros(len(rows), width, dtype=torch.bool)
    known = torch.zeros(len(rows), width, dtype=torch.bool)
    advantage, sampled = torch.zeros(len(rows), width), torch.zeros(len(rows), width)
    for i, row in enumerate(rows):
        ids[i, : row.needed] = torch.tensor(row.ids[: row.needed])
        mask[i, : row.needed] = 1
        for span in row.spans:
            where[i, span.start : span.end] = True
            advantage[i, span.start : span.end] = span.advantage
            if span.logprobs:
                known[i, span.start : span.end] = True
                sampled[i, span.start : span.end] = torch.tensor(span.logprobs)
    return Batch(*(t.to(device) for t in (ids, mask, where, advantage[where], known[where], sampled[known])))


def _check_span(span: Span, row: Sample) -> None:
    if not 0 < span.start <= span.end <= len(row.ids):
        raise PolicyError(f"span {span.start}:{span.end} lies outside 1:{len(row.ids)}, the ids that can be scored")
    if span.logprobs and len(span.logprobs) != span.end - span.start:
        raise PolicyError(
            f"span {span.start}:{span.end} came with {len(span.logprobs)} log-probabilities; give one per token"
        )
    strange = [x for x in span.logprobs if not math.isfinite(x)]
    if strange:
        raise PolicyError(
            f"a log-probability of span {span.start}:{span.end} is {strange[0]}; leave out what the sampler did not give"
        )
    if not math.isfinite(span.advantage):
        raise PolicyError(
            f"the advantage of span {span.start}:{span.end} is {span.advantage}; mask such turns before the update"
        )
