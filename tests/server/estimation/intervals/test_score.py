"""Intervals about those who reported, by enumeration of the law of noise; and many intervals at once."""

import math
from functools import cache
from itertools import product
from statistics import NormalDist

import numpy as np
import pytest
from scipy import stats

from contract.cases import each
from dither_server.estimation.estimate import Estimate, estimate
from dither_server.estimation.intervals.score import (
    Law,
    fieller,
    nearly_normal,
    noise_law,
    normal_interval,
    score_interval,
    share_interval,
    third_moment,
)
from dither_server.tally.tally import Tally
from dither_shared import (
    BitFlip,
    LocalHashing,
    Mechanism,
    OptimizedUnary,
    RandomizedResponse,
    SymmetricUnary,
)

Z = NormalDist().inv_cdf(0.975)
HALF = np.array([0.5])
PURE: list[Mechanism] = [
    RandomizedResponse.calibrate(2, 1.0),
    RandomizedResponse.calibrate(16, 1.0),
    OptimizedUnary.calibrate(16, 1.0),
    SymmetricUnary.calibrate(16, 4.0),
]


def law_of_noise(mechanism: Mechanism, users: int, holders: int) -> np.ndarray:
    """P[support = 0, 1, …] of a value with n_v holders among the users: Bin(n_v, p) + Bin(n - n_v, q)."""
    p, q = float(mechanism.p), float(mechanism.q)
    held = stats.binom.pmf(np.arange(holders + 1), holders, p)
    others = stats.binom.pmf(np.arange(users - holders + 1), users - holders, q)
    return np.convolve(held, others)


def test_a_count_is_nearly_normal_from_a_variance_of_ten() -> None:
    coins = OptimizedUnary.calibrate(4, 1.0)
    q = float(coins.q)
    enough = -(-10 // (q * (1 - q)))
    assert nearly_normal(coins, np.array([enough - 1, enough]), 1.0).tolist() == [False, True]


@pytest.mark.parametrize("family", [LocalHashing, OptimizedUnary])
def test_a_count_of_repeated_reports_is_nearly_normal_if_the_permanent_draws_of_its_people_are(
    family: type[LocalHashing | OptimizedUnary],
) -> None:
    """Their number of lies, as far as it is theirs: most of hashing's variance at a share of 0, of unary's at 1."""
    mechanism, times = family.calibrate(16, 1.0, 2.0), 30
    stage = mechanism.permanent_stage
    assert stage is not None
    kept = ((mechanism.p - mechanism.q) / (stage.p - stage.q)) ** 2
    levels = ((stage.p, mechanism.p), (stage.q, mechanism.q))
    lies = [drawn * (1 - drawn) for drawn, _ in levels]
    part = max(times * lie / (lie * (times - 1) + p * (1 - p) / kept) for lie, (_, p) in zip(lies, levels, strict=True))
    enough = math.ceil(10 * part**2 * times / min(lies))
    assert nearly_normal(mechanism, np.array([enough - 1, enough]), times).tolist() == [False, True]


@cache
def _estimates(mechanism: Mechanism, users: int) -> list[Estimate]:
    size = mechanism.size or 0
    supports = np.arange(-(-(users + 1) // size) * size).clip(max=users).reshape(-1, 1, size)
    return [estimate(mechanism, tuple(map(str, range(size))), Tally(np.array([users]), row)) for row in supports]


def of_every_support(mechanism: Mechanism, users: int, column: str) -> np.ndarray:
    """Return a column of the estimates at each support from 0 to ``users``.

    An estimate depends on the support of its own value alone, so that a tally holds as many as it has values.
    """
    return np.concatenate([getattr(interval, column) for interval in _estimates(mechanism, users)])[: users + 1]


@pytest.mark.parametrize("mechanism", PURE, ids=lambda m: f"{m.name}-{m.size}")
def test_the_noise_interval_covers_the_share_of_those_who_reported(mechanism: Mechanism) -> None:
    """Exact coverage for every number of holders: on average the stated one, and never much less."""
    users = 400
    low, high = (of_every_support(mechanism, users, end) for end in ("noise_low", "noise_high"))
    covered = []
    for holders in range(0, users + 1, 5):
        share = holders / users
        inside = (low <= share + 1e-12) & (share - 1e-12 <= high)
        covered.append(float(law_of_noise(mechanism, users, holders)[inside].sum()))
    assert min(covered) > 0.93
    assert 0.945 < float(np.mean(covered)) < 0.96
    assert covered[0] < 0.965  # of nobody's value, too


@pytest.mark.parametrize("mechanism", PURE, ids=lambda m: f"{m.name}-{m.size}")
@pytest.mark.parametrize("holders", [0, 100])
def test_the_third_moment_of_the_noise_is_that_of_its_law(mechanism: Mechanism, holders: int) -> None:
    """By enumeration, about those who reported and about the population."""
    users, share = 400, np.array([holders / 400])
    p, q = float(mechanism.p), float(mechanism.q)
    frequency = (np.arange(users + 1) / users - q) / (p - q)
    noise, anyone = law_of_noise(mechanism, users, holders), stats.binom(users, q + share[0] * (p - q)).pmf
    for law, sampled in ((noise, False), (anyone(np.arange(users + 1)), True)):
        exact = float(law @ (frequency - share[0]) ** 3)
        interval = third_moment(mechanism, share, np.array([users]), sampled=sampled)[0]
        assert interval == pytest.approx(exact, rel=1e-6, abs=1e-15)
        few = third_moment(mechanism, share, np.array([0, 1]), sampled=sampled)
        assert few == pytest.approx(users**2 * interval), "of none as of one"


def test_third_moment_of_the_noise_if_a_report_supports_only_some_values() -> None:
    """By enumeration of how many holders are among a tenth of 4,000, a hypergeometric law, and then of the noise."""
    mechanism, users, holders, reports = BitFlip.calibrate(10, 2.0, 1), 4_000, 200, 400
    p, q, seen = float(mechanism.p), float(mechanism.q), np.arange(reports + 1)
    frequency, share = (seen / reports - q) / (p - q), holders / users
    among = range(60)
    law = sum(stats.hypergeom.pmf(n, users, holders, reports) * law_of_noise(mechanism, reports, n) for n in among)
    exact = float(np.asarray(law) @ (frequency - share) ** 3)
    thinned = third_moment(mechanism, np.array([share]), np.array([reports]), sampled=False)[0]
    assert thinned == pytest.approx(exact, rel=0.01)


@pytest.mark.parametrize("mechanism", PURE, ids=lambda m: f"{m.name}-{m.size}")
@pytest.mark.parametrize("users", [12, 400])
def test_the_population_interval_covers_every_share_at_least_as_often_as_it_says(
    mechanism: Mechanism, users: int
) -> None:
    """Exactly computed over a fine grid of shares; near 0, where one side cannot miss, not much more often."""
    low, high = (of_every_support(mechanism, users, end) for end in ("low", "high"))
    p, q = float(mechanism.p), float(mechanism.q)
    shares = np.concatenate([np.linspace(0, 1, 101), low - 1e-9, high + 1e-9])
    for share in shares[(shares >= 0) & (shares <= 1)]:
        inside = (low <= share + 1e-12) & (share - 1e-12 <= high)
        assert float(stats.binom.pmf(np.arange(users + 1), users, q + share * (p - q))[inside].sum()) >= 0.95 - 1e-6
    nobody = (low <= 0) & (high >= 0)
    assert users < 400 or float(stats.binom.pmf(np.arange(users + 1), users, q)[nobody].sum()) < 0.965


def test_intervals_near_zero_are_those_of_feldman_and_cousins() -> None:
    """Their table X: of a normal estimate of -3, …, 4 standard errors at 95%, rounded to hundredths."""
    table = {-3.0: (0.00, 0.42), -2.0: (0.00, 0.62), -1.0: (0.00, 1.10), 0.0: (0.00, 1.96), 1.0: (0.00, 2.96),
             2.0: (0.35, 3.96), 3.0: (1.14, 4.96), 4.0: (2.04, 5.96)}  # fmt: skip
    estimates = 1e-3 * np.array(list(table))
    low, high = score_interval(Law(1.0, 0.0, 0.0), estimates, np.full(8, 10**6), 0.05)
    assert [*zip(low.round(5).tolist(), high.round(5).tolist(), strict=True)] == [
        (pytest.approx(one / 1000, abs=1e-5), pytest.approx(other / 1000, abs=1e-5)) for one, other in table.values()
    ]


@pytest.mark.parametrize("mechanism", PURE, ids=lambda m: f"{m.name}-{m.size}")
@pytest.mark.parametrize("holders", [0, 20])
def test_noise_error_is_the_standard_deviation_of_the_noise_law(mechanism: Mechanism, holders: int) -> None:
    """The mean squared error of the estimate and the mean of the stated one, by enumeration."""
    users = 400
    law = law_of_noise(mechanism, users, holders)
    exact = float(law @ (of_every_support(mechanism, users, "frequency") - holders / users) ** 2)
    stated = float(law @ of_every_support(mechanism, users, "noise_error") ** 2)
    assert exact == pytest.approx(mechanism.variance(holders / users) / users)
    assert stated == pytest.approx(exact, rel=0.08)  # from the estimate, cut at 0 and 1


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_score_intervals_of_huge_counts_lose_no_digits(share: float) -> None:
    """10^15 reports: the interval is the normal one, to five digits."""
    mechanism, users = OptimizedUnary.calibrate(2, 1.0), 10**15
    p, q = float(mechanism.p), float(mechanism.q)
    answer = estimate(
        mechanism, ("a", "b"), Tally(np.array([users]), np.array([[round(users * (q + share * (p - q))), users // 2]]))
    )
    assert answer.noise_high[0] - answer.frequency[0] == pytest.approx(1.959964 * answer.noise_error[0], rel=1e-5)


def test_all_intervals_of_a_unary_encoding_together() -> None:
    """Independent supports: each covers with 0.95^(1/k), so that all do with 0.95; as by Bonferroni but shorter."""
    unary, choice = SymmetricUnary.calibrate(20, 1.0), RandomizedResponse.calibrate(20, 1.0)
    for mechanism, rule, level in ((unary, "sidak", 0.95 ** (1 / 20)), (choice, "bonferroni", 1 - 0.05 / 20)):
        tally = Tally(np.array([9000]), np.arange(2000, 4000, 100)[np.newaxis])
        labels = tuple(map(str, range(20)))
        together, alone = (
            estimate(mechanism, labels, tally, simultaneous=True),
            estimate(mechanism, labels, tally, level),
        )
        assert together.simultaneous == rule
        assert alone.simultaneous is None
        assert together.confidence == 0.95
        for name in ("noise_low", "noise_high", "low", "high"):
            assert getattr(together, name) == pytest.approx(getattr(alone, name))


@each(lambda: product((-0.8, 0.0, 1.5), (0.0, 0.3, 1.0), (0.0, 0.02), (1, 400)))
def test_ends_of_a_score_interval_lie_z_errors_from_the_estimate(case: tuple[float, float, float, int]) -> None:
    """In the middle of the range both ends f have |estimate - f| = z error(f), the error being that at f itself.

    Of one report, too, if it tells as much as 400.
    """
    slope, thinning, bias, each = case
    law, z = Law(1.1 / each, slope / each, thinning / each), 1.959963984540054
    estimate, trials = np.array([0.35, 0.5, 0.6]), np.array([400, 401, 1000]) // each
    low, high = score_interval(law, estimate, trials, 0.05, bias)
    assert ((low > 0) & (low < estimate) & (estimate < high) & (high < 1)).all()
    np.testing.assert_allclose(estimate - low, z * law.error(low, trials, bias), rtol=1e-6)
    np.testing.assert_allclose(high - estimate, z * law.error(high, trials, bias), rtol=1e-6)


def test_standard_error_of_no_report_equals_that_of_one_report() -> None:
    law, share = Law(1.1, 0.5, 0.3), np.array([0.2])
    spread = 1.1 + 0.5 * 0.2 + 0.3 * 0.2 * 0.8
    for trials, counted in ((0, 1), (1, 1), (2, 2)):
        assert law.error(share, np.array([trials]))[0] == pytest.approx((spread / counted) ** 0.5)
        assert law.error(share, np.array([trials]), 0.1)[0] == pytest.approx((spread / counted + 0.01) ** 0.5)


def test_a_skewed_score_is_corrected_as_cornish_and_fisher_say() -> None:
    """z + (z² - 1)/6 of the skewness, on the side of the end; a skewness beyond a half counts as a half."""
    law, z = Law(1.0, 0.0, 0.0), 1.959963984540054
    estimate, trials = np.array([0.5]), np.array([400])
    for skewness, counted in ((0.3, 0.3), (-0.3, -0.3), (0.9, 0.5), (-2.0, -0.5)):
        low, high = score_interval(law, estimate, trials, 0.05, 0.0, lambda at, s=skewness: np.full(len(at), s))  # type: ignore[misc]
        shift = (z**2 - 1) / 6 * counted
        assert 20 * (0.5 - low[0]) == pytest.approx(z + shift, rel=1e-6)
        assert 20 * (high[0] - 0.5) == pytest.approx(z - shift, rel=1e-6)


def test_interval_of_a_share_is_corrected_by_the_skewness_of_its_noise() -> None:
    mechanism, trials = RandomizedResponse.calibrate(16, 1.0), np.array([1_000])
    for z, end in zip((Z, -Z), share_interval(mechanism, HALF, trials, 0.05, sampled=False), strict=True):
        error = noise_law(mechanism).error(end, trials)
        skewness = third_moment(mechanism, end, trials, sampled=False) / error**3
        assert (HALF - end) / error == pytest.approx(z + (Z**2 - 1) / 6 * skewness, rel=1e-3)


def test_an_interval_of_a_share_lies_in_the_unit_interval_and_is_all_of_it_without_reports() -> None:
    estimates = np.array([-0.2, 0.5, 1.3])
    low, high = score_interval(Law(0.01, 0.0, 0.0), estimates, np.zeros(3, int), 0.05)
    assert (low.tolist(), high.tolist()) == ([0, 0, 0], [1, 1, 1])
    low, high = normal_interval(estimates, np.full(3, 2.0), 0.95)
    assert (low.tolist(), high.tolist()) == ([0, 0, 0], [1, 1, 1])


def test_noise_assumes_different_people_unless_repeats_are_declared() -> None:
    mechanism, share, trials = RandomizedResponse.calibrate(16, 1.0, 2.0), np.array([0.2]), np.array([10_000])
    once, again = (share_interval(mechanism, share, trials, 0.05, repeats=times, sampled=False) for times in (1.0, 2.0))
    assert share_interval(mechanism, share, trials, 0.05, sampled=False) == once
    assert again[0] < once[0] < once[1] < again[1]


@pytest.mark.parametrize("epsilon", [1.0, 4.0, 6.0, 8.0])
@pytest.mark.parametrize(("family", "size"), [(RandomizedResponse, 2), (RandomizedResponse, 16), (OptimizedUnary, 16)])
def test_there_is_a_noise_interval_only_where_it_holds(
    family: type[RandomizedResponse | OptimizedUnary], size: int, epsilon: float
) -> None:
    """By enumeration over numbers of holders; of 100 reports at ε = 6 it would hold in 79 of 100 surveys."""
    mechanism, offered = family.calibrate(size, epsilon), []
    for users in (5, 30, 100, 300, 999, 3000):
        support = np.arange(users + 1)
        frequency = (support / users - float(mechanism.q)) / float(mechanism.p - mechanism.q)
        low, high = share_interval(mechanism, frequency, np.full(users + 1, users), 0.05, sampled=False)
        offered.append(bool(np.isfinite(low).all()))
        assert np.isnan(low).all() == np.isnan(high).all() == (not offered[-1])
        for holders in range(0, users + 1, max(1, users // 20)) if offered[-1] else ():
            inside = (low <= holders / users + 1e-12) & (holders / users - 1e-12 <= high)
            assert law_of_noise(mechanism, users, holders)[inside].sum() > 0.93
    assert offered == sorted(offered)
    assert offered[-1] == (epsilon < 6)


def test_skewness_is_asked_for_at_the_estimate_and_then_at_the_ends_so_computed() -> None:
    places = list[float]()

    def skewness(share: np.ndarray) -> np.ndarray:
        places.append(share.item())
        return np.zeros(1)

    low, high = score_interval(Law(1.0, 0.0, 0.0), np.array([0.3]), np.array([100]), 0.05, skewness=skewness)
    assert places == [0.3, 0.3, low.item(), high.item()]


def test_both_fieller_ends_lie_z_errors_from_the_ratio() -> None:
    x, y, v_x, v_y, v_xy = 0.12, 0.4, 1e-3, 2e-3, 5e-4
    interval = fieller(x, y, v_x, v_y, v_xy, Z)
    assert interval.ratio == pytest.approx(0.3)
    for r in (interval.low, interval.high):
        assert (x - r * y) ** 2 == pytest.approx(Z**2 * (v_x - 2 * r * v_xy + r**2 * v_y), rel=1e-9)
    assert interval.low < interval.ratio < interval.high


def test_a_denominator_that_may_be_zero_or_is_negative_gives_no_number() -> None:
    interval = fieller(np.array([0.1, 0.1]), np.array([0.05, -0.4]), 1e-3, 1e-3, 0.0, Z)
    assert np.isnan(interval).all()


def test_fieller_ends_are_clipped_to_shares() -> None:
    interval = fieller(np.array([0.001, 0.399]), np.full(2, 0.4), 1e-3, 1e-3, 1e-4, Z)
    assert interval.low[0] == 0
    assert interval.high[1] == 1


def test_ends_of_proportional_errors_are_numbers_although_rounding_makes_the_discriminant_negative() -> None:
    """Where x is exactly a share of y, the set is one point; here its discriminant comes out as -1.4e-17."""
    x, y, v_x, v_y, v_xy = (
        0.53286745557753,
        0.5606394622302311,
        0.0013030840442796328,
        0.0014424519675836178,
        0.0013709982288821435,
    )
    interval = fieller(x, y, v_x, v_y, v_xy, 1.96)
    assert interval.low == pytest.approx(x / y, abs=1e-7)
    assert interval.high == pytest.approx(x / y, abs=1e-7)
