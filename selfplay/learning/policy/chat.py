"""A chat in the model's own template, as token ids.

Ids are those of the rendered template: a message is tokenised together with what the template writes around it. The
template's text may contain special tokens, a message's text may not: `<|im_end|>` or `</think>` inside a problem, or in
what the other player said, stays plain text. Sampled ids are kept and never tokenised again. What the template writes is
read in template.py.

A thought stands before what is said and is no part of it: `text` leaves it out, so nobody is shown one.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from selfplay.game.players import Marks
from selfplay.learning.policy.errors import PolicyError
from selfplay.learning.policy.template import Template, Thinking, read_template

# White space that models write before the mark that opens a thought.
_LEADS = ("", "\n", "\n\n", " ")


@dataclass(frozen=True, slots=True)
class _Frame:
    """Template text around messages, its ids piece by piece, and the template's own tokens among them."""

    pieces: tuple[str, ...]
    ids: tuple[tuple[int, ...], ...]
    own: tuple[int, ...]


class TemplateChat:
    """`selfplay.game.players.Chat` for a transformers tokenizer.

    `end_ids` end a turn when sampled: the template's end of turn, the tokenizer's end of sequence and `more_ends`.
    Raises PolicyError where the tokenizer has no chat template, or one that cannot be used, or cannot think as asked.
    """

    def __init__(self, tokenizer: Any, more_ends: Iterable[int] = (), thinking: Thinking = "auto") -> None:
        self._tokenizer = tokenizer
        template = read_template(tokenizer, thinking)
        self._mark_texts, self._opened = template.marks, template.opened
        self.marks, self.prefix_preserving = self._marks(template), template.between is not None
        if not self.prefix_preserving:
            warnings.warn(
                "the chat template rewrites earlier turns: each stage is asked in a prompt of its own", stacklevel=2
            )
        shown = [*template.opening, *(template.between or ()), template.ending, *(template.marks or ())]
        special, self._own = _own_ids(tokenizer, "".join([str(tokenizer.chat_template), *shown]))
        ending = [i for i in self._encode(template.ending)[:1] if i in self._own]
        self.end_ids = frozenset({*ending, *more_ends, *listed(tokenizer.eos_token_id)})
        marks = {i for mark in template.marks or () for i in self._encode(mark)}
        self._silent = (special | self.end_ids) - marks
        self._opening = self._frame(template.opening)
        self._with_system = None if template.system is None else self._frame(template.system)
        self._between = None if template.between is None else self._frame(template.between)

    def first(self, user: str, system: str = "") -> tuple[int, ...]:
        if system and self._with_system is not None:
            return self._filled(self._with_system, system, user)
        return self._filled(self._opening, f"{system}\n\n{user}" if system else user)

    def next(self, user: str, said: Sequence[int]) -> tuple[int, ...]:
        if self._between is None:
            raise PolicyError("this chat template rewrites earlier turns: ask in a prompt of its own, with `first`")
        return self._filled(self._between, user)[self._closed(said) :]

    def text(self, ids: Sequence[int]) -> str:
        return self._heard(ids)[1]

    def thought(self, ids: Sequence[int]) -> str:
        return self._heard(ids)[0]

    def _marks(self, template: Template) -> Marks | None:
        """The marks by which a thought's tokens are counted. They are known by the ids that the tokenizer gives them alone: a
        closing mark that it merges with its surroundings is not seen, and what follows counts as thought."""
        if template.marks is None or not template.thinks:
            return None
        opening, closing = template.marks
        openings = frozenset(self._encode(lead + opening) for lead in _LEADS)
        return Marks(openings, self._encode(closing), template.opened)

    def _closed(self, said: Sequence[int]) -> int:
        """How many of the ids that follow a turn the player has written itself: up to the end of turn that it sampled."""
        after = self._between.ids[0] if self._between else ()
        return after.index(said[-1]) + 1 if said and said[-1] in self.end_ids and said[-1] in after else 0

    def _heard(self, ids: Sequence[int]) -> tuple[str, str]:
        """(thought with its marks, what was said). What precedes the last closing mark was thought, and so is what follows
        a mark that opens another thought; without any mark all was said, unless the template had opened a thought."""
        kept = [i for i in ids if i not in self._silent]
        text = self._tokenizer.decode(kept, skip_special_tokens=False, clean_up_tokenization_spaces=False)
        if self._mark_texts is None:
            return "", text
        opening, closing = self._mark_texts
        head, closed, tail = text.rpartition(closing)
        if self._opened and not closed:
            return text, ""
        said, again, rest = tail.partition(opening)
        thought = head + closed + again + rest
        return thought, said.strip() if thought else said

    def _filled(self, frame: _Frame, *messages: str) -> tuple[int, ...]:
        """Ids of the frame with messages in it."""
        rest = zip(messages, frame.pieces[1:], strict=True)
        ids = self._encode(frame.pieces[0] + "".join(message + piece for message, piece in rest))
        if tuple(i for i in ids if i in self._own) == frame.own:
            return ids
        # A message spells one of the template's tokens: pieces and messages are tokenised apart.
        parts = [
            part
            for message, piece in zip(messages, frame.ids[1:], strict=True)
            for part in (self._plain(message), piece)
        ]
        return tuple(i for part in (frame.ids[0], *parts) for i in part)

    def _frame(self, pieces: tuple[str, ...]) -> _Frame:
        ids = tuple(self._encode(piece) for piece in pieces)
        return _Frame(pieces, ids, tuple(i for piece in ids for i in piece if i in self._own))

    def _encode(self, text: str) -> tuple[int, ...]:
        """Ids of text in which the template's tokens are read as such."""
        return tuple(self._tokenizer.encode(text, add_special_tokens=False)) if text else ()

    def _plain(self, text: str) -> tuple[int, ...]:
        """Ids of a message's text, none of them the template's. Tokenizers split special tokens on request, but not others
        that were added (`</think>` is one for Qwen), so what holds one is halved until a cut goes through it."""
        pieces = [text] if text else []
        while pieces:
            encoded = self._tokenizer(pieces, add_special_tokens=False, split_special_tokens=True)["input_ids"]
            whole = [len(piece) < 2 or self._own.isdisjoint(ids) for piece, ids in zip(pieces, encoded, strict=True)]
            if all(whole):
                return tuple(i for ids in encoded for i in ids)
            pieces = [
                part
                for piece, good in zip(pieces, whole, strict=True)
                for part in ([piece] if good else (piece[: len(piece) // 2], piece[len(piece) // 2 :]))
            ]
        return ()


def _own_ids(tokenizer: Any, shown: str) -> tuple[frozenset[int], frozenset[int]]:
    """(special ids, ids that belong to the template alone): the special ones, and added ones that occur in what the template
    shows. Other added tokens are plain text in one piece, such as runs of spaces; an unknown letter is plain text too."""
    added = tokenizer.added_tokens_decoder.items()
    special = {number for number, token in added if token.special} | set(tokenizer.all_special_ids)
    named = {number for number, token in added if token.content.strip() and token.content in shown}
    return frozenset(special), frozenset(special | named) - {tokenizer.unk_token_id}


def listed(ids: int | list[int] | None) -> tuple[int, ...]:
    """Ids as a tuple, which a configuration has as none, one or several."""
    return () if ids is None else (ids,) if isinstance(ids, int) else tuple(ids)
