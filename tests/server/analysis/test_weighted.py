"""Weighted estimates: the bias that they remove, their intervals, and the design effect of repeated reports."""

import numpy as np
import pytest

from benchmarks.weighted import BOOLEAN, CHOICE, NUMBER, law_of_answers, numbers, setting_of, shares, survey
from dither_server.analysis.weighted import weighted_shares
from dither_server.estimation.estimate import debiased
from dither_server.tally.repeats import Repeats, weighted_effect
from dither_shared import ParameterError, parse_metrics

SURVEYS = 600
"""Of 600 surveys with 95% intervals the coverage is below 90% less often than once in 10^6."""


@pytest.mark.parametrize("raked", [False, True])
@pytest.mark.parametrize("epsilon", [1, 4])
def test_a_bias_of_eight_points_is_removed_and_intervals_hold(raked: bool, epsilon: int) -> None:
    found = shares(setting_of(BOOLEAN.format(epsilon), raked=raked), 20_000, SURVEYS, 7)
    assert found.raw > 0.075
    assert abs(found.weighted) < 5 * found.error
    assert found.coverage > 0.9


def test_a_mean_is_weighted_and_its_interval_holds() -> None:
    found = numbers(setting_of(NUMBER.format(2), raked=True), 20_000, 150, 7, "mean")
    assert found.raw > 0.05
    assert abs(found.weighted) < 5 * found.error
    assert found.coverage > 0.85  # of 150, once in 10^6


def test_the_interval_of_a_weighted_median_holds() -> None:
    found = numbers(setting_of(NUMBER.format(4), raked=False), 20_000, 100, 7, "median")
    assert found.raw > 0.05
    assert found.coverage > 0.84


def test_intervals_hold_if_the_same_people_report_every_day() -> None:
    found = shares(setting_of(BOOLEAN.format(4), raked=False), 30_000, 300, 7, periods=10)
    assert abs(found.weighted) < 5 * found.error
    assert found.coverage > 0.88


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


def test_a_regression_on_strings_is_refused() -> None:
    metric = parse_metrics(
        '[metrics.x]\ntype = "string"\nmechanism = "rappor"\nbits = 16\nhashes = 2\ncohorts = 2\nf = 0.5\np = 0.5\n'
        'q = 0.75\ncandidates = ["a", "b"]\n'
    )["x"]
    setting = setting_of(BOOLEAN.format(1), raked=False)
    weighting, _ = survey(setting, law_of_answers(setting, 2), 100, np.random.default_rng(1))
    with pytest.raises(ParameterError, match="weighted: does not apply to rappor"):
        weighted_shares(metric.mechanism, ("a", "b"), weighting, 0.05)


@pytest.mark.parametrize("seed", range(20))
def test_the_effect_of_equal_weights_is_that_of_the_days(seed: int) -> None:
    rng = np.random.default_rng(seed)
    reports = rng.integers(0, 50, (rng.integers(1, 8), rng.integers(1, 5))) + 1
    whole = Repeats(tuple(reports.sum(axis=1).tolist()))
    assert weighted_effect(reports, np.ones(reports.shape[1])) == pytest.approx(whole.effect)
    assert weighted_effect(reports, np.ones(reports.shape[1]), 0.0) == 1


@pytest.mark.parametrize("seed", range(20))
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
