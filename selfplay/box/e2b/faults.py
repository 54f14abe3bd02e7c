"""What went wrong with the cloud, by the name of the SDK's exception: what to do next, never what a program did.

`SandboxNotRunningException` and `SandboxUnreachableException` are subclasses of the SDK's `TimeoutException`, and none
of the three says anything about a program: programs are timed inside the sandbox, by the same runner as at home.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from enum import Enum


class Kind(Enum):
    """What a fault means for what comes next."""

    AUTH = "the key was refused: nothing will work"
    QUOTA = "the plan allows no more sandboxes"
    WAIT = "ask again later"
    LOST = "the sandbox is gone, or cannot be used any more: take another"
    REFUSED = "the request itself is wrong: asking again will not help"
    SPENT = "the budget is spent"


class Fault(Exception):
    """A failure of the cloud. The message is for people and never holds the key."""

    def __init__(self, kind: Kind, message: str) -> None:
        super().__init__(message)
        self.kind = kind


# The most derived name that is listed here decides; what is not listed is LOST.
_KINDS = {
    "AuthenticationException": Kind.AUTH,
    "RateLimitException": Kind.WAIT,
    "ServiceBusyException": Kind.WAIT,
    "SandboxNotRunningException": Kind.LOST,
    "SandboxUnreachableException": Kind.LOST,
    "SandboxNotFoundException": Kind.LOST,
    "FileNotFoundException": Kind.LOST,  # the answers are missing
    "NotFoundException": Kind.LOST,
    "NotEnoughSpaceException": Kind.LOST,
    "GuestUnresponsiveException": Kind.LOST,
    "CommandExitException": Kind.LOST,  # the in-box runner failed
    "TimeoutException": Kind.LOST,
    "TemplateException": Kind.REFUSED,
    "InvalidArgumentException": Kind.REFUSED,
}
_BY_STATUS = {400: Kind.REFUSED, 402: Kind.QUOTA, 403: Kind.AUTH, 404: Kind.REFUSED, 409: Kind.WAIT, 422: Kind.REFUSED}
_CONCURRENT = "maximum number of concurrent"


@contextlib.contextmanager
def calling(what: str) -> Iterator[None]:
    """Around one call of the SDK: any exception becomes a Fault."""
    try:
        yield
    # The SDK raises its own trees, httpx's, Connect's, bare Exceptions and, on garbage, whatever its parsers do.
    except Exception as error:  # noqa: BLE001
        raise fault_of(error, what) from None


def fault_of(error: Exception, what: str) -> Fault:
    """The fault that an exception of the SDK amounts to."""
    if isinstance(error, Fault):
        return error
    text = str(error)
    kind = next((_KINDS[base.__name__] for base in type(error).__mro__ if base.__name__ in _KINDS), None)
    if kind is None:
        kind = _BY_STATUS.get(getattr(error, "status_code", None) or 0, Kind.LOST)
    if kind is Kind.WAIT and _CONCURRENT in text:
        kind = Kind.QUOTA
    stderr = str(getattr(error, "stderr", "") or "").strip().splitlines()
    told = stderr[-1] if stderr else text
    return Fault(kind, f"{what}: {type(error).__name__}: {scrubbed(told)[:300]}")


def scrubbed(text: str) -> str:
    """The text without the key, should a server repeat it."""
    key = os.environ.get("E2B_API_KEY", "")
    return text.replace(key, "E2B_API_KEY") if key else text
