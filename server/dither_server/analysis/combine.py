"""Estimates of several versions of one metric, weighed by what each knows: only where it is asked for.

Two versions are never summed: their noise has other laws. But if the truth was the same under both, the mean that
weighs each estimate by the inverse of its variance is unbiased, and of the means the one with the least error.
"""

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import TypedDict

from .answers import Answer

__all__ = ["Combined", "CombinedRow", "combined"]


class CombinedRow(TypedDict):
    """A value's combined estimate; None where some version knows nothing of it."""

    value: str
    frequency: float | None
    standard_error: float | None
    low: float | None
    high: float | None


class Combined(TypedDict):
    """The combination: of which versions, of how many reports, and its values."""

    metric: str
    versions: list[str]
    reports: int
    confidence: float
    values: list[CombinedRow]


def combined(metric: str, told: Sequence[Answer], confidence: float) -> Combined:
    """Return the combination of answers about one metric; a version without reports has no part in it.

    The values are those that every version lists, in the order of the first; intervals are normal.
    """
    told = [one for one in told if one["reports"]]
    rows = [{row["value"]: row for row in one["values"]} for one in told]
    values = [value for value in rows[0] if all(value in others for others in rows[1:])] if rows else []
    pairs = {value: [(of[value]["frequency"], of[value]["standard_error"]) for of in rows] for value in values}
    return Combined(
        metric=metric,
        versions=[one["version"] for one in told],
        reports=sum(one["reports"] for one in told),
        confidence=confidence,
        values=[_row(value, pairs[value], confidence) for value in values],
    )


def _row(value: str, pairs: Sequence[tuple[float | None, float | None]], confidence: float) -> CombinedRow:
    known = [(frequency, 1 / error**2) for frequency, error in pairs if frequency is not None and error]
    if len(known) != len(pairs):
        return CombinedRow(value=value, frequency=None, standard_error=None, low=None, high=None)
    weights = sum(weight for _, weight in known)
    mean = sum(frequency * weight for frequency, weight in known) / weights
    error = math.sqrt(1 / weights)
    margin = NormalDist().inv_cdf((1 + confidence) / 2) * error
    return CombinedRow(value=value, frequency=mean, standard_error=error, low=mean - margin, high=mean + margin)
