"""What a chat template writes around messages, as text: read off by rendering probes, never by parsing Jinja.

Three texts are enough for a conversation that only grows: what opens it, what opens it with a system message, and what
stands between the end of a turn and the next. They are trusted only if a conversation of three turns put together from
them is what the template renders; a template that rewrites earlier turns has no `between`. What it does to thoughts does not
matter: the turn after one is asked in a prompt of its own. Where the system message would move (Mistral's goes with the last
user message), it is folded into the first one.
Left out: tools, images and assistant prefills of our own; the game has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from jinja2 import TemplateError

from selfplay.learning.policy.errors import PolicyError

Thinking = Literal["auto", "on", "off"]
Message = dict[str, str]

# What opens a thought and what ends it, by family: Qwen, DeepSeek and most others; Gemma; gpt-oss; Muse; Mistral; Cohere;
# Seed; Kimi. Where the thought is a message of its own, what ends it is the head of the message to the user.
MARKS = (
    ("<think>", "</think>"),
    ("<|channel>", "<channel|>"),
    ("<|channel|>analysis<|message|>", "<|channel|>final<|message|>"),
    (" to=self<|message|>", " to=user<|message|>"),
    ("[THINK]", "[/THINK]"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<seed:think>", "</seed:think>"),
    ("◁think▷", "◁/think▷"),
)
_SWITCHES = ("enable_thinking", "thinking")
_SYSTEM, _ANSWER = "SELFPLAYSYSTEMPROBE", "SELFPLAYANSWERPROBE"
_USERS = ("SELFPLAYFIRSTPROBE", "SELFPLAYSECONDPROBE", "SELFPLAYTHIRDPROBE")


@dataclass(frozen=True, slots=True)
class Template:
    """Texts around messages. `opening`: before and after the first user message. `system`: before the system message, between
    it and the user's, after that; None where the system text belongs into the user's. `between`: from the end of a turn's
    text to the next user message, and from there to where the player speaks; None where earlier turns do not stay as they
    are. `ending`: what follows the text of a finished turn.

    `marks`: what opens and ends a thought; None for a template that knows none. `thinks`: turns begin with a thought,
    `opened`: which the template has opened already.
    """

    opening: tuple[str, str]
    system: tuple[str, str, str] | None
    between: tuple[str, str] | None
    ending: str
    marks: tuple[str, str] | None
    thinks: bool
    opened: bool


def names_thoughts(source: str) -> bool:
    """Whether the source of a template has the marks of a thought."""
    return any(mark in source for pair in MARKS for mark in pair)


def read_template(tokenizer: Any, thinking: Thinking = "auto") -> Template:
    """The template of a transformers tokenizer, thinking as it is asked to.

    Raises PolicyError where there is none, where it hides or repeats the user's message, where it cannot think or cannot
    stop thinking.
    """
    if not getattr(tokenizer, "chat_template", None):
        raise PolicyError("the tokenizer has no chat template; use an instruction-tuned model or add the template")
    source = str(tokenizer.chat_template)
    marks = next((pair for pair in MARKS if any(mark in source for mark in pair)), None)
    probe = _Probe(tokenizer, {})
    switch = _switch(probe)
    _check_thinking(thinking, marks is not None, switch is not None)
    by_default = switch is None or probe.opening() != _Probe(tokenizer, {switch: False}).opening()
    thinks = marks is not None and (by_default if thinking == "auto" else thinking == "on")
    if switch is not None and thinking != "auto":
        probe = _Probe(tokenizer, {switch: thinking == "on"})
    opening, system, between = probe.opening(), probe.system(), probe.between()
    if between is not None and system is not None and not probe.goes_on(system, between):
        system = None
    opened = marks is not None and marks[0] in opening[1] and marks[1] not in opening[1].rpartition(marks[0])[2]
    return Template(opening, system, between, probe.ending(), marks, thinks, opened)


def _switch(probe: _Probe) -> str | None:
    """The name by which the template turns thinking on and off."""
    for name in _SWITCHES:
        on, off = (_Probe(probe.tokenizer, {name: value}).opening() for value in (True, False))
        if on != off:
            return name
    return None


def _check_thinking(thinking: Thinking, knows_thoughts: bool, has_switch: bool) -> None:
    if thinking == "on" and not knows_thoughts:
        raise PolicyError("thinking is on, but the model's chat template knows no thoughts; use auto or another model")
    if thinking == "off" and knows_thoughts and not has_switch:
        raise PolicyError(
            "thinking is off, but the model's chat template has no switch for it; use auto, where a thought gets "
            "thinking_tokens, or another model"
        )


@dataclass(frozen=True, slots=True)
class _Probe:
    """Renders messages that stand out. `switches` are given to the template with them."""

    tokenizer: Any
    switches: dict[str, bool]

    def opening(self) -> tuple[str, str]:
        return _around(self._render([_message("user", _USERS[0])]), _USERS[0])

    def system(self) -> tuple[str, str, str] | None:
        """The opening with a system message; None where the template refuses, hides or moves it."""
        try:
            before, rest = _around(self._render([_message("system", _SYSTEM), _message("user", _USERS[0])]), _SYSTEM)
            return (before, *_around(rest, _USERS[0]))
        except PolicyError:
            return None

    def between(self) -> tuple[str, str] | None:
        """What the template adds between turns without thoughts; None where it does not keep what came before."""
        opening = self.opening()
        turns = self._turns([_ANSWER])
        if turns.count(_ANSWER) != 1 or turns.count(_USERS[1]) != 1:
            return None
        between = _around(_around(turns, _ANSWER)[1], _USERS[1])
        return between if _grows(self._turns([_ANSWER] * 2), opening, between) else None

    def goes_on(self, system: tuple[str, str, str], between: tuple[str, str]) -> bool:
        """Whether a conversation with a system message grows as one without."""
        opening = (system[0] + _SYSTEM + system[1], system[2])
        return _grows(self._turns([_ANSWER] * 2, [_message("system", _SYSTEM)]), opening, between)

    def ending(self) -> str:
        """What follows the player's last words; where nothing does, what follows words that were answered."""
        messages = [_message("user", _USERS[0]), _message("assistant", _ANSWER)]
        last = self._render(messages, more=False).rpartition(_ANSWER)[2]
        return last or self._turns([_ANSWER]).partition(_ANSWER)[2].partition(_USERS[1])[0]

    def _turns(self, answers: Sequence[str], messages: Sequence[Message] = ()) -> str:
        """A conversation with these answers, up to where the player speaks again; empty where the template refuses it."""
        said = [_message("user", _USERS[0])]
        for answer, user in zip(answers, _USERS[1:], strict=False):
            said += [_message("assistant", answer), _message("user", user)]
        try:
            return self._render([*messages, *said])
        except PolicyError:
            return ""

    def _render(self, messages: Sequence[Message], more: bool = True) -> str:
        render = self.tokenizer.apply_chat_template
        try:
            return render(list(messages), tokenize=False, add_generation_prompt=more, **self.switches)
        except (TemplateError, TypeError, ValueError, LookupError, AttributeError) as error:
            raise PolicyError(
                f"the model's chat template does not take plain messages ({error}); choose another model"
            ) from error


def _around(rendered: str, probe: str) -> tuple[str, str]:
    """The texts before and after the probe, which must be shown once."""
    if rendered.count(probe) != 1:
        raise PolicyError(
            f"the model's chat template shows a message {rendered.count(probe)} times instead of once; choose another model"
        )
    before, _, after = rendered.partition(probe)
    return before, after


def _grows(rendered: str, opening: Sequence[str], between: tuple[str, str]) -> bool:
    """Whether a conversation in which the player answers twice is put together from these pieces. Between the opening
    and what is said there may be white space, which a template that writes it later leaves to the player."""
    asked = [opening[0] + _USERS[0] + opening[1], *(between[0] + user + between[1] for user in _USERS[1:])]
    return any(rendered == (lead + _ANSWER).join(asked) for lead in ("", " ", "\n"))


def _message(role: str, content: str) -> Message:
    return {"role": role, "content": content}
