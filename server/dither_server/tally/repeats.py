"""How many reports of a tally may come from the same person, given the number in each period."""

from collections import Counter
from collections.abc import Iterable
from datetime import date
from typing import NamedTuple, Self

import numpy as np

from dither_shared import Metric
from dither_shared.metrics.period import first_day

from .arrays import Counts, Floats


class Repeats(NamedTuple):
    """The reports of each period of a tally, ``periods``; empty if these do not matter.

    A device reports at most once per period. One that reported is asked in another period with the probability
    ``chance``: 1, or less if a survey draws one of several metrics for each device and period, and 0 if all reports are
    known to come from different people.
    """

    periods: tuple[int, ...] = ()
    chance: float = 1.0

    @classmethod
    def of(cls, metric: Metric, reports: Iterable[tuple[date, int]]) -> Self:
        """Return those of a metric's reports of each day."""
        if metric.period == "once":
            return cls()
        periods: Counter[int] = Counter()
        for day, number in reports:
            periods[first_day(day.toordinal(), metric.period)] += number
        return cls(tuple(periods.values()), 1 / len(metric.survey.metrics) if metric.survey else 1.0)

    @property
    def effect(self) -> float:
        """Return the design effect D: the largest possible Σ r²/Σ r, where r are the numbers of reports of each device.

        Of n_d and n_d' reports in two periods at most min(n_d, n_d') pairs are of one device, so over pairs of periods
        D = Σ min(n_d, n_d')/n. It is 1 for one period, and T for T periods with equally many reports.
        """
        total, count = sum(self.periods), len(self.periods)
        if not total:
            return 1.0
        pairs = sum((2 * (count - place) - 1) * number for place, number in enumerate(sorted(self.periods)))
        return 1 + self.chance * (pairs - total) / total

    def overlap(self, other: Self) -> float:
        """Return the largest possible share of pairs, one report here and one of another tally, of one device."""
        ours, theirs = np.array(self.periods, dtype=np.float64), np.sort(np.array(other.periods, dtype=np.float64))
        less = np.searchsorted(theirs, ours)
        pairs = np.append(0.0, np.cumsum(theirs))[less].sum() + ours @ (len(theirs) - less)
        return max(self.chance, other.chance) * float(pairs / max(ours.sum() * theirs.sum(), 1))


def weighted_effect(reports: Counts, weights: Floats, chance: float = 1.0) -> float:
    """Return the largest possible Σ (a device's weights)²/Σ w², of ``reports`` with shape (periods, strata).

    It is ``Repeats.effect`` for reports of unequal weight, if a device may move from one stratum to another. The sum
    over pairs of periods is largest if in each of them the devices are in one order of weights (the rearrangement
    inequality), and that is possible for all pairs at once.
    """
    order = np.argsort(-weights, kind="stable")
    ends, sorted_weights = np.cumsum(reports[:, order], axis=1), np.append(weights[order], 0.0)
    breaks = np.unique(np.append(ends.ravel(), 0))
    of_device = np.zeros(len(breaks) - 1)
    for of_period in ends:
        of_device += sorted_weights[np.searchsorted(of_period, breaks[:-1], side="right")]
    own = float((reports @ weights**2).sum())
    pairs = float(np.diff(breaks) @ of_device**2)
    return 1 + chance * (pairs - own) / own if own else 1.0


DISTINCT = Repeats()
"""Reports that all come from different people."""
