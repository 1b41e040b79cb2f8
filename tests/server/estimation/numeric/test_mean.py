"""The mean: its errors, at the smallest sizes and the largest, and means combined."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from benchmarks.numeric_coverage import dithered
from dither_server.estimation.intervals.score import Law, score_interval
from dither_server.estimation.numeric.dithered import Dithered
from dither_server.estimation.numeric.mean import Mean, combined, each_side, mean_of, quantile_difference, student
from dither_server.tally.repeats import Repeats
from dither_server.tally.tally import Tally

from .small_laws import expected_tally, small_law


def test_mean_is_the_average_score_with_its_sample_error() -> None:
    law = small_law(2, 2)
    tally = expected_tally(law, [0, 3])
    mean = mean_of(law, tally)
    scores = np.repeat(law.score_table.ravel(), tally.counts.ravel())
    assert mean.estimate == pytest.approx(3 / 8)
    n, most = len(scores), law.worst_variance + 1 / 4
    assert mean.standard_error == pytest.approx(math.sqrt((n * scores.var() + most) / n / n))
    rounding = 1 / (4 * (law.points - 1) ** 2)
    assert mean.shared == pytest.approx(mean.standard_error**2 - mean.noise_error**2 + rounding / n)
    assert mean.noise_error == pytest.approx(math.sqrt((law.noise_variance(tally) + rounding) / n))
    many = mean_of(law, Tally(50 * tally.reports, 50 * tally.counts))
    margin, wider = 1.959964 * many.noise_error, stats.t.ppf(0.975, many.reports - 1) * many.standard_error
    assert (many.noise_low, many.noise_high) == pytest.approx((many.estimate - margin, many.estimate + margin))
    assert (many.low, many.high) == pytest.approx((many.estimate - wider, many.estimate + wider))


def test_mean_of_people_who_report_again_adds_what_their_reports_share() -> None:
    """D = 3: of two reports of a device the answer is the same, and the permanent cell."""
    kept = Dithered(2, 2, Fraction(4, 5), Fraction(1, 10))
    law, tally = replace(small_law(2, 2), permanent=kept), expected_tally(small_law(2, 2), [0, 3] * 50)
    once, thrice = (mean_of(law, replace(tally, repeats=repeats)) for repeats in (Repeats(), Repeats((1, 1, 1))))
    n, permanent = tally.total, law.permanent_variance(tally)
    assert permanent == pytest.approx(kept.variance(3 / 4))  # three in four are in a cell at an end
    shared = once.standard_error**2 - law.noise_variance(tally) / n + permanent / n
    assert once.noise_error**2 == pytest.approx((law.noise_variance(tally) + 1 / 64) / n)
    assert (once.shared, thrice.shared) == pytest.approx((shared, 3 * shared))
    assert thrice.standard_error**2 == pytest.approx(once.standard_error**2 + 2 * shared)
    assert thrice.noise_error**2 == pytest.approx(once.noise_error**2 + 2 * permanent / n)
    wider = stats.t.ppf(0.975, n / 3 - 1) * thrice.standard_error
    assert (thrice.low, thrice.high) == pytest.approx((thrice.estimate - wider, thrice.estimate + wider))


@pytest.mark.parametrize("repeats", [Repeats(), Repeats((1, 1, 1))])
def test_mean_of_few_reports_that_agree_has_the_interval_of_answers_at_the_ends(repeats: Repeats) -> None:
    kept = Dithered(1, 2, Fraction(4, 5), Fraction(1, 10))
    law, again = replace(small_law(1, 2), permanent=kept), repeats.effect - 1
    widest = Law(law.worst_variance + again * kept.variance(0.0), 0.0, 1 + again)
    enough, means = math.ceil(10 * repeats.effect / law.worst_variance), []
    for reports in (enough - 1, enough):
        mean = mean_of(law, Tally(np.array([reports]), np.array([[0, reports, 0]]), repeats))
        assert mean.few == math.isnan(mean.noise_high) == (reports < enough)
        low, high = score_interval(widest, np.array([0.5]), np.array([reports]), 0.05)
        assert ((mean.low, mean.high) == pytest.approx((low.item(), high.item()))) == mean.few
        means.append(mean)
    few, many = means
    both, reports = combined([few, few]), 2 * few.reports
    low, high = score_interval(widest, np.array([0.5]), np.array([reports]), 0.05)
    assert (both.low, both.high) == pytest.approx((low.item(), high.item()))
    assert both.few
    assert not combined([few, many]).few


def test_errors_estimated_from_one_person_are_taken_as_from_two() -> None:
    assert student(0.95, np.array([1, 2, 9])) == pytest.approx(stats.t.ppf(0.975, [1, 1, 8]) / stats.norm.ppf(0.975))


@pytest.mark.parametrize(("epsilon", "reports"), [(1.0, 10), (2.0, 10), (4.0, 30), (4.0, 300), (6.0, 10), (6.0, 100)])
@pytest.mark.parametrize("at_high", [0.0, 0.1, 0.5])
def test_intervals_of_means_of_few_reports_cover_as_often_as_stated(
    epsilon: float, reports: int, at_high: float
) -> None:
    """All answers are at the ends, or few are. Of 400 surveys; a true interval of 94% fails 5e-7 of the time."""
    law = dithered(epsilon, 8)
    means = means_of_surveys(law, reports, at_high, 400)
    assert stats.binom.cdf(sum(mean.low <= at_high <= mean.high for mean in means), 400, 0.94) > 5e-7
    assert all(mean.few for mean in means) == (law.worst_variance * reports < 10)


def test_combined_intervals_of_ten_versions_of_few_reports_cover_as_often_as_stated() -> None:
    """With weights by separately estimated variances 70 of 100 hold; a true 94% fails 5e-7 of the time."""
    means = means_of_surveys(dithered(4.0, 8), 10, 0.1, 1000)
    both = [combined(means[at : at + 10]) for at in range(0, 1000, 10)]
    assert stats.binom.cdf(sum(mean.low <= 0.1 <= mean.high for mean in both), 100, 0.94) > 5e-7


def means_of_surveys(law: Dithered, reports: int, at_high: float, surveys: int) -> list[Mean]:
    """Return the means of surveys in which a share of the answers is at the high end and the rest at the low one."""
    shares = np.zeros(law.points)
    shares[[0, -1]] = 1 - at_high, at_high
    cells = ((law.floor + law.spread(shares)) / law.phases).reshape(law.steps + 1, law.phases).T[::-1]
    drawn = np.random.default_rng(31).multinomial(reports, cells.ravel() / cells.sum(), size=surveys)
    tallies = (Tally(counts.sum(axis=1), counts) for counts in drawn.reshape(surveys, *cells.shape))
    return [mean_of(law, tally) for tally in tallies]


def test_mean_of_no_report_or_one_has_a_wide_interval() -> None:
    law = small_law(3, 2)
    none = mean_of(law, Tally(np.zeros(3, dtype=np.int64), np.zeros((3, 3), dtype=np.int64)))
    assert math.isnan(none.estimate)
    assert (none.low, none.high, none.noise_low, none.noise_high) == (0, 1, 0, 1)
    counts = np.zeros((3, 3), dtype=np.int64)
    counts[1, 0] = 1
    single = mean_of(law, Tally(counts.sum(axis=1), counts))
    assert single.standard_error == pytest.approx(math.sqrt(law.worst_variance + 1 / 4))
    many = mean_of(law, Tally(9 * counts.sum(axis=1), 9 * counts))  # all alike: their sample variance is 0
    assert many.standard_error == many.noise_error > 0


def test_means_are_weighed_by_their_precision() -> None:
    law = small_law(2, 2)
    first, second = mean_of(law, expected_tally(law, [0, 3])), mean_of(law, expected_tally(law, [1, 4] * 8))
    both = combined([first, second])
    assert both.reports == first.reports + second.reports
    weights = np.array([first.reports, second.reports]) / both.reports  # of one law: by the numbers of reports
    assert both.estimate == pytest.approx(weights @ [first.estimate, second.estimate])
    assert both.standard_error == pytest.approx(np.hypot(*(weights * [first.standard_error, second.standard_error])))
    assert both.noise_error == pytest.approx(np.hypot(*(weights * [first.noise_error, second.noise_error])))
    assert both.shared == pytest.approx(weights**2 @ [first.shared, second.shared])
    together = combined([first, second], covariance=np.array([[0, 1e-3], [1e-3, 0]]))
    assert together.standard_error**2 == pytest.approx(both.standard_error**2 + 2 * weights.prod() * 1e-3)
    nothing = mean_of(law, Tally(np.zeros(2, dtype=np.int64), np.zeros((2, 3), dtype=np.int64)))
    assert combined([nothing, first]).estimate == first.estimate
    assert math.isnan(combined([nothing]).estimate)
    assert combined([]).high == 1


@pytest.mark.parametrize(("variance", "answers"), [(0.04, 0.04), (1.0, 0.25)])
def test_means_of_two_laws_are_weighed_as_if_answers_varied_alike_and_as_ends_at_most(
    variance: float, answers: float
) -> None:
    one = mean_of(small_law(2, 2), expected_tally(small_law(2, 2), [0, 3]))
    reports, noise, effect = np.array([10, 40]), np.array([0.5, 2.0]), np.array([1.0, 3.0])
    first, second = (
        replace(one, estimate=place, reports=n, shared=d * variance / n, widest=Law(constant, 0.0, d))
        for place, (n, constant, d) in enumerate(zip(reports.tolist(), noise, effect, strict=True))
    )
    weights = reports / (noise + effect * answers)
    weights /= weights.sum()
    both = combined([first, second])
    assert both.estimate == pytest.approx(weights[1])
    law = (weights**2 @ (noise / reports), weights**2 @ (effect / reports))
    assert (both.widest.constant, both.widest.thinning) == pytest.approx((50 * law[0], 50 * law[1]))


def test_a_difference_of_quantiles_is_what_both_intervals_allow() -> None:
    assert quantile_difference((5, 4, 7), (9, 6, 10)) == (4, None, -1, 6)
    assert each_side(0.95) == pytest.approx(0.975)
    assert each_side(1 - 1e-9) == pytest.approx(1 - 5e-10, abs=1e-14)
