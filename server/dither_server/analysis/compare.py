"""Whether a share differs between two periods, versions or metrics, and how many reports it would take to see."""

from statistics import NormalDist
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from dither_shared import Mechanism, ParameterError

from .answers import Answer, Row, finite
from .multiple import holm, two_sided
from .spread import spread_of, weights_of

__all__ = ["POWER", "Compared", "ComparedRow", "Side", "compared"]

Floats = NDArray[np.float64]

POWER = 0.8
"""The probability with which a change is seen by as many reports as are said to be needed."""

_NOTE = (
    "errors are as if the same people had reported in every period of a side; people who are on both sides, "
    "and their permanent draws, make the difference surer than is said here, unless they change their answers "
    "more often than not"
)


class Side(TypedDict):
    """What one side of a comparison is an estimate of."""

    metric: str
    version: str
    reports: int
    periods: int
    since: str | None
    until: str | None


class ComparedRow(TypedDict):
    """One value on both sides: ``difference`` is ``second`` - ``first``; None where a side has no reports.

    - ``p_value`` of no difference, ``adjusted`` for the number of values by Holm's method;
    - ``changed``: whether that is below 1 - confidence;
    - ``reports_needed``: where it is not, how many reports each side would need to see the change that was asked for.
    """

    value: str
    first: float | None
    second: float | None
    difference: float | None
    standard_error: float | None
    low: float | None
    high: float | None
    p_value: float | None
    adjusted: float | None
    changed: bool
    reports_needed: int | None


class Compared(TypedDict):
    """A comparison: its sides, the change that reports are counted for, and its values."""

    sides: list[Side]
    confidence: float
    correction: str
    change: float
    power: float
    note: str
    values: list[ComparedRow]


def compared(
    first: Answer,
    second: Answer,
    mechanisms: tuple[Mechanism, Mechanism],
    confidence: float = 0.95,
    change: float = 0.01,
) -> Compared:
    """Compare two estimates of the population, value by value, of the labels that both have.

    The difference of two unbiased, independent estimates has the sum of their variances. The interval takes the
    ``repeat_error`` of each side, as if the same people had reported in all of its periods, and normal tails. The
    p-value takes the law that the difference has if nothing changed: variance and skewness at the share that both
    sides have together. By each side's own error a rare value of which a small side saw little would pass for a
    change. That some people, and their permanent draws, are on both sides makes the covariance positive and the
    test careful. Raises ParameterError if the sides share no label.
    """
    ours, theirs = ({row["value"]: row for row in side["values"]} for side in (first, second))
    values = [value for value in ours if value in theirs]
    if not values:
        raise ParameterError("other", f"{first['metric']} and {second['metric']} share no values to compare")
    before, after = _column(ours, values, "frequency"), _column(theirs, values, "frequency")
    one, other = _column(ours, values, "repeat_error"), _column(theirs, values, "repeat_error")
    error = np.hypot(one, other)
    p_values = _unchanged((before, after), (first, second), mechanisms, _errors(ours, theirs, values))
    needed = _needed(one**2 * first["reports"] + other**2 * second["reports"], len(values), confidence, change)
    margin = NormalDist().inv_cdf((1 + confidence) / 2) * error
    low, high = (np.clip(after - before + side * margin, -1, 1) for side in (-1, 1))
    adjusted = holm(p_values)
    columns = (before, after, after - before, error, low, high, p_values, adjusted, needed)
    return Compared(
        sides=[_side(first), _side(second)],
        confidence=confidence,
        correction="holm",
        change=change,
        power=POWER,
        note=_NOTE,
        values=[
            _row(value, *numbers, level=1 - confidence)
            for value, *numbers in zip(values, *(column.tolist() for column in columns), strict=True)
        ],
    )


def _errors(ours: dict[str, Row], theirs: dict[str, Row], values: list[str]) -> tuple[Floats, Floats]:
    return _column(ours, values, "standard_error"), _column(theirs, values, "standard_error")


def _unchanged(
    frequency: tuple[Floats, Floats],
    sides: tuple[Answer, Answer],
    mechanisms: tuple[Mechanism, Mechanism],
    errors: tuple[Floats, Floats],
) -> Floats:
    """Return the p-values of the difference if both sides have one share, of which they are estimates together."""
    one, other = (
        spread_of(mechanism, seen, error, side["reports"], side["periods"])
        for mechanism, seen, error, side in zip(mechanisms, frequency, errors, sides, strict=True)
    )
    seen = np.array(frequency)
    share = np.clip((weights_of((one, other), seen) * seen).sum(axis=0), 0, 1)
    error = np.sqrt(one.variance(share) + other.variance(share))
    return two_sided((seen[1] - seen[0]) / error, (other.cube(share) - one.cube(share)) / error**3)


def _needed(variance: Floats, values: int, confidence: float, change: float) -> Floats:
    """Return how many reports each side needs to see a change Δ of one of k values: (z_(1-α/2k) + z_power)² V / Δ².

    V is the sum over the sides of n times the variance of the estimate; α/k is what Holm's method asks of the first.
    """
    normal = NormalDist()
    reach = normal.inv_cdf(POWER) - normal.inv_cdf((1 - confidence) / (2 * values))
    return np.asarray(np.ceil(variance * (reach / change) ** 2))


def _row(value: str, *numbers: float, level: float) -> ComparedRow:
    before, after, difference, error, low, high, p_value, adjusted, needed = (finite(number) for number in numbers)
    changed = adjusted is not None and adjusted < level
    return ComparedRow(
        value=value,
        first=before,
        second=after,
        difference=difference,
        standard_error=error,
        low=low,
        high=high,
        p_value=p_value,
        adjusted=adjusted,
        changed=changed,
        reports_needed=None if changed or needed is None else int(needed),
    )


def _column(rows: dict[str, Row], values: list[str], name: str) -> Floats:
    """Return a column, with NaN or infinity where there is no number."""
    numbers = (rows[value][name] for value in values)  # type: ignore[literal-required]  # a number's name
    return np.array([np.nan if number is None else number for number in numbers])


def _side(told: Answer) -> Side:
    return Side(
        metric=told["metric"],
        version=told["version"],
        reports=told["reports"],
        periods=told["periods"],
        since=told["since"],
        until=told["until"],
    )
