"""Weighted estimates: the bias that they remove, their intervals, and the design effect of repeated reports."""

import numpy as np
import pytest

from benchmarks.weighted import BOOLEAN, CHOICE, NUMBER, law_of_answers, numbers, setting_of, shares, survey
from dither_server.analysis.weighted import weighted_number, weighted_shares
from dither_server.estimation.estimate import debiased
from dither_server.estimation.numeric.tabulated import law_of
from dither_server.tally.repeats import Repeats, weighted_effect
from dither_shared import ParameterError, parse_metrics


@pytest.mark.parametrize(
    ("epsilon", "raked", "reports", "periods"), [(1, False, 20_000, 1), (4, True, 20_000, 1), (4, False, 30_000, 10)]
)
def test_a_bias_of_eight_points_is_removed_and_intervals_hold(
    epsilon: int, raked: bool, reports: int, periods: int
) -> None:
    """Of 300 surveys with 95% intervals the coverage is below 87.5% less often than once in 10^6."""
    found = shares(setting_of(BOOLEAN.format(epsilon), raked=raked), reports, 300, 7, periods)
    assert found.raw > 0.075
    assert abs(found.weighted) < 5 * found.error
    assert found.coverage > 0.875


@pytest.mark.parametrize(("statistic", "epsilon", "raked"), [("mean", 2, True), ("median", 4, False)])
def test_a_number_is_weighted_and_its_interval_holds(statistic: str, epsilon: int, raked: bool) -> None:
    """Of 100 surveys, fewer than 82 of 95% hold once in 10^6; the median is a point of the grid, and so not centred."""
    setting = setting_of(NUMBER.format(f"{epsilon}\nresolution = 8"), raked=raked)
    found = numbers(setting, 20_000, 100, 7, statistic)
    assert found.raw > 0.05
    assert statistic == "median" or abs(found.weighted) < 5 * found.error
    assert found.coverage >= 0.82


def test_equal_weights_give_the_raw_estimate_and_nearly_its_error() -> None:
    setting = setting_of(CHOICE.format(2), raked=False)
    even = setting._replace(opt_in=np.where(setting.people > 0, 1.0, 0.0))
    labels, mechanism = setting.metric.labels, setting.metric.mechanism
    weighting, whole = survey(even, law_of_answers(setting, len(labels)), 10_000, np.random.default_rng(1))
    found = weighted_shares(mechanism, labels, weighting, 0.05)
    raw = debiased(mechanism, labels, whole).frequency
    assert weighting.effect == pytest.approx(1, abs=2e-3)
    assert np.abs(found["weighted"] - raw).max() < 0.005
    assert (found["weighted_low"] <= np.clip(raw, 0, 1)).all()
    assert (found["weighted_high"] >= np.clip(raw, 0, 1)).all()


def test_equal_weights_give_the_raw_shares_below_points_and_nearly_their_errors() -> None:
    setting = setting_of(NUMBER.format("4\nresolution = 8"), raked=False)
    even, law = setting._replace(opt_in=np.where(setting.people > 0, 1.0, 0.0)), law_of(setting.metric.mechanism)
    answers = np.full((len(setting.people), law.points), 1 / law.points)
    weighting, whole = survey(even, answers, 10_000, np.random.default_rng(1))
    found, raw = weighted_number(law, weighting, 0.95).cuts, law.cuts(whole, 0.95)
    assert np.abs(found.frequency - raw.frequency).max() < 0.01
    for weighted, column in ((found.standard_error, raw.standard_error), (found.noise_error, raw.noise_error)):
        assert weighted == pytest.approx(column, rel=0.05)


def test_a_regression_on_strings_is_refused() -> None:
    metric = parse_metrics(
        '[metrics.x]\ntype = "string"\nmechanism = "rappor"\nbits = 16\nhashes = 2\ncohorts = 2\nf = 0.5\np = 0.5\n'
        'q = 0.75\ncandidates = ["a", "b"]\n'
    )["x"]
    setting = setting_of(BOOLEAN.format(1), raked=False)
    weighting, _ = survey(setting, law_of_answers(setting, 2), 100, np.random.default_rng(1))
    with pytest.raises(ParameterError, match="weighted: does not apply to rappor"):
        weighted_shares(metric.mechanism, ("a", "b"), weighting, 0.05)


def test_the_effect_of_equal_weights_is_that_of_the_days() -> None:
    rng = np.random.default_rng(0)
    for periods, strata in ((1, 1), (1, 4), (7, 1), (7, 4)):
        reports = rng.integers(0, 50, (periods, strata)) + 1
        whole = Repeats(tuple(reports.sum(axis=1).tolist()))
        assert weighted_effect(reports, np.ones(strata)) == pytest.approx(whole.effect)
        assert weighted_effect(reports, np.ones(strata), 0.0) == 1


@pytest.mark.parametrize("seed", range(5))
def test_no_matching_of_reports_to_devices_has_a_larger_effect(seed: int) -> None:
    """A device has at most one report a period. Any order of them is a matching; sorted ones reach the bound."""
    rng = np.random.default_rng(seed)
    reports, weights = rng.integers(0, 6, (4, 3)) + 1, rng.uniform(0.1, 3, 3)
    days = [np.repeat(weights, row) for row in reports]
    longest = max(map(len, days))
    own = sum(float((day**2).sum()) for day in days)

    def effect(orders: list[np.ndarray]) -> float:
        ranked = [np.pad(day[order], (0, longest - len(day))) for day, order in zip(days, orders, strict=True)]
        return float((np.sum(ranked, axis=0) ** 2).sum()) / own

    bound = weighted_effect(reports, weights)
    assert effect([np.argsort(-day) for day in days]) == pytest.approx(bound)
    for _ in range(50):
        assert effect([rng.permutation(len(day)) for day in days]) <= bound + 1e-9
