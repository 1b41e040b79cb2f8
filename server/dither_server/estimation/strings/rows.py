"""What the rows of a sketch say of its buckets: the share of people whose string is in each, without bias."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...tally.arrays import Counts, Floats, Indices

__all__ = ["Rows"]


@dataclass(frozen=True)
class Rows:
    """Rows of one sketch: each hashes by a function of its own, and has its own people.

    ``share``, shape (rows, buckets), estimates the share of a row's people whose string is in each bucket; ``reports``,
    shape (rows,), are as many. A report supports the bucket of its string with probability ``p``, another with ``q``.
    A row without reports says nothing: its shares are 0 and their variance is infinite.
    """

    share: Floats
    reports: Counts
    p: float
    q: float

    @classmethod
    def of(cls, support: Floats, reports: Counts, p: float, q: float) -> "Rows":
        """Return the rows of ``support``, shape (rows, buckets): how many reports support each bucket."""
        known = np.maximum(reports, 1)[:, np.newaxis]
        share = np.where(reports[:, np.newaxis] > 0, (support / known - q) / (p - q), 0.0)
        return cls(share, reports, p, q)

    @property
    def buckets(self) -> int:
        """How many buckets a row has."""
        return int(self.share.shape[1])

    @property
    def total(self) -> int:
        """The reports of all rows."""
        return int(self.reports.sum())

    def variance(self, share: Floats, row: Indices) -> Floats:
        """Return the variance, over noise and over who happened to report, of buckets in a ``row`` that hold ``share``.

        A report supports the bucket or does not: s(1-s)/(n (p-q)²) with s = q + (p-q) share.
        """
        supported = self.q + (self.p - self.q) * np.clip(share, 0, 1)
        with np.errstate(divide="ignore"):
            return np.asarray(supported * (1 - supported) / (self.reports[row] * (self.p - self.q) ** 2))

    @cached_property
    def concentration(self) -> float:
        """An estimate of Σ f² over all strings, whether anyone looks for them or not; 1 if the rows cannot tell.

        Over pairs of reports of one row the mean of Σ_b r_b r'_b, r_b being what a report adds to bucket b, is the sum
        of the squared shares, which is Σ f² + (1 - Σ f²)/B over the hash functions.
        """
        reports = self.reports.astype(np.float64)
        pairs = float((reports * (reports - 1)).sum())
        if not pairs:
            return 1.0
        gap = self.p - self.q
        users = self.share * reports[:, np.newaxis]
        support = users.sum() * gap + self.q * self.buckets * reports.sum()
        own = ((1 - 2 * self.q) * support + self.q**2 * self.buckets * reports.sum()) / gap**2
        met, chance = (float(np.square(users).sum()) - own) / pairs, 1 / self.buckets
        return float(min(1.0, max(0.0, (met - chance) / (1 - chance))))
