"""Estimates of sets: unbiased, with the errors and intervals that they state, by exact laws.

Each test is wrong with a probability below 1e-6 over the choice of its seed.
"""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from dither_server.estimation.decoders.set_decoders import _both
from dither_server.estimation.decoders.support import decoder_of
from dither_server.estimation.intervals.exact import exact_interval
from dither_server.estimation.sets import SetEstimate, estimate_sets
from dither_server.tally.arrays import Floats
from dither_server.tally.repeats import Repeats
from dither_server.tally.tally import Tally
from dither_shared import Mechanism, PrivSet, SetResponse
from server.estimation.sets_of_people import People, privset_tally, response_tally

FAR = 7.0
"""Standard errors."""


def labels_of(mechanism: Mechanism) -> tuple[str, ...]:
    return tuple(map(str, range(mechanism.size or 0)))


@pytest.mark.parametrize(("permanent", "days"), [(None, 1), (None, 2), (6.0, 3)])
def test_pairs_have_the_law_of_the_reports_that_cover_both_values(permanent: float | None, days: int) -> None:
    """The ends of a share solve Fieller's equation, and those of both values the score equation.

    Reports of a device share the permanent pattern or, if they cover both values, the answer.
    """
    mechanism = SetResponse.calibrate(4, 4.0, permanent, window=3)
    tally = response_tally(mechanism, People.of(4), 40_000, np.random.default_rng(9))
    tally = replace(tally, repeats=Repeats((9,) * days))
    seen, answer = decoder_of(mechanism).pairs(mechanism, tally), estimate_sets(mechanism, labels_of(mechanism), tally)
    found, pairs = answer.pairs, seen.values.tolist()
    sides = [(pairs.index(sorted(two)), two[0] > two[1]) for two in zip(found.given, found.value, strict=True)]
    row, side = np.array(sides, dtype=np.intp).T
    assert len(row) == 2 * len(pairs) == 12
    reports, q, gap = seen.trials[row], float(seen.q), float(seen.p - seen.q)
    both = (seen.both[row] / reports - q) / gap
    single = (seen.each[row, side] / reports - (1 - gap) / 2) / gap
    again = (days - 1) * (np.ones(12) if permanent else reports / tally.total)

    def moments(at: Floats) -> Floats:
        """Return the variances of both and of the single share, and their covariance, if both have a share ``at``."""
        total = np.zeros((3, 12))
        for (high, low), times in (((seen.p, seen.q), 1), (seen.shared if permanent else (1, 0), again)):
            width = float(high - low)
            joint, bit = float(low) + width * at, (1 - width) / 2 + width * single
            total += times * np.array([joint * (1 - joint), bit * (1 - bit), joint * (1 - bit)]) / width**2
        return np.asarray(total / reports)

    assert found.both == pytest.approx(both)
    assert found.both_error**2 == pytest.approx(moments(both)[0])
    assert found.share == pytest.approx(both / single)
    x, y, xy = moments(both)
    for end in (found.low, found.high):
        assert (both - end * single) ** 2 == pytest.approx(Z**2 * (x - 2 * end * xy + end**2 * y))
    exact = exact_interval(seen, seen.both, seen.trials, 0.05)
    for end, alone in zip((found.both_low, found.both_high), exact, strict=True):
        if days == 1:
            assert end == pytest.approx(alone[row])
        else:
            assert (both - end) ** 2 == pytest.approx(Z**2 * moments(end)[0])
    together = estimate_sets(mechanism, labels_of(mechanism), tally, simultaneous=True).pairs
    stricter = estimate_sets(mechanism, labels_of(mechanism), tally, 1 - 0.05 / 12).pairs
    for name in ("low", "high", "both_low", "both_high"):
        assert getattr(together, name) == pytest.approx(getattr(stricter, name)), "12 shares hold together"


Z = float(stats.norm.isf(0.025))


def of_two(mechanism: SetResponse, neither: int, first: int, second: int, both: int, days: int = 1) -> SetEstimate:
    """Estimate two values that all reports cover, from half of the reports in each window."""
    alike = np.array([[neither, first, second, both], [neither, second, first, both]])
    tally = Tally(alike.sum(axis=1), alike, Repeats((9,) * days))
    return estimate_sets(mechanism, labels_of(mechanism), tally)


@pytest.mark.parametrize(("permanent", "days"), [(None, 1), (None, 3), (8.0, 3)])
def test_the_sum_of_few_reports_may_be_that_of_people_with_all_values_or_none(
    permanent: float | None, days: int
) -> None:
    """Every report has one of two values. Half of the sum is a share, whose score equation its ends solve.

    From a noise of a variance of 10 counts on the interval is normal.
    """
    mechanism = SetResponse.calibrate(2, 5.0, permanent, window=2)
    p, q = float(mechanism.p), float(mechanism.q)
    enough = math.ceil(10 * days * (p - q) ** 2 / (q * (1 - q)) / 4)
    few, many = (of_two(mechanism, 0, number, number, 0, days).total for number in (enough - 1, enough))
    stage = mechanism.permanent_stage
    p_again, q_again = (1.0, 0.0) if stage is None else (float(stage.p), float(stage.q))
    for end in (few.low, few.high):
        chance, shared = q + (p - q) * end / 2, q_again + (p_again - q_again) * end / 2
        variance = chance * (1 - chance) / (p - q) ** 2
        variance += (days - 1) * shared * (1 - shared) / (p_again - q_again) ** 2
        assert (1 - end) ** 2 / 4 == pytest.approx(Z**2 * variance / (4 * (enough - 1)))
    assert (many.low, many.high) == pytest.approx((1 - Z * many.standard_error, 1 + Z * many.standard_error))


def test_shares_among_few_reports_or_few_people_are_unknown() -> None:
    """At least 250 reports; and at 95% each of two values must exceed its errors with 97.5%, or nobody may have it."""
    mechanism = SetResponse.calibrate(2, 1.0, window=2)
    for reports, unknown in ((249, True), (250, False)):
        counts = np.array([[1, 0, 0, 124], [0, 0, 0, reports - 125]])
        pairs = estimate_sets(mechanism, labels_of(mechanism), Tally(counts.sum(axis=1), counts)).pairs
        assert np.isnan(pairs.share).tolist() == [unknown] * 2
    q, gap = Fraction(mechanism.cells, 4) * mechanism.b, mechanism.a - mechanism.b
    least = 1.6448536**2 * float(q * (1 - q) / gap**2)
    both = [bool(np.isfinite(of_two(mechanism, 0, 0, 0, number).pairs.both[0])) for number in range(1, 20)]
    assert both == [2 * number > least for number in range(1, 20)], "no share differs from 0 by its errors"
    none, known, sure = (1 - float(mechanism.p - mechanism.q)) / 2, [], []
    for count in range(int(1_000 * none), int(1_000 * none) + 40):
        chance = count / 1_000
        sure.append(chance - none > stats.norm.isf(0.0125) * math.sqrt(chance * (1 - chance) / 2_000))
        pairs = of_two(mechanism, 400, count - 100, 600 - count, 100).pairs
        known.append(bool(np.isfinite(pairs.share[pairs.given == 0][0])))
    assert known == sure
    assert 0 < sum(known) < 40


def test_sets_of_all_or_of_none_are_the_ends_of_what_may_be() -> None:
    """Estimates are beyond 0 and 1, their variances those of the nearest shares."""
    mechanism = SetResponse.calibrate(2, 2.0, window=2)
    gap, q = float(mechanism.a - mechanism.b), mechanism.cells / 4 * float(mechanism.b)
    none, every = of_two(mechanism, 500, 0, 0, 0), of_two(mechanism, 0, 0, 0, 500)
    assert (none.total.low, every.total.high) == (0, 2)
    assert (none.consistent.tolist(), every.consistent.tolist()) == ([0, 0], [1, 1])
    for found, joint in ((none, q), (every, q + gap)):
        assert found.pairs.both_error**2 == pytest.approx(joint * (1 - joint) / gap**2 / 1_000)
    found, bit = of_two(mechanism, 0, 250, 0, 250), (1 + gap) / 2  # all have the first, half of them the second, too
    x, y, low = found.pairs.both[0], found.frequency[0], found.pairs.low[0]
    variance = 1 / 4 - 2 * low * (1 - bit) / 2 + low**2 * bit * (1 - bit)
    assert y > 1
    assert (x - low * y) ** 2 == pytest.approx(Z**2 * variance / gap**2 / 1_000)
    alike = np.array([[0, 0, 0, 500]] * 2)
    few = estimate_sets(mechanism, labels_of(mechanism), Tally(alike.sum(axis=1), alike), at_most=1)
    assert few.total.high == 1
    assert few.consistent.sum() == pytest.approx(1)


def test_a_value_that_no_report_covers_has_no_share_and_leaves_the_sum_unknown() -> None:
    mechanism = SetResponse.calibrate(2, 1.0, window=1)
    tally = Tally(np.array([500, 0]), np.array([[200, 300], [0, 0]]))
    found = estimate_sets(mechanism, labels_of(mechanism), tally, simultaneous=True)
    assert np.isfinite(found.frequency).tolist() == np.isfinite(found.consistent).tolist() == [True, False]
    assert (found.total.low, found.total.high) == (0, 2)
    assert math.isnan(found.total.value)
    assert math.isnan(found.total.standard_error)
    mechanism = SetResponse.calibrate(4, 9.0, window=2)
    counts = np.array([[9, 0, 0, 9], [0, 0, 0, 1], [0] * 4, [0] * 4])
    found = estimate_sets(mechanism, labels_of(mechanism), Tally(counts.sum(axis=1), counts))
    assert np.isnan(found.frequency).tolist() == np.isnan(found.standard_error).tolist() == [False, False, False, True]
    pairs = found.pairs
    unknown = np.isnan(pairs.both)
    assert (pairs.reports == 0).tolist() == unknown.tolist() == np.isnan(pairs.both_error).tolist()
    assert unknown.sum() == 4
    one = (1 - mechanism.cells / 4 * float(mechanism.b)) / float(mechanism.a - mechanism.b)
    assert pairs.both[pairs.reports == 1] == pytest.approx([one] * 2), "the only report has both"
    assert set(pairs.both_low[unknown]) == {0}
    assert set(pairs.both_high[unknown]) == {1}


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


def test_two_cells_of_a_list_have_the_law_of_its_subsets() -> None:
    """By enumeration: a subset that contains one of the set's marks, here 0 and 1, is e^ε times as likely as another."""
    mechanism = PrivSet.calibrate(12, 0.5, at_most=2)
    assert mechanism.subset == 3
    lists = [set(cells) for cells in combinations(range(mechanism.cells), 3)]
    likely = [mechanism.ratio if listed & {0, 1} else Fraction(1) for listed in lists]
    expected = [
        sum(weight for listed, weight in zip(lists, likely, strict=True) if listed >= pair) / sum(likely)
        for pair in ({0, 5}, {5, 6})
    ]
    assert _both(mechanism) == pytest.approx([float(chance) for chance in expected])
