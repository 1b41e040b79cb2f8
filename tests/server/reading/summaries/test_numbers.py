"""The answer about a number: its scale, the API's object, flat rows, the daily row and the terminal."""

import dataclasses
import json
import math
from dataclasses import replace
from datetime import timedelta
from typing import Any

import jsonschema_rs
import numpy as np
import pytest

from dither_server.analysis.columns import names_of
from dither_server.analysis.trend import TrendStep
from dither_server.estimation.intervals.score import Law
from dither_server.estimation.numeric.estimate import Quantile
from dither_server.estimation.numeric.mean import Mean
from dither_server.estimation.numeric.tabulated import law_of
from dither_server.reading.exports import json_object
from dither_server.reading.query import Combination, Comparison, Query, TrendQuery
from dither_server.reading.summaries import SUMMARIES
from dither_server.reading.summaries.number_scale import Scale
from dither_server.reading.summaries.numbers import COLUMNS, Numbers
from dither_server.reading.summaries.shares import Shares
from dither_server.reading.summaries.summary import CollectedReports
from dither_server.reading.summaries.terminal_text import number_text
from dither_server.tally.repeats import Repeats
from dither_server.tally.tally import Tally
from dither_shared import Metric, ParameterError
from dither_shared.counted import counted
from server.collecting import MOBILE, TODAY

from .number_surveys import (
    COARSE,
    HUGE,
    LINEAR,
    LOG,
    PERMANENT,
    TABLE,
    drawn,
    estimated,
    hill,
    metric,
    nothing,
    survey,
)

NUMBERS = Numbers()
MEAN = Mean(100, 0.95, 0.5, 0.03, 0.4, 0.6, 0.05, 0.38, 0.62, 0.0016, Law(0.1, 0.0, 1.0))


def surveyed(number: Metric, reports: int, middle: float = 0.5, seed: int = 2) -> CollectedReports:
    return survey(number, drawn(number, hill(number, middle), reports, np.random.default_rng(seed)))


def answer(of: CollectedReports, query: Query | None = None) -> dict[str, Any]:
    return dict(json.loads(b"".join(json_object(NUMBERS.table(of, query or Query())))))


def test_grid_positions_and_numbers_convert_both_ways() -> None:
    for number in (LINEAR, LOG):
        scale = Scale.of(number)
        for place in (0, 1, 0.25 * scale.last, scale.last - 1, scale.last):
            assert scale.place(scale.at(place)) == pytest.approx(place, abs=1e-9)
        assert (scale.at(0), scale.at(scale.last)) == pytest.approx((scale.low, scale.high))
        assert (scale.place(scale.low), scale.place(scale.high)) == (0, scale.last)


def test_log_scale_is_even_in_ratios() -> None:
    scale = Scale.of(LOG)
    assert scale.value(0.5) == pytest.approx(math.sqrt(0.05 * 60))
    assert scale.coordinate(0.25) == pytest.approx(math.log(scale.value(0.25)))
    assert scale.width == pytest.approx(math.log(1200))
    assert math.isnan(scale.error(0.01)), "an error is a factor there"
    assert Scale.of(LINEAR).error(0.01) == pytest.approx(0.1)


def test_point_beyond_the_range_is_refused() -> None:
    for at in (-1e-9, 10.000001, math.nan, math.inf, -math.inf):
        with pytest.raises(ParameterError, match=r"^at: .*not within the range, from 0 to 10"):
            Scale.of(LINEAR).place(at)


def test_points_of_the_curve_are_even_and_fewer_on_a_coarse_grid() -> None:
    assert Scale.of(LINEAR).evenly(4) == pytest.approx([2.5, 5, 7.5])
    assert Scale.of(LINEAR).evenly(32)[0] == pytest.approx(10 / 32)
    assert Scale.of(COARSE).evenly(32) == []
    assert Scale.of(metric("low = 0\nhigh = 3\nepsilon = 1.0\nsteps = 3\nresolution = 1")).evenly(32) == [1, 2]


def test_mean_beyond_all_doubles_is_null() -> None:
    scale = Scale.of(metric("low = 1e-300\nhigh = 1e300\nlog = true\nepsilon = 1.0"))
    assert (scale.value(2), scale.value(-2)) == (math.inf, 0)
    assert math.isnan(scale.value(math.nan))
    result = scale.mean(dataclasses.replace(MEAN, estimate=3.0))
    assert (result["value"], result["standard_error"]) == (None, None)
    assert result["low"] == pytest.approx(scale.value(0.38))


def test_mean_known_only_to_half_of_the_range_is_too_few() -> None:
    for width, verdict in ((0.49, "ok"), (0.5, "too-few")):
        mean = dataclasses.replace(MEAN, low=0.25, high=0.25 + width)
        assert Scale.of(LINEAR).mean(mean)["verdict"] == verdict


def test_interval_of_a_quantile_includes_answers_of_its_end_points() -> None:
    scale = Scale.of(LINEAR)  # 128 steps
    result = scale.quantile(Quantile(0.5, 64, 60, 70, "ok"), 10)
    assert (result["value"], result["low"], result["high"]) == pytest.approx((5, 59 / 12.8, 71 / 12.8))
    ends = scale.quantile(Quantile(0.5, 64, 0, 128, "too-few"), 10)
    assert (ends["low"], ends["high"]) == (0, 10)
    assert scale.quantile(Quantile(0.5, 64, 0, 128, "too-few"), 0)["value"] is None


@pytest.mark.parametrize("number", [LINEAR, LOG, TABLE, COARSE, HUGE])
def test_answer_of_any_size_fits_its_schema_and_no_other(number: Metric) -> None:
    for reports in (0, 1, 500, 10**9):
        result = answer(surveyed(number, reports, 0.3))
        assert jsonschema_rs.is_valid(NUMBERS.schema.holds, result), reports
        assert not jsonschema_rs.is_valid(Shares.schema.holds, result)
        assert result["reports"] == reports
        assert [row["at"] for row in result["cdf"]] == sorted(row["at"] for row in result["cdf"])
        assert len(result["cdf"]) == min(32, (number.mechanism.size or 0) - 1) - 1
        assert all(row["low"] <= row["high"] for row in [*result["quantiles"], *result["cdf"]])
        if not reports:
            assert {row["value"] for row in (result["mean"], *result["quantiles"])} == {None}
            ends = number.question.low, number.question.high  # type: ignore[attr-defined]
            assert (result["mean"]["low"], result["mean"]["high"]) == pytest.approx(ends)


def test_estimates_of_many_reports_are_near_the_true_values() -> None:
    """A miss of six standard errors has a probability of 2e-9; the grid is known, and its step is the rest."""
    for number in (LINEAR, LOG, PERMANENT):
        shares, scale = hill(number, 0.4), Scale.of(number)
        result, points = answer(surveyed(number, 10**9, 0.4, seed=1)), np.arange(len(shares)) / (len(shares) - 1)
        mean = result["mean"]
        error = (mean["high"] - mean["low"]) / 2 / 1.96
        assert mean["value"] == pytest.approx(scale.value(float(shares @ points)), abs=6 * error)
        for row in result["quantiles"]:
            point = int(np.searchsorted(np.cumsum(shares), row["share"]))
            assert row["low"] <= scale.at(point) <= row["high"]
        for row in result["cdf"]:
            place = scale.place(row["at"]) + 0.5
            below = float(np.interp(place, np.arange(len(shares) + 1), np.append(0, np.cumsum(shares))))
            assert row["share"] == pytest.approx(below, abs=6 * row["standard_error"] + 1e-9)


@pytest.mark.parametrize("beyond", [0.0, 0.1])
def test_interval_of_the_clipped_share_covers_it(beyond: float) -> None:
    """The curve alone is biased there; the interval misses in far less than 5% of such tallies."""
    shares = (1 - beyond) * hill(LINEAR, 0.4)
    shares[0] += beyond
    result = answer(survey(LINEAR, drawn(LINEAR, shares, 10**6, np.random.default_rng(5))))["clipped"]
    assert result["low"]["at"] == Scale.of(LINEAR).at(1)
    assert result["low"]["low"] <= shares[0] <= result["low"]["high"] < beyond + 0.07
    assert result["low"]["share"] == pytest.approx(beyond, abs=0.03)
    assert result["high"]["at"] == Scale.of(LINEAR).at(Scale.of(LINEAR).last - 1)
    assert result["high"]["low"] == 0


def test_mechanism_without_raw_shares_answers_null() -> None:
    result = answer(surveyed(TABLE, 1000))
    assert {(row["share"], row["noise_error"], row["standard_error"]) for row in result["cdf"]} == {(None, None, None)}
    assert result["poisoning"]["cdf_shift"] is result["poisoning"]["row_shift"] is None
    assert result["poisoning"]["mean_up"] > 0
    assert result["health"] == []
    last = NUMBERS.flat(NUMBERS.table(surveyed(TABLE, 1000), Query(at=(2.5,)))).rows()[-1]
    assert (last["statistic"], last["estimate"], last["standard_error"]) == ("share", None, None)
    assert 0 <= last["low"] <= last["high"] <= 1


def test_flat_rows_hold_the_numbers_that_were_asked_for() -> None:
    query = Query(quantile=(0.9, 0.1), at=(7.5, 0.0, 10.0))
    of = surveyed(LINEAR, 1000)
    table, result = NUMBERS.table(of, query), answer(of, query)
    rows, mean = NUMBERS.flat(table).rows(), result["mean"]
    assert [(row["statistic"], row["at"], row["unit"]) for row in rows] == [
        ("mean", None, "s"),
        *(("quantile", share, "s") for share in query.quantile),
        *(("share", at, "") for at in query.at),
    ]
    assert all(list(row) == names_of(COLUMNS) for row in rows)
    assert [row["share"] for row in result["quantiles"]] == list(query.quantile)
    names = ("low", "high", "standard_error", "noise_error")
    assert [rows[0][name] for name in ("estimate", *names)] == [mean[name] for name in ("value", *names)]
    assert [(row["estimate"], row["consistent"]) for row in rows[3:]] == [
        (row["share"], row["consistent"]) for row in result["cdf"]
    ]
    with pytest.raises(ParameterError, match=r"^at: "):
        answer(of, Query(at=(10.5,)))


def test_what_does_not_apply_to_numbers_is_refused() -> None:
    of = survey(LINEAR, nothing(LINEAR))
    with pytest.raises(ParameterError, match="whose intervals hold separately"):
        NUMBERS.table(of, Query(simultaneous=True))
    with pytest.raises(ParameterError, match="candidates are for strings"):
        NUMBERS.table(replace(of, candidates=("a",)), Query())
    with pytest.raises(ParameterError, match="name a version"):
        NUMBERS.combine("startup", [of], Combination())
    shares = CollectedReports(MOBILE, nothing(MOBILE), (TODAY, TODAY), {}, estimated)
    for query in (Query(quantile=(0.5,)), Query(at=(1.0,))):
        with pytest.raises(ParameterError, match="does not ask for a number"):
            SUMMARIES["boolean"].table(shares, query)


def test_forged_reports_move_the_mean_by_the_stated_gain() -> None:
    honest = drawn(LINEAR, hill(LINEAR, 0.4), 700_000, np.random.default_rng(3))
    before = answer(survey(LINEAR, honest))["mean"]["value"]
    scores = law_of(LINEAR.mechanism).score_table  # type: ignore[attr-defined]
    for name, end in (("mean_up", scores.argmax()), ("mean_down", scores.argmin())):
        counts = honest.counts.copy()
        counts[np.unravel_index(end, scores.shape)] += 300_000
        result = answer(survey(LINEAR, Tally(counts.sum(axis=1), counts)), Query(forged=0.3))
        assert abs(result["mean"]["value"] - before) == pytest.approx(result["poisoning"][name], rel=1e-4), name
        assert [check["odd"] for check in result["health"]] == [True]  # it chose one phase


def test_forged_reports_cannot_hide_a_mean_beyond_the_range() -> None:
    result = answer(surveyed(LINEAR, 10**6, 0.4, seed=3), Query(forged=0.9))
    mean = result["mean"]["value"]
    assert result["poisoning"]["mean_up"] == pytest.approx(mean)
    assert result["poisoning"]["mean_down"] == pytest.approx(10 - mean)


def test_days_of_the_same_people_stretch_the_error() -> None:
    for number in (LINEAR, TABLE, PERMANENT):
        tally = drawn(number, hill(number, 0.5, 10), 10**6, np.random.default_rng(4))
        again = dataclasses.replace(tally, repeats=Repeats((10**6 // 30,) * 30))
        day, month = (answer(survey(number, each, TODAY, TODAY))["mean"] for each in (tally, again))
        stretched = (month["standard_error"] / day["standard_error"]) ** 2
        error = (day["standard_error"] / 10) ** 2 * 10**6  # of one report, in parts of the range
        people = float(np.var(np.linspace(0, 1, 10_001)))
        assert 0.98 * (1 + 29 * people / error) <= stretched <= 30.001
        assert (month["noise_error"] > 1.5 * day["noise_error"]) == (number is PERMANENT)


def test_numbers_are_written_with_three_digits() -> None:
    for number, text in (
        (None, "-"),
        (0.0, "0"),
        (-0.0, "0"),
        (1234567.0, "1,234,567"),
        (-0.01234, "-0.0123"),
        (999.9999, "1,000"),
    ):
        assert number_text(number) == text


@pytest.mark.parametrize("number", [LINEAR, LOG, TABLE])
def test_terminal_shows_mean_and_quantiles(number: Metric) -> None:
    for reports in (0, 1, 100_000):
        result = NUMBERS.table(surveyed(number, reports), Query()).whole()
        before, rows, after, *_ = NUMBERS.text(result)
        assert f" {counted(reports, 'report')}," in before[0]
        assert ("log scale" in before[2]) == (number is LOG)
        assert rows[0][1] == ("value" if number is TABLE else "s")
        names = ["geometric mean" if number is LOG else "mean", "p5", "p25", "p50", "p75", "p90", "p95", "p99"]
        assert [row[0] for row in rows[1:]] == names
        assert len({len(row) for row in rows}) == 1
        mean, known = result["mean"], result["mean"]["value"] is not None
        assert (mean["standard_error"] is None) == (number is LOG or not known), "an error is a factor there"
        shown = known and number is not LOG
        half = max(mean["high"] - mean["value"], mean["value"] - mean["low"]) if shown else None
        assert rows[1][2] == ("" if half is None else number_text(half))
        assert any("were forged" in line for line in after) == (reports > 1)
        assert any("by the curve" in line for line in after) == known == (reports > int(number is LINEAR))


def test_terminal_shows_a_comparison() -> None:
    side, empty = surveyed(LINEAR, 1000), survey(LINEAR, nothing(LINEAR))
    comparison = Comparison(change=0.02)
    before, rows, *_ = NUMBERS.compared_text(NUMBERS.compare((side, side), comparison).whole())
    assert "1,000 reports" in before[0]
    assert [row[0] for row in rows[1:]] == ["mean", "p50", "p95"]
    assert "no change seen; 2% of the range takes" in rows[1][-1]
    _, rows, *_ = NUMBERS.compared_text(NUMBERS.compare((side, empty), comparison).whole())
    assert rows[1][2:] == ("-", "-", "-", "too few reports on one side")


def test_terminal_shows_a_trend() -> None:
    for days in (0, 1, 4):
        steps = [
            TrendStep(day, day, estimated(LINEAR, (), surveyed(LINEAR, 10_000, 0.2 + 0.1 * place).tally, 0.95, False))
            for place, day in enumerate(TODAY + timedelta(days=number) for number in range(days))
        ]
        before, rows, *_ = NUMBERS.trend_text(NUMBERS.trend(LINEAR, days, steps, TrendQuery(), None).whole())
        assert f" {counted(days, 'step')}, {10_000 * days:,} reports" in before[0]
        assert rows[0][3] == "slope, s per day"
        assert [row[-1] for row in rows[1:]] == ["drifts" if days == 4 else "not tested", "not tested", "not tested"]
