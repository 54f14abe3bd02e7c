"""A turn in the making: a row of a sampler's batch.

Where thoughts have tokens of their own, what a row may still get depends on what it has said: whether a thought is open is
followed token by token, by the marks' ids. A thought that a turn opens after it began to speak is part of what it says.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from selfplay.game.players import Completion, Marks, Sampling


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
