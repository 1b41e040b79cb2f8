"""Bound the ε of shuffled reports by the privacy blanket, for mechanisms of two levels and for few reports.

With probability γ a report is independent of its value: it is drawn from μ. These draws hide the report in question,
even if all other reports are known (Balle, Bell, Gascón and Nissim, CRYPTO 2019, arXiv 1903.02837, lemma 5.3): among n
reports, with E = e^ε and r, s, o the ratio, share and overlap of the law,

    δ(ε) = E[(X_1 + … + X_n)_+]/n,      X = 0          with probability 1 - γ, and with γ times
                                             r - E     s - o           (the first value alone owns the report)
                                             1 - E r   s - o           (the second)
                                             r (1-E)   o               (both)
                                             1 - E     1 - 2s + o      (none).

A larger overlap decreases δ: it moves probability from the outer two values of X to the two between them, which have
the same mean. So the least overlap of any two values is safe for all.

For other laws and few reports, such as those of numbers, ``FiniteLaw`` defines X. The law of the sum is exact except
that each X is split between neighbouring points of a lattice such that it keeps its mean. By Jensen's inequality this
can only increase δ, and the lattice is so fine that the variance grows by less than a thousandth.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import scipy

from dither_shared import Mechanism
from dither_shared.primitives.channel import TwoLevel
from dither_shared.primitives.probability import float_above
from dither_shared.rows import Shape

from ...tally.arrays import Floats
from .generic import MARGIN, checked_shuffle, group_epsilon

OUTSIDE = 1e-16
"""Bound of the probability beyond either end, which the transform aliases to the other end of the window."""

_ROUNDING = 2e-15
"""Rounding error of a characteristic function relative to its terms: a few units in the last place."""

_TRIED = np.geomspace(0.05, 500.0, 80)
"""Values tried for Chernoff's parameter, in units of the inverse standard deviation."""


@dataclass(frozen=True)
class TiltedSum:
    """P[S = places[j]] = e^(log_scale - tilt · places[j]) · masses[j], ``wrong`` bounds the error of a mass."""

    tilt: float
    log_scale: float
    places: Floats
    masses: Floats
    wrong: float


@dataclass(frozen=True)
class StepLaw:
    """The values of one step, in any unit, and their probabilities; values of both signs occur.

    The probabilities sum to 1, or to 1 + ``excess`` if they are upper bounds.

    The law of a sum of n steps on a lattice, n up to 10^10, is computed precisely far out in a tail. The steps are
    tilted first (Esscher 1932; Cramér): with q_x = p_x e^(λx)/M(λ),

        P[S = s] = M(λ)^n e^(-λs) Q[S = s],

    for any λ. It is chosen such that Q has its mean in the required part of the range. Q is computed by a fast Fourier
    transform over a window outside which its mass is at most ``OUTSIDE``, by Chernoff's bound. The characteristic
    function minus 1 is summed from small numbers, so its n-th power loses no digits.
    """

    values: Floats
    masses: Floats
    excess: float = 0.0

    def log_moment(self, tilt: float | Floats) -> Floats:
        """Return ln E e^(tilt · X), for each tilt."""
        with np.errstate(over="ignore"):
            return np.asarray(np.log1p(np.expm1(np.multiply.outer(tilt, self.values)) @ self.masses + self.excess))

    def tilted(self, tilt: float) -> Floats:
        """Return the probabilities of the values after a tilt."""
        logs = tilt * self.values
        weights = self.masses * np.exp(logs - logs.max())
        return np.asarray(weights / weights.sum())

    def moments(self, tilt: float) -> tuple[float, float]:
        """Return mean and variance after a tilt."""
        weights = self.tilted(tilt)
        mean = float(weights @ self.values)
        return mean, float(weights @ (self.values - mean) ** 2)

    def tilt_to(self, mean: float) -> float:
        """Return the tilt after which the mean is ``mean``, or close to it."""

        def beyond(tilt: float) -> float:
            return self.moments(tilt)[0] - mean

        start, spread = beyond(0.0), self.moments(0.0)[1]
        if not start:
            return 0.0
        far = -start / spread
        while beyond(far) * start > 0 and abs(far) * float(np.ptp(self.values)) < 600:
            far *= 2
        return float(scipy.optimize.brentq(beyond, 0.0, far, rtol=1e-9)) if beyond(far) * start < 0 else far

    def sum_of(self, count: int, tilt: float) -> TiltedSum:
        """Return the law, after a tilt, of the sum of ``count`` steps, whose values must be integers."""
        masses, ends = self.tilted(tilt), self.window(count, tilt)
        low = math.floor(ends[0])
        size = int(scipy.fft.next_fast_len(math.ceil(ends[1]) - low + 1, real=True))
        angles = 2 * np.pi * np.arange(size // 2 + 1) / size
        real, imaginary = np.zeros_like(angles), np.zeros_like(angles)
        for value, mass in zip(self.values, masses, strict=True):
            real -= 2 * mass * np.sin(angles * (value / 2)) ** 2
            imaginary += mass * np.sin(angles * value)
        with np.errstate(divide="ignore"):
            logs = count / 2 * np.log1p(np.maximum(2 * real + real**2 + imaginary**2, -1.0))
        powers, phases = np.exp(logs), angles * low - count * np.arctan2(imaginary, 1 + real)
        probabilities = scipy.fft.irfft(powers * np.exp(1j * phases), size)
        rounded = _ROUNDING * (abs(low) + count * float(masses @ np.abs(self.values)))
        wrong = 2 / size * float(powers @ np.minimum(rounded * angles + _ROUNDING, 2.0)) + OUTSIDE
        scale = count * float(self.log_moment(tilt))
        return TiltedSum(tilt, scale, low + np.arange(size, dtype=float), np.maximum(probabilities, 0.0), wrong)

    def window(self, count: int, tilt: float) -> tuple[float, float]:
        """Return the least and the greatest sum that are kept."""
        _, variance = self.moments(tilt)
        tried = _TRIED / math.sqrt(count * variance)
        here = float(self.log_moment(tilt))
        ends = []
        for sign, furthest in ((-1, self.values.min()), (1, self.values.max())):
            growth = count * (self.log_moment(tilt + sign * tried) - here) - math.log(OUTSIDE)
            ends.append(sign * min(float(np.min(growth / tried)), sign * count * float(furthest)))
        return ends[0], ends[1]


_USUAL_LATTICE, _LARGEST_LATTICE = 256, 1 << 15
"""Approximate number of lattice points in the range of X, more if its greatest value is near 0; and the maximum."""

_MOST_WORK = 1 << 22
"""Maximum of values² times possible reports for which this bound is computed."""

_SLACK = 1e-12
"""Bound of the rounding error of a second difference, relative to the sums over some hundred points in it."""


@dataclass(frozen=True, eq=False)
class FiniteLaw:
    """The law of a report: ``odds`` holds P[y|x]/ω(y) for each value x (rows) and report y; ``common`` holds ω(y).

    A report of value x is y with P[y|x]. With ω(y) = min_x P[y|x] and γ = Σ ω, each report is, with probability γ,
    drawn from ω/γ independently of its value, and then hides the report in question. For two values a and b among n
    reports, with E = e^ε,

        δ_ab(ε) = E[(X_1 + … + X_n)_+]/n,    X = 0 with probability 1 - γ,
                                              X = (P[y|a] - E P[y|b])/ω(y) with probability ω(y) of each y.

    E[X] = 1 - E for all a and b. So one law is enough for all pairs: let Π(t) = max_ab E[(X_ab - t)_+]. As a maximum of
    convex functions Π is convex; it is 1 - E - t on the far left, like every pair's function, and 0 on the far right;
    so it is E[(X* - t)_+] of one law X*, and E[f(X_ab)] <= E[f(X*)] for every convex f (a line and a mixture of
    (· - t)_+). With f(x) = E[(x + Z)_+] for independent Z, the steps of a sum can be replaced by X* one after the
    other, and no replacement decreases E[(·)_+]. So max_ab δ_ab(ε) <= E[(X*_1 + … + X*_n)_+]/n.

    Π is evaluated at the points of a lattice and interpolated linearly, which is an upper bound because Π is convex. At
    these points E[(X - t)_+] of a pair equals that of X with each value split between its two neighbours such that it
    keeps its mean. If one pair attains the maximum at three neighbouring points, the probability of the middle point is
    that pair's; otherwise it is the second difference of Π or, left of 0, of E[(t - X)_+], which is the same, and
    ``_SLACK`` is added for rounding. Overestimated probabilities can only increase δ.
    """

    odds: Floats
    common: Floats
    ratio: Fraction

    def alone(self, after: float) -> float:
        """Return max_ab E[(X_ab)_+] for ε = ``after``: the δ of a single report without any other."""
        return max(
            float((np.maximum(law_of_value - math.exp(after) * self.odds, 0.0) @ self.common).max())
            for law_of_value in self.odds
        )

    def steps(self, after: float) -> StepLaw | None:
        """Return X* for ε = ``after``; None if X is never positive, or too seldom for the size of the lattice."""
        more = math.exp(after)
        low, high = self.odds.min(axis=0), self.odds.max(axis=0)
        least, greatest = float((low - more * high).min()), float((high - more * low).max())
        if greatest <= 0 or greatest - least > _LARGEST_LATTICE * greatest:
            return None
        unit = math.ldexp(greatest, -max(0, math.ceil(math.log2(_USUAL_LATTICE * greatest / (greatest - least)))))
        zero = 2 - math.floor(least / unit)  # the index of 0, with two free points at either end
        masses = self._masses(more, unit, zero, zero + math.ceil(greatest / unit) + 3)
        kept = masses > 0
        values = unit * (np.flatnonzero(kept) - zero).astype(float)
        return StepLaw(values, masses[kept], max(0.0, math.fsum(masses) - 1))

    def _masses(self, more: float, unit: float, zero: int, points: int) -> Floats:
        """Return the probabilities of X* at the points of a lattice."""
        above, below = _Greatest(points), _Greatest(points)
        values, nothing = len(self.odds), max(0.0, 1 - math.fsum(self.common))
        rows = points * np.arange(values)[:, np.newaxis]
        for place, one in enumerate(self.odds):
            exact = (one - more * self.odds) / unit + zero
            floor = np.floor(exact).astype(np.int64)
            parts = exact - floor
            at = np.concatenate([(rows + floor).ravel(), (rows + floor + 1).ravel()])
            weights = np.concatenate([(self.common * (1 - parts)).ravel(), (self.common * parts).ravel()])
            masses = np.asarray(np.bincount(at, weights, values * points), dtype=float).reshape(values, points)
            masses[:, zero] += nothing
            above.add(masses, place)
            below.add(masses[:, ::-1], place)
        return np.concatenate([below.masses()[::-1][:zero], above.masses()[zero:]])


class _Greatest:
    """max_ab E[(X_ab - t)_+] at the points t of a lattice, in units of it, with the pair that attains it."""

    def __init__(self, points: int) -> None:
        self._best, self._pair, self._mass = np.full(points, -1.0), np.zeros(points, np.int64), np.zeros(points)

    def add(self, masses: Floats, first: int) -> None:
        """Include the pairs of the value ``first`` with each other value, given one row of probabilities per pair."""
        beyond = np.cumsum(masses[:, ::-1], axis=1)[:, ::-1] - masses
        sums = np.cumsum(beyond[:, ::-1], axis=1)[:, ::-1]  # Σ_i (i - j)_+ masses_i at place j
        second, places = sums.argmax(axis=0), np.arange(sums.shape[1])
        higher = sums[second, places] > self._best
        self._best[higher] = sums[second, places][higher]
        self._pair[higher] = (first * len(masses) + second)[higher]
        self._mass[higher] = masses[second, places][higher]

    def masses(self) -> Floats:
        """Return the probabilities of the law whose expectations these are."""
        best, pair, found = self._best, self._pair, self._mass.copy()
        bent = best[:-2] - 2 * best[1:-1] + best[2:]
        changes = (pair[:-2] != pair[1:-1]) | (pair[2:] != pair[1:-1])
        found[1:-1][changes] = np.maximum(bent[changes], 0.0) + _SLACK * best[:-2][changes]
        return found


@lru_cache(maxsize=64)
def finite_law(mechanism: Mechanism) -> FiniteLaw | None:
    """Return the law of a mechanism; None if a report is not a single symbol, or there are too many symbols."""
    size = mechanism.size
    if mechanism.shape is not Shape.SYMBOL or size is None:
        return None
    if size**2 * mechanism.cells * mechanism.cohorts > _MOST_WORK:
        return None
    weights = mechanism.cohort_law or (Fraction(1, mechanism.cohorts),) * mechanism.cohorts
    laws = [
        [weight * chance for cohort, weight in enumerate(weights) for chance in mechanism.cell_law(item, cohort)]
        for item in range(size)
    ]
    common = [min(column) for column in zip(*laws, strict=True)]
    odds = [[float(chance / least) for chance, least in zip(law, common, strict=True)] for law in laws]
    return FiniteLaw(np.array(odds), np.array([float(least) for least in common]), mechanism.ratio)


_ADDED, _LEAST_ADDED = 1e-3, 1e-5
"""Maximum relative increase of the variance by a lattice; the second value is used if the lattice stays small."""

_FEW_POINTS, _MOST_POINTS = 1 << 14, 1 << 20
"""Points of a small lattice, about a millisecond each, and of the largest, about a tenth of a second each."""

_COARSEST = 60
"""The lattice is from 2^60 times to 2^-60 times the greatest value."""


Law = TwoLevel | FiniteLaw


def blanket_epsilon(law: Law, reports: int, delta: float, own: int = 1) -> float:
    """Return an ε for which a mechanism of that law is (ε, ``delta``)-private among ``reports`` honest reports.

    It holds for ``own`` reports of one device together, in one batch or in several of ``reports`` each. It is at most
    ``own`` times ln(law.ratio), rounded up. Raises ParameterError as ``checked_shuffle`` does.
    """
    odds = float_above(law.ratio)
    most = math.log(odds) * (1 + 1e-15)
    checked_shuffle(most, reports, delta, own)
    steps = _steps(law, 0.0)
    variance = 0.0 if steps is None else steps.moments(0.0)[1]
    guess = math.sqrt(-2 * math.log(delta) * variance / reports)
    return group_epsilon(lambda loss: blanket_delta(law, reports, loss), most, delta, guess, own)


def blanket_delta(law: Law, reports: int, after: float) -> float:
    """Return a δ for which a mechanism of that law is (``after``, δ)-private among ``reports`` honest reports."""
    steps = _steps(law, after)
    if steps is None:  # a sum's positive part is no more than the sum of the positive parts
        return min(1.0, MARGIN * law.alone(after)) if isinstance(law, FiniteLaw) else 0.0
    unit = _unit(steps, reports)
    steps = _split(steps, unit)
    total = steps.sum_of(reports, steps.tilt_to(0.0))
    return min(1.0, MARGIN * math.exp(total.log_scale) * _excess(total) * unit / reports)


def _excess(law: TiltedSum) -> float:
    """Return an upper bound of E[S_+ e^(-λS)] after the tilt λ, including the errors of window and rounding."""
    above = law.places > 0
    places = law.places[above]
    weights = places * np.exp(-law.tilt * places)
    if not len(weights):
        return 1 / (math.e * law.tilt)
    return float(weights @ (law.masses[above] + law.wrong)) + 2 * OUTSIDE * float(weights.max())


def _steps(law: Law, after: float) -> StepLaw | None:
    """Return the law of X, or None if X is never positive or, for a finite law, too seldom."""
    if isinstance(law, FiniteLaw):
        return law.steps(after)
    odds, share, overlap = float_above(law.ratio), float(law.share), float(law.overlap)
    more = math.expm1(after)
    blanket = 1 / (1 + (odds - 1) * share)
    values = np.array([0.0, odds - 1 - more, 1 - odds - more * odds, -more * odds, -more])
    alone = share - overlap
    masses = blanket * np.array([(odds - 1) * share, alone, alone, overlap, max(0.0, 1 - 2 * share + overlap)])
    return StepLaw(values[masses > 0], masses[masses > 0]) if values[masses > 0].max() > 0 else None


def _unit(steps: StepLaw, count: int) -> float:
    """Return the coarsest step of a lattice that adds little variance, but at least the finest allowed step.

    The step divides the greatest value or is a multiple of it, so that this value and 0 lie on the lattice; with many
    reports all other values then are close to lattice points.
    """
    tilt, greatest = steps.tilt_to(0.0), float(steps.values.max())
    weights, (_, variance) = steps.tilted(tilt), steps.moments(tilt)
    low, high = steps.window(count, tilt)
    for power in range(_COARSEST, -_COARSEST, -1):
        unit = math.ldexp(greatest, power)
        parts, points = steps.values / unit % 1, (high - low) / unit
        added = unit**2 * float(weights @ (parts * (1 - parts))) / variance
        if added <= (_LEAST_ADDED if points < _FEW_POINTS else _ADDED) or points > _MOST_POINTS / 2:
            break
    return unit


def _split(steps: StepLaw, unit: float) -> StepLaw:
    """Return steps on a lattice, in units of it: each value is split between its neighbours and keeps its mean."""
    exact = steps.values / unit
    below = np.floor(exact)
    values, places = np.unique(np.concatenate([below, below + 1]), return_inverse=True)
    parts = exact - below
    masses = np.bincount(places, np.concatenate([steps.masses * (1 - parts), steps.masses * parts]))
    kept = masses > 0
    return StepLaw(values[kept], np.asarray(masses[kept], dtype=float), steps.excess)
