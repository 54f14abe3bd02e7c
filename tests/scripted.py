"""A player without a model: bytes are its tokens, and it says what a script tells it to say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from selfplay.game.episode import Role, TurnKey
from selfplay.game.players import Completion, Marks, Request, Sampling


class ByteChat:
    """A chat over UTF-8 bytes, for players without a tokenizer: ids 0-255 are bytes, 256 ends a turn."""

    end = 256
    prefix_preserving = True
    marks: Marks | None = None

    def first(self, user: str, system: str = "") -> tuple[int, ...]:
        return tuple(f"{system}\n{user}\n".lstrip("\n").encode())

    def next(self, user: str, said: Sequence[int]) -> tuple[int, ...]:
        closing = () if said and said[-1] == self.end else (self.end,)
        return (*closing, *f"\n{user}\n".encode())

    def text(self, ids: Sequence[int]) -> str:
        return bytes(i for i in ids if i < 256).decode(errors="replace")

    def thought(self, ids: Sequence[int]) -> str:
        return ""


@dataclass(frozen=True, slots=True)
class ScriptedPlayer:
    """Plays what `script` says for a turn: a table keyed by (problem, role, stage), or a function of the turn's key."""

    script: Mapping[tuple[str, Role, int], str] | Callable[[TurnKey], str]
    chat: ByteChat = field(default_factory=ByteChat)

    def complete(self, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        return [self._say(request.key, sampling) for request in requests]

    def _say(self, key: TurnKey, sampling: Sampling) -> Completion:
        script = self.script
        text = script(key) if callable(script) else script.get((key.problem, key.role, key.stage), "")
        ids = (*text.encode(), self.chat.end)
        kept = ids[: sampling.max_tokens]
        return Completion(kept, (0.0,) * len(kept), truncated=len(kept) < len(ids))
