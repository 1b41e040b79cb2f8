"""Estimates of sets: unbiased, with the errors and intervals that they state, by exact laws.

Each test is wrong with a probability below 1e-6 over the choice of its seed.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dither_server.estimation.sets import SetEstimate, estimate_sets
from dither_server.tally.repeats import Repeats
from dither_shared import Mechanism, PrivSet, SetResponse
from server.estimation.sets_of_people import People, privset_tally, response_tally

FAR = 7.0
"""Standard errors."""


def labels_of(mechanism: Mechanism) -> tuple[str, ...]:
    return tuple(map(str, range(mechanism.size or 0)))


@pytest.mark.parametrize(
    ("size", "epsilon", "reports"),
    [(2, 0.5, 1000), (8, 4.0, 10**6), pytest.param(100, 4.0, 20_000, marks=pytest.mark.slow)],
)
def test_set_response_estimates_match_their_stated_errors(size: int, epsilon: float, reports: int) -> None:
    """Means and variances of shares, sum and pairs over surveys, and how often their intervals cover.

    Slow with a hundred values, of which 400 pairs are estimated.
    """
    mechanism, people, surveys = SetResponse.calibrate(size, epsilon), People.of(size), 150 if size < 100 else 40
    rng = np.random.default_rng(7)
    estimates = [
        estimate_sets(mechanism, labels_of(mechanism), response_tally(mechanism, people, reports, rng))
        for _ in range(surveys)
    ]
    shares = people.chances.mean(axis=0)
    _shares_and_total_hold(estimates, shares, shares.sum())
    seen = [answer.pairs for answer in estimates]
    given, value = seen[0].given, seen[0].value
    if not len(given):
        assert mechanism.window == 1
        return
    both = np.array([people.law(np.array(pair))[3] for pair in zip(given, value, strict=True)])
    _holds(np.array([pairs.both for pairs in seen]), both, np.array([pairs.both_error for pairs in seen]))
    _covers(np.array([(pairs.both_low <= both) & (both <= pairs.both_high) for pairs in seen]), careful=True)
    if reports >= 1000 * size:
        ratio, known = both / shares[given], np.array([pairs.share for pairs in seen])
        assert np.isfinite(known).mean() > 0.99
        inside = np.array([(pairs.low <= ratio) & (ratio <= pairs.high) for pairs in seen])
        _covers(inside[:, known.min(axis=0) > 0])


@pytest.mark.parametrize(("size", "most", "epsilon"), [(2, 1, 0.5), (8, 3, 2.0)])
def test_privset_estimates_match_their_stated_errors(size: int, most: int, epsilon: float) -> None:
    """Surveys of 1,000 out of 40,000 people."""
    mechanism, rng = PrivSet.calibrate(size, epsilon, at_most=most), np.random.default_rng(8)
    everyone = People.of(size, most).draw(40_000, rng)
    estimates = []
    for _ in range(150):
        tally = privset_tally(mechanism, everyone[rng.integers(0, len(everyone), 1000)], rng)
        estimates.append(estimate_sets(mechanism, labels_of(mechanism), tally, at_most=most))
    _shares_and_total_hold(estimates, everyone.mean(axis=0), everyone.sum(axis=1).mean())
    assert not len(estimates[0].pairs.given)


def _shares_and_total_hold(estimates: list[SetEstimate], shares: np.ndarray, total: float) -> None:
    frequency = np.array([one.frequency for one in estimates])
    _holds(frequency, shares, np.array([one.standard_error for one in estimates]))
    _covers(np.array([(one.low <= shares) & (shares <= one.high) for one in estimates]), careful=True)
    sums = [one.total for one in estimates]
    assert [one.value for one in sums] == pytest.approx(frequency.sum(axis=1))
    _holds(np.array([[one.value] for one in sums]), total, np.array([[one.standard_error] for one in sums]))
    _covers(np.array([[one.low <= total <= one.high] for one in sums]))


def _holds(seen: np.ndarray, truth: np.ndarray | float, stated: np.ndarray) -> None:
    """Assert that estimates are unbiased and that their mean squared errors match the stated variances."""
    surveys = len(seen)
    spread = seen.std(axis=0, ddof=1)
    assert (np.abs(seen.mean(axis=0) - truth) < FAR * spread / math.sqrt(surveys)).all()
    ratio = np.sqrt((stated**2).mean(axis=0)) / spread
    assert (np.abs(np.log(ratio)) < FAR / math.sqrt(2 * surveys)).all(), ratio


def _covers(inside: np.ndarray, *, careful: bool = False) -> None:
    """Whether a share of 0.95 of intervals cover: at least or, of those that are not ``careful``, nearly."""
    hits, surveys = inside.sum(axis=0), len(inside)
    assert stats.binom.cdf(hits, surveys, 0.945).min() > 1e-9
    if not careful:
        assert stats.binom.sf(hits - 1, surveys, 0.98).min() > 1e-9


def test_ratio_by_reports_of_both_values_spreads_less_than_over_all_reports() -> None:
    """The share with one value among those with another: both ratios are right, that over all reports spreads more."""
    mechanism, people, rng = SetResponse.calibrate(8, 3.0, window=3), People.of(8), np.random.default_rng(9)
    same, over_all = [], []
    for _ in range(150):
        estimates = estimate_sets(mechanism, labels_of(mechanism), response_tally(mechanism, people, 40_000, rng))
        same.append(estimates.pairs.share)
        over_all.append(estimates.pairs.both / estimates.frequency[estimates.pairs.given])
    spreads = np.var(same, axis=0) / np.var(over_all, axis=0)
    near = (estimates.pairs.given - estimates.pairs.value) % 8 % 6 == 1  # 1 or 7 places apart
    assert spreads[near].mean() < 0.95
    assert spreads[~near].mean() < 0.85


def test_people_who_report_again_add_their_sampling_to_pairs_and_widen_all_intervals() -> None:
    """The same people on two days, in windows that are drawn anew: the share of both is sampled from half as many."""
    mechanism = SetResponse.calibrate(8, 3.0, window=3)
    tally = response_tally(mechanism, People.of(8), 40_000, np.random.default_rng(9))
    once, again = (
        estimate_sets(mechanism, labels_of(mechanism), replace(tally, repeats=days))
        for days in (Repeats(), Repeats((20_000, 20_000)))
    )
    both = np.clip(once.pairs.both, 0, 1)
    added = again.pairs.both_error**2 - once.pairs.both_error**2
    assert added == pytest.approx(both * (1 - both) / 40_000)
    assert (again.pairs.high - again.pairs.low > once.pairs.high - once.pairs.low).all()
    assert again.total.standard_error > once.total.standard_error
