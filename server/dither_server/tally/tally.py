"""The mergeable sufficient statistic: reports per cohort, and a count per (cohort, cell)."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from dither_shared import Mechanism

from .arrays import Counts
from .fold import fold, parsed
from .repeats import DISTINCT, Repeats


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
