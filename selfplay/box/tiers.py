"""How strongly this machine confines a candidate: named tiers, each from walls that were tried, not assumed.

    jailed     Linux: Landlock and seccomp hold, and a box started by root runs its candidates as another user
    confined   Linux: some of these hold
    seatbelt   macOS: resource limits and a Seatbelt profile
    limited    resource limits alone
    unjailed   nothing: asked for, to demonstrate attacks
    e2b        a virtual machine elsewhere, with the same walls inside as far as its kernel has them

Only `jailed` and `e2b` are meant for a model that is trained to win. sandbox/README.md says what each tier promises.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from selfplay.box.task import Box
from selfplay.errors import SelfplayError

TIERS = ("unjailed", "limited", "seatbelt", "confined", "jailed", "e2b")

_WALLS = ("no_new_privs", "landlock", "seccomp", "user")
_ADVICE = {
    "no_new_privs": "a Linux kernel of 3.5 or newer",
    "landlock": "a Linux kernel of 5.13 or newer with Landlock enabled at boot, and a container profile that allows it",
    "seccomp": "a kernel with seccomp filters on x86_64 or aarch64",
    "user": "an ordinary user instead of root, or a Python that other users can read",
}


class TierTooLow(SelfplayError):
    """A sandbox that confines programs less than was asked for."""

    def __init__(self, tier: Tier, minimum: str) -> None:
        raising = "; ".join(f"to raise it: {advice}" for advice in tier.advice) or "give --sandbox e2b"
        super().__init__(
            f"the sandbox here has the tier {tier}, and {minimum!r} was asked for; {raising}; "
            f"or start anyway with --sandbox-min-tier {tier.name}. `python -m selfplay.doctor` tells more"
        )


@dataclass(frozen=True, slots=True)
class Tier:
    """A tier's name; the walls that are missing with the reason; what would raise the tier."""

    name: str
    missing: tuple[tuple[str, str], ...] = ()
    advice: tuple[str, ...] = ()

    def __str__(self) -> str:
        gaps = "; ".join(f"{wall}: {reason}" for wall, reason in self.missing)
        return f"{self.name} (missing {gaps})" if gaps else self.name

    def require(self, minimum: str) -> None:
        """Raises TierTooLow below `minimum`."""
        if not self.reaches(minimum):
            raise TierTooLow(self, minimum)

    def reaches(self, minimum: str) -> bool:
        """Whether this tier is at least `minimum`. Raises ValueError for a name that is no tier."""
        return rank(self.name) >= rank(minimum)


def rank(name: str) -> int:
    """How strongly a tier confines, from 0. Raises ValueError for a name that is no tier."""
    if name not in TIERS:
        raise ValueError(f"{name!r} is no tier: they are {', '.join(TIERS)} (weakest first)")
    return TIERS.index(name)


def tier_of(hello: Mapping[str, Any], jail: bool = True, platform: str = sys.platform) -> Tier:
    """The tier that a zygote's report of its walls amounts to on this platform."""
    if not jail:
        return Tier("unjailed", (("all", "left out on request"),), ("leave the walls on",))
    walls: Mapping[str, str] = hello["walls"]
    missing = tuple((wall, walls[wall]) for wall in _WALLS if walls[wall])
    if platform == "darwin":
        return Tier("seatbelt", missing, ("Linux (a container or a virtual machine), or E2B",))
    if not missing:
        return Tier("jailed")
    strong = [wall for wall in ("landlock", "seccomp") if not walls[wall]]
    return Tier("confined" if strong else "limited", missing, tuple(_ADVICE[wall] for wall, _ in missing))


def require_tier(box: Box, minimum: str | None, fallback: bool = False) -> None:
    """Raises TierTooLow where programs may come to run below `minimum`: in `box` or, with `fallback`, in its home."""
    if minimum is None:
        return
    for place in (box, getattr(box, "home", None) if fallback else None):
        if place is not None:
            getattr(place, "confinement", Tier(place.tier)).require(minimum)
