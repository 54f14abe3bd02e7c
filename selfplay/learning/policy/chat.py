"""A chat read off the model's own template, by rendering probes and keeping what stands around their contents.

Text is tokenised once and sampled ids are kept, so only two pieces of the template are needed: what opens a
conversation and what stands between two of the player's turns. The template's text may contain special tokens, a
message's text may not: `<|im_end|>` inside a problem stays plain text. A template that rewrites earlier turns (by
position, by dropping thoughts) is not prefix-preserving: `prefix_preserving` says so and the caller asks each turn as
a conversation of its own. Tools, images and assistant prefills were left out: the game has none.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

from jinja2 import TemplateError

from selfplay.learning.policy.errors import PolicyError

_USER, _USER_2, _SYSTEM = "SELFPLAYUSERPROBE", "SELFPLAYSECONDPROBE", "SELFPLAYSYSTEMPROBE"
_ANSWERS = ("SELFPLAYANSWERPROBE", "<think>\nSELFPLAYTHOUGHT\n</think>\n\nSELFPLAYANSWERPROBE")


class TemplateChat:
    """`selfplay.game.players.Chat` for a transformers tokenizer.

    `end_ids` end a turn when sampled: the template's end of turn, the tokenizer's end of sequence and `more_ends`.
    Raises PolicyError where the tokenizer has no chat template or the template hides the message.
    """

    def __init__(self, tokenizer: Any, more_ends: Iterable[int] = ()) -> None:
        if not getattr(tokenizer, "chat_template", None):
            raise PolicyError("the tokenizer has no chat template; use an instruction-tuned model or add the template")
        self._tokenizer = tokenizer
        self._opening = self._pieces(self._render([_message("user", _USER)]), _USER)
        self._system_opening = self._probe_system()
        closing, between, after = self._probe_turns()
        self.end_ids = frozenset({*closing, *more_ends, *_given(tokenizer.eos_token_id)})
        self._closing, self._between = closing, (between, after)

    def first(self, user: str, system: str = "") -> tuple[int, ...]:
        if system and self._system_opening is None:
            user, system = f"{system}\n\n{user}", ""
        if system and self._system_opening is not None:
            before, middle, after = self._system_opening
            return (*before, *self._plain(system), *middle, *self._plain(user), *after)
        before, after = self._opening
        return (*before, *self._plain(user), *after)

    def next(self, user: str, truncated: bool) -> tuple[int, ...]:
        before, after = self._between
        return (*(self._closing if truncated else ()), *before, *self._plain(user), *after)

    def text(self, ids: Sequence[int]) -> str:
        return self._tokenizer.decode(list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False)

    def _render(self, messages: list[dict[str, str]]) -> str:
        return self._tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)

    def _special(self, text: str) -> tuple[int, ...]:
        """Ids of template text: special tokens are read as such."""
        return tuple(self._tokenizer.encode(text, add_special_tokens=False)) if text else ()

    def _plain(self, text: str) -> tuple[int, ...]:
        """Ids of a message's text: nothing in it is special."""
        encoded = self._tokenizer(text, add_special_tokens=False, split_special_tokens=True) if text else None
        return tuple(encoded["input_ids"]) if encoded else ()

    def _pieces(self, rendered: str, *probes: str) -> tuple[tuple[int, ...], ...]:
        """Ids of the template text before, between and after the probes."""
        pieces, rest = [], rendered
        for probe in probes:
            before, found, rest = rest.partition(probe)
            if not found:
                raise PolicyError("the chat template does not show the message it is given; choose another model")
            pieces.append(self._special(before))
        return (*pieces, self._special(rest))

    def _probe_system(self) -> tuple[tuple[int, ...], ...] | None:
        """The opening with a system message; None where the template refuses one (it then opens the user's)."""
        try:
            rendered = self._render([_message("system", _SYSTEM), _message("user", _USER)])
        except TemplateError:
            return None
        return self._pieces(rendered, _SYSTEM, _USER) if rendered.find(_SYSTEM) in range(rendered.find(_USER)) else None

    def _probe_turns(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """End of turn, the rest up to the next message, and from there to where the player speaks again."""
        answers = _ANSWERS if "think" in str(self._tokenizer.chat_template) else _ANSWERS[:1]
        tails = [self._tail(answer) for answer in answers]
        self.prefix_preserving = None not in tails
        if not self.prefix_preserving:
            warnings.warn(
                "the chat template rewrites earlier turns: each stage is asked in a prompt of its own", stacklevel=3
            )
        tail = next((tail for tail in tails if tail is not None), None)
        if tail is None:
            return (), (), self._opening[1]
        between, after = self._pieces(tail, _USER_2)
        ends = {*_given(self._tokenizer.eos_token_id), *self._tokenizer.all_special_ids}
        closed = 1 if between and between[0] in ends else 0
        return between[:closed], between[closed:], after

    def _tail(self, answer: str) -> str | None:
        """What the template adds after the player's `answer`; None where it does not keep what came before."""
        start = self._render([_message("user", _USER)]) + answer
        messages = [_message("user", _USER), _message("assistant", answer), _message("user", _USER_2)]
        longer = self._render(messages)
        return longer[len(start) :] if longer.startswith(start) else None


def _message(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def _given(ids: int | list[int] | None) -> tuple[int, ...]:
    return () if ids is None else (ids,) if isinstance(ids, int) else tuple(ids)
