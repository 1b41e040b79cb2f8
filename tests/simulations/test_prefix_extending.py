"""Prefix extending finds what it should, and is off by what optimal local hashing is off."""

import math

import numpy as np
import pytest

from benchmarks.peers.prefix_extending import PrefixExtending
from dither_shared import ParameterError
from dither_simulations.users.populations import zipf

CODES = np.unique(np.random.default_rng(5).integers(0, 1 << 48, 1_000, dtype=np.uint64))


def test_groups_report_longer_and_longer_prefixes_up_to_the_whole() -> None:
    assert PrefixExtending(48, 1.0).lengths == (*range(10, 48, 4), 48)
    assert PrefixExtending(47, 1.0).lengths[-2:] == (46, 47)
    assert PrefixExtending(12, 1.0, step=1, kept=32).lengths == (6, 7, 8, 9, 10, 11, 12)
    assert PrefixExtending(10, 1.0).lengths == (10,)


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


def test_seed_repeats_the_strings_found() -> None:
    counts = np.random.default_rng(1).multinomial(10**5, zipf(len(CODES), 1.1) / zipf(len(CODES), 1.1).sum())
    one, two = (PrefixExtending(48, 2.0).discover(CODES, counts, np.random.default_rng(7)) for _ in range(2))
    assert one.codes.tolist() == two.codes.tolist()


def test_prefix_extending_without_users_finds_nothing() -> None:
    strings = PrefixExtending(48, 1.0).discover(CODES[:1], np.zeros(1, dtype=np.int64), np.random.default_rng(0))
    assert len(strings.codes) == 64


@pytest.mark.parametrize(
    ("shape", "place"),
    [((9, 1.0), "bits"), ((65, 1.0), "bits"), ((48, 0.0), "epsilon"), ((48, 1.0, 0), "step"), ((48, 1.0, 17), "step")],
)
def test_prefix_extending_refuses_an_impossible_shape(shape: tuple[int, float], place: str) -> None:
    with pytest.raises(ParameterError, match=place):
        PrefixExtending(*shape)
