"""Every chat template plays the same game: what is asked is the rendered template id for id, and no thought is shown.

Each template plays three stages of both roles. docs/chat-templates.md holds the table of what was found; its test computes
the table again.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from selfplay.game.episode import Conversation, Role
from selfplay.game.players import Completion, Request, Sampling
from selfplay.game.problems import Problem
from selfplay.game.prompts import Earlier, Prompts
from selfplay.game.rollout import Seat, converse
from selfplay.game.stages import get_stage
from selfplay.learning.policy.chat import TemplateChat
from selfplay.learning.policy.errors import PolicyError
from selfplay.learning.policy.template import MARKS, Template, Thinking, read_template
from selfplay.learning.policy.turns import Row
from tests.learning.templates import FAMILIES, OURS, end_ids, made, source

PAGE = Path(__file__).resolve().parents[2] / "docs" / "chat-templates.md"
TWICE = Problem("twice", "Double it.", "twice", "def twice(n: int) -> int:", ("assert twice(2) == 4",))
SAID: dict[Role, tuple[str, ...]] = {
    "generator": ("Twice a number is the number added to itself.", "Approach: add.\n1. Return n + n.", "return n + n"),
    "discriminator": tuple(f"Nothing.\n```python\nassert twice({n}) == {2 * n}\n```" for n in (0, 1, -1)),
}
SECRET = "SECRETTHOUGHT"
STAGES = (1, 2, 3)
HEAD = ("a conversation", "the system message", "thoughts", "templates")


@dataclass
class Speaker:
    """A player that says what it is told to, in tokens of its template, after `lead`: white space or a thought."""

    chat: TemplateChat
    tokenizer: Any
    end: int
    lead: str

    def complete(self, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        return [self._say(request) for request in requests]

    def _say(self, request: Request) -> Completion:
        text = self.lead + SAID[request.key.role][request.key.stage - 1]
        # In place, so that ids are those of a text in the middle of another one.
        before = self.tokenizer.decode(request.ids[-1:])
        encode = self.tokenizer.encode
        ids = encode(before + text, add_special_tokens=False)[len(encode(before, add_special_tokens=False)) :]
        return Completion((*ids, self.end), (0.0,) * (len(ids) + 1), truncated=False)


def tokenizer(name: str) -> Any:
    found = made(name)
    if found is None:
        pytest.skip(f"TRL is not installed, or bundles no {name}")
    return found


@cache
def template(name: str, thinking: Thinking = "auto") -> Template:
    return read_template(tokenizer(name), thinking)


def chat(name: str, thinking: Thinking = "auto") -> TemplateChat:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return TemplateChat(tokenizer(name), end_ids(name), thinking)


@cache
def played(name: str, thinking: Thinking = "auto", secret: str = "") -> dict[Role, Conversation]:
    """Three stages of a chain, and of the suite that read it. With a `secret` it is what every turn thinks first."""
    found = template(name, thinking)
    opening, closing = found.marks or ("", "")
    lead = FAMILIES[name].lead
    if secret or found.opened:
        lead = f"{'' if found.opened else opening}\n{secret}\n{closing}\n\n"
    player = Speaker(chat(name, thinking), tokenizer(name), end_ids(name)[0], lead)
    long = Sampling(1.0, 1000)
    seat = Seat(0, TWICE, Conversation("generator"), 0)
    [chain] = converse(player, Prompts(), [seat], STAGES, long)
    [suite] = converse(player, Prompts(), [Seat(0, TWICE, Conversation("discriminator"), 0, chain)], STAGES, long)
    return {"generator": chain, "discriminator": suite}


def asked(role: Role, stage: int, alone: bool) -> str:
    """The message that asks for a turn, in a growing conversation or in a prompt of its own."""
    reads = SAID["generator"] if role == "discriminator" else ("",) * 3
    earlier = [Earlier(get_stage(each), SAID[role][each - 1], reads[each - 1]) for each in range(1, stage)]
    material = reads[stage - 1] or None
    return Prompts().ask(TWICE, role, stage, material, alone or stage == 1, earlier if alone else ())


def rendered(name: str, thinking: Thinking, role: Role, stage: int) -> list[int]:
    """The template's own ids of everything up to where the turn of `stage` begins."""
    grows, folded = template(name, thinking).between is not None, template(name, thinking).system is None
    switch = {} if thinking == "auto" else {"enable_thinking": thinking == "on"}
    system, first = Prompts().system(role), asked(role, 1 if grows else stage, alone=True)
    messages = [] if folded else [{"role": "system", "content": system}]
    messages.append({"role": "user", "content": f"{system}\n\n{first}" if folded else first})
    for each in range(2, stage + 1) if grows else ():
        messages.append({"role": "assistant", "content": SAID[role][each - 2]})
        messages.append({"role": "user", "content": asked(role, each, alone=False)})
    return list(tokenizer(name).apply_chat_template(messages, add_generation_prompt=True, return_dict=False, **switch))


def equal(name: str, thinking: Thinking = "auto") -> bool:
    """Whether every prompt of both roles is the rendered template, id for id."""
    for role, conversation in played(name, thinking).items():
        before: list[int] = []
        for turn in conversation.turns:
            ids = [*([] if turn.fresh else before), *turn.prompt]
            if ids != rendered(name, thinking, role, turn.stage):
                return False
            before = [*ids, *turn.ids]
    return True


def hidden(name: str) -> bool:
    """Whether thoughts are heard as such and stand in no prompt, and all that was said comes out as it was said."""
    for role, conversation in played(name, secret=SECRET).items():
        for turn, said in zip(conversation.turns, SAID[role], strict=True):
            shown = tokenizer(name).decode(turn.prompt)
            if turn.text != said or SECRET not in turn.thought or SECRET in shown or not turn.fresh:
                return False
    return True


def switches(name: str) -> bool:
    """Whether the template can be told not to think."""
    try:
        return not template(name, "off").thinks
    except PolicyError:
        return False


def row(name: str) -> tuple[str, ...]:
    found = template(name)
    if found.marks is None:
        thoughts = "none"
    else:
        thoughts = "by default" if found.thinks else "when switched on"
        thoughts += ", a switch" if switches(name) else ", no switch"
    return (
        f"`{name}`" + (" (ours)" if name in OURS else ""),
        "grows" if found.between is not None else "a prompt for each turn",
        "its own" if found.system is not None else "in the first message",
        thoughts,
    )


def knowing(*words: str) -> list[str]:
    """Templates in which one of these words stands, and those that are not at hand."""
    return [name for name in FAMILIES if any(word in (source(name) or word) for word in words)]


@pytest.mark.parametrize("name", FAMILIES)
def test_what_is_asked_is_the_rendered_template_id_for_id(name: str) -> None:
    assert equal(name)


@pytest.mark.parametrize("thinking", ["on", "off"])
@pytest.mark.parametrize("name", knowing("enable_thinking"))
def test_so_it_is_with_the_templates_switch_turned(name: str, thinking: Thinking) -> None:
    assert equal(name, thinking)
    assert template(name, thinking).thinks == (thinking == "on")


@pytest.mark.parametrize("name", FAMILIES)
def test_what_was_said_comes_back_as_it_was_said(name: str) -> None:
    for role, conversation in played(name).items():
        assert tuple(turn.text.removeprefix(FAMILIES[name].lead) for turn in conversation.turns) == SAID[role]


@pytest.mark.parametrize("name", FAMILIES)
def test_a_conversation_grows_exactly_where_the_template_keeps_what_was_said(name: str) -> None:
    grows = template(name).between is not None
    for conversation in played(name).values():
        assert [turn.fresh for turn in conversation.turns] == ([True, False, False] if grows else [True] * 3)


@pytest.mark.parametrize("name", knowing(*(mark for pair in MARKS for mark in pair)))
def test_no_thought_is_shown_to_anybody(name: str) -> None:
    assert hidden(name)


@pytest.mark.parametrize("name", knowing(*(mark for pair in MARKS for mark in pair)))
def test_a_thought_is_counted_from_the_mark_that_opens_it_to_the_one_that_ends_it(name: str) -> None:
    thinking: Thinking = "auto" if chat(name).marks else "on"  # some think only when it is switched on
    marks = chat(name, thinking).marks
    assert marks
    turn = played(name, thinking, SECRET)["generator"].turns[0]
    row = Row(0, turn.prompt, 0, Sampling(1.0, 500, 1000, marks), 10_000)
    for token in turn.ids:
        row.add(token, 0.0, frozenset())
    thought = row.limit - 500
    assert 0 < thought < len(turn.ids)
    assert chat(name, thinking).text(turn.ids[:thought]).strip() == ""
    assert tokenizer(name).decode(turn.ids[thought:]).strip().startswith(turn.text)


def test_the_page_holds_the_table_of_templates() -> None:
    pytest.importorskip("trl")
    page = [line.strip("| ").split(" | ") for line in PAGE.read_text(encoding="utf-8").splitlines()]
    held = {tuple(line[:-1]): line[-1].split(", ") for line in page if len(line) == len(HEAD)}
    groups: dict[tuple[str, ...], list[str]] = {}
    for name in sorted(FAMILIES, key=lambda each: (each in OURS, each)):
        if source(name) is not None:
            shown, *found = row(name)
            groups.setdefault(tuple(found), []).append(shown)
    for found, names in groups.items():
        print(f"| {' | '.join(found)} | {', '.join(names)} |")
        # TRL of another version bundles other templates, so the page may name more than are played here.
        assert set(names) <= set(held.get(found, ())), found
