"""Prefix extending finds what it should, and is off by what optimal local hashing is off."""

import math

import numpy as np
import pytest

from benchmarks.peers.prefix_extending import PrefixExtending

CODES = np.unique(np.random.default_rng(5).integers(0, 1 << 48, 1_000, dtype=np.uint64))


@pytest.mark.parametrize("step", [1, 4, 7])
def test_frequent_strings_are_found_whatever_the_step(step: int) -> None:
    """Twelve strings of 1/12 each among 10^7 users: their z-scores are above 40 at every level, those of ghosts not."""
    rng = np.random.default_rng(step)
    counts = np.full(12, 10**7 // 12)
    strings = PrefixExtending(48, 2.0, step=step, kept=16).discover(CODES[:12], counts, rng)
    assert set(strings.codes[:12].tolist()) == set(CODES[:12].tolist())
    assert len(strings.codes) == 16
    assert (np.diff(strings.frequency) <= 0).all()


def test_estimates_are_unbiased_with_the_variance_of_optimal_local_hashing() -> None:
    """200 runs of one group: a mean and a variance 5 standard errors off have probability below 1e-6."""
    n, epsilon, counts = 10**5, 1.0, np.array([60_000, 40_000])
    rng = np.random.default_rng(8)
    codes = np.array([3, 900], dtype=np.uint64)
    runs = [PrefixExtending(10, epsilon, kept=64).discover(codes, counts, rng) for _ in range(200)]
    shares = np.array([[run.frequency[run.codes == code][0] for code in codes] for run in runs])
    cells, odds = 4, math.e
    p, q = odds / (odds + cells - 1), 1 / cells
    for column, share in ((0, 0.6), (1, 0.4)):
        variance = (share * p * (1 - p) + (1 - share) * q * (1 - q)) / (p - q) ** 2 / n
        assert abs(shares[:, column].mean() - share) < 5 * math.sqrt(variance / 200)
        assert abs(shares[:, column].var() / variance - 1) < 5 * math.sqrt(2 / 200)
