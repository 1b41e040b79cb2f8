"""Bound the error if the same people report again and again; the tally cannot tell whether they do.

Reports of different people are independent. Those of one person share the answer and, where the mechanism has one, the
permanent draw; so over r periods the part of the variance that is shared does not average out. How many people stand
behind n reports is not known, but they are at least n/r, each of whom then reported in every period. These functions
compute that worst case. (It is the worst unless people change their answers more often than not.)
"""

from datetime import date

import numpy as np

from dither_shared import Mechanism, Metric
from dither_shared.metrics.period import DAYS_IN, first_day

from ..tally.arrays import Floats


def periods_of(metric: Metric, since: date | None, until: date | None) -> int:
    """Return in how many periods one device may have reported from the first to the last day, both included."""
    if since is None or until is None or metric.period == "once":
        return 1
    first, last = (first_day(day.toordinal(), metric.period) for day in (since, until))
    return max(1, (last - first) // DAYS_IN[metric.period] + 1)


def shared_variance(mechanism: Mechanism, frequency: Floats, error: Floats, reports: float) -> Floats:
    """Return the part of each estimate's variance, ``error``², that reports of one person would share.

    It is that of who they are, f(1-f)/n, and with a permanent draw at most all of it.
    """
    if mechanism.memoised:
        return np.asarray(error**2)
    share = np.clip(frequency, 0, 1)
    return np.asarray(share * (1 - share) / max(reports, 1))


def repeat_error(mechanism: Mechanism, frequency: Floats, error: Floats, reports: float, periods: int) -> Floats:
    """Return the standard error of each estimate if the same people reported in each of the periods.

    That of a regression is taken from the scatter of the cohorts, between which nobody moves: what repeats is in it.
    """
    if not mechanism.pure:
        return error
    return np.asarray(np.sqrt(error**2 + (periods - 1) * shared_variance(mechanism, frequency, error, reports)))
