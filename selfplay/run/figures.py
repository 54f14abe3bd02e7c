"""A step's metrics read by role: which figure belongs to whom, and what it was.

    of_role(metrics, "loss", "generator")   the loss, if the step trained the generator
    trained(metrics)                        the roles that the step trained
    by_role(metrics)                        every number under a name such as `generator/loss` or `time/judge`

Alarms, displays, trackers and the report all read a run's records through this page. Left out: the glossary's formulas.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeGuard

from selfplay.game.episode import ROLES, Role

Metrics = Mapping[str, Any]

GENERATOR = ("pass_rate", "pass_rate_baseline", "no_code")
DISCRIMINATOR = ("validity", "well_formed", "distinct", "kills", "written", "suites", "salvaged")
UPDATE = (
    *("loss", "clip_share", "ratio_max", "kl", "grad_norm", "tokens", "entropy"),
    *("logprob_gap", "logprob_gap_max", "importance_clip_share", "skipped", "moved"),
)
_HEAD = ("kind", "schema", "step", "steps", "role", "phase")


def trained(metrics: Metrics) -> tuple[Role, ...]:
    """The roles that a step trained."""
    return tuple(role for role in ROLES if metrics.get("role") in (role, "both"))


def of_role(metrics: Metrics, name: str, role: Role) -> float | None:
    """A figure of one role: `NAME/ROLE` where the record has it, else `NAME` where the step trained this role alone."""
    value = metrics.get(f"{name}/{role}", metrics.get(name) if metrics.get("role") == role else None)
    return float(value) if is_number(value) else None


def is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def by_role(metrics: Metrics) -> dict[str, float]:
    """Every number of a step under its group: a role, `time` or `run`."""
    return {_grouped(name, metrics): float(metrics[name]) for name in metrics if _kept(name, metrics)}


def _kept(name: str, metrics: Metrics) -> bool:
    """Plain names of a step of both roles repeat the discriminator's."""
    repeated = name in UPDATE and metrics.get("role") == "both" and f"{name}/discriminator" in metrics
    return name not in _HEAD and is_number(metrics[name]) and not repeated


def _grouped(name: str, metrics: Metrics) -> str:
    first, _, rest = name.partition("/")
    role, _, further = rest.partition("/")
    if role in ROLES:
        return "/".join(filter(None, (role, first, further)))
    if first == "seconds":
        return f"time/{rest or 'step'}"
    if first in GENERATOR:
        return f"generator/{name}"
    if first in (*DISCRIMINATOR, "refused"):
        return f"discriminator/{name}"
    return f"{metrics['role']}/{name}" if name in UPDATE and metrics.get("role") in ROLES else f"run/{name}"


def of_evaluation(record: Metrics) -> dict[str, float]:
    """The figures of an evaluation under `eval/`, without their intervals."""
    values = {name: each.get("value") for name, each in record.items() if isinstance(each, Mapping)}
    return {f"eval/{name}": float(value) for name, value in values.items() if is_number(value)}
