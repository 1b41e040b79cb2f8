"""Estimate the shares of groups of values, such as the rows of a crossing: sums of estimates, and their covariances.

Sums of unbiased estimates are unbiased. Their variance needs how the supports of two values hang together. Where a
report is one symbol the tally tells that, for it counts reports: the covariance is that of the sample. Elsewhere it
follows from the exact law, ``Mechanism.joint_support``: with c₀ and c₁ of ``joint_constants``, and T_uv reports of the
T_u and T_v that speak of u and of v speaking of both,

    Cov[f_u, f_v] = T_uv/(T_u T_v) (c₀ + c₁ (f_u + f_v) - f_u f_v).
"""

from typing import NamedTuple

import numpy as np

from dither_shared import Mechanism, ParameterError
from dither_shared.mechanisms.sums import joint_constants

from ..tally.arrays import Floats, Indices
from ..tally.tally import Tally
from .decoders.support import decoder_of
from .estimate import debiased
from .intervals.shares import Law, noise_law, score_interval


class Sums(NamedTuple):
    """Shares of groups, one entry a group, as in ``estimate.Estimate``; ``with_cells`` has one a value (below)."""

    frequency: Floats
    noise_error: Floats
    noise_low: Floats
    noise_high: Floats
    standard_error: Floats
    low: Floats
    high: Floats
    with_cells: Floats


def sums_of(mechanism: Mechanism, tally: Tally, group: Indices, alpha: float) -> Sums:
    """Return the share of each group, ``group`` being that of each value of a listed domain.

    Intervals are score intervals, which miss with probability ``alpha`` each. Their law is that of the group's size,
    with what is constant in it such that at the estimate it has the estimated variance: so a group whose values hang
    together more than others is known for it. Raises ParameterError as ``with_group`` does.
    """
    groups = int(group.max()) + 1
    if not tally.total:
        unknown, zeros, ones = np.full(groups, np.nan), np.zeros(groups), np.ones(groups)
        return Sums(unknown, unknown, zeros, ones, unknown, zeros, ones, np.full(len(group), np.nan))
    together = with_group(mechanism, tally, group)
    frequency = np.bincount(group, debiased(mechanism, (), tally).frequency).astype(np.float64)
    variance = np.bincount(group, together) * tally.total
    law = _law(mechanism, frequency, variance.astype(np.float64), np.bincount(group))
    share, noise = np.clip(frequency, 0, 1), law._replace(thinning=0.0)
    trials = np.full(groups, float(tally.total))
    return Sums(
        frequency,
        noise.error(share, trials),
        *score_interval(noise, frequency, trials, alpha),
        law.error(share, trials),
        *score_interval(law, frequency, trials, alpha),
        together,
    )


def with_group(mechanism: Mechanism, tally: Tally, group: Indices) -> Floats:
    """Return for each value of a listed domain the covariance of its estimate with the sum of its group's.

    That is over the noise and over who happens to report, of at least one report. Raises ParameterError if the
    mechanism does not know how two supports hang together.
    """
    frequency, supporting, trials = debiased(mechanism, (), tally)
    decoder = decoder_of(mechanism)
    found = decoder.together(mechanism, tally, group)
    if found is not None:
        gap, chance = float(mechanism.p - mechanism.q), supporting / tally.total
        covariance = found / tally.total - chance * np.bincount(group, chance)[group]
        return np.asarray(covariance / (gap**2 * tally.total))
    pair = joint_constants(mechanism)
    if pair is None:
        raise ParameterError("mechanism", f"{mechanism.name} does not say how its supports hang together")
    law, out_of = noise_law(mechanism), np.maximum(trials, 1).astype(np.float64)
    own = (law.constant + law.slope * frequency + frequency * (1 - frequency)) / out_of
    spoken, of_shares = (
        decoder.spoken(mechanism, tally, weights, group) / out_of - weights
        for weights in (1 / out_of, frequency / out_of)
    )
    joined = pair[0] * spoken + pair[1] * (frequency * spoken + of_shares) - frequency * of_shares
    return np.asarray(own + joined)


def _law(mechanism: Mechanism, frequency: Floats, variance: Floats, values: Indices) -> Law:
    """Return the law of the sums of groups of values, whose n · Var at their estimates is as given."""
    apart, slope = joint_constants(mechanism) or (0.0, 0.0)
    one, thinned = noise_law(mechanism), 1 / float(mechanism.coverage)
    slopes = np.asarray(thinned * (one.slope + 2 * (values - 1) * slope) + thinned - 1, dtype=np.float64)
    usual = thinned * values * (one.constant + (values - 1) * apart)
    constant = variance - slopes * frequency - frequency * (1 - frequency)
    return Law(np.maximum(constant, usual / 2), slopes, 1.0)  # of very few reports the sample tells little
