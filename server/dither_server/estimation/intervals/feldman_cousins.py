"""Split the error probability of an interval between its two tails, for a share in [0, 1].

An interval cannot miss a share of 0 from below, so a two-sided 95% interval clipped at 0 contains an absent value with
probability 97.5%, and may shrink to a point. Feldman and Cousins (Physical Review D 57, 1998) assign to each possible
share the tails that follow from the likelihood ratio: for a share of 0 all of α is in the upper tail, and from about
two standard errors on each tail has α/2. For a normal estimate with standard error σ and a share of tσ, the upper tail
is 1 - Φ(d) and the lower 1 - Φ(w) where

    t = w - sqrt(w² - d²)   and   (1 - Φ(d)) + (1 - Φ(w)) = α.

The interval of all shares for which the observation is in neither tail is then never empty nor a point; with the tails
of the exact law its coverage is at least nominal for every share, however α is split.
"""

from functools import lru_cache

import numpy as np
import scipy

from ...tally.arrays import Floats

_NODES = 1200
"""The number of pairs (d, w) that are computed; splines through them are accurate to 1e-9."""

_NONE, _ROUNDED = 1e-17, 1e-14
"""A lower tail below this part of α counts as empty; the second value is for α near 1/2, where rounding is worse."""


class Tails:
    """The split of α between the tails of a share; all quantities are in standard errors of the estimate.

    ``alike`` is the share t from which on both tails are α/2; there d = w = t.
    """

    def __init__(self, alpha: float) -> None:
        """Compute pairs (d, w) from the share 0, where w is infinite unless α > 1/2, to ``alike``, and fit them.

        d² = t (2w - t) is fitted, because it is smooth and bounded as a function of each of these: the share t, the
        estimate t + d whose low end is t, and the estimate t - w whose high end is t.
        """
        self.alpha = alpha
        self.alike = -float(scipy.special.ndtri(alpha / 2))
        least = max(
            alpha - 0.5, alpha * (_NONE if alpha < 0.49 else _ROUNDED)
        )  # a tail above 1/2 would lie on the other side, so the lower tail is not empty
        widest = -float(scipy.special.ndtri(least))
        w = self.alike + (widest - self.alike) * np.linspace(1, 0, _NODES) ** 2
        d = -scipy.special.ndtri(alpha - scipy.special.ndtr(-w))
        d[0], d[-1] = -scipy.special.ndtri(min(alpha, 0.5)), self.alike
        share = d**2 / (w + np.sqrt((w - d) * (w + d)))
        self._of_low, self._of_high = (
            scipy.interpolate.CubicSpline(share + d, d**2),
            scipy.interpolate.CubicSpline(share - w, d**2),
        )
        at_0 = slice(1, None) if share[0] == 0 else slice(None)
        self._of_share = scipy.interpolate.CubicSpline(np.append(0.0, share[at_0]), np.append(d[0] ** 2, d[at_0] ** 2))
        self._least, self._farthest, self._at_0 = d[0], -widest, widest

    def below(self, estimate: Floats) -> Floats:
        """Return the distance d of the low end below an estimate; d of a share of 0 if the low end is 0."""
        return np.sqrt(_mostly(self._of_low, np.clip(estimate, self._least, 2 * self.alike), 2 * self.alike))

    def above(self, estimate: Floats) -> Floats:
        """Return the distance w of the high end above an estimate."""
        least = np.minimum(estimate, 0.0)
        squares = _mostly(self._of_high, np.maximum(least, self._farthest), 0.0)
        return np.asarray(np.sqrt(np.maximum(squares, 0) + least**2))

    def narrow(self, share: Floats) -> Floats:
        """Return d for a share."""
        return np.asarray(np.sqrt(np.maximum(self._of_share(np.minimum(share, self.alike)), 0)))

    def wide(self, share: Floats) -> Floats:
        """Return w for a share; so large for a share of 0 that its lower tail counts as empty, unless α > 1/2."""
        share = np.minimum(share, self.alike)
        with np.errstate(divide="ignore", invalid="ignore"):
            w = (self._of_share(share) / share + share) / 2
        return np.where(share > 0, w, self._at_0)

    def upper(self, from_0: Floats, from_1: Floats) -> Floats:
        """Return the upper tail of shares at these distances from 0 and from 1, as a normal quantile (below 0).

        Each end of the range moves probability from one tail to the other; the two shifts add up.
        """
        near_0, near_1 = from_0 < self.alike, from_1 < self.alike
        score = np.full(len(from_0), -self.alike)
        score[near_0] = -self.narrow(from_0[near_0])
        score[near_1] = -self.wide(from_1[near_1])
        both = near_0 & near_1
        if both.any():
            lower = scipy.special.ndtr(-self.wide(from_0[both]))  # at most half of alpha
            score[both] = scipy.special.ndtri(scipy.special.ndtr(score[both]) + self.alpha / 2 - lower)
        return score


def _mostly(spline: "scipy.interpolate.CubicSpline", at: Floats, usual: float) -> Floats:
    """Evaluate a spline at points most of which equal ``usual``: few of a million estimates are near an end."""
    values = np.full(np.shape(at), float(spline(usual)))
    others = at != usual
    values[others] = spline(at[others])
    return values


@lru_cache(maxsize=32)
def tails(alpha: float) -> Tails:
    """Return the split of ``alpha``, computed once."""
    return Tails(alpha)


def normal_scores(estimate: Floats, errors: tuple[Floats, Floats], alpha: float) -> tuple[Floats, Floats]:
    """Return the distances of both ends from a normal estimate, in standard errors that hardly vary.

    ``errors`` are the standard errors of the estimate at a share of 0 and at a share of 1.
    """
    split = tails(alpha)
    from_0, from_1 = estimate / errors[0], (1 - estimate) / errors[1]
    return (
        split.below(from_0) + split.above(from_1) - split.alike,
        split.above(from_0) + split.below(from_1) - split.alike,
    )
