"""Combine the estimates of several versions of one metric, weighed by their precision, on request only.

Counts of two versions are never added, because their noise has different laws. But if the true share was the same under
both, the mean weighted by inverse variances has the least error of all weighted means. The variances are computed at
one share for all versions (``spread``): with the variance at each estimate, low estimates would get more weight, and
the mean would be biased downwards. The weights still depend slightly on the estimates, so the bias is some hundredths
of the standard error.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dither_shared import Mechanism

from ..estimation.intervals.score import Law, normal_interval, score_interval
from ..tally.arrays import Floats
from ..tally.repeats import Repeats
from .columns import ColumnData, Table
from .estimate_table import SHARES
from .spread import spread_of, weights_of

COMBINED = [column for column in SHARES if column.name in {"value", "frequency", "standard_error", "low", "high"}]
"""The columns of a combination: one row per value; numbers are null where some version has no estimate of it."""


class Version(NamedTuple):
    """A version's estimates, its mechanism, and how its reports repeat."""

    table: Table
    mechanism: Mechanism
    repeats: Repeats


def combined(metric: str, versions: Sequence[Version], confidence: float) -> Table:
    """Combine the estimates of several versions of a metric into a table with the columns ``COMBINED``.

    Versions without estimates are left out. The values are those that every version lists, in the order of the first.
    Intervals are score intervals by the law of the mean, in [0, 1]; errors are computed at the mean. Both allow for
    people who reported under several versions: their reports share the answer, but no permanent draw, because each
    version has its own.
    """
    known = [version for version in versions if _has_shares(version.table)]
    values = _common([version.table.columns["value"] for version in known])
    numbers = _columns(known, values, 1 - confidence) if values else [np.zeros(0)] * 4
    about = {
        "metric": metric,
        "versions": [version.table.about["version"] for version in known],
        "reports": sum(version.table.about["reports"] for version in known),
        "confidence": confidence,
    }
    names = ("frequency", "standard_error", "low", "high")
    return Table(about, {"value": values, **dict(zip(names, numbers, strict=True))})


def _has_shares(table: Table) -> bool:
    """Return whether an estimate contains any number."""
    return bool(np.isfinite(np.asarray(table.columns["frequency"], dtype=np.float64)).any())


def _common(lists: Sequence[ColumnData]) -> list[str]:
    others = [set(column) for column in lists[1:]]
    return [value for value in lists[0] if all(value in column for column in others)] if lists else []


def _columns(known: Sequence[Version], values: Sequence[str], alpha: float) -> list[Floats]:
    """Return the means, their errors, and the ends of their intervals; NaN where some version has no estimate."""
    frequency, error = (_numbers(known, values, name) for name in ("frequency", "standard_error"))
    spreads = [
        spread_of(
            version.mechanism, frequency[place], error[place], version.table.about["reports"], version.repeats.effect
        )
        for place, version in enumerate(known)
    ]
    weights = weights_of(spreads, frequency)
    mean = np.where(np.isfinite(error).all(axis=0), (weights * frequency).sum(axis=0), np.nan)
    squares = weights**2
    slope, thinning = (
        squares.T @ [spread.slope for spread in spreads],
        squares.T @ [spread.thinning for spread in spreads],
    )
    overlaps = np.array([[version.repeats.overlap(other.repeats) for other in known] for version in known])
    np.fill_diagonal(overlaps, 0.0)
    thinning = thinning + np.einsum("iv,ij,jv->v", weights, overlaps, weights)
    constant = (squares * [spread.constant for spread in spreads]).sum(axis=0)

    def error_at(share: Floats) -> Floats:
        return np.asarray(np.sqrt(Law(constant, slope, thinning).variance(share)))

    def skewness(share: Floats) -> Floats:
        return np.asarray((weights**3 * [spread.cube(share) for spread in spreads]).sum(axis=0) / error_at(share) ** 3)

    mean_error = error_at(np.clip(mean, 0, 1))
    if not thinning.any():  # all versions are RAPPOR
        return [mean, mean_error, *normal_interval(mean, mean_error, 1 - alpha)]
    law = Law(0.0, slope / thinning, 1.0)
    return [mean, mean_error, *score_interval(law, mean, 1 / thinning, alpha, np.sqrt(constant), skewness)]


def _numbers(known: Sequence[Version], values: Sequence[str], name: str) -> Floats:
    """Return the column ``name``, by version and value."""
    columns = []
    for version in known:
        where = {value: place for place, value in enumerate(version.table.columns["value"])}
        columns.append(np.asarray(version.table.columns[name], dtype=np.float64)[[where[value] for value in values]])
    return np.array(columns)
