"""An attack on shuffled reports: what an observer of the multiset learns for certain.

It is known that the device in question holds one of two values, and that all others hold the second or, where that
helps, a third. The observer counts the reports that the first value alone owns (A) and that the second alone owns (B),
and calls it the first if w A - B reaches a bar. For every such event and E = e^ε,

    δ(ε) >= P[event | first] - E P[event | second],    so    e^ε >= (P[event | first] - δ)/P[event | second]

for whatever (ε, δ) is claimed. Both probabilities are computed, not drawn: the law of w A - B of the others lies on
whole numbers. With w = 1, and all others on a third value, or w near the ratio, and all others on the second, the event
is near the best there is: a threshold of the likelihood ratio.
"""

import math

import numpy as np

from dither_server.analysis.shuffling.generic import MARGIN
from dither_server.analysis.shuffling.lattice import Steps, TiltedSum
from dither_shared.primitives.two_level import TwoLevel

__all__ = ["attack"]

_CENTRES = 9
"""Bars are tried around 0 to 8 standard deviations."""

_HEAVIEST = 16
"""The greatest w: beyond, the lattice would grow and the attack hardly gain."""

_NOTHING = 1e-12
"""What is less likely is a rounding error."""

_CLIP = 50.0
"""Beyond this exponent what a transform may get wrong is more than 1 anyway."""


def attack(law: TwoLevel, reports: int, delta: float) -> float:
    """Return an ε that is certainly not above the least with which a report is (ε, ``delta``)-private.

    It is 0 where the attack learns nothing that ``delta`` does not allow.
    """
    odds, blanket = float(law.ratio), float(law.blanket)
    alone = blanket * float(law.share - law.overlap)
    first = odds * alone, alone
    weights = (min(round(odds), _HEAVIEST), 1) if sum(first) < 1 - _NOTHING else (1, 0)
    found = [_told((alone, odds * alone), first, weights, reports, delta)]
    if law.aside is not None:
        other = alone + blanket * (odds - 1) * float(law.aside)
        found.append(_told((other, other), first, (1, 1), reports, delta))
    return max(found)


_Pair = tuple[float, float]


def _told(others: _Pair, first: _Pair, weights: tuple[int, int], reports: int, delta: float) -> float:
    """Return ln of the greatest (P - δ)/P' over bars, rounded down, or 0; ``weights`` are those of A and of B.

    ``others`` and ``first`` are P[a report adds to A] and P[it adds to B], for each other device and for that in
    question if it holds the first value; if it holds the second these two change places.
    """
    if reports == 1:
        return math.log(max(1.0, (first[0] / MARGIN - delta * MARGIN) / (first[1] * MARGIN)))
    values = np.array([weights[0], -weights[1], 0])
    masses = np.array([*others, max(0.0, 1 - sum(others))])
    steps = Steps(values[masses > _NOTHING], masses[masses > _NOTHING] / masses[masses > _NOTHING].sum())
    mean, variance = steps.moments(0.0)
    best = 0.0
    for far in range(_CENTRES):
        centre = mean + far * math.sqrt(variance / (reports - 1))
        if centre >= weights[0]:
            break
        found = _best_bar(steps.sum_of(reports - 1, steps.tilt_to(centre)), first, weights, delta)
        if found < best:
            break
        best = found
    return best


def _best_bar(law: TiltedSum, first: _Pair, weights: tuple[int, int], delta: float) -> float:
    """Return the greatest ln((P - δ)/P') over the bars in the window of a tilted law, rounded down.

    With S the sum of the others and B of weight 1, P - P' = (p - p')·(P[bar - w <= S < bar] + P[S = bar]), without the
    last term if its weight is 0: no digits cancel. What a transform may get wrong is taken off P and added to P'.
    """
    scale = np.exp(np.minimum(law.log_scale - law.tilt * law.places, _CLIP))
    least, most = np.maximum(law.masses - law.wrong, 0.0) * scale, (law.masses + law.wrong) * scale
    surely, tail = (np.cumsum(masses[::-1])[::-1] for masses in (least, most))
    bars = np.arange(weights[0], len(scale))
    at_bar = weights[1] * least[bars]
    gap = (first[0] - first[1]) * (surely[bars - weights[0]] - surely[bars] + at_bar)
    second = tail[bars] + first[1] * (tail[bars - weights[0]] - tail[bars]) - first[0] * at_bar
    more = (gap / MARGIN - delta * MARGIN) / (second * MARGIN)
    return math.log1p(max(0.0, float(more.max(initial=0.0))))
