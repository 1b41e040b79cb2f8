"""Tabulated laws: the properties that a mechanism states, and estimates from its reports."""

import numpy as np
import pytest
from scipy import stats

from benchmarks.numeric_coverage import mean_in, population
from contract.cases import NUMERIC, usual
from dither_server.estimation.numeric.dithered import Dithered
from dither_server.estimation.numeric.estimate import estimate_number
from dither_server.estimation.numeric.tabulated import Tabulated, dominating, law_of
from dither_server.tally.tally import Tally
from dither_shared import DitheredResponse

LAW = Tabulated(np.array([[5, 2, 1], [2, 4, 2], [1, 2, 5]]) / 8, np.array([-0.5, 0.5, 1.5]))


def laplace(points: int, epsilon: float) -> Tabulated:
    """Two-sided geometric noise on a grid, folded into the range."""
    place, last, decay = np.arange(points), points - 1, np.exp(-epsilon / (points - 1))
    table = decay ** np.abs(place[:, np.newaxis] - place) / (1 + decay)
    table[:, 1:last] *= 1 - decay
    score = place.astype(np.float64)
    score[[0, last]] = -decay / (1 - decay), last + decay / (1 - decay)
    return Tabulated(table, score / last)


def test_scores_of_expected_reports_average_to_the_answer() -> None:
    assert LAW.scores(Tally(np.array([8]), np.array([[5, 2, 1]]))).mean == 0
    assert LAW.worst_variance == pytest.approx(0.5)
    one = Tally(np.array([1]), np.array([[0, 1, 0]]))
    assert (LAW.cell_shares(one).tolist(), LAW.permanent_variance(one)) == ([0, 1, 0], 0)


@pytest.mark.parametrize(
    ("counts", "noise"), [([1, 0, 0], 5 / 12), ([2, 0, 0], 11 / 36), ([5, 0, 5], 5 / 12), ([10, 15, 10], 125 / 306)]
)
def test_noise_is_the_sample_variance_within_what_it_can_be(counts: list[int], noise: float) -> None:
    """It is 11/36 at the ends and 5/12 in the middle."""
    law = Tabulated(np.array([[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.1, 0.2, 0.7]]), np.array([-1 / 3, 0.5, 4 / 3]))
    assert law.noise_variance(Tally(np.array([sum(counts)]), np.array([counts]))) == pytest.approx(noise)


def test_channel_of_a_tabulated_mechanism_is_its_table() -> None:
    law, rng = LAW, np.random.default_rng(1)
    curve, cells, points = rng.random((3, 3))
    assert law.spread(curve) == pytest.approx(law.table.T @ curve)
    assert law.gathered(cells) == pytest.approx(law.table @ cells)
    matrix = law.table @ np.diag(cells) @ law.table.T + np.diag(points)
    assert matrix @ law.solver(cells, points)(curve) == pytest.approx(curve)


@pytest.mark.parametrize("reports", [0, 1, 2, 1000, 10**6])
@pytest.mark.parametrize("points", [2, 33])
def test_intervals_of_a_tabulated_mechanism_cover_the_true_values(points: int, reports: int) -> None:
    """Each of some hundred intervals with a confidence of 1 - 1e-9."""
    law, shares = laplace(points, 1.0), population("age", points)
    counts = np.random.default_rng(2).multinomial(reports, shares @ law.table)
    found = estimate_number(law, Tally(np.array([reports]), counts[np.newaxis]), 1 - 1e-9)
    below = np.append(0, np.cumsum(shares))
    assert found.mean.low <= mean_in(shares) <= found.mean.high
    assert (found.cuts.low <= below + 1e-12).all()
    assert (below <= found.cuts.high + 1e-12).all()
    assert found.fit.short <= 0.001
    assert np.isnan(found.cuts.frequency[1:-1]).all()
    assert found.cuts.points == points
    rising = dominating(law.table).bounds(counts, 5e-10)
    assert found.cuts.high[1:-1] == pytest.approx(np.clip(rising, 0, 1))
    if reports == 10**6:
        assert found.mean.high - found.mean.low < 0.03
        assert (found.cuts.high - found.cuts.low).mean() < 0.4


@pytest.mark.parametrize("name", NUMERIC)
def test_every_mechanism_of_numbers_has_a_law_of_its_grid(name: str) -> None:
    one = usual(name, resolution=4)
    law = law_of(one)
    assert isinstance(law, Dithered if name == "dithered-response" else Tabulated)
    assert law.points == one.size
    assert law_of(usual(name, resolution=4)) is law  # made once
    assert law.worst_variance == pytest.approx(float(one.worst_mean_variance))  # type: ignore[attr-defined]


def test_a_finer_grid_costs_more_and_the_usual_one_some_milliseconds() -> None:
    usual = law_of(DitheredResponse.calibrate(None, 1.0)).cost
    assert 200 < usual < 1000
    costs = [law_of(DitheredResponse.calibrate(None, 1.0, steps=steps, resolution=64)).cost for steps in (1, 20, 1023)]
    assert costs == sorted(costs)
    assert costs[-1] > 100_000  # two seconds
    wide = law_of(DitheredResponse.calibrate(None, 1.0, steps=20, resolution=256)).cost
    assert wide > 5 * costs[1]
    assert Tabulated(np.zeros((1 << 10, 1 << 12)), np.zeros(1 << 12)).cost == pytest.approx(2**32 / 10_000, rel=1e-3)


def decaying(points: int, decay: float) -> np.ndarray:
    place = np.arange(points)
    table = decay ** np.abs(place[:, np.newaxis] - place)
    return np.asarray(table / table.sum(axis=1, keepdims=True))


def gaussian(points: int, spread: float) -> np.ndarray:
    place = np.arange(points)
    table = np.exp(-(((place[:, np.newaxis] - place) / spread) ** 2) / 2)
    return np.asarray(table / table.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("table", [decaying(2, 0.5), decaying(9, 0.8), gaussian(17, 16), decaying(9, 0.8)[::2]])
def test_dominating_score_has_no_expectation_below_the_step(table: np.ndarray) -> None:
    """So no population has a share above the expected score."""
    found = dominating(table)
    step = np.arange(len(table))[:, np.newaxis] < np.arange(1, len(table))
    assert len(found.kinds) == len(found.excess) > 1
    for place, kind in enumerate(found.kinds):
        scores = found.table.scores(*kind) + found.raised[place]
        expected = table @ scores
        (ridge, width), points = kind, np.arange(len(table))
        ramp = np.clip(1 - np.subtract.outer(points, points[:-1]) / width, 0, 1)
        normal = table.T @ table + ridge * np.linalg.norm(table, 2) ** 2 * np.eye(table.shape[1])
        assert normal @ found.table.scores(*kind) == pytest.approx(table.T @ ramp, abs=1e-9)
        assert (expected >= step - 1e-9).all()
        assert found.excess[place] == pytest.approx((expected - step).mean(axis=0), abs=1e-9)
        assert found.reach[place] == pytest.approx(np.ptp(scores, axis=0))
        even = table.mean(axis=0)  # of uniform points
        assert found.variance[place] == pytest.approx(even @ scores**2 - (even @ scores) ** 2, abs=1e-9)
        halves = (expected.max(axis=0) ** 2 + expected.min(axis=0) ** 2) / 2  # of people at the two extremes
        assert found.shared[place] == pytest.approx(halves - (expected.max(axis=0) + expected.min(axis=0)) ** 2 / 4)
    widths = sorted({width for _, width in found.kinds})
    assert widths == [2**power for power in range(len(widths))]
    assert widths[-1] < len(table) <= 2 * widths[-1] + 1


@pytest.mark.parametrize(("repeats", "times"), [(1.0, 10), (2.5, 10), (1.0, 1)])
def test_domination_bound_is_the_empirical_bernstein_bound_of_the_score_expected_to_be_tightest(
    repeats: float, times: int
) -> None:
    """Maurer and Pontil 2009, theorem 4, of the mean scores of people with D reports each."""
    table, counts, alpha = decaying(5, 0.5), times * np.array([30, 5, 2, 10, 40]), 0.1
    found, reports = dominating(table), np.repeat(np.arange(5), counts)
    n, surprise, bounds = len(reports), np.log(2 / alpha), found.bounds(counts, alpha, repeats)

    def bound(mean: float, variance: float, shared: float, reach: float) -> float:
        variance += (repeats - 1) * min(variance, shared)
        return float(mean + np.sqrt(2 * variance * surprise / n) + 7 * reach * surprise / (3 * (n / repeats - 1)))

    for cut in range(4):
        each = []
        for place, kind in enumerate(found.kinds):
            scores, shared = (found.table.scores(*kind) + found.raised[place])[:, cut], found.shared[place, cut]
            seen, reach = scores[reports], np.ptp(scores)
            planned = bound(found.excess[place, cut], found.variance[place, cut], shared, reach)
            each.append((planned, bound(seen.mean(), seen.var(ddof=1), shared, reach)))
        assert bounds[cut] == pytest.approx(min(each)[1])
    few = found.bounds(np.array([1, 0, 0, 0, 2]), 0.4, repeats)
    assert (few == 1).all() == (repeats > 1.5)  # of at least two people there is a bound, though it may exceed 1


def test_domination_bounds_cover_as_often_as_stated() -> None:
    """By enumeration: two points, so that the counts are binomial."""
    table = decaying(2, 0.5)
    found = dominating(table)
    reports = 60
    bounds = np.array([found.bounds(np.array([seen, reports - seen]), 0.1)[0] for seen in range(reports + 1)])
    for share in np.linspace(0, 1, 41):
        chance = stats.binom.pmf(np.arange(reports + 1), reports, share * table[0, 0] + (1 - share) * table[1, 0])
        assert chance @ (bounds < share - 1e-12) <= 0.1
    assert bounds[20] < 1


def test_many_reports_close_in_on_a_share() -> None:
    table = decaying(9, 0.5)
    shares = np.array([0.3, 0, 0, 0, 0.3, 0, 0, 0, 0.4])
    counts = np.round(10**9 * shares @ table).astype(np.int64)
    assert dominating(table).bounds(counts, 0.025) == pytest.approx(np.cumsum(shares)[:-1], abs=2e-3)
