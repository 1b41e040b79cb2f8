"""Estimates of sets: unbiased, with the errors and intervals that they state, for devices and by exact laws.

Each test is wrong with a probability below 1e-6 over the choice of its seed.
"""

import math

import numpy as np
import pytest
from scipy import stats

from dither_server.estimation.sets import estimate_sets
from dither_shared import Mechanism, PrivSet, SetResponse
from server.estimation.sets_of_people import People, by_devices, privset_tally, response_tally

FAR = 7.0
"""Standard errors."""


def labels_of(mechanism: Mechanism) -> tuple[str, ...]:
    return tuple(map(str, range(mechanism.size or 0)))


@pytest.mark.parametrize("reports", [50, 1000])
@pytest.mark.parametrize("size", [2, 8, 100])
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
@pytest.mark.parametrize("family", ["set-response", "privset"])
def test_devices_are_estimated_to_their_errors(family: str, epsilon: float, size: int, reports: int) -> None:
    most = min(3, size) if family == "privset" else None
    people = People.of(size, most)
    mechanism: Mechanism = SetResponse.calibrate(size, epsilon)
    if most is not None:
        mechanism = PrivSet.calibrate(size, epsilon, at_most=most)
    sets = people.draw(reports, np.random.default_rng(size))
    estimates = estimate_sets(mechanism, labels_of(mechanism), by_devices(mechanism, sets, b"devices"), at_most=most)
    known = np.isfinite(estimates.frequency)
    assert known.all() or reports * float(mechanism.coverage) < max(40, 1.65**2 * mechanism.variance(0.0))
    away = (estimates.frequency - sets.mean(axis=0))[known]
    # of few reports the error stated is that at the estimate; here it is what the law says of the truth
    spread = np.array([mechanism.variance(share) for share in sets.mean(axis=0)])[known]
    assert (np.abs(away) < FAR * np.sqrt(spread * _shrunk(mechanism, reports))).all()
    assert (
        (estimates.low[known] <= 1) & (estimates.high[known] >= 0) & (estimates.low[known] <= estimates.high[known])
    ).all()
    assert not [said for said, there in zip(estimates.verdicts, known, strict=True) if not there and said != "too-few"]
    if known.all():
        assert abs(estimates.total.value - sets.sum(axis=1).mean()) < FAR * estimates.total.standard_error
        assert estimates.total.value == pytest.approx(estimates.frequency.sum())


def _shrunk(mechanism: Mechanism, reports: int) -> float:
    """Return 1/n, for a value of which fewer reports speak than expected."""
    expected = reports * float(mechanism.coverage)
    return (
        1 / reports if mechanism.coverage == 1 else expected / max(1.0, expected - FAR * math.sqrt(expected)) / reports
    )


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
    _holds(
        np.array([answer.frequency for answer in estimates]),
        shares,
        np.array([answer.standard_error for answer in estimates]),
    )
    _covers(np.array([(answer.low <= shares) & (shares <= answer.high) for answer in estimates]), careful=True)
    total = np.array([answer.total.value for answer in estimates])[:, np.newaxis]
    _holds(total, shares.sum(), np.array([answer.total.standard_error for answer in estimates])[:, np.newaxis])
    _covers(np.array([answer.total.low <= shares.sum() <= answer.total.high for answer in estimates])[:, np.newaxis])
    pairs = estimates[0].pairs
    if not len(pairs.given):
        assert mechanism.window == 1
        return
    both = np.array([people.law(np.array(pair))[3] for pair in zip(pairs.given, pairs.value, strict=True)])
    _holds(
        np.array([answer.pairs.both for answer in estimates]),
        both,
        np.array([answer.pairs.both_error for answer in estimates]),
    )
    _covers(
        np.array([(answer.pairs.both_low <= both) & (both <= answer.pairs.both_high) for answer in estimates]),
        careful=True,
    )
    ratio = both / shares[pairs.given]
    known = np.array([answer.pairs.share for answer in estimates])
    if reports >= 1000 * size:
        assert np.isfinite(known).mean() > 0.99
        _covers(
            np.array([(answer.pairs.low <= ratio) & (ratio <= answer.pairs.high) for answer in estimates])[
                :, known.min(axis=0) > 0
            ]
        )


@pytest.mark.parametrize(
    ("size", "most", "epsilon"),
    [(2, 1, 0.5), (8, 3, 2.0), pytest.param(100, 3, 4.0, marks=pytest.mark.slow)],
)
def test_privset_estimates_match_their_stated_errors(size: int, most: int, epsilon: float) -> None:
    """Surveys of 1,000 out of 40,000 people. Slow with a hundred values, which are drawn one by one."""
    mechanism, people, surveys = PrivSet.calibrate(size, epsilon, at_most=most), People.of(size, most), 150
    rng = np.random.default_rng(8)
    everyone = people.draw(40_000, rng)
    shares, sizes = everyone.mean(axis=0), everyone.sum(axis=1).mean()
    estimates = [
        estimate_sets(
            mechanism,
            labels_of(mechanism),
            privset_tally(mechanism, everyone[rng.integers(0, len(everyone), 1000)], rng),
            at_most=most,
        )
        for _ in range(surveys)
    ]
    _holds(
        np.array([answer.frequency for answer in estimates]),
        shares,
        np.array([answer.standard_error for answer in estimates]),
    )
    _covers(np.array([(answer.low <= shares) & (shares <= answer.high) for answer in estimates]), careful=True)
    total = np.array([answer.total.value for answer in estimates])[:, np.newaxis]
    _holds(total, sizes, np.array([answer.total.standard_error for answer in estimates])[:, np.newaxis])
    _covers(np.array([answer.total.low <= sizes <= answer.total.high for answer in estimates])[:, np.newaxis])
    assert not len(estimates[0].pairs.given)


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
    same, over_all, widths = [], [], []
    for _ in range(150):
        estimates = estimate_sets(mechanism, labels_of(mechanism), response_tally(mechanism, people, 40_000, rng))
        same.append(estimates.pairs.share)
        widths.append(estimates.pairs.high - estimates.pairs.low)
        over_all.append(estimates.pairs.both / estimates.frequency[estimates.pairs.given])
    truth = [people.law(np.array(pair)) for pair in zip(estimates.pairs.given, estimates.pairs.value, strict=True)]
    ratio = np.array([law[3] / (law[1] + law[3]) for law in truth])
    for seen in (np.array(same), np.array(over_all)):
        assert (np.abs(seen.mean(axis=0) - ratio) < 0.01 + FAR * seen.std(axis=0) / math.sqrt(150)).all()
    stated = np.array(widths).mean(axis=0) / 2 / 1.96
    assert (np.abs(np.log(stated / np.array(same).std(axis=0))) < FAR / math.sqrt(300)).all()
    spreads = np.array(same).var(axis=0) / np.array(over_all).var(axis=0)
    near = np.array(
        [
            (value - other) % 8 in {1, 7}
            for value, other in zip(estimates.pairs.given, estimates.pairs.value, strict=True)
        ]
    )
    assert spreads[near].mean() < 0.95
    assert spreads[~near].mean() < 0.85
