"""How many reports of a tally may be of one person, by how many there are in each period."""

from collections import Counter
from collections.abc import Iterable
from datetime import date
from typing import NamedTuple, Self

from dither_shared import Metric
from dither_shared.metrics.period import first_day


class Repeats(NamedTuple):
    """The reports of each period of a tally, ``periods``; none if all reports are of different people.

    A device reports at most once a period. It is asked in a period with the probability ``chance``, which is 1 unless
    a survey draws one of several metrics for each device and period.
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
        """Return the design effect D: the largest Σ r²/Σ r that there can be, where r are the reports of each device.

        Of n_d and n_d' reports in two periods at most min(n_d, n_d') pairs are of one device, so over pairs of periods
        D = Σ min(n_d, n_d')/n. It is 1 for one period, and T for T periods with equally many reports.
        """
        total, count = sum(self.periods), len(self.periods)
        if not total:
            return 1.0
        pairs = sum((2 * (count - place) - 1) * number for place, number in enumerate(sorted(self.periods)))
        return 1 + self.chance * (pairs - total) / total

    def overlap(self, other: Self) -> float:
        """Return the largest share of the pairs of a report here and one of another tally that are of one device."""
        pairs = sum(min(one, another) for one in self.periods for another in other.periods)
        return max(self.chance, other.chance) * pairs / max(sum(self.periods) * sum(other.periods), 1)


DISTINCT = Repeats()
"""Reports that are all of different people."""
