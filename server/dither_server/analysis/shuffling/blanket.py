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

For other laws and few reports, ``envelope.py`` defines X. The law of the sum is exact except that each X is split
between neighbouring points of a lattice such that it keeps its mean. By Jensen's inequality this can only increase δ,
and the lattice is so fine that the variance grows by less than a thousandth.
"""

import math

import numpy as np

from dither_shared.primitives.channel import TwoLevel
from dither_shared.primitives.probability import float_above

from .envelope import FiniteLaw
from .generic import MARGIN, checked_shuffle, group_epsilon
from .lattice import OUTSIDE, StepLaw, TiltedSum

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
    found = steps.sum_of(reports, steps.tilt_to(0.0))
    return min(1.0, MARGIN * math.exp(found.log_scale) * _excess(found) * unit / reports)


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
