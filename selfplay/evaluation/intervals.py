"""Values with intervals, over problems: percentile bootstrap for means and ratios, jackknife for shares of distinct things.

Problems are resampled, not samples: four answers to one problem are not four observations. Resampling draws a problem
twice, which makes its cases look repeated, so distinctness over all problems takes the jackknife instead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass

import numpy as np

RESAMPLES = 1000


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure and its 95 % interval; NaN where nothing was measured."""

    value: float
    low: float
    high: float

    def as_json(self) -> dict[str, float | None]:
        """By name, rounded; null for NaN."""
        return {name: None if np.isnan(x) else round(float(x), 5) for name, x in asdict(self).items()}


NOTHING = Estimate(float("nan"), float("nan"), float("nan"))


def ratio(numerators: Sequence[float], denominators: Sequence[float], seed: int = 0) -> Estimate:
    """Sum of numerators over sum of denominators, one pair per problem; bootstrap over problems (Efron 1979)."""
    top, bottom = np.asarray(numerators, float), np.asarray(denominators, float)
    if bottom.sum() == 0:
        return NOTHING
    rows = np.random.default_rng(seed).integers(len(top), size=(RESAMPLES, len(top)))
    below = bottom[rows].sum(1)
    drawn = top[rows].sum(1)[below > 0] / below[below > 0]
    low, high = np.percentile(drawn, (2.5, 97.5))
    return Estimate(float(top.sum() / bottom.sum()), float(low), float(high))


def mean(values: Sequence[float], seed: int = 0) -> Estimate:
    """The mean over problems, each counting once."""
    return ratio(values, [1.0] * len(values), seed)


Columns = tuple[Sequence[float], Sequence[float]]  # numerators and denominators, one of each per problem


def ratio_change(before: Columns, after: Columns, seed: int = 0) -> Estimate:
    """One ratio minus another over the same problems; each resample draws its problems for both."""
    first, second = np.asarray(before, float), np.asarray(after, float)
    if not first[1].sum() or not second[1].sum():
        return NOTHING
    rows = np.random.default_rng(seed).integers(first.shape[1], size=(RESAMPLES, first.shape[1]))
    (top_1, bottom_1), (top_2, bottom_2) = first[:, rows].sum(2), second[:, rows].sum(2)
    known = (bottom_1 > 0) & (bottom_2 > 0)
    drawn = top_2[known] / bottom_2[known] - top_1[known] / bottom_1[known]
    low, high = np.percentile(drawn, (2.5, 97.5))
    value = second[0].sum() / second[1].sum() - first[0].sum() / first[1].sum()
    return Estimate(float(value), float(low), float(high))


def distinct_share(items: Sequence[Sequence[Hashable]]) -> Estimate:
    """Distinct items over items, all problems together; jackknife over problems (Tukey 1958)."""
    return _jackknife(*_distinct(items))


def distinct_change(before: Sequence[Sequence[Hashable]], after: Sequence[Sequence[Hashable]]) -> Estimate:
    """The second share minus the first, over the same problems."""
    (first, without_1), (second, without_2) = _distinct(before), _distinct(after)
    return _jackknife(second - first, without_2 - without_1)


def _jackknife(value: float, left_out: np.ndarray) -> Estimate:
    if np.isnan(value):
        return NOTHING
    error = float(np.sqrt((len(left_out) - 1) * left_out.var())) if len(left_out) > 1 else 0.0
    return Estimate(value, value - 1.96 * error, value + 1.96 * error)


def _distinct(items: Sequence[Sequence[Hashable]]) -> tuple[float, np.ndarray]:
    """Distinct items over items, and the same without each problem; NaN where there are no items."""
    counts = Counter(item for own in items for item in own)
    total, distinct = counts.total(), len(counts)
    if not total:
        return float("nan"), np.zeros(len(items))

    def without(own: Counter[Hashable]) -> float:
        gone = sum(count == counts[item] for item, count in own.items())
        return (distinct - gone) / (total - own.total()) if total > own.total() else distinct / total

    return distinct / total, np.array([without(Counter(own)) for own in items])


def paired_difference(first: Sequence[float], second: Sequence[float], seed: int = 0) -> Estimate:
    """Mean of second minus first over the same problems; paired bootstrap."""
    return mean([b - a for a, b in zip(first, second, strict=True)], seed)


def pass_at_k(correct: int, samples: int, k: int) -> float:
    """Unbiased pass@k from `correct` of `samples` (Chen et al. 2021, arXiv 2107.03374)."""
    if samples - correct < k:
        return 1.0
    return 1.0 - float(np.prod(1.0 - k / np.arange(samples - correct + 1, samples + 1)))
