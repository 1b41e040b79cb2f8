"""The dithered law against its definition in exact fractions, and pooled bounds: their coverage by enumeration."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import special, stats

from dither_server.estimation.numeric.dithered import (
    WIDTHS,
    Dithered,
    Pooling,
    approximate_upper_bounds,
    poisson_binomial_level,
    pooled_bounds,
    upper_bounds,
    widths_of,
)
from dither_server.tally.repeats import Repeats
from dither_server.tally.tally import Tally
from dither_shared import ParameterError

from .small_laws import SMALL, cell_chances, expected_tally, small_law

each = pytest.mark.parametrize(("phases", "steps"), SMALL)


def moments(law: Dithered, point: int) -> tuple[Fraction, Fraction]:
    """Mean and second moment of the score, over phases and noise."""
    score = law.score_table
    chances = [
        (chance / law.phases, Fraction(float(score[phase, cell])))
        for phase in range(law.phases)
        for cell, chance in enumerate(cell_chances(law, point, phase))
    ]
    mean = sum((chance * one for chance, one in chances), Fraction(0))
    return mean, sum((chance * one**2 for chance, one in chances), Fraction(0))


@each
def test_dithered_scores_are_unbiased_with_the_stated_variance(phases: int, steps: int) -> None:
    law = small_law(phases, steps)
    for point in range(law.points):
        mean, square = moments(law, point)
        assert float(mean) == pytest.approx(point / (law.points - 1), abs=1e-13)
        cells = [(point + phase) // phases - Fraction(steps, 2) for phase in range(phases)]
        spread = sum(cell**2 for cell in cells) / phases
        assert law.variance(float(spread)) == pytest.approx(float(square - mean**2), rel=1e-12)


@each
def test_noise_of_a_tally_depends_on_the_answers_of_its_people(phases: int, steps: int) -> None:
    law = small_law(phases, steps)
    people = [0, law.points - 1, law.points // 2, law.points // 2]
    variances = [float(square - mean**2) for mean, square in (moments(law, point) for point in people)]
    found = law.noise_variance(expected_tally(law, people))
    assert found == pytest.approx(np.mean(variances), rel=1e-12)
    assert law.worst_variance == pytest.approx(max(variances), rel=1e-12)


def test_noise_variance_stays_within_its_extremes() -> None:
    law = small_law(1, 2)
    for counts, noise in (([9, 0, 0], law.worst_variance), ([0, 9, 0], law.variance(0.0))):
        assert law.noise_variance(Tally(np.array([9]), np.array([counts]))) == noise


@each
def test_shares_below_points_are_unbiased(phases: int, steps: int) -> None:
    law = small_law(phases, steps)
    for people in ([0], [law.points - 1], [1, law.points // 2, law.points // 2]):
        cuts = law.cuts(expected_tally(law, people), 0.95)
        below = [sum(score < cut for score in people) / len(people) for cut in range(law.points + 1)]
        assert cuts.frequency == pytest.approx(below, abs=1e-12)
        assert (cuts.low <= cuts.high).all()


def test_errors_of_a_share_are_those_of_its_one_phase() -> None:
    """And those of people who report D times: a third of their further reports are in the phase."""
    law = small_law(3, 2)
    reports, counts = np.array([50, 70, 90]), np.array([[20, 20, 10], [20, 30, 20], [40, 30, 20]])
    q, gap = float(law.q), law.gap
    share = (50 / 70 - 2 * q) / gap  # cut 5 is in phase 1, and below it are cells 0 and 1
    chance = 2 * q + gap * share
    for repeats in (Repeats(), Repeats((70, 70, 70))):
        cuts, again = law.cuts(Tally(reports, counts, repeats), 0.95), repeats.effect - 1
        error = np.sqrt((chance * (1 - chance) / gap**2 + again / 3 * share * (1 - share)) / 70)
        assert cuts.frequency[5] == pytest.approx(share)
        assert cuts.standard_error[5] == pytest.approx(error)
        assert cuts.noise_error[5] == pytest.approx(np.sqrt(error**2 - repeats.effect * share * (1 - share) / 210))
        assert cuts.repeated == pytest.approx(again / 210)
    for below, end in ((0, 0.0), (70, 1.0)):  # a share outside has the error of 0 or 1
        counts[1] = below, 0, 70 - below
        chance = 2 * q + gap * end
        found = law.cuts(Tally(reports, counts), 0.95).standard_error[5]
        assert found == pytest.approx(np.sqrt(chance * (1 - chance) / 70) / gap)
    assert law.permanent_variance(Tally(reports, counts)) == 0
    few, many = np.array([5, 195]), Repeats((2,) * 100)  # of a hundred reports of a person nearly all are in one phase
    assert (small_law(2, 1).cuts(Tally(few, np.array([[3, 2], [97, 98]]), many), 0.95).noise_error >= 0).all()


@pytest.mark.parametrize("lasting", [False, True])
def test_variance_of_a_cut_includes_what_reports_of_a_device_share(lasting: bool) -> None:
    """By enumeration, for uniform answers and D = 3: they share the permanent cell and phase, or only the answer."""
    first, stay, leave = small_law(3, 2), Fraction(2, 3), Fraction(1, 6)
    p = stay * first.p + (1 - stay) * first.q
    law = Dithered(3, 2, p, (1 - p) / 2, first) if lasting else first
    cells, phases = law.cells_of_cuts
    shares, variances = np.arange(1, law.points) / law.points, []
    for below, phase in zip(cells.tolist(), phases.tolist(), strict=True):
        laws = [cell_chances(first, point, phase) for point in range(law.points)]
        kept = [(Fraction(1, law.points), sum(chances[:below], Fraction())) for chances in laws]
        if lasting:
            stated = [sum((stay if one == cell else leave for one in range(below)), Fraction()) for cell in range(3)]
            kept = [(sum((one[cell] for one in laws), Fraction()) / law.points, stated[cell]) for cell in range(3)]
        mean, square = (sum((weight * chance**power for weight, chance in kept), Fraction()) for power in (1, 2))
        variances.append((mean * (1 - mean), 2 * (square - mean**2)))
    once, again = np.array(variances, dtype=np.float64).T / law.gap**2
    pooling = law.pooling(cells.astype(np.float64), 3.0)
    for width in (1, 3):
        found = once + again * (1 if lasting else width / 3)
        assert pooling.variance(shares, width) == pytest.approx(found)
        assert pooling.effect(shares, np.array(width)) == pytest.approx(found / once)
        assert pooling.opposite().variance(1 - shares[::-1], width)[::-1] == pytest.approx(found)


@each
def test_the_channel_is_the_matrix_of_its_definition(phases: int, steps: int) -> None:
    law, rng = small_law(phases, steps), np.random.default_rng(1)
    slope = np.zeros((law.phases * (law.steps + 1), law.points))
    for point in range(law.points):
        for phase in range(phases):
            cell = (point + phase) // phases
            slope[cell * phases + phases - 1 - phase, point] = law.gap
    curve, cells, points = (rng.random(size) for size in (law.points, len(slope), law.points))
    assert law.spread(curve) == pytest.approx(slope @ curve)
    assert law.gathered(cells) == pytest.approx(slope.T @ cells)
    matrix = slope.T @ np.diag(cells) @ slope + np.diag(points)
    assert matrix @ law.solver(cells, points)(curve) == pytest.approx(curve)
    tally = expected_tally(law, [1])
    assert law.cell_shares(tally) == pytest.approx((law.floor + slope[:, 1]) / phases)
    tally.counts[:] = 0
    tally.reports[0] = tally.counts[0, 0] = 1
    tally.reports[1:] = 0
    assert law.cell_shares(tally).sum() == 1


@pytest.mark.parametrize(
    ("phases", "steps", "p", "q"),
    [
        (0, 1, "3/4", "1/4"),
        (1, 0, "3/4", "1/4"),
        (2, 1, "1/4", "3/4"),
        (2, 2, "3/4", "1/4"),
        (2, 1, "1", "0"),
        (2, 1, "1/2", "1/2"),
    ],
)
def test_dithered_law_of_impossible_numbers_is_refused(phases: int, steps: int, p: str, q: str) -> None:
    with pytest.raises(ParameterError):
        Dithered(phases, steps, Fraction(p), Fraction(q))


GAP, BASE = 0.5, 0.25


def alone(base: np.ndarray) -> Pooling:
    """The law of reports of different people."""
    return Pooling(base, GAP, np.zeros(len(base)), 1.0, 1.0, None)


def test_pooled_bounds_cover_as_often_as_stated() -> None:
    """Two cuts of one step in two phases: all counts that there can be, over populations of all shares."""
    trials = np.array([12, 9])
    counts = np.array([(one, other) for one in range(13) for other in range(10)])
    found = [pooled_bounds(seen, trials, alone(np.full(2, BASE)), (1, 2), 0.2) for seen in counts]
    low, high = (np.array([ends[side] for ends in found]) for side in (0, 1))
    missed = []
    for first in np.linspace(0, 1, 21):
        for second in np.linspace(first, 1, 11):
            shares = np.array([first, second])
            chance = np.prod(stats.binom.pmf(counts, trials, BASE + GAP * shares), axis=1)
            missed += [chance @ (low > shares + 1e-12), chance @ (high < shares - 1e-12)]
    assert np.max(missed) <= 0.1 + 1e-12
    assert np.max(missed) > 0.03  # the bounds are not trivial


@pytest.mark.parametrize("repeats", [1.0, 5.0])
def test_pooled_bound_is_that_of_the_tightest_window(repeats: float) -> None:
    rng = np.random.default_rng(2)
    trials = rng.integers(50, 400, 40)
    base = np.repeat([BASE / 2, BASE], 20)
    shares = np.sort(rng.beta(0.5, 0.5, 40))
    seen = rng.binomial(trials, base + GAP * shares)
    low, high = pooled_bounds(seen, trials, alone(base)._replace(repeats=repeats, each=1 / 32), WIDTHS, 0.05)
    assert high == pytest.approx([tightest(seen, trials, base, cut, repeats) for cut in range(40)], abs=0.003)
    opposite = 1 - GAP - base[::-1]
    failed = (trials - seen)[::-1]
    from_above = [1 - tightest(failed, trials[::-1], opposite, cut, repeats) for cut in range(40)]
    assert low == pytest.approx(from_above[::-1], abs=0.003)
    everyone = [pooled_bounds(all_ * trials, trials, alone(base), WIDTHS, 0.05) for all_ in (0, 1)]
    assert [(low.max(), high.max()) for low, high in everyone] == [(0, pytest.approx(0, abs=0.1)), (1, 1)]


def tightest(seen: np.ndarray, asked: np.ndarray, base: np.ndarray, cut: int, repeats: float) -> float:
    """Return the least bound of windows, each of reports over their effect: the larger of two, as is stated."""
    bounds = []
    for width in WIDTHS:
        window = slice(cut, cut + width)
        trials, successes = float(asked[window].sum()), float(seen[window].sum())
        law = alone(np.array([(asked * base)[window].sum() / trials]))._replace(repeats=repeats, each=1 / 32)
        bound, effect = (successes / trials - law.base) / GAP, np.ones(1)
        for _ in range(2):
            effect = np.maximum(effect, law.effect(bound, np.array([width])))
            exact = upper_bounds(successes / effect, trials / effect, poisson_binomial_level(0.025 / len(WIDTHS)))
            bound = (exact - law.base) / GAP
        bounds.append(bound.item())
    return min(max(min(bounds), 0.0), 1.0)


def test_narrow_windows_wait_for_enough_reports_and_wide_ones_for_enough_phases() -> None:
    assert widths_of(100_000, 64) == [4, 8, 16]
    assert widths_of(400_000, 64) == [2, 4, 8, 16]
    assert widths_of(640_000, 64) == [1, 2, 4, 8, 16]
    assert [widths_of(reports, 2) for reports in (0, 9_999, 10_000, 20_000)] == [[2], [2], [2], [1, 2]]
    assert [widths_of(0, phases) for phases in (1, 3, 5)] == [[1], [2], [4]]
    # with one phase the bound is that of its one cut, whatever the next cuts say
    ends = [
        pooled_bounds(np.array([50, seen]), np.array([100, 100]), alone(np.full(2, BASE)), [1], 0.05)
        for seen in (50, 100)
    ]
    bound = upper_bounds(np.array([50.0]), np.array([100.0]), poisson_binomial_level(0.025)).item()
    assert ends[0][1][0] == ends[1][1][0] == pytest.approx((bound - BASE) / GAP)


def test_bounds_of_cuts_without_reports_are_trivial_or_follow_from_their_neighbours() -> None:
    law, none = alone(np.full(2, BASE)), np.zeros(2, dtype=np.int64)
    low, high = pooled_bounds(none, none, law, (1, 2), 0.05)
    assert (low == 0).all()
    assert (high == 1).all()
    low, high = pooled_bounds(np.array([0, 3000]), np.array([0, 4000]), law, (1, 2), 0.05)
    assert (low[0], high[1]) == (0, 1)
    assert low[1] > 0.9
    sure = law._replace(base=np.full(2, 0.001), gap=0.998)
    assert pooled_bounds(np.array([0, 3920]), np.array([0, 4000]), sure, (1, 2), 0.05)[1][0] < 0.99


def test_bounds_of_people_who_report_again_are_those_of_fewer_reports() -> None:
    trials, seen = np.full(4, 3000), np.array([900, 1000, 1100, 1200])
    law = alone(np.full(4, BASE))
    once, again = (pooled_bounds(seen, trials, one, (1, 2, 4), 0.05) for one in (law, law._replace(repeats=10.0)))
    assert (again[0] < once[0]).all()
    assert (again[1] > once[1]).all()
    low, high = pooled_bounds(0 * seen, 0 * trials, law._replace(repeats=10.0), (1, 2, 4), 0.05)
    assert (low == 0).all()
    assert (high == 1).all()


@pytest.mark.parametrize("alpha", [0.25, 0.005, 1e-10])
@pytest.mark.parametrize("trials", [1, 2, 300, 10**9])
def test_pooled_bound_is_where_so_few_successes_have_the_stated_chance(trials: int, alpha: float) -> None:
    successes = np.unique([0, trials // 3, trials - 1 - trials // 50]).astype(np.float64)
    bound = upper_bounds(successes, np.full(len(successes), float(trials)), alpha)
    chance = special.betainc(trials - successes, successes + 1, 1 - bound)  # P[Bin(trials, bound) <= successes]
    assert chance == pytest.approx(alpha, rel=1e-4)
    assert upper_bounds(np.array([float(trials)]), np.array([float(trials)]), alpha).item() == 1
    assert upper_bounds(np.zeros(1), np.zeros(1), alpha).item() == 1


def test_approximate_bound_is_within_5_percent_of_the_exact_one() -> None:
    trials = np.array([1.0, 40.0, 1000.0, 1e6])
    successes = np.floor(trials * 0.3)
    exact = upper_bounds(successes, trials, 0.005)
    assert approximate_upper_bounds(successes, trials, 0.005) - successes / trials == pytest.approx(
        exact - successes / trials, rel=0.05
    )
    assert np.isfinite(approximate_upper_bounds(np.zeros(1), np.zeros(1), 0.005)).all()


def test_bounds_of_unequal_chances_miss_no_oftener_than_stated() -> None:
    """Two trials of chances 1 and 0.98 have a failure oftener than two of 0.99 each."""
    alpha = 1 - 0.99**2 + 5e-5
    one_failure = np.array([1.0]), np.array([2.0])
    assert upper_bounds(*one_failure, alpha).item() < 0.99  # a miss, of chance 0.02
    assert alpha < 0.02
    assert upper_bounds(*one_failure, poisson_binomial_level(alpha)).item() >= 0.99
    chances = np.concatenate([np.linspace(0.5, 1, 30), np.full(10, 0.97)])
    law = np.ones(1)
    for chance in chances:
        law = np.convolve(law, [1 - chance, chance])
    for alpha in (0.25, 0.05, 0.005):
        bounds = upper_bounds(np.arange(41.0), np.full(41, 40.0), poisson_binomial_level(alpha))
        assert law[bounds < chances.mean()].sum() <= alpha
    assert poisson_binomial_level(1e-12) == pytest.approx(1e-12, rel=1e-9)
