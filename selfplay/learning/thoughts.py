"""Whether a model may think before it speaks, told before anything is loaded: a turn is then planned with its thought.

Its chat template names the marks of a thought or does not; a usual model is known by its family. Not known here: whether the
template switches thoughts off by default. For such a model the plan is too large.
"""

from __future__ import annotations

from selfplay.learning.policy import PolicyError, Thinking, names_thoughts
from selfplay.learning.shapes import model_file, read_table


def may_think(model: str, thinking: Thinking) -> bool:
    """Whether turns of this model may begin with a thought, `thinking` as it is configured."""
    if thinking != "auto":
        return thinking == "on"
    template = _template(model)
    if template is None:
        name = model.rpartition("/")[2].lower()
        return name.startswith("qwen3-") and "instruct" not in name
    return names_thoughts(template)


def _template(model: str) -> str | None:
    """The source of its chat template; None where it is not at hand. Opening the tokenizer says what is wrong with it."""
    try:
        settings = model_file(model, "tokenizer_config.json")
        if settings is None:
            return None
        if template := read_table(settings).get("chat_template"):
            return str(template)
        file = model_file(model, "chat_template.jinja")
        return None if file is None else file.read_text(encoding="utf-8", errors="replace")
    except PolicyError:
        return None
