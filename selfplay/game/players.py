"""Who plays: the one interface between the game and whatever produces text.

A player completes conversations given as token ids. `Chat` turns messages into ids: what is asked first, what is asked
next, and back to text. The language model's player lives in `learning/policy`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from selfplay.game.episode import ROLES, Role, TurnKey


@dataclass(frozen=True, slots=True)
class Marks:
    """What opens and ends a thought, as ids. A turn thinks where it begins with one of `openings`, or where its prompt has
    `opened` a thought; the thought ends with `closing`."""

    openings: frozenset[tuple[int, ...]]
    closing: tuple[int, ...]
    opened: bool = False


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a turn is sampled. `temperature` 0 is greedy; `max_tokens` ends a turn that does not end itself.

    A turn that begins with a thought, by the `marks` of its chat, has `thinking_tokens` for that, marks included, and then
    `max_tokens` to speak; without any, a thought is part of `max_tokens`.
    """

    temperature: float = 1.0
    max_tokens: int = 128
    thinking_tokens: int = 0
    marks: Marks | None = None

    @property
    def thinks(self) -> bool:
        """Whether thoughts have tokens of their own."""
        return self.marks is not None and self.thinking_tokens > 0

    @property
    def most(self) -> int:
        """Tokens of the longest turn."""
        return self.max_tokens + (self.thinking_tokens if self.thinks else 0)


@dataclass(frozen=True, slots=True)
class Request:
    """Complete `ids`, the whole conversation so far, as the turn named by `key`."""

    key: TurnKey
    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Completion:
    """Sampled `ids` (with the end of turn if it was sampled) and their log-probabilities, one per id."""

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    truncated: bool


def role_by_role(
    requests: Sequence[Request], complete: Callable[[Role, list[Request]], Sequence[Completion]]
) -> list[Completion]:
    """`complete` called once for each role with its requests, in order: for players that serve one role at a time."""
    done: dict[int, Completion] = {}
    for role in ROLES:
        places = [place for place, request in enumerate(requests) if request.key.role == role]
        if places:
            done |= zip(places, complete(role, [requests[place] for place in places]), strict=True)
    return [done[place] for place in range(len(requests))]


class Chat(Protocol):
    """The model's own way of writing a conversation as ids.

    `prefix_preserving`: what was written stays as it is when the conversation goes on. Where a template breaks that
    (it rewrites earlier turns), each turn is asked with an independent prompt. `marks`: those of the thought with which
    turns begin; None where they do not.
    """

    @property
    def prefix_preserving(self) -> bool: ...

    @property
    def marks(self) -> Marks | None: ...

    def first(self, user: str, system: str = "") -> tuple[int, ...]:
        """Ids of an opening message, up to where the player speaks."""
        ...

    def next(self, user: str, said: Sequence[int]) -> tuple[int, ...]:
        """Ids from the last turn, of which `said` was sampled, to where the player speaks again; closes a turn that did not
        end as the template ends it. Only for a chat that is prefix-preserving."""
        ...

    def text(self, ids: Sequence[int]) -> str:
        """What sampled ids say to others: special tokens and thoughts left out."""
        ...

    def thought(self, ids: Sequence[int]) -> str:
        """The thought in sampled ids, with the marks around it; empty where they hold none."""
        ...


class Player(Protocol):
    @property
    def chat(self) -> Chat: ...

    def complete(self, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        """One completion per request, in order. The role of each is in its key; a call may hold both."""
        ...
