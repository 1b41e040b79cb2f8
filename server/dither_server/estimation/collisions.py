"""Estimate from the tally alone how large the bias of a sketch's fixed hash functions is."""

from typing import NamedTuple

import numpy as np

from dither_shared import Mechanism

from ..tally.arrays import Floats
from ..tally.tally import Tally
from .decoders.support import Loads, decoder_of

__all__ = ["Bias", "collision_bias", "concentration"]


class Bias(NamedTuple):
    """Standard deviation and third central moment of the bias of each value's estimate, over the hash functions."""

    error: Floats
    cube: Floats


def collision_bias(mechanism: Mechanism, tally: Tally, frequency: Floats) -> Bias:
    """Return the law of each value's bias, of which hash functions are one draw.

    Of another value u the share in the cohorts in which it collides is Bin(M, 1/m)/M, less what is expected and times
    f_u m/(m-1): variances add up to Σ f_u² times ``collision_variance``, third moments to Σ f_u³ times
    ``collision_cube``. Of values that nobody looks for Σ f² is known, and Σ f³ is at most that to the power 3/2.
    """
    squares, shares = concentration(mechanism, tally), np.clip(frequency, 0, 1)
    beyond = max(squares - float(np.square(shares).sum()), 0.0)
    cubes = float((shares**3).sum()) + beyond**1.5 - shares**3
    return Bias(
        np.sqrt(np.maximum(squares - shares**2, 0) * mechanism.collision_variance), cubes * mechanism.collision_cube
    )


def concentration(mechanism: Mechanism, tally: Tally) -> float:
    """Return an estimate of Σ f², over all strings whether anyone looks for them or not; 1 if the tally cannot tell.

    A report adds r_j to the estimate of column j's users. Over pairs of reports of one cohort the mean of Σ_j r_j r'_j
    is Σ_j x_j², which is Σ f² + (1 - Σ f²)/m over the hash functions; sums over pairs follow from the sums.
    """
    pairs = float((tally.reports.astype(np.float64) * (tally.reports - 1)).sum())
    if not pairs:
        return 1.0
    loads: Loads = decoder_of(mechanism).loads(mechanism, tally)
    met: float = (float(np.square(loads.users).sum()) - loads.own) / pairs
    chance: float = 1 / loads.users.shape[1]
    return min(1.0, max(0.0, (met - chance) / (1 - chance)))
