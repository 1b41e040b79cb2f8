"""Compute a metric's trend over days or weeks, and test for changes beyond noise.

Two kinds of contrast are tested for each value: the slope of the weighted straight line, and each step against all
others. A contrast Σ c_t f_t of unbiased estimates has variance Σ c_t² σ_t² if different people report each time. If the
same people report again, the part τ_t² of σ_t² that is of their answers and permanent draws is correlated, and steps
whose c_t have the same sign add up: over all correlations between 0 and 1 the variance is at most

    Σ c_t² (σ_t² - τ_t²) + (Σ_(c>0) c_t τ_t)² + (Σ_(c<0) c_t τ_t)².

The tests use this bound, so memoised answers do not count as drift, as they could in a chi-square test over all steps.
(The covariance reduces the variance of a single difference, but not necessarily that of a slope: one group of people in
the first half and another in the second look like a trend.)

Third moments add up to Σ c_t³ μ_t, and the tails have that skewness. If few reports support a value, they are far from
normal, and with normal tails one of many rare values would seem to drift on one of many days.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from dither_shared import Mechanism, Metric

from ..estimation.estimate import Estimate
from ..estimation.intervals.score import shared_variance
from ..tally.arrays import Floats, Indices
from .columns import Column, Table, cells, number
from .compare import ADJUSTED
from .spread import holm, spread_of, two_sided

E = TypeVar("E")

_TESTS = ("slope", "slope_error", "p_value", "adjusted")
_TESTED = 256
"""Number of values tested at a time; for a year of days their matrices take some megabytes."""
_POINTS = 256
"""Number of points written at a time."""

LEAST_REPORTS = 50
"""Minimum reports of a tested step: smaller steps are shown only, because they would only add to the correction."""

SLOPE_UNIT = "share per day"
"""The unit of slopes: 0.01 is one percentage point per day, even if the steps are weeks."""

_NOTE = (
    "steps are not independent if the same people report again; slopes and steps are tested with the largest "
    "variance that this can cause, so permanent draws and changes in who reports are not mistaken for drift"
)


POINT = tuple(number(name) for name in ("frequency", "standard_error", "low", "high"))
"""The columns of a point: the estimate of one step, about the population."""
TREND = (
    Column("value", str),
    number("slope", "Slope of a straight line, in slope_unit."),
    number("slope_error", "Standard error, the largest that people who report in several steps can give it."),
    number("p_value", "P-value of no change: of the slope, and of each step against the others."),
    ADJUSTED,
    Column("drift", bool, "Whether adjusted is below 1 - confidence."),
)
"""The columns of a trend: one row per value. Each row also has its ``points``, one per step."""


class TrendStep(NamedTuple, Generic[E]):
    """A step's days, both included, and its estimate."""

    since: date
    until: date
    estimate: E


def step_fields(since: date, until: date, reports: int, tested: bool) -> dict[str, Any]:
    """Return the fields that describe a step of a trend: its days, its reports, and whether it is tested."""
    return {"since": since.isoformat(), "until": until.isoformat(), "reports": reports, "tested": tested}


class _Span(NamedTuple):
    """A step, and whether it is tested."""

    since: date
    until: date
    reports: int
    repeats: float
    tested: bool


@dataclass(frozen=True)
class _TrendTable(Table):
    """A trend whose rows are made on access; ``points`` holds arrays of shape (steps, values)."""

    points: Mapping[str, Floats]

    def rows(self, start: int = 0, stop: int | None = None) -> list[dict[str, Any]]:
        """Return the rows of the values from ``start`` to ``stop``."""
        rows = super().rows(start, stop)
        names = list(self.points)
        for place, row in enumerate(rows, start):
            numbers = (cells(of_steps[:, place]) for of_steps in self.points.values())
            row["points"] = [dict(zip(names, point, strict=True)) for point in zip(*numbers, strict=True)]
        return rows

    def chunks(self) -> Iterator[list[dict[str, Any]]]:
        """Yield all rows, a few points at a time."""
        few = max(1, _POINTS // max(1, len(next(iter(self.points.values())))))
        return (self.rows(start, start + few) for start in range(0, len(self), few))


def trend(
    metric: Metric,
    count: int,
    stretches: Iterable[TrendStep[Estimate]],
    confidence: float,
    places: Indices | None = None,
) -> _TrendTable:
    """Return the trend of a metric version over ``count`` stretches of days that have reports, oldest first.

    ``places`` selects the values that are shown, by default all; the correction is for all values in any case.
    """
    labels = metric.labels
    frequency, errors = np.empty((count, len(labels))), np.empty((count, len(labels)))
    low, high = (np.empty((count, len(labels) if places is None else len(places))) for _ in range(2))
    shown: slice | Indices = slice(None) if places is None else places
    spans: list[_Span] = []
    for place, stretch in enumerate(stretches):
        result = stretch.estimate
        spans.append(_span(stretch))
        frequency[place], errors[place] = result.frequency, result.standard_error
        low[place], high[place] = result.low[shown], result.high[shown]
    tests = _tests(metric, spans, frequency, errors)
    adjusted = holm(tests[2])
    columns = dict(zip(_TESTS, (*tests, adjusted), strict=True)) | {"drift": adjusted < 1 - confidence}  # False for NaN
    points = {"frequency": frequency[:, shown], "standard_error": errors[:, shown], "low": low, "high": high}
    about = {
        "metric": metric.name,
        "version": metric.version,
        "confidence": confidence,
        "correction": "holm",
        "slope_unit": SLOPE_UNIT,
        "note": _NOTE,
        "steps": [step_fields(span.since, span.until, span.reports, span.tested) for span in spans],
    }
    listed = list(labels) if places is None else [labels[place] for place in places.tolist()]
    return _TrendTable(about, {"value": listed} | {name: column[shown] for name, column in columns.items()}, points)


def _tests(metric: Metric, spans: Sequence[_Span], frequency: Floats, errors: Floats) -> Floats:
    """Test all values, block by block; return shape (3, values), NaN if too few spans can be tested."""
    tested = np.flatnonzero([span.tested for span in spans])
    tests = np.full((3, len(metric.labels)), np.nan)
    if len(tested) < 2:
        return tests
    for start in range(0, len(metric.labels), _TESTED):
        some = slice(start, start + _TESTED)
        of_some = (frequency[tested, some], errors[tested, some])
        tests[:, some] = _tested(metric, [spans[place] for place in tested.tolist()], *of_some)
    return tests


def _span(step: TrendStep[Estimate]) -> _Span:
    result = step.estimate
    known = bool(np.isfinite(result.frequency).any())
    tested = result.reports >= LEAST_REPORTS and known
    return _Span(step.since, step.until, result.reports, result.repeats, tested)


def _tested(metric: Metric, spans: Sequence[_Span], frequency: Floats, errors: Floats) -> Floats:
    """Return the slope of each value, its error, and the p-value over all contrasts; shape (3, values).

    The estimates have shape (spans, values).
    """
    reports, repeats = np.array([(float(span.reports), span.repeats) for span in spans]).T
    overall = reports @ frequency / reports.sum()
    shared = _shared(metric.mechanism, overall, errors, reports, repeats)
    # Under no change all steps have one variance per report: the mean is used, not each step's own random one.
    left = reports**2 @ (errors**2 - shared) / reports.sum()
    variance = left / reports[:, np.newaxis] + shared
    middles = np.array([(span.since.toordinal() + span.until.toordinal()) / 2 for span in spans])
    weights = contrasts(middles, reports)
    estimates = weights @ frequency
    errors = np.sqrt(worst_variance(weights, variance, shared))
    skewness = weights**3 @ _cubes(metric.mechanism, overall, reports, repeats) / errors**3
    return np.array([estimates[0], errors[0], together(two_sided(estimates / errors, skewness))])


def _shared(mechanism: Mechanism, overall: Floats, errors: Floats, reports: Floats, repeats: Floats) -> Floats:
    """Return the part of each step's variance that repeated reporters share with other steps; shape (steps, values).

    For a regression the whole variance counts as shared, because devices keep their cohorts and permanent draws; it is
    the mean over steps, as under no change.
    """
    if not mechanism.pure:
        return np.asarray((reports**2 @ errors**2) / reports.sum() / reports[:, np.newaxis])
    share = np.clip(overall, 0, 1)
    return np.array([each * shared_variance(mechanism, share, n) for n, each in zip(reports, repeats, strict=True)])


def _cubes(mechanism: Mechanism, overall: Floats, reports: Floats, repeats: Floats) -> Floats:
    """Return the third moments of the steps' estimates under no change; shape (steps, values)."""
    share = np.clip(overall, 0, 1)
    each = (
        spread_of(mechanism, share, np.zeros(len(share)), *of_step) for of_step in zip(reports, repeats, strict=True)
    )
    return np.array([spread.cube(share) for spread in each])


def together(p_values: Floats) -> Floats:
    """Combine p-values: the slope, in the first row, gets half of the error probability, and the steps the rest."""
    if len(p_values) == 1:
        return np.asarray(p_values[0])
    steps = (len(p_values) - 1) * p_values[1:].min(axis=0)
    return np.asarray(np.minimum(1.0, 2 * np.minimum(p_values[0], steps)))


def contrasts(when: Floats, reports: Floats) -> Floats:
    """Return the weights of the slope and, for more than two steps, of each step against the mean of the others."""
    weights = reports / reports.sum()
    away = when - weights @ when
    slope: Floats = (weights * away / (weights @ away**2))[np.newaxis]
    if len(when) == 2:
        return slope
    others = np.where(np.eye(len(when), dtype=bool), 0.0, weights)
    return np.vstack([slope, np.eye(len(when)) - others / others.sum(axis=1, keepdims=True)])


def worst_variance(weights: Floats, variance: Floats, shared: Floats) -> Floats:
    """Return the largest variance of each contrast and value; shape (contrasts, values).

    The estimates have this ``variance``, of which the part ``shared`` may be due to the same people; it is at least
    that part.
    """
    reach = np.sqrt(shared)
    together = (np.maximum(weights, 0) @ reach) ** 2 + (np.minimum(weights, 0) @ reach) ** 2
    return np.asarray(weights**2 @ np.maximum(variance - shared, 0) + together)
