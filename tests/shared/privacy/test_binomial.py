"""Exact binomial bounds against those of SciPy."""

import pytest
from scipy import stats

from dither_shared.privacy.binomial import lower_bound, upper_bound


@pytest.mark.parametrize(
    ("successes", "trials"),
    [(0, 1), (1, 1), (0, 10), (3, 10), (9, 10), (10, 10), (5_000, 10**6), (499_000, 10**6), (10**6 - 1, 10**6)],
)
def test_bounds_are_those_of_clopper_and_pearson(successes: int, trials: int) -> None:
    exact = stats.binomtest(successes, trials).proportion_ci(0.998, method="exact")
    assert lower_bound(successes, trials, 0.999) == pytest.approx(exact.low, rel=1e-9, abs=1e-12)
    assert upper_bound(successes, trials, 0.999) == pytest.approx(exact.high, rel=1e-9)
