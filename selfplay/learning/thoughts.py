"""Whether a model may think before it speaks, told before anything is loaded: a turn is then planned with its thought.

By the text of its chat template, which names the marks of a thought or does not; by the family where there is no template at
hand. Left out: whether a template that knows thoughts has them switched off by itself, which only rendering it tells
(policy/template.py): such a model is planned for with more than it takes.
"""

from __future__ import annotations

from selfplay.learning.policy import Thinking, names_thoughts
from selfplay.learning.shapes import ShapeUnknown, known_file, read_table


def may_think(model: str, thinking: Thinking, fetch: bool = False) -> bool:
    """Whether turns of this model may begin with a thought, `thinking` as it is configured. `fetch`: get its template."""
    if thinking != "auto":
        return thinking == "on"
    template = _template(model, fetch)
    if template is None:
        name = model.rpartition("/")[2].lower()
        return name.startswith("qwen3-") and "instruct" not in name
    return names_thoughts(template)


def _template(model: str, fetch: bool) -> str | None:
    """The source of its chat template; None where it is not at hand. Opening the tokenizer says what is wrong with it."""
    try:
        settings = known_file(model, "tokenizer_config.json", fetch)
        if settings is None:
            return None
        if template := read_table(settings).get("chat_template"):
            return str(template)
        file = known_file(model, "chat_template.jinja", fetch)
        return None if file is None else file.read_text(encoding="utf-8", errors="replace")
    except ShapeUnknown:
        return None
