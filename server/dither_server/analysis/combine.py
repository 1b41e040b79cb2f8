"""Estimates of several versions of one metric, weighed by what each knows: only where it is asked for.

Two versions are never summed: their noise has other laws. But if the truth was the same under both, the mean that
weighs each estimate by the inverse of its variance is unbiased, and of the means the one with the least error.
"""

from collections.abc import Sequence
from statistics import NormalDist
from typing import TypedDict

import numpy as np

from .tables import Column, Table

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


def combined(metric: str, tables: Sequence[Table], confidence: float) -> Table:
    """Return the combination of estimates of one metric, as a table of ``Combined``.

    A version without reports has no part in it. The values are those that every version lists, in the order of the
    first; intervals are normal.
    """
    tables = [one for one in tables if one.about["reports"]]
    values = _common([one.columns["value"] for one in tables])
    weights, weighted = np.zeros(len(values)), np.zeros(len(values))
    for one in tables:
        where = {value: place for place, value in enumerate(one.columns["value"])}
        places = np.array([where[value] for value in values], dtype=np.intp)
        frequency, error = (np.asarray(one.columns[name])[places] for name in ("frequency", "standard_error"))
        weight = np.where(error > 0, 1 / np.where(error > 0, error, 1) ** 2, np.nan)  # of NaN and 0 nothing is known
        weights, weighted = weights + weight, weighted + frequency * weight
    about = {
        "metric": metric,
        "versions": [one.about["version"] for one in tables],
        "reports": sum(one.about["reports"] for one in tables),
        "confidence": confidence,
    }
    mean, error = weighted / weights, np.sqrt(1 / weights)
    margin = NormalDist().inv_cdf((1 + confidence) / 2) * error
    ends = {"low": mean - margin, "high": mean + margin}
    return Table(about, {"value": values, "frequency": mean, "standard_error": error, **ends})


def _common(lists: Sequence[Column]) -> list[str]:
    others = [set(one) for one in lists[1:]]
    return [value for value in lists[0] if all(value in one for one in others)] if lists else []
