"""What is played: turns, conversations and groups. Frozen data that flows forward.

A role's turns in one episode form one conversation, one append-only token sequence: text is tokenised once, sampled ids
are kept and never re-tokenised. Branching a conversation is sharing it: every value here is immutable.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from selfplay.game.problems import Problem

Role = Literal["generator", "discriminator"]
ROLES: tuple[Role, Role] = ("generator", "discriminator")


@dataclass(frozen=True, slots=True)
class TurnKey:
    """Which turn of the run this is. Its fields seed the turn's random numbers and label its record.

    `branch` numbers the conversations of one role on one problem in one step; -1 is the shared, frozen prefix.
    """

    step: int
    problem: str
    role: Role
    branch: int
    stage: int


@dataclass(frozen=True, slots=True)
class Turn:
    """One completion by one role at one stage.

    `prompt` are the unscored ids that lead to it, `ids` the sampled ones (end of turn included where it was sampled),
    `logprobs` their log-probabilities at the sampling temperature. `truncated`: the token limit ended it.
    `fresh`: `prompt` starts a new token sequence (the first turn; every turn where the chat template does not preserve
    prefixes; one after a thought). `text` is what was said, `thought` what was thought before, with the marks around it;
    empty where nothing was. A thought is trained as all of `ids` are, and no prompt holds it.
    """

    key: TurnKey
    prompt: tuple[int, ...]
    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    text: str
    truncated: bool
    fresh: bool = False
    thought: str = ""

    @property
    def stage(self) -> int:
        """The stage that it was played at."""
        return self.key.stage

    @property
    def thought_cut(self) -> bool:
        """Whether the token limit came before anything was said."""
        return self.truncated and bool(self.thought) and not self.text


@dataclass(frozen=True, slots=True)
class Conversation:
    """All turns of one role in one episode, in order."""

    role: Role
    turns: tuple[Turn, ...] = ()

    @property
    def ids(self) -> tuple[int, ...]:
        """The token sequence that the next turn continues."""
        sequences = self.sequences
        return tuple(i for turn in sequences[-1] for part in (turn.prompt, turn.ids) for i in part) if sequences else ()

    @property
    def sequences(self) -> tuple[tuple[Turn, ...], ...]:
        """The turns by token sequence: one, unless the chat template or a thought forces independent prompts."""
        starts = [i for i, turn in enumerate(self.turns) if turn.fresh]
        return tuple(self.turns[a:b] for a, b in pairwise([*starts, len(self.turns)]))

    @property
    def stages(self) -> tuple[int, ...]:
        """Of its turns."""
        return tuple(turn.stage for turn in self.turns)

    def then(self, turn: Turn) -> Conversation:
        """With one more turn."""
        return Conversation(self.role, (*self.turns, turn))

    def text(self, stage: int) -> str:
        """What the role said at `stage`; empty where that turn was not played."""
        return next((turn.text for turn in self.turns if turn.stage == stage), "")


@dataclass(frozen=True, slots=True)
class Group:
    """The episodes of one problem in one step: chains of the generator and suites of the discriminator.

    Both branch from a shared prefix before `stage`. `suites[j]` read `chains[reads[j]]`.
    In a generator step G chains are played, and each of the S suites reads one. In a discriminator step G suites all read the
    first chain, and C further chains are targets.
    """

    problem: Problem
    trained: Literal["generator", "discriminator", "both"]
    stage: int
    chains: tuple[Conversation, ...]
    suites: tuple[Conversation, ...]
    reads: tuple[int, ...]
