"""Test whether a share differs between two periods, versions or metrics, and compute how many reports a test needs."""

import math
from collections.abc import Mapping
from statistics import NormalDist
from typing import Any

import numpy as np

from dither_shared import Mechanism, ParameterError

from ..tally.arrays import Floats
from .columns import Column, ColumnData, Table, number
from .spread import holm, spread_of, two_sided, weights_of

POWER = 0.8
"""The power of a test with ``reports_needed`` reports."""

_NOTE = (
    "errors allow for people who reported in every period of a side; people who are on both sides, and their "
    "permanent draws, make the difference more precise than stated here, unless most of them changed their answers"
)


ADJUSTED = number("adjusted", "The p-value, adjusted for the number of values by the method that correction names.")
COMPARED = (
    Column("value", str),
    number("first"),
    number("second"),
    number("difference", "The second minus the first."),
    number("standard_error", "Standard error of the difference of the shares in the population."),
    number("low"),
    number("high"),
    number("p_value", "P-value of the hypothesis that the two are equal. Null if it is not tested."),
    ADJUSTED,
    Column(
        "changed",
        bool,
        "Whether adjusted is below 1 - confidence; for quantiles, whether their intervals show a change.",
    ),
    Column(
        "reports_needed",
        int,
        "Reports that each side needs to see the change asked for. Null if a change is seen.",
        nullable=True,
    ),
)
"""The columns of a comparison: one row per value; numbers are null where a side has no reports."""


def side_of(about: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that describe one side of a comparison, out of those of its estimate."""
    return {name: about[name] for name in ("metric", "version", "reports", "periods", "since", "until")}


def shared(first: Table, second: Table) -> tuple[Table, Table]:
    """Return both estimates, restricted to the values that both have, in the order of the first.

    Raises ParameterError if there are none.
    """
    labels, other_labels = first.columns["value"], second.columns["value"]
    if labels == other_labels:
        return first, second
    where = {value: place for place, value in enumerate(other_labels)}
    here = np.array([place for place, value in enumerate(labels) if value in where], dtype=np.intp)
    if not len(here):
        names = f"{first.about['metric']} and {second.about['metric']}"
        raise ParameterError("other", f"{names} share no values to compare")
    return first.chosen(here), second.chosen(np.array([where[labels[place]] for place in here.tolist()], dtype=np.intp))


def compared(
    first: Table,
    second: Table,
    mechanisms: tuple[Mechanism, Mechanism],
    confidence: float,
    change: float,
) -> Table:
    """Compare two estimates of the population for each label that both have; the columns are ``COMPARED``.

    The difference of two unbiased, independent estimates has the sum of their variances; ``_interval`` says what its
    interval is. The p-value uses the law of the difference under no change: variance and skewness at the pooled share
    of both sides.
    With each side's own error, a rare value with few supporting reports on a small side would count as a change. If
    people, and their permanent draws, are on both sides, the covariance is positive and the test conservative. Raises
    ParameterError if the sides share no label.
    """
    sides = shared(first, second)
    about = {
        "sides": [side_of(side.about) for side in sides],
        "confidence": confidence,
        "correction": "holm",
        "change": change,
        "power": POWER,
        "note": _NOTE,
    }
    return Table(about, _differences(sides, mechanisms, confidence, change))


def _differences(
    sides: tuple[Table, Table], mechanisms: tuple[Mechanism, Mechanism], confidence: float, change: float
) -> dict[str, ColumnData]:
    """Return the data of ``COMPARED`` for two sides with the same values."""
    first, second = sides
    before, after = (_numbers(side, "frequency") for side in sides)
    one, other = (_numbers(side, "standard_error") for side in sides)
    error = np.hypot(one, other)
    p_values = _unchanged((before, after), sides, mechanisms)
    variance = one**2 * first.about["reports"] + other**2 * second.about["reports"]
    needed = _needed(variance, len(before), confidence, change)
    low, high = _interval(sides, NormalDist().inv_cdf((1 + confidence) / 2) * error)
    adjusted = holm(p_values)
    changed = adjusted < 1 - confidence  # NaN compares false
    return {
        "value": first.columns["value"],
        "first": before,
        "second": after,
        "difference": after - before,
        "standard_error": error,
        "low": low,
        "high": high,
        "p_value": p_values,
        "adjusted": adjusted,
        "changed": changed,
        "reports_needed": _unseen(changed.tolist(), needed.tolist()),
    }


def _interval(sides: tuple[Table, Table], margin: Floats) -> tuple[Floats, Floats]:
    """Return the ends of the differences: the farther of those with a normal ``margin`` and of Newcombe's.

    Newcombe's (1998) combine the distances from both shares to the ends of their own intervals. Where few reports
    support a value, an error at the estimate ignores what they may have missed: at ε = 8 the normal interval alone then
    holds in as few as 19 of 100 comparisons of 20 people with 200. But near 0 and 1 an interval is cut off at possible
    shares, whereas an estimate is not, so Newcombe's alone would be too short for noisy estimates.
    """
    names = ("frequency", "low", "high")
    (before, low, high), (after, other_low, other_high) = ([_numbers(side, name) for name in names] for side in sides)
    below = np.hypot(np.maximum(after - other_low, 0), np.maximum(high - before, 0))
    above = np.hypot(np.maximum(other_high - after, 0), np.maximum(before - low, 0))
    ends = (after - before - np.maximum(margin, below), after - before + np.maximum(margin, above))
    return np.clip(ends[0], -1, 1), np.clip(ends[1], -1, 1)


def _unchanged(
    frequency: tuple[Floats, Floats], sides: tuple[Table, Table], mechanisms: tuple[Mechanism, Mechanism]
) -> Floats:
    """Return the p-values of the differences under the hypothesis of one share, estimated from both sides."""
    one, other = (
        spread_of(mechanism, seen, _numbers(side, "standard_error"), side.about["reports"], side.about["repeats"])
        for mechanism, seen, side in zip(mechanisms, frequency, sides, strict=True)
    )
    seen = np.array(frequency)
    share = np.clip((weights_of((one, other), seen) * seen).sum(axis=0), 0, 1)
    error = np.sqrt(one.variance(share) + other.variance(share))
    return two_sided((seen[1] - seen[0]) / error, (other.cube(share) - one.cube(share)) / error**3)


def _needed(variance: Floats, values: int, confidence: float, change: float) -> Floats:
    """Return the reports that each side needs to detect a change Δ of one of k values: (z_(1-α/2k) + z_power)² V / Δ².

    V is the sum over the sides of n times the variance of the estimate; α/k is the level of the first step of Holm's
    method.
    """
    normal = NormalDist()
    reach = normal.inv_cdf(POWER) - normal.inv_cdf((1 - confidence) / (2 * values))
    steps = reach / change
    with np.errstate(over="ignore", invalid="ignore"):  # a tiny change needs infinitely many reports
        return np.asarray(np.ceil(variance * (steps * steps)))


def _unseen(changed: list[bool], needed: list[float]) -> list[int | None]:
    """Return for each value without a significant change the number of reports per side that would detect one."""
    return [
        None if seen or not math.isfinite(count) else int(count) for seen, count in zip(changed, needed, strict=True)
    ]


def _numbers(side: Table, name: str) -> Floats:
    return np.asarray(side.columns[name], dtype=np.float64)
