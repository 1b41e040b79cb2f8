"""Scores that dominate a share below a point."""

import numpy as np
import pytest
from scipy import stats

from dither_server.estimation.numeric.tabulated import dominating


def laplace(points: int, decay: float) -> np.ndarray:
    place = np.arange(points)
    table = decay ** np.abs(place[:, np.newaxis] - place)
    return np.asarray(table / table.sum(axis=1, keepdims=True))


def gaussian(points: int, spread: float) -> np.ndarray:
    place = np.arange(points)
    table = np.exp(-(((place[:, np.newaxis] - place) / spread) ** 2) / 2)
    return np.asarray(table / table.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("table", [laplace(2, 0.5), laplace(9, 0.8), gaussian(17, 16)])
def test_dominating_score_has_no_expectation_below_the_step(table: np.ndarray) -> None:
    """So no population has a share above the expected score."""
    found = dominating(table)
    step = np.arange(len(table))[:, np.newaxis] < np.arange(1, len(table))
    assert len(found.kinds) == len(found.excess) > 1
    for place, kind in enumerate(found.kinds):
        scores = found.table.scores(*kind) + found.raised[place]
        expected = table @ scores
        assert (expected >= step - 1e-9).all()
        assert found.excess[place] == pytest.approx((expected - step).mean(axis=0), abs=1e-9)
        assert found.reach[place] == pytest.approx(np.ptp(scores, axis=0))


def test_domination_bounds_cover_as_often_as_stated() -> None:
    """By enumeration: two points, so that the counts are binomial."""
    table = laplace(2, 0.5)
    found = dominating(table)
    reports = 60
    bounds = np.array([found.bounds(np.array([seen, reports - seen]), 0.1)[0] for seen in range(reports + 1)])
    for share in np.linspace(0, 1, 41):
        chance = stats.binom.pmf(np.arange(reports + 1), reports, share * table[0, 0] + (1 - share) * table[1, 0])
        assert chance @ (bounds < share - 1e-12) <= 0.1
    assert bounds[20] < 1


def test_many_reports_close_in_on_a_share() -> None:
    table = laplace(9, 0.5)
    shares = np.array([0.3, 0, 0, 0, 0.3, 0, 0, 0, 0.4])
    counts = np.round(10**9 * shares @ table).astype(np.int64)
    assert dominating(table).bounds(counts, 0.025) == pytest.approx(np.cumsum(shares)[:-1], abs=2e-3)
