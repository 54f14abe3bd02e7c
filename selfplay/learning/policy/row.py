"""A turn in the making: a row of a sampler's batch."""

from __future__ import annotations

from dataclasses import dataclass, field

from selfplay.game.players import Completion


@dataclass(slots=True)
class Row:
    """One turn. `index`: of its request; `seed` keys its tokens; `limit`: how many tokens it may get, by its request and by
    the model's context."""

    index: int
    prompt: tuple[int, ...]
    seed: int
    limit: int
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    ended: bool = False

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
