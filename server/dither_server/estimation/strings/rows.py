"""Estimate without bias, from the rows of a sketch, the share of people whose string is in each bucket."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from dither_shared.mechanisms.projective_sketch import ProjectiveBuckets

from ...tally.arrays import Counts, Floats
from ...tally.tally import Tally
from ..hashing import Buckets
from ..transform import hyperplane_sums


@dataclass(frozen=True)
class Rows:
    """Rows of one sketch: each has its own hash function and its own reports.

    ``share``, shape (rows, buckets), estimates the share of a row's people whose string is in each bucket; ``reports``,
    shape (rows,), is the number of reports of each row. A report supports the bucket of its string with probability
    ``p``, and any other with ``q``. In a row without reports the shares are 0 and their variance is infinite.

    ``repeats`` is the design effect of the reports of a row, and ``shared`` the p and q of the stage that all reports
    of a device share: its permanent point, or its string. If these are only some of the buckets (``only``), ``whole``
    has all of them, and ``rest`` the shares of the others.
    """

    share: Floats
    reports: Counts
    p: float
    q: float
    repeats: float = 1.0
    shared: tuple[float, float] = (1.0, 0.0)
    between: float = 0.0
    whole: "Rows | None" = None
    rest: tuple[Floats, ...] | None = None

    @classmethod
    def of(cls, mechanism: ProjectiveBuckets, tally: Tally, cohorts: Sequence[int]) -> Self:
        """Return the rows for these cohorts of a tally, by one fast transform each."""
        (p, q), stage = _levels(mechanism), mechanism.permanent_stage
        reports, repeats, between = tally.reports[cohorts], tally.repeats.effect, 0.0
        if stage is None:  # the other reports of a device are in other rows, too
            again = (repeats - 1) / max(tally.total, 1)
            repeats, between = 1 + again * float(reports.mean()), again * (1 - 1 / len(reports))
        support = np.stack([supports(mechanism, tally.counts[cohort]) for cohort in cohorts])
        share = (support / np.maximum(reports, 1)[:, np.newaxis] - q) / (p - q)
        share = np.where(reports[:, np.newaxis] > 0, share, 0.0)
        return cls(share, reports, p, q, repeats, (1.0, 0.0) if stage is None else _levels(stage), between)

    def only(self, marks: Buckets) -> tuple[Self, Buckets]:
        """Return the buckets that strings of ``marks``, shape (rows, S), occupy, and the marks as indices into these.

        The work of a fit then depends on the number of strings, not on that of buckets. Shorter rows are padded with
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
        """The number of buckets of a row."""
        return int((self.whole or self).share.shape[1])

    @property
    def total(self) -> int:
        """The number of reports of all rows."""
        return int(self.reports.sum())

    @property
    def effect(self) -> float:
        """The design effect of the reports of all rows."""
        return self.repeats + self.between * self.total

    def listed(self, marks: Buckets, beyond: float) -> tuple[float, float]:
        """Return the share of people with any string of ``marks``, shape (rows, S), and its error, maybe infinite.

        A string outside the list falls into one of the k buckets that the list fills with probability k/B. So a row's
        estimate is (s - k/B)/(1 - k/B), where s is the sum of its k shares. Its variance is that of k cells plus, over
        the hash functions of the other strings, whose Σ f² is ``beyond``, k/B (1 - k/B) Σ f².
        """
        whole, variance, reports = 0.0, 0.0, 0
        for share, places, trials in zip(self.share, marks, self.reports.tolist(), strict=True):
            filled = np.unique(places)
            part = len(filled) / self.buckets
            if trials and part < 1:
                held = float(share[filled].sum())
                drawn = _sum_variance(self.p, self.q, held, len(filled))
                drawn += (self.repeats - 1) * _sum_variance(*self.shared, held, len(filled))
                whole += trials * (held - part) / (1 - part)
                variance += (trials / (1 - part)) ** 2 * (drawn / trials + beyond * part * (1 - part))
                reports += trials
        return (whole / reports, math.sqrt(variance) / reports) if reports else (math.nan, math.inf)

    def variance(self, share: Floats) -> Floats:
        """Return the variance, over noise and sampling, of the estimates of ``share``, shape (rows, buckets).

        A report supports a bucket or does not: s(1-s)/(n (p-q)²) with s = q + (p-q) share. The same holds for the stage
        that the reports of a device share, which does not average out over these.
        """
        share, (high, low) = np.clip(share, 0, 1), self.shared
        supported, common = self.q + (self.p - self.q) * share, low + (high - low) * share
        spread = supported * (1 - supported) / (self.p - self.q) ** 2
        spread = spread + (self.repeats - 1) * common * (1 - common) / (high - low) ** 2
        with np.errstate(divide="ignore"):  # a row without reports
            return np.asarray(spread / self.reports[:, np.newaxis])

    @cached_property
    def concentration(self) -> float:
        """An estimate of Σ f² over all strings, listed or not; 1 if it cannot be estimated.

        Let r_b be the contribution of a report to bucket b. Over pairs of reports of one row, of different people, the
        mean of Σ_b r_b r'_b is the sum of the squared shares, which is Σ f² + (1 - Σ f²)/B over the hash functions.
        """
        if self.whole is not None:
            return self.whole.concentration
        reports = self.reports.astype(np.float64)
        again = reports * (self.repeats - 1)
        pairs = float((reports * (reports - 1) - again).sum())
        if pairs <= 0:
            return 1.0
        users = self.share * reports[:, np.newaxis]
        squares = self._squares(self.p, self.q, float(users.sum()), float(reports.sum()))
        squares += self._squares(*self.shared, float((self.share.sum(axis=1) * again).sum()), float(again.sum()))
        met, chance = (float(np.square(users).sum()) - squares) / pairs, 1 / self.buckets
        return min(1.0, max(0.0, (met - chance) / (1 - chance)))

    def _squares(self, p: float, q: float, users: float, reports: float) -> float:
        """Return the sum over reports of Σ_b r_b², given the sum of their contributions to all buckets."""
        gap, everyone = p - q, self.buckets * reports
        return ((1 - 2 * q) * (users * gap + q * everyone) + q**2 * everyone) / gap**2


def _sum_variance(p: float, q: float, held: float, cells: int) -> float:
    """Return the variance of one report's estimate of the share of people in any of ``cells``, if it is ``held``.

    An estimate beyond 0 or 1 counts as that end: otherwise few reports would seem precise if they are far off.
    """
    held = min(max(held, 0.0), 1.0)
    noise = cells * q * (1 - q) + held * (p - q) * (1 - p - q)
    return noise / (p - q) ** 2 + held * (1 - held)


def _levels(mechanism: ProjectiveBuckets) -> tuple[float, float]:
    """Return P[a report supports a bucket], for the bucket of its string, and for any other."""
    chance = mechanism.p / mechanism.buckets
    return float(mechanism.p), float((mechanism.q - chance) / (1 - 1 / mechanism.buckets))


def whole_rows(mechanism: ProjectiveBuckets) -> list[int]:
    """Return the cohorts that report whole strings: the rows of the only or the last level."""
    return list(range(mechanism.cohorts - mechanism.rows, mechanism.cohorts))


def supports(mechanism: ProjectiveBuckets, counts: Counts) -> Floats:
    """Return how many of a row's reports support each bucket, shape (buckets,)."""
    return hyperplane_sums(mechanism.order, mechanism.length, counts.astype(np.float64))[: mechanism.buckets]
