"""Run one seeded trial of a selection: people, their tally, the share of each item, and how far these are off."""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from dither_server.estimation.estimate import estimate
from dither_server.estimation.intervals.shares import exact_interval
from dither_shared import Mechanism

from ..choices import Law
from ..samplers.sets import sample_sets
from ..users.populations import Floats, numbered
from ..users.sets import SetLaw, drawn_sets
from .devices import device_entropy, device_tally
from .measures import Measures, intervals, recall


@dataclass(frozen=True, eq=False)
class SetSetting:
    """The setting of a trial: everything but its seed.

    ``mechanism`` takes sets or, of one item, a yes or no: every person then reports of each item by itself.
    """

    mechanism: Mechanism
    people: SetLaw
    users: int
    confidence: float = 0.95
    law: Law = "joint"
    top: int = 10


class _Shares(NamedTuple):
    frequency: Floats
    low: Floats
    high: Floats


def run_set_trial(setting: SetSetting, seed: np.random.SeedSequence) -> Measures:
    """Return how far the shares of items are from those of the population of which a trial draws its users.

    Measured are the squared error averaged over items, the largest error, the recall of the most frequent items, and
    the coverage and mean width of intervals. The result depends on ``setting`` and ``seed`` alone.
    """
    found = (_together if setting.mechanism.items.sets else _each_alone)(setting, seed)
    shares = setting.people.shares
    error = np.abs(found.frequency - shares)
    return {
        "mse": float(np.mean(error**2)),
        "max_error": float(error.max()),
        "recall": recall(found.frequency, shares, setting.top),
        **intervals(found.low, found.high, shares),
    }


def expected_sets(setting: SetSetting) -> dict[str, float]:
    """Return what theory expects: Var[noise]/n + f(1-f)/n of each item, and intervals of ± z standard errors."""
    shares = setting.people.shares
    variances = np.array([setting.mechanism.variance(share) for share in shares.tolist()]) + shares * (1 - shares)
    quantile = NormalDist().inv_cdf((1 + setting.confidence) / 2)
    width = 2 * quantile * float(np.mean(np.sqrt(variances))) / math.sqrt(setting.users)
    return {"mse_theory": float(variances.mean()) / setting.users, "width_theory": width}


def _together(setting: SetSetting, seed: np.random.SeedSequence) -> _Shares:
    """Estimate from one report of each set."""
    mechanism, rng = setting.mechanism, np.random.default_rng(seed)
    if setting.law == "device":
        tally = device_tally(mechanism, drawn_sets(setting.people, setting.users, rng), device_entropy(seed))
    else:
        tally = sample_sets(mechanism, setting.people, setting.users, rng)
    found = estimate(mechanism, numbered(mechanism.size or 0), tally, setting.confidence)
    return _Shares(found.frequency, found.low, found.high)


def _each_alone(setting: SetSetting, seed: np.random.SeedSequence) -> _Shares:
    """Estimate from a report of each item by itself: support is Bin(n, q + (p - q) f), item by item."""
    coin, shares, users = setting.mechanism, setting.people.shares, setting.users
    p, q = float(coin.p), float(coin.q)
    supporting = np.random.default_rng(seed).binomial(users, q + (p - q) * shares)
    ends = exact_interval(coin, supporting, np.full(len(shares), users), 1 - setting.confidence)
    return _Shares((supporting / users - q) / (p - q), *ends)
