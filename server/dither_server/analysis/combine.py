"""Estimates of several versions of one metric, weighed by what each knows: only where it is asked for.

Two versions are never summed: their noise has other laws. But if the truth was the same under both, the mean that
weighs each estimate by the inverse of its variance has the least error of all means. The variance is that at one share
for all versions (``spread``): with that at each estimate a low one would weigh more, and the mean would be too low. The
weights still depend a little on the estimates, so the mean is nearly unbiased: to some hundredths of its error.
"""

from collections.abc import Sequence
from math import isfinite
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from dither_shared import Mechanism

from ..intervals import Law, normal_interval, score_interval
from .answers import Answer, Row, finite
from .spread import spread_of, weights_of

__all__ = ["Combined", "CombinedRow", "combined"]

Floats = NDArray[np.float64]


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


def combined(metric: str, told: Sequence[Answer], mechanisms: Sequence[Mechanism], confidence: float) -> Combined:
    """Return the combination of answers about one metric; a version without reports has no part in it.

    The values are those that every version lists, in the order of the first. Intervals are score intervals with the
    mean's own law, in [0, 1]; an error is that at the mean.
    """
    known = [pair for pair in zip(told, mechanisms, strict=True) if pair[0]["reports"]]
    rows = [{row["value"]: row for row in one["values"]} for one, _ in known]
    values = [value for value in rows[0] if all(value in others for others in rows[1:])] if rows else []
    columns = _columns(known, rows, values, 1 - confidence) if values else []
    return Combined(
        metric=metric,
        versions=[one["version"] for one, _ in known],
        reports=sum(one["reports"] for one, _ in known),
        confidence=confidence,
        values=[
            CombinedRow(value=value, frequency=finite(mean), standard_error=finite(error), low=low, high=high)
            if isfinite(error)
            else CombinedRow(value=value, frequency=None, standard_error=None, low=None, high=None)
            for value, mean, error, low, high in zip(values, *(column.tolist() for column in columns), strict=True)
        ],
    )


def _columns(
    known: Sequence[tuple[Answer, Mechanism]], rows: Sequence[dict[str, Row]], values: Sequence[str], alpha: float
) -> list[Floats]:
    """Return the means, their errors, and the ends of their intervals."""
    frequency, error = (_table(rows, values, name) for name in ("frequency", "standard_error"))
    spreads = [
        spread_of(mechanism, frequency[place], error[place], one["reports"])
        for place, (one, mechanism) in enumerate(known)
    ]
    weights = weights_of(spreads, frequency)
    mean = np.where(np.isfinite(error).all(axis=0), (weights * frequency).sum(axis=0), np.nan)
    squares = weights**2
    slope, thinning = squares.T @ [one.slope for one in spreads], squares.T @ [one.thinning for one in spreads]
    constant = (squares * [one.constant for one in spreads]).sum(axis=0)

    def error_at(share: Floats) -> Floats:
        return np.asarray(np.sqrt(constant + slope * share + thinning * share * (1 - share)))

    def skewness(share: Floats) -> Floats:
        return np.asarray((weights**3 * [one.cube(share) for one in spreads]).sum(axis=0) / error_at(share) ** 3)

    spread = error_at(np.clip(mean, 0, 1))
    if not thinning.any():  # of RAPPOR alone
        return [mean, spread, *normal_interval(mean, spread, 1 - alpha)]
    law = Law(0.0, slope / thinning, 1.0)
    return [mean, spread, *score_interval(law, mean, 1 / thinning, alpha, np.sqrt(constant), skewness)]


def _table(rows: Sequence[dict[str, Row]], values: Sequence[str], name: str) -> Floats:
    """Return a number of each version and value, NaN where there is none."""
    numbers = [[of[value][name] for value in values] for of in rows]  # type: ignore[literal-required]  # its name
    return np.array(numbers, dtype=np.float64)
