"""The test for a change that stays valid however often one looks: false alarms, power, and its numbers."""

import math
from datetime import date, timedelta

import numpy as np
import pytest
from scipy import stats

from benchmarks.watched import SERIES, Setting, alarms
from dither_server.analysis.sequential import Look, evidence, watched
from dither_server.analysis.spread import Spread, spread_of
from dither_server.estimation.intervals.score import noise_law, third_moment
from dither_shared import RandomizedResponse

DAY = date(2026, 11, 20)


def look(share: float, variance: float, reports: int = 1_000, ago: int = 0) -> Look:
    return Look(DAY - timedelta(days=ago), reports, np.array([share]), Spread(np.array([variance])))


@pytest.mark.parametrize(
    "setting",
    [
        Setting(1, 0.3, 0.3, 2_000, distinct=True),
        Setting(4, 0.01, 0.01, 2_000, distinct=True),
        Setting(4, 0.3, 0.3, 2_000, crowds=1),
        Setting(4, 0.3, 0.3, 2_000, crowds=10),
    ],
)
def test_at_most_five_percent_of_series_without_a_change_ever_alarm(setting: Setting) -> None:
    """Of 1,000 series with 200 looks, at most 50 by Ville's inequality; more than 85 once in 10^6 at exactly 5%."""
    assert np.isfinite(alarms(setting)).sum() <= 50
    assert SERIES == 1_000


def test_change_of_five_points_is_detected_within_a_week() -> None:
    stopped = alarms(Setting(1, 0.3, 0.35, 2_000, distinct=True), series=300)
    assert np.isfinite(stopped).all()
    assert np.median(stopped) <= 6
    repeated = alarms(Setting(1, 0.3, 0.35, 2_000), series=300)  # as if the same people reported every day
    assert np.isfinite(repeated).mean() > 0.75


def test_the_evidence_is_a_likelihood_ratio_whose_mean_without_a_change_is_one() -> None:
    variance, change = 0.0004, 0.05
    z = np.linspace(-12, 12, 20_001)
    weights = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) * (z[1] - z[0])
    after = Look(DAY, 1_000, z * np.sqrt(2 * variance), Spread(np.full(len(z), variance)))
    before = Look(DAY, 1_000, np.zeros(len(z)), Spread(np.full(len(z), variance)))
    logarithm, stated = evidence(before, after, change)
    assert stated == pytest.approx(2 * variance)
    assert float(weights @ np.exp(logarithm)) == pytest.approx(1, abs=1e-6)


def test_the_evidence_has_the_variance_and_skewness_of_the_difference_at_the_pooled_share() -> None:
    mechanism, change = RandomizedResponse.calibrate(3, 4.0), 0.05
    law, sizes = noise_law(mechanism).sampled(), np.array([300, 1_000])
    before, after = (
        Look(DAY, n, at, spread_of(mechanism, at, law.error(at, np.array([n])), n, 1.0))
        for n, at in ((300, np.array([0.02])), (1_000, np.array([0.05])))
    )
    logarithm, stated = evidence(before, after, change)
    pooled = np.array([sizes @ [0.02, 0.05] / 1_300])
    variance = float(law.variance(pooled)[0] * (1 / 300 + 1 / 1_000))
    less, more = (third_moment(mechanism, pooled, np.array([n]), sampled=True)[0] for n in sizes)
    tail = stats.pearson3((more - less) / variance**1.5)
    score = stats.norm.isf(min(tail.sf(0.03 / variance**0.5), tail.cdf(0.03 / variance**0.5)))
    ratio = change**2 / (variance + change**2)
    assert stated == pytest.approx(variance)
    assert logarithm == pytest.approx((np.log(1 - ratio) + score**2 * ratio) / 2)
    beyond, _ = evidence(look(0.1, 1e-9), look(0.9, 1e-9), change)
    assert beyond > 1e6, "of a difference whose tail is below all floats"


def test_estimates_below_zero_have_the_variance_of_a_share_of_zero() -> None:
    """Their own would be negative for few people who repeat, and any difference a change."""
    few = Spread(np.array([1e-6]), 0.0, 0.05)
    before, after = (Look(DAY, 1_000, np.array([share]), few) for share in (-0.01, -0.02))
    assert evidence(before, after, 0.05)[1] == pytest.approx(2e-6)


def test_the_p_value_never_rises_and_the_first_day_is_kept() -> None:
    reference = look(0.3, 1e-5, ago=9)
    shares = (0.3, 0.42, 0.3)
    rows = [
        watched(["dark"], reference, [look(s, 1e-5, ago=3 - n) for n, s in enumerate(shares[:days])], 0.95, 0.05).rows()
        for days in (1, 2, 3)
    ]
    first, second, third = (row for (row,) in rows)
    assert (first["changed"], second["changed"], third["changed"]) == (False, True, True)
    assert first["p_value"] > second["p_value"] == third["p_value"]
    assert second["first_seen"] == third["first_seen"] == "2026-11-18"
    assert third["low"] < 0 < third["high"]  # the interval is that of today
    assert (third["now"], third["difference"]) == (0.3, 0)
    variance = 2e-5  # at both ends the evidence is just that of a change
    ratio = 0.05**2 / (variance + 0.05**2)
    logarithm = (math.log(1 - ratio) + third["high"] ** 2 / variance * ratio) / 2
    assert logarithm == pytest.approx(math.log(20))


def test_several_values_are_tested_together_and_two_that_sum_to_one_are_one_test() -> None:
    reference, after = look(0.3, 1e-4), look(0.33, 1e-4)
    (alone,) = watched(["dark"], reference, [after], 0.95, 0.05).rows()
    pair = reference._replace(frequency=np.full(2, 0.3)), after._replace(frequency=np.full(2, 0.33))
    several = watched(["dark", "light"], pair[0], [pair[1]], 0.95, 0.05).rows()
    truths = watched(["false", "true"], pair[0], [pair[1]], 0.95, 0.05).rows()
    assert several[0]["p_value"] == pytest.approx(min(1, 2 * alone["p_value"]))
    assert truths[0]["p_value"] == pytest.approx(alone["p_value"])
    assert several[0]["high"] - several[0]["low"] > alone["high"] - alone["low"]
    assert watched(["dark", "light"], pair[0], [pair[0]], 0.95, 0.05).rows()[0]["p_value"] == 1


def test_day_with_too_few_reports_is_not_tested() -> None:
    nothing = {"changed": False, "first_seen": None, "p_value": None, "now": None, "difference": None}
    for reference, after in ((look(0.3, 1e-6, 49), look(0.9, 1e-6)), (look(0.3, 1e-6), look(0.9, 1e-6, 49))):
        table = watched(["dark"], reference, [after], 0.95, 0.05)
        assert table.about["looks"] == 0
        assert nothing.items() <= table.rows()[0].items()
    assert watched(["dark"], look(0.3, 1e-6, 50), [look(0.9, 1e-6, 50)], 0.95, 0.05).about["looks"] == 1
    unknown = watched(["dark"], look(float("nan"), float("nan")), [look(0.9, 1e-6)], 0.95, 0.05).rows()[0]
    assert unknown["changed"] is False
