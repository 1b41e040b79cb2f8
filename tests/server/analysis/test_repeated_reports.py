"""Errors where the same people report again, against surveys of people who do."""

from datetime import date
from fractions import Fraction

import numpy as np
import pytest

from dither_server.analysis.answers import answer
from dither_server.analysis.repeated_reports import periods_of
from dither_server.tally.tally import Tally
from dither_shared import Metric, RandomizedResponse, parse_metrics
from dither_shared.mechanisms.randomized_response import symbol_chain

PEOPLE, PERIODS, SURVEYS, SHARE = 2_000, 8, 2_000, 0.3


def metric_of(more: str = "", period: str = "day") -> Metric:
    return parse_metrics(f'[metrics.x]\ntype = "boolean"\nepsilon = 1.0\nperiod = "{period}"\n{more}\n')["x"]


def repeated_surveys(metric: Metric, rng: np.random.Generator) -> np.ndarray:
    """Yes-reports of surveys whose people are sampled once, keep their answer, and report in every period."""
    mechanism = metric.mechanism
    assert isinstance(mechanism, RandomizedResponse)
    yes = rng.binomial(PEOPLE, SHARE, SURVEYS)
    last = symbol_chain(2, mechanism.truth, mechanism.permanent_truth).instant.truth
    if mechanism.permanent_truth is not None:  # what they will say for ever
        first = float(mechanism.permanent_truth)
        yes = rng.binomial(yes, first) + rng.binomial(PEOPLE - yes, 1 - first)
    truth = float(Fraction(last))
    return rng.binomial(PERIODS * yes, truth) + rng.binomial(PERIODS * (PEOPLE - yes), 1 - truth)


@pytest.mark.parametrize("permanent", ["", "permanent_epsilon = 2.0"])
def test_the_repeat_error_bounds_that_of_people_who_report_every_day(permanent: str) -> None:
    """The mean squared error of 2,000 surveys is within 16% with probability 1 - 1e-6 (its error is 3.2%)."""
    metric = metric_of(permanent)
    reports = PEOPLE * PERIODS
    yes = repeated_surveys(metric, np.random.default_rng(20261120))
    p, q = float(metric.mechanism.p), float(metric.mechanism.q)
    square = float(np.mean(((yes / reports - q) / (p - q) - SHARE) ** 2))
    middle = int(np.median(yes))
    days = (date(2026, 11, 1), date(2026, 11, PERIODS))
    row = answer(metric, Tally(np.array([reports]), np.array([[reports - middle, middle]])), days)["values"][1]
    repeated, alone = row["repeat_error"], row["standard_error"]
    assert repeated is not None
    assert alone is not None
    assert square > 1.16 * alone**2  # that of different people would be too small
    assert square < 1.16 * repeated**2
    if not permanent:  # here the worst case is the case
        assert square == pytest.approx(repeated**2, rel=0.16)


def test_days_are_counted_in_periods_of_the_metric() -> None:
    wednesday, monday = date(2026, 11, 11), date(2026, 11, 23)
    assert periods_of(metric_of(), wednesday, monday) == 13
    assert periods_of(metric_of(period="week"), wednesday, monday) == 3
    monday_before, sunday = date(2026, 11, 16), date(2026, 11, 22)
    assert periods_of(metric_of(period="week"), monday_before, sunday) == 1
    assert periods_of(metric_of(period="week"), sunday, monday) == 2
    assert periods_of(metric_of(period="once"), wednesday, monday) == 1
    assert periods_of(metric_of(), None, None) == 1
    assert periods_of(metric_of(), monday, monday) == 1


def test_repeat_error_of_one_period_is_the_standard_error() -> None:
    day = date(2026, 11, 1)
    told = answer(metric_of("permanent_epsilon = 2.0"), Tally(np.array([900]), np.array([[500, 400]])), (day, day))
    assert told["periods"] == 1
    assert [row["repeat_error"] for row in told["values"]] == [row["standard_error"] for row in told["values"]]
