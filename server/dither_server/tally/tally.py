"""The mergeable sufficient statistic: reports per cohort, and a count per (cohort, cell).

With it goes how many of its reports may come from the same person, given the number in each period.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple, Self

import numpy as np

from dither_shared import Mechanism, Metric
from dither_shared.metrics.period import first_day

from .arrays import Counts
from .fold import fold, parsed


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


DISTINCT = Repeats()
"""Reports that all come from different people."""


@dataclass(frozen=True)
class Tally:
    """The sum of reports. Tallies of one metric version can be added; a single report cannot be recovered.

    ``reports`` has shape (cohorts,), ``counts`` shape (cohorts, cells); both are int64. ``repeats`` says how many of
    them may come from the same person; for a sum of tallies that is not known, and all are assumed to come from
    different people.
    """

    reports: Counts
    counts: Counts
    repeats: Repeats = DISTINCT

    @classmethod
    def zero(cls, mechanism: Mechanism) -> Self:
        """Return the tally of no reports."""
        return cls(
            np.zeros(mechanism.cohorts, dtype=np.int64),
            np.zeros((mechanism.cohorts, mechanism.cells), dtype=np.int64),
        )

    @classmethod
    def fold(cls, mechanism: Mechanism, rows: bytes) -> Self:
        """Return the tally of encoded report rows.

        Raises WireError if a row is not what the mechanism's device could have sent; nothing is counted then.
        """
        folded = fold(mechanism, rows)
        tally = cls.zero(mechanism)
        tally.reports[folded.cohorts] = folded.reports
        tally.counts.reshape(-1)[folded.cells] = folded.counts
        return tally

    @staticmethod
    def check(mechanism: Mechanism, rows: bytes) -> int:
        """Return the number of rows that ``fold`` would count; raise the WireError that it would raise."""
        if mechanism.row_format.is_row(rows):  # as devices send; arrays would cost ten times as much
            return 1
        cohorts, _ = parsed(mechanism, rows)
        return len(cohorts)

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(self.reports + other.reports, self.counts + other.counts)

    @property
    def total(self) -> int:
        """The number of reports in all cohorts."""
        return int(self.reports.sum())
