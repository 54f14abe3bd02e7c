"""The licence of pushed adapters: that of the model that they were made for, as the model's own card on the hub says it.

Asked of the hub, and of its cache on this machine where it cannot be reached. A model that names no licence, or none that the
hub knows, leaves `other`, with its page to look at. What a card says is somebody's text: what is no licence in the hub's
form is none. Left out: reading the text of a licence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from huggingface_hub import HfApi

PATIENCE = 10  # seconds that the hub may take to answer
_ID = re.compile(r"[a-z0-9][a-z0-9.+-]{0,60}")  # apache-2.0; a name in our own words has this form too
_LINK = re.compile(r"https://[\w.~:/?#@!$&'()*+,;=%-]{1,300}|[\w.-]{1,60}")  # an address, or a file of the repository


@dataclass(frozen=True, slots=True)
class Licence:
    """In the hub's form: the name and the link only where `license` is `other`."""

    license: str
    license_name: str | None = None
    license_link: str | None = None


OURS = Licence("mit")  # of the embedded player


def licence_of(base: str | None, api: HfApi) -> Licence:
    """Of adapters to `base`, by its name on the hub; None is the embedded player."""
    if base is None:
        return OURS
    page = f"{api.endpoint}/{base}"
    told = _card_on_the_hub(base, api) or _card_in_the_cache(base)
    given = told.get("license")
    name = _fitting(_ID, given[0] if isinstance(given, list) and len(given) == 1 else given)
    if name and name != "other":
        return Licence(name)
    own = _fitting(_ID, told.get("license_name")) if name else None
    link = _fitting(_LINK, told.get("license_link")) if name else None
    if link and not link.startswith("https://"):
        link = f"{page}/blob/main/{link}"
    return Licence("other", own or "that-of-the-base-model", link or page)


def _fitting(form: re.Pattern[str], value: object) -> str | None:
    return value if isinstance(value, str) and form.fullmatch(value) else None


def _card_on_the_hub(base: str, api: HfApi) -> Mapping[str, Any]:
    """The metadata of its card; nothing where the hub has none, or does not tell."""
    from httpx import HTTPError
    from huggingface_hub.errors import HFValidationError

    try:
        data = api.model_info(base, timeout=PATIENCE).card_data
    except (OSError, HTTPError, HFValidationError, json.JSONDecodeError):
        return {}
    return data.to_dict() if data else {}


def _card_in_the_cache(base: str) -> Mapping[str, Any]:
    """The metadata of the card that an earlier download left here."""
    import yaml
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        path = try_to_load_from_cache(base, "README.md")
        text = Path(path).read_text(encoding="utf-8") if isinstance(path, str) else ""
        found = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)
        told = yaml.safe_load(found[1]) if found else None
    except (OSError, UnicodeDecodeError, yaml.YAMLError, HFValidationError):
        return {}
    return told if isinstance(told, dict) else {}
