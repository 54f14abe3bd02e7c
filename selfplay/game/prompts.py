"""What each role is asked at each stage: Jinja templates from `prompts/`, one per role and stage.

Two styles: `instruct` for instruction-tuned models, `compact` for the embedded player, whose context is short and whose
words are few; a folder with the same files is a style of one's own. A template sees
`problem`, `stage`, `first` (this message opens the conversation), `material` (for the
discriminator the generator's text of that stage), `earlier` (the turns so far, where the message must quote them) and
`cases` (tests asked for per turn); any other name is an error.
Left out: turning messages into ids (`Chat` in players.py) and reading the answers (extract/).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateError
from jinja2.meta import find_undeclared_variables

from selfplay.errors import BadInput, SelfplayError, UnknownName
from selfplay.game.episode import ROLES, Role
from selfplay.game.problems import Problem
from selfplay.game.stages import Stage, get_stage
from selfplay.resources import resource

STYLES = ("instruct", "compact")
TEMPLATES = tuple(f"{role}/{name}.jinja" for role in ROLES for name in ("system", 1, 2, 3, 4, 5))
NAMES = {"problem", "stage", "first", "material", "earlier", "cases"}  # that a template may use


@dataclass(frozen=True, slots=True)
class Earlier:
    """A turn of the player who is asked, quoted: its stage, what it `said`, and what it `read` before (a discriminator)."""

    stage: Stage
    said: str
    read: str = ""


@dataclass(frozen=True, slots=True)
class Prompts:
    """The messages of one style, or of a folder of templates. `cases`: tests asked for per turn.

    Raises UnknownName, and BadInput where a template is missing or cannot be used.
    """

    style: str = "instruct"
    cases: int = 2

    def __post_init__(self) -> None:
        if self.style not in STYLES:
            _check_folder(self.style)
        if self.cases < 1:
            raise SelfplayError(f"cases is {self.cases}: ask for at least 1 test per turn")

    def ask(
        self,
        problem: Problem,
        role: Role,
        stage: int,
        material: str | None = None,
        first: bool = False,
        earlier: Sequence[Earlier] = (),
    ) -> str:
        """The user message that asks `role` for its turn at `stage`.

        `first`: the message opens the conversation and so carries the problem. `material`: for the discriminator the
        generator's text of this stage, required. `earlier`: the role's turns so far, only where each turn is a conversation
        of its own.
        """
        if role == "discriminator" and material is None:
            raise SelfplayError(
                f"the discriminator at stage {stage} of {problem.id!r} needs the generator's text to read"
            )
        names = {"problem": problem, "stage": get_stage(stage), "cases": self.cases}
        template = _environment(self.style).get_template(f"{role}/{stage}.jinja")
        return template.render(names, first=first, material=material, earlier=earlier)

    def system(self, role: Role) -> str:
        """The system message of `role`; empty where the style has none."""
        return _environment(self.style).get_template(f"{role}/system.jinja").render()


def _check_folder(style: str) -> None:
    if not Path(style).is_dir():
        raise UnknownName("prompt style", style, (*STYLES, "a folder of templates"))
    for name in TEMPLATES:
        try:
            text = (Path(style) / name).read_text(encoding="utf-8")
            strange = find_undeclared_variables(_environment(style).parse(text)) - NAMES
            _environment(style).get_template(name)
        except (OSError, UnicodeDecodeError, TemplateError) as error:
            why = getattr(error, "strerror", None) or error
            raise BadInput(
                f"prompts {style}: {name} cannot be used ({why}); begin with a copy of prompts/instruct"
            ) from None
        if strange:
            raise BadInput(
                f"prompts {style}: {name} uses {', '.join(sorted(strange))}; a template may use {', '.join(sorted(NAMES))}"
            )


@cache
def _environment(style: str) -> Environment:
    folder = resource("prompts") / style if style in STYLES else Path(style)
    # Prompts are plain text, so nothing is escaped; a name that a template misspells must not vanish.
    return Environment(loader=FileSystemLoader(folder), undefined=StrictUndefined)
