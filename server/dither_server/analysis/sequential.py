"""Test for a change since a reference period, validly however often one looks.

Let D_t be the mean estimate since the reference less that of the reference, and s² = v_0 + v_t its variance if nothing
changed: that of the reference and that of all reports since. If the change is drawn from N(0, τ²), then

    L_t = sqrt(s²/(s² + τ²)) exp(D_t²/2 · τ²/(s² (s² + τ²)))

is the likelihood ratio of the differences from the reference, whatever the share is. As a ratio of two laws of the same
sequence it is a martingale without a change, so P[L_t ever reaches 1/α] <= α (Ville 1939; Robbins 1970; Howard, Ramdas,
McAuliffe and Sekhon 2021). 1/max L_s over s <= t is a p-value at any time, and the changes δ for which L_t of D_t - δ
stays below 1/α are a confidence sequence.

Estimates are nearly normal; what they are skewed is corrected (``two_sided``). v_0 and v_t allow for people who report
in each period of a side: then what they share does not average out, but is as constant as the error of the reference.
Several values are tested at once by Bonferroni's inequality.
"""

import math
from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

import numpy as np
import scipy

from ..tally.arrays import Floats, Indices
from .columns import Column, Table, number
from .spread import Spread, two_sided, weights_of

WATCHED = (
    Column("value", str),
    number("reference", "Estimate of the reference period."),
    number("now", "Estimate of all days since."),
    number("difference"),
    number("low", "Lower end of the interval of the difference, which holds on all days together."),
    number("high", "Upper end of that interval."),
    number("p_value", "P-value of no change on any day until now, of all values together. It never rises."),
    Column("changed", bool, "Whether it is below 1 - confidence."),
    Column("first_seen", str, "The first day on which it was, if there is one.", nullable=True),
)
"""The columns of a watch: one row per value."""

LEAST_REPORTS = 50
"""A day until which fewer came since the reference is no look: their estimate is not nearly normal."""


class Look(NamedTuple):
    """What was estimated of all values until a day: shares, or a mean, and their law at any share."""

    day: date
    reports: int
    frequency: Floats
    spread: Spread

    def chosen(self, places: Indices) -> "Look":
        """Return what was known of some values."""
        constant = np.broadcast_to(self.spread.constant, self.frequency.shape)[places]
        return self._replace(frequency=self.frequency[places], spread=self.spread._replace(constant=constant))


def watched(labels: Sequence[str], reference: Look, looks: Sequence[Look], confidence: float, change: float) -> Table:
    """Return the test of each value at the last of the looks, given those before; rows are ``WATCHED``.

    ``change`` is τ, the change for which the test is made. Raises nothing for too few reports: then nothing is known.
    """
    alpha, values = 1 - confidence, len(labels)
    tests = 1 if set(labels) == {"true", "false"} else values  # of two that sum to 1 a single change is tested
    best, first_seen = np.zeros(values), np.full(values, None, dtype=object)
    difference, margin = np.full(values, np.nan), np.full(values, np.nan)
    used = [look for look in looks if look.reports >= LEAST_REPORTS] if reference.reports >= LEAST_REPORTS else []
    for look in used:
        logarithm, variance = evidence(reference, look, change)
        best = np.maximum(best, logarithm)
        seen = best >= math.log(tests / alpha)
        first_seen = np.where(seen & (first_seen == np.array(None)), look.day.isoformat(), first_seen)
        ratio = change**2 / (variance + change**2)
        difference = look.frequency - reference.frequency
        margin = np.sqrt(variance / ratio * (2 * math.log(tests / alpha) - np.log1p(-ratio)))
    now = used[-1].frequency if used else np.full(values, np.nan)
    p_value = np.minimum(1.0, tests * np.exp(-best)) if used else np.full(values, np.nan)
    columns = {
        "value": list(labels),
        "reference": reference.frequency,
        "now": now,
        "difference": difference,
        "low": difference - margin,
        "high": difference + margin,
        "p_value": p_value,
        "changed": [day is not None for day in first_seen.tolist()],
        "first_seen": first_seen.tolist(),
    }
    about = {"looks": len(used), "change": change, "confidence": confidence, "correction": "bonferroni"}
    return Table(about, columns)


def evidence(reference: Look, look: Look, change: float) -> tuple[Floats, Floats]:
    """Return the logarithm of L_t of each value, -inf where nothing is known, and the variance s²."""
    variance, score = _score(reference, look)
    ratio = change**2 / (variance + change**2)
    return np.nan_to_num((np.log1p(-ratio) + score**2 * ratio) / 2, nan=-np.inf), variance


def _score(reference: Look, look: Look) -> tuple[Floats, Floats]:
    """Return the variance of the difference if nothing changed, and the difference over its root, without skewness."""
    shares = np.array([reference.frequency, look.frequency])
    spreads = (reference.spread, look.spread)
    # An estimate below 0 would make the variance of few people who repeat negative.
    share = np.clip((weights_of(spreads, shares) * shares).sum(axis=0), 0, 1)
    variance = np.asarray(sum(spread.variance(share) for spread in spreads), dtype=np.float64)
    error = np.sqrt(variance)
    skewness = (look.spread.cube(share) - reference.spread.cube(share)) / error**3
    p_value = two_sided((shares[1] - shares[0]) / error, skewness)
    return variance, np.asarray(-scipy.special.ndtri(p_value / 2))
