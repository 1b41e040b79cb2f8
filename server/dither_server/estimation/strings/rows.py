"""What the rows of a sketch say of its buckets: the share of people whose string is in each, without bias."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from dither_shared.mechanisms.projective_buckets import ProjectiveBuckets

from ...tally.arrays import Counts, Floats
from ...tally.tally import Tally
from ..decoders.transform import hyperplane_sums
from ..hashing import Buckets


class Total(NamedTuple):
    """The ``share`` of people who hold any string of a list, without bias, and its standard ``error``."""

    share: float
    error: float


@dataclass(frozen=True)
class Rows:
    """Rows of one sketch: each hashes by a function of its own, and has people of its own.

    ``share``, shape (rows, buckets), estimates the share of a row's people whose string is in each bucket; ``reports``,
    shape (rows,), are as many. A report supports the bucket of its string with probability ``p``, another with ``q``.
    A row without reports says nothing: its shares are 0 and their variance is infinite.

    Where these are only some of the buckets (``only``), ``whole`` are all, and ``rest`` are the shares of the others.
    """

    share: Floats
    reports: Counts
    p: float
    q: float
    whole: "Rows | None" = None
    rest: tuple[Floats, ...] | None = None

    @classmethod
    def of(cls, mechanism: ProjectiveBuckets, tally: Tally, cohorts: Sequence[int]) -> Self:
        """Return the rows that are these cohorts of a tally; one fast transform each."""
        chance = mechanism.p / mechanism.buckets
        q = float((mechanism.q - chance) / (1 - 1 / mechanism.buckets))
        reports = tally.reports[cohorts]
        support = np.stack([supports(mechanism, tally.counts[cohort]) for cohort in cohorts])
        share = (support / np.maximum(reports, 1)[:, np.newaxis] - q) / (float(mechanism.p) - q)
        return cls(np.where(reports[:, np.newaxis] > 0, share, 0.0), reports, float(mechanism.p), q)

    def only(self, marks: Buckets) -> tuple[Self, Buckets]:
        """Return the buckets in which strings of ``marks``, shape (rows, S), are, and these marks among them.

        All work on a fit then depends on the number of strings, not on that of buckets. Shorter rows are filled up with
        NaN. ``rest`` has the shares of the other buckets.
        """
        held, places = zip(*(np.unique(row, return_inverse=True) for row in marks), strict=True)
        share = np.full((len(held), max(map(len, held))), np.nan)
        for kept, row, buckets in zip(share, self.share, held, strict=True):
            kept[: len(buckets)] = row[buckets]
        rest = tuple(np.delete(row, buckets) for row, buckets in zip(self.share, held, strict=True))
        return replace(self, share=share, whole=self, rest=rest), np.stack(places).astype(marks.dtype)

    @property
    def buckets(self) -> int:
        """How many buckets a row has."""
        return int((self.whole or self).share.shape[1])

    @property
    def total(self) -> int:
        """The reports of all rows."""
        return int(self.reports.sum())

    def listed(self, marks: Buckets, beyond: float) -> Total:
        """Return the share of people who hold any string of ``marks``, shape (rows, S); no error if nothing tells it.

        Of the k buckets that a list fills the others hit k/B. So a row's estimate is (s - k/B)/(1 - k/B), where s is
        the sum of its k shares. Its variance is that of k cells and, over the hash functions of the others, whose Σ f²
        is ``beyond``, k/B (1 - k/B) Σ f².
        """
        whole, variance, reports, gap = 0.0, 0.0, 0, self.p - self.q
        for share, places, trials in zip(self.share, marks, self.reports.tolist(), strict=True):
            filled = np.unique(places)
            part = len(filled) / self.buckets
            if trials and part < 1:
                held = float(share[filled].sum())
                noise = len(filled) * self.q * (1 - self.q) + held * gap * (1 - self.p - self.q)
                drawn = max(0.0, noise / gap**2 + held * (1 - held)) / trials
                whole += trials * (held - part) / (1 - part)
                variance += (trials / (1 - part)) ** 2 * (drawn + beyond * part * (1 - part))
                reports += trials
        return Total(whole / reports, math.sqrt(variance) / reports) if reports else Total(math.nan, math.inf)

    def variance(self, share: Floats) -> Floats:
        """Return the variance of the shares if they are ``share``, shape (rows, buckets), over noise and over who came.

        A report supports a bucket or does not: s(1-s)/(n (p-q)²) with s = q + (p-q) share.
        """
        supported = self.q + (self.p - self.q) * np.clip(share, 0, 1)
        trials = self.reports[:, np.newaxis] * (self.p - self.q) ** 2
        with np.errstate(divide="ignore"):
            return np.asarray(supported * (1 - supported) / trials)

    @cached_property
    def concentration(self) -> float:
        """An estimate of Σ f² over all strings, whether anyone looks for them or not; 1 if the rows cannot tell.

        Let r_b be what a report adds to bucket b. Over pairs of reports of one row the mean of Σ_b r_b r'_b is the sum
        of the squared shares, which is Σ f² + (1 - Σ f²)/B over the hash functions.
        """
        if self.whole is not None:
            return self.whole.concentration
        reports, gap = self.reports.astype(np.float64), self.p - self.q
        pairs = float((reports * (reports - 1)).sum())
        if not pairs:
            return 1.0
        users = self.share * reports[:, np.newaxis]
        everyone = self.buckets * float(reports.sum())
        support = float(users.sum()) * gap + self.q * everyone
        own = ((1 - 2 * self.q) * support + self.q**2 * everyone) / gap**2
        met, chance = (float(np.square(users).sum()) - own) / pairs, 1 / self.buckets
        return min(1.0, max(0.0, (met - chance) / (1 - chance)))


def whole_rows(mechanism: ProjectiveBuckets) -> list[int]:
    """Return the cohorts that report whole strings: the rows of the only level, or of the last."""
    return list(range(mechanism.cohorts - mechanism.rows, mechanism.cohorts))


def supports(mechanism: ProjectiveBuckets, counts: Counts) -> Floats:
    """Return how many of a row's reports support each bucket, shape (buckets,)."""
    return hyperplane_sums(mechanism.order, mechanism.length, counts.astype(np.float64))[: mechanism.buckets]
