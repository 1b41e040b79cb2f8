"""Fits of candidates: which pass, how many are absent, the prior of their shares, and intervals."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import special

from dither_server.estimation.fit import _GRID, Fit, Slab, absent_share, passing, truncated_means


def test_interval_of_an_unknown_error_stays_if_people_are_added() -> None:
    """Two strings with the same marks have an infinite error."""
    fit = replace(Fit.of_nothing(3), frequency=np.array([0.1, 0.3, -0.3]), high=np.array([0.9, 0.4, 0.2]))
    wider = replace(fit, standard_error=np.array([np.inf, 0.01, 0.01])).of_people(0.5)
    assert (wider.low.tolist(), wider.high[1:].tolist()) == ([0, 0, 0], [1, pytest.approx(0.2)])
    assert (wider.low[0], wider.high[0]) == (fit.low[0], fit.high[0])
    assert wider.standard_error == pytest.approx([np.inf, (0.01**2 + 0.5 * 0.3 * 0.7) ** 0.5, 0.01])


def test_candidates_pass_by_the_step_up_procedure() -> None:
    score = -special.ndtri(np.array([0.001, 0.04, 0.012, 0.9, 0.03]))
    assert passing(score, 0.05).tolist() == [0, 2, 4, 1] or passing(score, 0.05).tolist() == [0, 1, 2, 4]
    assert passing(score, 0.04).tolist() == [0, 2]
    assert passing(score, 0.04, absent=0.5).tolist() == [0, 1, 2, 4]
    assert passing(-np.ones(3), 0.05).tolist() == passing(np.ones(3), 0.05).tolist() == []
    assert passing(np.array([3.0, -1.0, -np.inf, 0.0, 0.1]), 0.05, absent=0.01).tolist() == [0, 4]


def test_estimated_share_of_absent_candidates_is_not_too_low() -> None:
    """Quantiles instead of draws: 800 of 1,000 are noise; the rest would be missed by none, or by many."""
    noise = special.ndtri((np.arange(800) + 0.5) / 800)
    assert absent_share(np.concatenate([noise, np.full(200, 5.0)])) == pytest.approx(0.8, abs=0.01)
    assert 0.8 < absent_share(np.concatenate([noise, special.ndtri((np.arange(200) + 0.5) / 200) + 1])) < 0.88
    assert absent_share(noise) == pytest.approx(1, abs=0.01)
    assert absent_share(noise / 100) == pytest.approx(1, abs=0.01)


def test_share_of_absent_candidates_is_estimated_where_it_stops_falling_or_at_half_if_scores_vary_little() -> None:
    """Of 161 p-values 41 exceed 0.5, 21 exceed 0.55 and 20 exceed 0.6: (20 + 1)/40 is more than (21 + 1)/45."""
    p = np.repeat([0.01, 0.5, 0.52, 0.57, 0.94, 1], [60, 60, 20, 1, 19, 1])
    score = -special.ndtri(p)
    assert absent_share(score) == pytest.approx(22 / (161 * 0.45))
    assert absent_share(np.where(score < 0, score / 2, score)) == pytest.approx(42 / (161 * 0.5))
    assert absent_share(np.full(9, -3.0)) == 1
    falling = 1 - ((np.arange(1000) + 0.5) / 1000) ** (2 / 3)  # up to the last boundary, which 11 exceed
    assert absent_share(-special.ndtri(falling)) == pytest.approx(12 / (1000 * 0.05))


@pytest.mark.parametrize("tail", [0.025, 0.5])
def test_means_of_candidates_that_passed_are_those_of_a_truncated_normal(tail: float) -> None:
    scores = np.array([2.0, 2.5, 4.0, 12.0])
    means = truncated_means(scores, 2.0, tail)
    for score, mean in zip(scores[1:], means[1:], strict=True):
        assert special.ndtr(mean - score) / special.ndtr(mean - 2.0) == pytest.approx(tail, rel=1e-6)
    assert means[3] == pytest.approx(12 + special.ndtri(tail), abs=1e-6)
    assert means[0] < -20


def test_slab_is_learnt_from_the_scores() -> None:
    """Of 2,000 half are 0 and half about 4, so one seen at 1 is 0 and one at 3 is not, whatever they were called."""
    quantiles = special.ndtri((np.arange(1000) + 0.5) / 1000)
    slab = Slab.learnt(np.concatenate([quantiles, quantiles + 4]))
    seen = np.array([-9.0, 0.0, 1.0, 3.0, 4.0, 7.99, 20.0])
    likely = slab.medians(seen)
    assert likely[[0, 1, 2, 6]].tolist() == [0, 0, 0, 20]
    assert likely[3:5] == pytest.approx([3.7, 4.0], abs=0.3)
    assert (np.diff(likely) >= 0).all()
    assert slab.medians_of(seen) == pytest.approx(likely, abs=0.02)
    # With a quarter of the others' error, 12 errors of a candidate are 3 of the others'.
    assert slab.medians_of(np.array([2.0, 6.0]), np.array([2.0, 0.5])) == pytest.approx([2.0, 7.0], abs=0.7)
    assert Slab.learnt(np.full(9, -500.0)).weight[[0, 1]].tolist() == [1, 0]
    assert Slab.learnt(np.array([4.0])).weight[1:].sum() > 0.9
    weight = np.append(0.0, np.ones(len(slab.weight) - 1))  # θ is anywhere, uniform in its logarithm
    theta = np.linspace(0.03, 16, 100_000)
    for score in (3.0, 5.0, 7.0):
        law = np.cumsum(np.exp(-((theta - score) ** 2) / 2) / theta)
        exact = theta[np.searchsorted(law, law[-1] / 2)]
        assert Slab(weight).medians(np.array([score])) == pytest.approx(exact, abs=0.01)
        of_any_error = Slab(weight).medians_of(np.full(2, score), np.array([1, 0.6]))
        assert of_any_error == pytest.approx([exact, exact], abs=0.01)
    assert Slab(weight).medians(np.array([8.0])) == Slab(weight).medians_of(np.array([8.0])) == 8


def test_slab_has_the_mean_and_variance_of_the_logarithms_of_what_is_held() -> None:
    """Half is 0 and half log-normal about 4, of which some are too large to be uncertain."""
    quantiles = special.ndtri((np.arange(60) + 0.5) / 60)
    held = np.exp(np.log(4) + 0.5 * quantiles)
    slab = Slab.learnt(np.concatenate([np.tile(quantiles, 60), np.add.outer(held, quantiles).ravel()]))
    share, logs = slab.weight[1:], np.log(_GRID[1:])
    mean = share @ logs / share.sum()
    assert slab.weight[0] == pytest.approx(0.5, abs=0.01)
    assert slab.weight.sum() == pytest.approx(1 - 0.5 * special.ndtr(-2 * np.log(3)), abs=0.005)  # up to 12 errors
    assert mean == pytest.approx(np.log(4), abs=0.05)
    assert share @ (logs - mean) ** 2 / share.sum() == pytest.approx(0.25, abs=0.04)


@pytest.mark.parametrize("candidates", [50, 51])
def test_interval_of_a_found_candidate_of_a_long_list_allows_for_its_selection(candidates: int) -> None:
    share, error, scores = np.full(candidates, 0.1), np.full(candidates, 0.02), np.full(candidates, 5.0)
    fit = Fit.of(share, error, np.array([1]), 3.5, 0.9, prior=(scores, error), listed=(0.7, 0.04))
    selected = truncated_means(np.array([5.0]), 3.5, 0.05).item() * 0.02
    assert fit.low[0] == pytest.approx(0.1 + special.ndtri(0.05) * 0.02)
    assert fit.low[1] == pytest.approx(selected if candidates > 50 else fit.low[0])
    assert fit.high == pytest.approx(0.1 - special.ndtri(0.05) * 0.02)
    assert np.flatnonzero(fit.found).tolist() == [1]
    assert (fit.unlisted, fit.unlisted_error) == pytest.approx((0.3, 0.04))
