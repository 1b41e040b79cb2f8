"""Compute score intervals of a share, for estimates whose law is nearly normal but not binomial.

Each has equal tails, except near 0 and 1, where ``feldman_cousins`` splits them; it misses with probability ``alpha``,
which is 1 - confidence. ``verdicts`` classifies intervals by one rule for every kind of answer.

The interval of a ratio of two estimates, such as the share of x among those with y, r = f_xy / f_y, is Fieller's.
Fieller's set (Fieller 1954, "Some problems in interval estimation") contains all r for which x - r y is within its own
error of 0,

    { r : (x - r y)² <= z² (v_x - 2 r v_xy + r² v_y) },

which is an interval if y differs from 0 by more than z of its own errors. Otherwise the set is unbounded, and no
interval is returned.
"""

from collections.abc import Callable
from fractions import Fraction
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np

from dither_shared import Mechanism

from ...tally.arrays import Booleans, Counts, Floats
from .exact import Ends, Levels, exact_interval
from .feldman_cousins import normal_scores, tails

_PASSES = 2
"""Number of passes that compute an end: first with the skewness at the estimate, then with that at the previous end."""

LEAST_NOISE = 10.0
"""Minimum variance of a count, or of a sum of scores in squares of their range, for normal noise intervals.

By enumeration, 95% intervals then cover with probability at least 93.4%. At a variance of 0.25 they cover with 79%: 100
reports of two values at ε = 6. So do those of 30 reports of each of ten people whose permanent draws hardly ever lie,
because a single lie then counts for 30 reports (85%).
"""

_MOST_SKEWED = 0.5
"""Largest skewness at which the first-order correction for it is valid."""


class Law(NamedTuple):
    """N times the variance of an estimate of a share f from N reports: constant + slope f + thinning f (1-f).

    For the population, ``people`` replaces ``thinning``.
    """

    constant: float | Floats
    slope: float | Floats
    thinning: float | Floats
    people: float | Floats = 1.0

    def variance(self, share: Floats) -> Floats:
        """Return N times the variance at a share."""
        return np.asarray(self.constant + self.slope * share + self.thinning * share * (1 - share))

    def error(self, share: Floats, trials: Floats | Counts, bias: Floats | float = 0.0) -> Floats:
        """Return the standard error of an estimate from ``trials`` reports, with a bias of that standard deviation."""
        return np.asarray(np.sqrt(np.maximum(self.variance(share), 0) / np.maximum(trials, 1) + bias**2))

    def plus(self, other: "Law", times: float | Floats) -> "Law":
        """Return the law whose variance is this one plus ``times`` that of ``other``."""
        return Law(*(mine + times * more for mine, more in zip(self, other, strict=True)))

    def sampled(self) -> "Law":
        """Return the law for the population: sampling adds f(1-f), once per person."""
        return self._replace(thinning=self.people)


def noise_law(mechanism: Mechanism, repeats: float = 1.0) -> Law:
    """Return the law over noise alone, if N reports have the design effect ``repeats``, D.

    The noise contributes V0 + f·Vf (Wang et al. 2017, equation 2). If only a share c of the reports covers a value, the
    random choice of these reports contributes (1-c) f (1-f). Reports of one person share the answer and the permanent
    draw, and with it the cohort. So D - 1 times the law of the permanent stage is added. Without a permanent stage,
    only a share c of a person's other reports covers the value, and they share only f (1-f).
    """
    once, thinning, stage = law_of(mechanism), float(1 - mechanism.coverage), mechanism.permanent_stage
    if stage is None:
        return once._replace(thinning=thinning, people=1 + (repeats - 1) * float(mechanism.coverage))
    return once.plus(law_of(stage), repeats - 1)._replace(thinning=thinning * repeats, people=repeats)


def law_of(levels: Levels) -> Law:
    """Return the law of a share over noise alone, if every report covers it."""
    p, q = float(levels.p), float(levels.q)
    return Law(q * (1 - q) / (p - q) ** 2, (1 - p - q) / (p - q), 0.0)


def shared_variance(mechanism: Mechanism, share: Floats, reports: float) -> Floats:
    """Return the covariance of estimates from two reports of one person, divided by the number of ``reports``."""
    stage = mechanism.permanent_stage
    law = Law(0.0, 0.0, 1.0) if stage is None else law_of(stage).sampled()
    return law.error(share, np.asarray(reports if stage is None else reports * float(stage.coverage))) ** 2


def share_interval(
    mechanism: Mechanism,
    frequency: Floats,
    trials: Floats | Counts,
    alpha: float,
    bias: Floats | float = 0.0,
    cube: Floats | float = 0.0,
    repeats: float = 1.0,
    *,
    sampled: bool,
) -> Ends:
    """Return the interval of a share in the population (``sampled``), or among those who reported (``where_normal``).

    ``bias`` and ``cube`` are the standard deviation and third central moment of the bias that a sketch's collisions
    add.
    """
    law = noise_law(mechanism, repeats)
    law = law.sampled() if sampled else law

    def skewness(at: Floats) -> Floats:
        moment = cube + third_moment(mechanism, at, trials, repeats, sampled=sampled)
        return np.asarray(moment / law.error(at, trials, bias) ** 3)

    ends = score_interval(law, frequency, trials, alpha, bias, skewness)
    if not sampled:
        return where_normal(mechanism, trials, ends, repeats)
    if repeats <= 1:
        return ends
    stage = mechanism.permanent_stage
    levels = (Fraction(1), Fraction(0)) if stage is None else (stage.p, stage.q)
    low, high = people_interval(levels, frequency, trials / np.asarray(law.people), alpha)
    return np.minimum(ends[0], low), np.maximum(ends[1], high)


class _Levels(NamedTuple):
    p: Fraction
    q: Fraction


_CERTAIN = Fraction(1, 10**9)
"""What takes the place of a level of 0, where the exact tails are not defined."""


def people_interval(levels: tuple[Fraction, Fraction], frequency: Floats, people: Floats, alpha: float) -> Ends:
    """Return the interval of a share in the population of people whose single reports have no more noise together.

    What the reports of a person have in common, the permanent draw or the answer, supports the value with the first of
    the ``levels`` or with the second: one binomial trial. Of few people it is far from normal, whatever the number of
    their reports, so the interval is exact.
    """
    p, q = (min(max(level, _CERTAIN), 1 - _CERTAIN) for level in levels)
    people = np.maximum(people, 1.0)
    likely = np.clip(float(q) + float(p - q) * frequency, 0, 1)
    return exact_interval(_Levels(p, q), people * likely, people, alpha)


def where_normal(mechanism: Mechanism, trials: Floats | Counts, ends: Ends, repeats: float) -> Ends:
    """Return the ends of noise intervals, NaN for supports that are not ``nearly_normal``."""
    normal, (low, high) = nearly_normal(mechanism, trials, repeats), ends
    return np.where(normal, low, np.nan), np.where(normal, high, np.nan)


def nearly_normal(mechanism: Mechanism, trials: Floats | Counts | int, repeats: float) -> Booleans:
    """Return whether a support count is nearly normal, whatever the share.

    It is not if its variance from the noise is below ``LEAST_NOISE``, because it then has too few probable values. The
    same holds for the permanent draws of the people behind the reports, except that the noise of single reports smooths
    their sum: if a part r of the variance is theirs, the kurtosis is r² times that of their number of lies.
    """
    normal = np.asarray(trials * _least_spread(mechanism) >= LEAST_NOISE)
    stage = mechanism.permanent_stage
    if stage is None or repeats <= 1:
        return normal
    ends = np.array([0.0, 1.0])
    part = float((repeats * law_of(stage).variance(ends) / noise_law(mechanism, repeats).variance(ends)).max())
    return np.asarray(normal & (trials / repeats * _least_spread(stage) >= LEAST_NOISE * part**2))


def _least_spread(levels: Levels) -> float:
    """Return the variance of the support of one report, of the value for which it is least."""
    p, q = float(levels.p), float(levels.q)
    return min(p * (1 - p), q * (1 - q))


def third_moment(
    mechanism: Mechanism, share: Floats, trials: Floats | Counts, repeats: float = 1.0, *, sampled: bool
) -> Floats:
    """Return the third central moment of a share's estimate, over noise and, if ``sampled``, over sampling.

    For one trial it is M₃(p, q)/(p-q)³ (``_third``). The D reports of a person share the result of the permanent stage,
    which has P and Q (1 and 0 without one). Given this result, a report supports the value with π₀ or with π₁ = π₀ +
    (p-q)/(P-Q). By the law of total cumulance N² times the moment is

        M₃(p, q)/(p-q)³ + 3 (D-1) (1-π₀-π₁) M₂(P, Q)/((P-Q)² (p-q)) + (D²-1) M₃(P, Q)/(P-Q)³.
    """
    p, q, thinning = float(mechanism.p), float(mechanism.q), 1.0 if sampled else float(1 - mechanism.coverage)
    found, stage = _third(p, q, share, thinning) / (p - q) ** 3, mechanism.permanent_stage
    if sampled or stage is not None:
        again = noise_law(mechanism, repeats).people
        high, low = (1.0, 0.0) if stage is None else (float(stage.p), float(stage.q))
        kept = (p - q) / (high - low)
        lean = (1 - 2 * (p - kept * high) - kept) / ((high - low) ** 2 * (p - q))
        second = share * high * (1 - high) + (1 - share) * low * (1 - low)
        second = second + (high - low) ** 2 * thinning * share * (1 - share)
        found = found + 3 * (again - 1) * lean * second
        found = found + (again**2 - 1) * _third(high, low, share, thinning) / (high - low) ** 3
    return np.asarray(found / np.maximum(trials, 1.0) ** 2)


def _third(p: float, q: float, share: Floats, thinning: float) -> Floats:
    """Return the third central moment of the support of one trial, of a ``Law`` with thinning t.

    With b(x) = x (1-x) (1-2x), the third central moment of a Bernoulli variable of probability x, and d = p - q, it is

        f b(p) + (1-f) b(q) + 3 d² (1-p-q) t f (1-f) + d³ t (2t-1) f (1-f) (1-2f):

    the moments of the noise given which people report, the covariance of its mean with its variance, and the moment of
    the mean, which depends on a hypergeometric number of holders. At t = 0 only the first two terms remain; at t = 1
    the sum is b(q + f d), because then every report is an independent draw from the population.
    """
    gap, mixed = p - q, share * (1 - share) * thinning
    noise = share * p * (1 - p) * (1 - 2 * p) + (1 - share) * q * (1 - q) * (1 - 2 * q)
    people = 3 * gap**2 * (1 - p - q) * mixed + gap**3 * mixed * (2 * thinning - 1) * (1 - 2 * share)
    return np.asarray(noise + people)


def _unskewed(share: Floats) -> Floats:
    return np.zeros(1)


def score_interval(
    law: Law,
    frequency: Floats,
    trials: Floats | Counts,
    alpha: float,
    bias: Floats | float = 0.0,
    skewness: Callable[[Floats], Floats] = _unskewed,
) -> Ends:
    """Return the interval of a share, given its unbiased estimate from ``trials``; [0, 1] without trials.

    It contains every f with |estimate - f| <= z error(f), with the error at f itself (Wilson's score interval, 1927,
    for a sum of two binomials). Unlike an interval with the error at the estimate, it has its nominal coverage even if
    few reports support a value. If the estimate is skewed, z is corrected by (z² - 1)/6 times its ``skewness`` at f
    (Cornish and Fisher 1938): first at the estimate, and then at the end so computed.
    """
    errors = (law.error(np.zeros(1), trials, bias), law.error(np.ones(1), trials, bias))
    below, above = normal_scores(frequency, errors, alpha)
    alike = tails(alpha).alike
    low = high = np.clip(frequency, 0, 1)
    for _ in range(_PASSES):
        low, high = (
            np.clip(_wilson(law, frequency, trials, _corrected(score, skewness(end), alike), bias), 0, 1)
            for score, end in ((-below, low), (above, high))
        )
    return np.where(trials == 0, 0.0, low), np.where(trials == 0, 1.0, high)


def _corrected(score: Floats, skewness: Floats, alike: float) -> Floats:
    """Return the score with the first-order correction for skewness, which is constant beyond ``alike``."""
    return np.asarray(score - (np.minimum(score**2, alike**2) - 1) / 6 * np.clip(skewness, -_MOST_SKEWED, _MOST_SKEWED))


def normal_interval(frequency: Floats, error: Floats, confidence: float) -> Ends:
    """Return the interval of a share whose unbiased estimate is normal with standard error ``error``, or infinite."""
    below, above = normal_scores(frequency, (error, error), 1 - confidence)
    return np.clip(frequency - below * error, 0, 1), np.clip(frequency + above * error, 0, 1)


def _wilson(law: Law, frequency: Floats, trials: Floats | Counts, score: Floats, bias: Floats | float) -> Floats:
    """Return the share f whose distance to the estimate is ``score`` times the error at f."""
    scale = score**2 / np.maximum(trials, 1)
    constant = law.constant + np.maximum(trials, 1) * bias**2
    spread = constant + law.slope * frequency + law.thinning * frequency * (1 - frequency)
    lean = scale * (law.slope + law.thinning)
    # In this form the large terms of the discriminant have cancelled, so 10^12 reports lose no digits.
    rest = (
        4 * scale**2 * law.thinning * constant if np.any(law.thinning) else 0.0
    )  # otherwise an infinite error would give NaN
    half = np.sqrt(np.maximum(4 * scale * spread + lean**2 + rest, 0)) / 2
    return np.asarray((frequency + lean / 2 + np.sign(score) * half) / (1 + scale * law.thinning))


Verdict = Literal["ok", "noise", "too-few"]

_VERDICTS: tuple[Verdict, ...] = ("ok", "noise", "too-few")

_WIDEST = 0.5
"""Width, relative to the whole range, from which an interval counts as too wide."""


def too_wide(low: Floats | float, high: Floats | float, whole: float = 1.0) -> Booleans:
    """Return whether each interval spans half of the ``whole`` or more, or has no ends (NaN)."""
    narrow: Booleans = np.asarray(high) - np.asarray(low) < _WIDEST * whole
    return ~narrow


def verdicts(low: Floats, high: Floats) -> tuple[Verdict, ...]:
    """Return the verdict on each interval of a share; NaN ends mean that there is no interval.

    It is "ok" if the interval lies above 0, "too-few" if it contains 0 and is ``too_wide``, and otherwise "noise".
    """
    choices = np.array(_VERDICTS, dtype=object)  # an array of references to the same three strings
    return tuple(choices[np.where(low > 0, 0, np.where(too_wide(low, high), 2, 1))])


def informative(error: Floats | float, alpha: float) -> Booleans:
    """Return whether the reports suffice to distinguish any two shares; otherwise no estimate is shown.

    ``error`` is the standard error at a share of 0. If even an estimate of 1, the largest share, does not differ
    significantly from 0, its interval is the whole range. At 0 all of ``alpha`` lies in one tail
    (``intervals.feldman_cousins``).
    """
    score = -NormalDist().inv_cdf(min(alpha, 0.5))
    return np.asarray(error) < (1 / score if score else np.inf)


class Ratios(NamedTuple):
    """Ratios with their intervals; all three are NaN if the denominator may be 0, because there are too few reports."""

    ratio: Floats
    low: Floats
    high: Floats


def fieller(
    x: Floats | float,
    y: Floats | float,
    v_x: Floats | float,
    v_y: Floats | float,
    v_xy: Floats | float,
    z: float,
    sure: float = 0.0,
) -> Ratios:
    """Return x / y with the ends of Fieller's set, cut to [0, 1]; all arrays broadcast.

    ``v_x``, ``v_y`` and ``v_xy`` are variances and covariance of x and y; ``z`` is the normal quantile of the
    confidence. Unless y also exceeds ``sure`` of its errors there is no interval, because the true y may be 0. The ends
    are the roots of r² (y² - z² v_y) - 2 r (x y - z² v_xy) + (x² - z² v_x) = 0.
    """
    x, y, v_x, v_y, v_xy = np.broadcast_arrays(*(np.asarray(part, dtype=np.float64) for part in (x, y, v_x, v_y, v_xy)))
    square = y**2 - z**2 * v_y
    middle = x * y - z**2 * v_xy
    # If the set is an interval, the discriminant is negative only through rounding.
    reach = np.sqrt(np.maximum(middle**2 - square * (x**2 - z**2 * v_x), 0))
    known = (square > 0) & (y > sure * np.sqrt(v_y))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio, low, high = (np.where(known, top / bottom, np.nan) for top, bottom in (
            (x, y), (middle - reach, square), (middle + reach, square)
        ))  # fmt: skip
    return Ratios(ratio, np.clip(low, 0, 1), np.clip(high, 0, 1))
