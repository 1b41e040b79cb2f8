"""Run one seeded trial of a question for numbers: people, their tally, its estimate, and how far that is off."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dither_server.estimation.numeric.estimate import NumericEstimate, estimate_number
from dither_server.estimation.numeric.quantiles import Quantile
from dither_server.estimation.numeric.registry import law_of
from dither_shared.mechanisms.numeric import NumericMechanism

from ..choices import Law
from ..samplers import sample_tally
from ..users.populations import Floats, Population, numbered
from .devices import device_entropy, device_tally
from .measures import Measures


@dataclass(frozen=True, eq=False)
class NumberSetting:
    """The setting of a trial: everything but its seed.

    ``shares`` are those of the points of the mechanism's grid, in the population of which a trial draws ``users``.
    """

    mechanism: NumericMechanism
    shares: Floats
    users: int
    confidence: float = 0.95
    law: Law = "joint"
    quantiles: tuple[float, ...] = (0.5, 0.95)


def run_number_trial(setting: NumberSetting, seed: np.random.SeedSequence) -> list[Measures]:
    """Return how far the mean, the distribution and each quantile are from those of the population.

    ============  ===============  =======================  =====================
    ..            mean             distribution             quantile
    ============  ===============  =======================  =====================
    ``mse``       squared error    that of a raw share      squared error
    ``error``     distance         Wasserstein-1 distance   distance
    ``rank``      None             worst share below        distance in share
    ============  ===============  =======================  =====================

    All but ranks are in parts of the range. A raw share is one below a point, unbiased, and ``mse`` is averaged over
    points (None where there are none); all else is of the curve. The Wasserstein-1 distance is the mean of
    |error of the share below| over the range. The rank of a quantile of share t is as far off as t is from the shares
    below its point and up to it, 0 if it is between. ``coverage`` is whether the interval held the truth, or what part
    of those of all points did; ``width`` is theirs, of shares for the distribution.

    The result depends on ``setting`` and ``seed`` alone.
    """
    rng = np.random.default_rng(seed)
    people = Population.drawn(numbered(len(setting.shares)), setting.shares, setting.users, rng)
    if setting.law == "device":
        tally = device_tally(setting.mechanism, people, device_entropy(seed))
    else:
        tally = sample_tally(setting.mechanism, people, rng)
    found = estimate_number(law_of(setting.mechanism), tally, setting.confidence)
    quantiles = found.quantiles(setting.quantiles)
    return [_mean(found, setting.shares), _distribution(found, setting.shares), *_ranked(quantiles, setting.shares)]


def mean_in(shares: Floats) -> float:
    """Return the mean of a population, in parts of the range."""
    return float(np.arange(len(shares)) @ shares / (len(shares) - 1))


def below(shares: Floats) -> Floats:
    """Return the share below each point, and below the place after the last: an entry more than there are points."""
    return np.append(0.0, np.cumsum(shares))


def _measures(mse: float | None, error: float, rank: float | None, coverage: float, width: float) -> Measures:
    return {"mse": mse, "error": error, "rank": rank, "coverage": coverage, "width": width}


def _mean(found: NumericEstimate, shares: Floats) -> Measures:
    truth, mean = mean_in(shares), found.mean
    error = mean.estimate - truth
    held = float(mean.low <= truth <= mean.high)
    return _measures(error**2, abs(error), None, held, mean.high - mean.low)


def _distribution(found: NumericEstimate, shares: Floats) -> Measures:
    inner = slice(1, -1)  # below the first point is nobody, and below the last place everybody
    truth, cuts = below(shares)[inner], found.cuts
    raw = float(np.mean((cuts.frequency[inner] - truth) ** 2))
    away = np.abs(np.cumsum(found.fit.curve)[:-1] - truth)
    low, high = cuts.low[inner], cuts.high[inner]
    held = (low <= truth + _ROUNDED) & (truth <= high + _ROUNDED)
    return _measures(
        mse=raw if np.isfinite(raw) else None,
        error=float(away.mean()),
        rank=float(away.max()),
        coverage=float(held.mean()),
        width=float((high - low).mean()),
    )


_ROUNDED = 1e-12
"""Rounding error allowed in a sum of shares."""


def _ranked(quantiles: Sequence[Quantile], shares: Floats) -> list[Measures]:
    total, last = below(shares), len(shares) - 1
    scores: list[Measures] = []
    for one in quantiles:
        truth = min(int(np.searchsorted(total[1:], one.share - _ROUNDED)), last)
        away = abs(one.point - truth) / last
        rank = max(float(total[one.point] - one.share), float(one.share - total[one.point + 1]), 0.0)
        held = float(one.low <= truth <= one.high)
        scores.append(_measures(away**2, away, rank, held, (one.high - one.low) / last))
    return scores
