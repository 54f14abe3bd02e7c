"""A player as it enters a match: with its name, its prompts, its sampling and the stages that it plays.

Training, evaluation, solving and the bank all ask players through `play` and `converse`; what these need to know of a
player stands here in one place. `Clocked` says what a player's turns cost.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from selfplay.game.episode import Conversation, Role
from selfplay.game.phases import STAGE_IDS, Step
from selfplay.game.players import Chat, Completion, Player, Request, Sampling
from selfplay.game.prompts import Prompts
from selfplay.game.rollout import Seat, Table, converse


@dataclass(frozen=True, slots=True)
class Entrant:
    """`stages` are those that an episode plays: (5,) leaves the reasoning chain out."""

    name: str
    player: Player
    prompts: Prompts
    sampling: Sampling
    stages: tuple[int, ...] = STAGE_IDS

    def table(self, samples: int) -> Table:
        """The layout of a group without further targets: so many chains, each read by a suite; both roles sampled alike."""
        return Table(samples, samples, 0, self.sampling, self.sampling)

    def step(self, number: int, label: str) -> Step:
        """A step that trains nobody: everything branches at the first stage. `number` keys its random numbers."""
        return Step(number, self.stages[0], "both", label, played=self.stages)

    def converse(
        self, seats: Sequence[Seat], stages: Sequence[int] | None = None, temperature: float | None = None
    ) -> list[Conversation]:
        """Continue every seat's conversation, through all stages and with its own sampling unless told otherwise."""
        sampling = self.sampling if temperature is None else replace(self.sampling, temperature=temperature)
        return converse(self.player, self.prompts, seats, stages or self.stages, sampling)

    def single_stage(self) -> Entrant:
        """The same without a reasoning chain."""
        return replace(self, name=f"{self.name}, single stage", stages=(5,))


@dataclass(frozen=True, slots=True)
class Spent:
    """Sampled tokens, and the seconds that they took."""

    tokens: int = 0
    seconds: float = 0.0

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.tokens + other.tokens, self.seconds + other.seconds)


Account = dict[tuple[Role, int], Spent]  # by role and stage
Listener = Callable[[Sequence[Request], Sequence[Completion], float], None]  # requests, what was said, seconds


@dataclass(slots=True)
class Clocked:
    """A player that keeps accounts, by problem. A call's seconds are shared among its turns by their tokens."""

    player: Player
    listen: Listener | None = None
    accounts: dict[str, Account] = field(default_factory=lambda: defaultdict(lambda: defaultdict(Spent)))

    @property
    def chat(self) -> Chat:
        return self.player.chat

    def complete(self, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        started = time.perf_counter()
        done = self.player.complete(requests, sampling)
        seconds = time.perf_counter() - started
        total = sum(len(one.ids) for one in done) or 1
        for request, one in zip(requests, done, strict=True):
            key = request.key
            self.accounts[key.problem][key.role, key.stage] += Spent(len(one.ids), seconds * len(one.ids) / total)
        if self.listen is not None:
            self.listen(requests, done, seconds)
        return done
