"""Intervals of a share, which lies in [0, 1]: near its ends the two tails are not alike.

A share of 0 cannot be missed from below, so a two-sided 95% interval cut at 0 holds an absent value 97.5 times in 100,
and may shrink to a point. Feldman and Cousins (Physical Review D 57, 1998) give each possible share the tails that the
likelihood ratio gives it: all of α above 0 itself, α/2 each from about two standard errors on. For a normal estimate
with standard error σ and a share of tσ, the upper tail is 1 - Φ(d) and the lower 1 - Φ(w) where

    t = w - sqrt(w² - d²).

An interval of the shares whose tails hold what was seen is then never empty nor a point, and where the tails are those
of the exact law it covers every share at least as often as it says, whichever way α is split.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

__all__ = ["Chance", "ends_within", "near_zero", "normal_scores"]

Floats = NDArray[np.float64]
Chance = Callable[..., Floats]
"""The chance, at a share, to see as little (or as much) as was seen; called with the share and the data."""

_LEAST = 1e-12
"""No tail is narrower: where none is left at all, the search for an end would be without one."""

_NEAR, _STEPS = 1e-6, 60
"""An end is found when it, or its tail, is right to so many standard errors; a tenth of the steps allowed is usual."""

_REACH, _OFF = 20.0, 0.05
"""An end near 0 or 1 is not so many standard errors from the estimate, and mostly so near to that of a normal law."""


def near_zero(low: Floats, error: Floats, confidence: float) -> NDArray[np.bool_]:
    """Return where the low ends of two-sided intervals come so near to 0 that the tails are not alike there.

    ``error`` is the standard error of the estimate of a share of 0. For the other end, hand over what is left to 1.
    """
    return np.asarray(low < special.ndtri((1 + confidence) / 2) * error)


def ends_within(
    less: Chance, more: Chance, data: tuple[Floats, ...], estimate: Floats, errors: tuple[Floats, Floats], level: float
) -> tuple[Floats, Floats]:
    """Return the shares in [0, 1] between which the seen is in no tail: its least and its largest; each shape (k,).

    ``less`` falls and ``more`` rises with the share; all arrays have an entry a value.
    """
    inside = np.clip(estimate, 0, 1)
    upper = np.minimum(inside + _REACH * errors[0], 1)
    lower = np.maximum(inside - _REACH * errors[1], 0)
    below, above = normal_scores(estimate, errors, level)
    error = np.where(estimate < 0.5, *errors)

    def end(chance: Chance, side: int, bracket: tuple[Floats, Floats], guess: Floats, outside: Floats) -> Floats:
        def excess(share: Floats) -> Floats:
            return _score(chance(share, *data)) - _score(_tails(share, *errors, 1 - level)[side])

        return _crossing(excess, bracket, (guess - _OFF * error, guess + _OFF * error), (inside, outside), error)

    return (
        end(more, 0, (lower, inside), estimate - below * error, lower),
        end(less, 1, (inside, upper), estimate + above * error, upper),
    )


def _crossing(
    excess: Callable[[Floats], Floats],
    wide: tuple[Floats, Floats],
    likely: tuple[Floats, Floats],
    otherwise: tuple[Floats, Floats],
    error: Floats,
) -> Floats:
    """Return where a function changes its sign: between ``likely`` places or else ``wide`` ones.

    Where it does not, the first of ``otherwise`` if the function is below 0, the second if above. ``error`` is the
    scale on which places are near one another.
    By the Illinois form of regula falsi: on the scale of normal quantiles the function is nearly straight, and a few
    steps do. (scipy's ``find_root`` takes 30 times as long over a list of ten.)
    """
    left, right = (np.clip(place, *wide) for place in likely)
    at_left, at_right = excess(left), excess(right)
    crossing = at_left * at_right < 0
    if not crossing.all():
        left, right = (np.where(crossing, place, end) for place, end in zip((left, right), wide, strict=True))
        at_left, at_right = excess(left), excess(right)
        crossing = at_left * at_right < 0
    neither = np.where(at_left < 0, *otherwise)
    for _ in range(_STEPS):
        slope = np.where(crossing, at_right - at_left, 1.0)
        place = np.where(crossing, (left * at_right - right * at_left) / slope, neither)
        at_place = np.where(crossing, excess(place), 0.0)
        if ((np.abs(at_place) < _NEAR) | (np.abs(place - right) < _NEAR * error)).all():
            break
        beyond = at_place * at_right < 0
        left = np.where(beyond, right, left)
        at_left = np.where(beyond, at_right, at_left / 2)
        right, at_right = place, at_place
    return place


def normal_scores(estimate: Floats, errors: tuple[Floats, Floats], level: float) -> tuple[Floats, Floats]:
    """Return how many standard errors below and above a normal estimate the ends are, where errors hardly vary.

    The ends are t of which the estimate, in standard errors, is t + d or t - w.
    """
    split = _unlike(1 - level)
    (low_0, high_0), (high_1, low_1) = (
        (np.interp(x, split.where + split.d, split.d), np.interp(x, split.where - split.w, split.w))
        for x in (estimate / errors[0], (1 - estimate) / errors[1])
    )
    alike = split.d[-1]
    return low_0 + low_1 - alike, high_0 + high_1 - alike


def _tails(share: Floats, at_0: Floats, at_1: Floats, alpha: float) -> tuple[Floats, Floats]:
    """Return the upper and the lower tail of each share."""
    split = _unlike(alpha)
    lean = np.interp(share / at_0, split.where, split.more) - np.interp((1 - share) / at_1, split.where, split.more)
    return alpha / 2 + lean, alpha / 2 - lean


class _Split(NamedTuple):
    """Shares t in standard errors, ascending; by how much their upper tail exceeds α/2; and d and w."""

    where: Floats
    more: Floats
    d: Floats
    w: Floats


@lru_cache(maxsize=32)
def _unlike(alpha: float) -> _Split:
    most = min(alpha, 0.5)  # a tail of more than half, at a confidence below half, would lie on the other side
    more = (most - alpha / 2) * (1 - np.linspace(0, 1, 401) ** 2)
    d, w = -special.ndtri(alpha / 2 + more), -special.ndtri(np.maximum(alpha / 2 - more, _LEAST))
    where = w - np.sqrt(np.maximum(w**2 - d**2, 0))
    where[0] = 0.0
    return _Split(where, more, d, w)


def _score(chance: Floats) -> Floats:
    """Return the normal quantile of a chance, on which an end is found in a few steps; finite for any."""
    return np.asarray(special.ndtri(np.clip(chance, 1e-300, 1 - 1e-16)))
