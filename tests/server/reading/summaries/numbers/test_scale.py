"""From parts of the range and points of the grid to numbers in a unit."""

import dataclasses
import math

import pytest

from dither_server.estimation.numeric.mean import Mean
from dither_server.estimation.numeric.quantiles import Quantile
from dither_server.reading.summaries.numbers.scale import Scale, repeat_error
from dither_shared import ParameterError

from .surveys import LINEAR, LOG, metric

MEAN = Mean(100, 0.95, 0.5, 0.03, 0.4, 0.6, 0.05, 0.38, 0.62, 0.0016)


@pytest.mark.parametrize("one", [LINEAR, LOG])
def test_places_and_numbers_are_inverse(one: object) -> None:
    scale = Scale.of(one)  # type: ignore[arg-type]
    for place in (0, 1, 0.25 * scale.last, scale.last - 1, scale.last):
        assert scale.place(scale.at(place)) == pytest.approx(place, abs=1e-9)
    assert (scale.at(0), scale.at(scale.last)) == pytest.approx((scale.low, scale.high))
    assert (scale.place(scale.low), scale.place(scale.high)) == (0, scale.last)


def test_a_log_scale_is_even_in_ratios() -> None:
    scale = Scale.of(LOG)
    assert scale.value(0.5) == pytest.approx(math.sqrt(0.05 * 60))
    assert scale.coordinate(0.25) == pytest.approx(math.log(scale.value(0.25)))
    assert scale.width == pytest.approx(math.log(1200))
    assert scale.error(0.01, 0.5) == pytest.approx(scale.value(0.505) - scale.value(0.495), rel=1e-3)


@pytest.mark.parametrize("at", [-1e-9, 10.000001, math.nan, math.inf, -math.inf])
def test_a_point_beyond_the_range_is_refused(at: float) -> None:
    with pytest.raises(ParameterError, match="not within the range, from 0 to 10") as caught:
        Scale.of(LINEAR).place(at)
    assert caught.value.place == "at"


def test_points_are_laid_evenly_and_are_fewer_on_a_coarse_grid() -> None:
    assert Scale.of(LINEAR).evenly(4) == pytest.approx([2.5, 5, 7.5])
    assert Scale.of(LINEAR).evenly(32)[0] == pytest.approx(10 / 32)
    coarse = metric("low = 0\nhigh = 1\nepsilon = 1.0\nsteps = 1\nresolution = 1")
    assert Scale.of(coarse).evenly(32) == []
    assert Scale.of(metric("low = 0\nhigh = 3\nepsilon = 1.0\nsteps = 3\nresolution = 1")).evenly(32) == [1, 2]


def test_a_mean_far_beyond_the_range_is_no_error() -> None:
    """Few reports at a small epsilon: on a log scale it may be more than any double."""
    scale = Scale.of(metric("low = 1e-300\nhigh = 1e300\nlog = true\nepsilon = 1.0"))
    assert scale.value(2) == math.inf
    assert scale.value(-2) == 0
    assert math.isnan(scale.value(math.nan))
    told = scale.mean(dataclasses.replace(MEAN, estimate=3.0), memoised=False, periods=1)
    assert (told["value"], told["standard_error"]) == (None, None)
    assert told["low"] == pytest.approx(scale.value(0.38))


def test_the_error_if_the_same_people_report_again() -> None:
    assert repeat_error(MEAN, False, 1) == repeat_error(MEAN, True, 1) == MEAN.standard_error
    assert repeat_error(MEAN, False, 10) == pytest.approx(math.sqrt(0.0025 + 9 * 0.0016))
    assert repeat_error(MEAN, True, 10) == pytest.approx(math.sqrt(10 * 0.0025))
    told = Scale.of(LINEAR).mean(MEAN, memoised=True, periods=10)
    assert told["repeat_error"] == pytest.approx(10 * math.sqrt(10) * 0.05)
    assert told["standard_error"] == pytest.approx(0.5)


@pytest.mark.parametrize(("width", "verdict"), [(0.49, "ok"), (0.5, "too-few")])
def test_a_mean_known_to_half_of_the_range_says_nothing(width: float, verdict: str) -> None:
    mean = dataclasses.replace(MEAN, low=0.25, high=0.25 + width)
    assert Scale.of(LINEAR).mean(mean, memoised=False, periods=1)["verdict"] == verdict


def test_answers_of_the_end_points_of_a_quantile_belong_to_its_interval() -> None:
    scale = Scale.of(LINEAR)  # 128 steps
    told = scale.quantile(Quantile(0.5, 64, 60, 70, "ok"), 10)
    assert (told["value"], told["low"], told["high"]) == pytest.approx((5, 59.5 / 12.8, 70.5 / 12.8))
    ends = scale.quantile(Quantile(0.5, 64, 0, 128, "too-few"), 10)
    assert (ends["low"], ends["high"]) == (0, 10)
    assert scale.quantile(Quantile(0.5, 64, 0, 128, "too-few"), 0)["value"] is None
