"""What pushing and pulling share: the client, names of repositories, and the hub's faults as sentences with the way out.

The token is huggingface_hub's business: it comes from where that keeps it, and what is said of an error is made of its status
and the hub's own short message.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from selfplay.errors import SelfplayError
from selfplay.printing import printable

if TYPE_CHECKING:
    from huggingface_hub import HfApi

WORDS = {
    401: "the token is not accepted; log in again with `hf auth login`, or set HF_TOKEN",
    402: "the account has no room left for private repositories; free some, or give --public",
    403: "the token may not write there; take a name of your own, or a token that can write",
    404: "there is no such user, organisation or revision; see how the name is spelled",
    409: "somebody changed it at the same moment; try again",
    413: "it is too large for the hub",
    429: "the hub asks to wait, there were too many requests; try again later",
}


class HubError(SelfplayError):
    """What was asked of the hub did not come through."""


def client() -> HfApi:
    from huggingface_hub import HfApi

    return HfApi(library_name="selfplay")


def check_repository(repo: str) -> None:
    """Raises HubError where it is no name of a repository that somebody can have."""
    if not is_name(repo) or "/" not in repo:
        raise HubError("the name of a repository is user/name, of letters, digits, dots, dashes and underscores")


def is_name(repo: str) -> bool:
    """Whether the hub takes it: old models have a name without a user."""
    from huggingface_hub.utils import HFValidationError, validate_repo_id

    try:
        validate_repo_id(repo)
    except HFValidationError:
        return False
    return True


@contextmanager
def asking(repo: str, done: str) -> Iterator[None]:
    """Turns what huggingface_hub raises into a HubError. `done`: what was to be done."""
    from httpx import HTTPError  # what huggingface_hub speaks with

    try:
        yield
    except (OSError, HTTPError, RuntimeError, json.JSONDecodeError) as error:  # RuntimeError: a file could not be sent
        raise HubError(f"{repo} was not {done}: {_why(error)}") from None


def _why(error: BaseException) -> str:
    """By the status of the hub's answer, wherever in the chain of causes that is."""
    cause: BaseException | None = error
    while cause is not None and getattr(cause, "response", None) is None:
        cause = cause.__cause__ or cause.__context__
    if cause is None:
        return f"the connection failed ({type(error).__name__}); try again"
    status = int(cause.response.status_code)  # type: ignore[attr-defined]
    if status >= 500:
        return f"the hub failed (status {status}); try again later"
    words = printable(str(getattr(cause, "server_message", None) or ""))[:200]
    return WORDS.get(status, f"the hub refused it (status {status}{': ' + words if words else ''})")
