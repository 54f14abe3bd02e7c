"""Turns in the making: which row of a batch they are, what they may still get, and how rows are put into batches.

Where thoughts have tokens of their own, what a row may still get depends on what it has said: whether a thought is open is
followed token by token, by the marks' ids. A thought that a turn opens after it began to speak is part of what it says.

What the samplers over a live model have in common (stepwise.py, generate.py): they play one role at a time, rows are sorted
by the length of their prompts so that little of a batch is padding, and a batch that runs out of memory is played again with
half the rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor

from selfplay.game.episode import Role
from selfplay.game.players import Completion, Marks, Request, Sampling, role_by_role
from selfplay.learning.policy.adapters import Adapters
from selfplay.learning.policy.draw import pick, turn_seed, uniforms
from selfplay.learning.policy.relief import SILENT, Relief
from selfplay.learning.policy.settings import Choice
from selfplay.run.recorders import Recorder

WAY_OUT = "lower --max-completion-length or --max-seq-length, or choose a smaller --model"


@dataclass(slots=True)
class Row:
    """One turn. `index`: of its request; `seed` keys its tokens; `room`: how many tokens the model's context leaves it.

    `limit`: how many tokens it may get, by what it has said so far. It grows where a thought opens or ends.
    """

    index: int
    prompt: tuple[int, ...]
    seed: int
    sampling: Sampling
    room: int
    ids: list[int] = field(init=False)
    logprobs: list[float] = field(init=False)
    ended: bool = field(init=False)
    limit: int = field(init=False)
    _marks: Marks | None = field(init=False)  # None where no thought can open or end any more
    _open: bool = field(init=False)  # whether a thought is

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """As it was before its first token."""
        self.ids, self.logprobs, self.ended = [], [], False
        self._marks = self.sampling.marks if self.sampling.thinks else None
        self._open = self._marks is not None and self._marks.opened
        self._allow(self.sampling.thinking_tokens if self._open else self.sampling.max_tokens)

    @property
    def most(self) -> int:
        """How many tokens it may get at most, whatever it says."""
        return min(self.sampling.most, self.room)

    @property
    def done(self) -> bool:
        """Whether it gets no further token."""
        return self.ended or len(self.ids) >= self.limit

    @property
    def fed(self) -> tuple[int, ...]:
        """The ids whose keys and values are known: all but the last."""
        return self.prompt + tuple(self.ids[:-1])

    @property
    def completion(self) -> Completion:
        """What it came to; truncated where its end was not drawn."""
        return Completion(tuple(self.ids), tuple(self.logprobs), truncated=not self.ended)

    def add(self, token: int, logprob: float, ends: frozenset[int]) -> None:
        """Its next token, which ends it where it is one of `ends`."""
        self.ids.append(token)
        self.logprobs.append(logprob)
        self.ended = token in ends
        if self._marks is not None:
            self._follow(self._marks)

    def _follow(self, marks: Marks) -> None:
        """Whether a thought opens or ends with the newest token."""
        said = len(self.ids)
        if self._open:
            if tuple(self.ids[-len(marks.closing) :]) == marks.closing:
                self._marks = None
                self._allow(said + self.sampling.max_tokens)
        elif tuple(self.ids) in marks.openings:
            self._open = True
            self._allow(self.sampling.thinking_tokens)
        elif said >= max(map(len, marks.openings), default=0):
            self._marks = None

    def _allow(self, tokens: int) -> None:
        self.limit = min(tokens, self.room)


class LiveSampler(ABC):
    """A `Sampler` over live adapters. `ready` puts the model in order for playing and returns it."""

    def __init__(
        self,
        adapters: Adapters,
        ends: frozenset[int],
        seed: int,
        choice: Choice | None = None,
        ready: Callable[[], Any] | None = None,
        recorder: Recorder = SILENT,
    ) -> None:
        self._adapters, self._ends, self._seed = adapters, ends, seed
        self._choice = choice or Choice()
        self._rows = Relief("sampling", self._choice.rows, WAY_OUT, recorder, self._spare)
        self._ready = ready or adapters.model.eval  # a trainer with checkpointing leaves it in training mode

    def complete(self, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        return role_by_role(requests, lambda role, own: self._complete(role, own, sampling))

    def weights_changed(self, role: Role) -> None:
        return  # the adapters are live

    def forget(self) -> None:
        return  # nothing is kept

    @torch.no_grad()
    def _complete(self, role: Role, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        made = turn_rows(requests, sampling, self._seed, self._choice.context)
        left = sorted((row for row in made if row.limit > 0), key=lambda row: len(row.prompt))
        with self._adapters.role(role):
            model = self._ready()
            self._rows.run(lambda _: self._prepare(model, role, left), most=1)
            while left:
                left = left[self._rows.run(partial(self._begin, model, left, sampling.temperature), self._most(left)) :]
        return [row.completion for row in made]

    def _begin(self, model: Any, left: Sequence[Row], temperature: float, size: int) -> int:
        """Plays the first `size` rows, from their start, and returns how many they were."""
        rows = list(left[:size])
        for row in rows:  # a pass that ran out of memory has left its tokens
            row.restart()
        self._play(model, rows, temperature)
        return len(rows)

    def _prepare(self, model: Any, role: Role, rows: Sequence[Row]) -> None:
        """Before the first batch of a call is played."""
        return

    def _spare(self) -> bool:
        """Frees memory for good that only saves time, after memory ran out; whether there was any."""
        return False

    def _most(self, left: Sequence[Row]) -> int:
        """How many of these rows a batch may hold, whatever `rows` says."""
        return len(left)

    @abstractmethod
    def _play(self, model: Any, rows: list[Row], temperature: float) -> None:
        """Plays rows, sorted by the length of their prompts, to their ends."""


def turn_rows(requests: Sequence[Request], sampling: Sampling, seed: int, context: int) -> list[Row]:
    """A row for each request. One that fills the context may get nothing: an empty, truncated turn is data, not a crash."""
    return [
        Row(i, each.ids, turn_seed(seed, each.key), sampling, context - len(each.ids))
        for i, each in enumerate(requests)
    ]


def draw_next(rows: Sequence[Row], logits_BV: Tensor, temperature: float, ends: frozenset[int]) -> None:
    """Gives each row that is not done its next token."""
    uniforms_B = uniforms([row.seed for row in rows], [len(row.ids) for row in rows])
    ids_B, logprobs_B = pick(logits_BV, temperature, uniforms_B)
    for row, token, logprob in zip(rows, ids_B.tolist(), logprobs_B.tolist(), strict=True):
        if not row.done:
            row.add(token, logprob, ends)


def chunks(prompts: Sequence[tuple[int, ...]], tokens: int) -> Iterator[slice]:
    """Slices of prompts, sorted by length, that keep to so many padded tokens; a longer prompt goes alone."""
    start = 0
    for i, prompt in enumerate(prompts):
        if i > start and (i + 1 - start) * len(prompt) > tokens:
            yield slice(start, i)
            start = i
    if prompts:
        yield slice(start, len(prompts))


def left_padded(prompts: Sequence[tuple[int, ...]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Ids and attention mask [B, T] of prompts that end together."""
    width = max(map(len, prompts))
    ids = torch.tensor([(0,) * (width - len(prompt)) + prompt for prompt in prompts], device=device)
    return ids, torch.tensor([[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts], device=device)
