"""Select candidates at a stated false discovery rate."""

import numpy as np
import scipy

from ...tally.arrays import Floats, Indices

_BOUNDARIES = np.arange(0.5, 0.96, 0.05)

_CALM = 0.7
"""The root mean square of negative scores is 1 if they are noise; below this, they are calmer than noise."""


def passing(score: Floats, level: float, absent: float = 1.0) -> Indices:
    """Return the places, ascending, of the z-scores that pass the procedure of Benjamini and Hochberg (1995).

    Of those that pass, an expected share of at most ``level`` is of candidates that are not there, if ``absent`` is at
    least the share of these among all. A score of at most 0 is of nobody, however few are absent, and never passes.
    """
    order = np.argsort(-score, kind="stable")
    passes = absent * scipy.special.ndtr(-score[order]) <= level * np.arange(1, len(score) + 1) / len(score)
    last = np.flatnonzero(passes)
    passed = order[: last[-1] + 1] if len(last) else order[:0]
    return np.sort(passed[score[passed] > 0])


def absent_share(score: Floats) -> float:
    """Return an estimate, rather too high than too low, of the share of candidates that are not there.

    Their scores are symmetric around 0 and their p-values uniform, so the density of p-values near 1 bounds their share
    (Storey 2002). How near is chosen by the right-boundary rule of Liang and Nettleton (2012): from 1/2 on, until the
    estimate stops falling; but only 1/2 where scores are calmer than noise, and p-values keep away from 1.
    """
    p = scipy.special.ndtr(-score)
    below = score[np.isfinite(score) & (score < 0)]
    calm = not len(below) or np.sqrt(np.mean(below**2)) < _CALM
    least = 1.0
    for boundary in _BOUNDARIES[: 1 if calm else None]:
        share = (float((p > boundary).sum()) + 1) / (len(p) * (1 - boundary))
        if share >= least:
            break
        least = share
    return least


def truncated_means(score: Floats, threshold: float, tail: float) -> Floats:
    """Return the means under which normal scores that passed ``threshold`` are as high or higher with ``tail``.

    Whoever looks only at what passed sees a truncated normal: a ``tail`` of (1 - confidence)/2 gives the lower end of
    an interval that allows for that (Zhong and Prentice 2008). Far above the threshold it is what it is without it.
    """
    low, high = score - 40.0, score + 6.0
    for _ in range(60):
        middle = (low + high) / 2
        seldom = scipy.special.log_ndtr(middle - score) - scipy.special.log_ndtr(middle - threshold) < np.log(tail)
        low, high = np.where(seldom, middle, low), np.where(seldom, high, middle)
    return np.asarray(low)
