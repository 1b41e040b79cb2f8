"""The answer about a number: at the smallest sizes and the largest, against its schema and an actual forger."""

import json
from datetime import timedelta

import jsonschema_rs
import numpy as np
import pytest

from dither_server.estimation.numeric.registry import law_of
from dither_server.protocol.json_schema import Schema
from dither_server.reading.exports import json_object
from dither_server.reading.query import EstimateQuery, Query
from dither_server.reading.summaries import SUMMARIES
from dither_server.reading.summaries.numbers.summary import Numbers
from dither_server.reading.summaries.shares.summary import Shares
from dither_server.reading.summaries.summary import Survey
from dither_server.tally.tally import Tally
from dither_shared import Metric, ParameterError
from server.collecting import MOBILE, TODAY

from .surveys import ESTIMATOR, LINEAR, LOG, PERMANENT, TABLE, drawn, hill, metric, nothing, survey

NUMBERS = Numbers()
COARSE = metric("low = 0\nhigh = 1\nepsilon = 1.0\nsteps = 1\nresolution = 1")
FINE = metric("low = 0\nhigh = 1\nepsilon = 1.0\nsteps = 1023\nresolution = 1")
HUGE = metric("low = 1e-300\nhigh = 1e300\nlog = true\nepsilon = 0.01")


def answer(of: Survey, query: EstimateQuery | None = None) -> dict:  # type: ignore[type-arg]
    return dict(json.loads(b"".join(json_object(NUMBERS.table(of, query or Query(), ESTIMATOR)))))


def valid(told: object, schema: Schema) -> bool:
    return jsonschema_rs.is_valid(schema.holds, told)


@pytest.mark.parametrize("one", [LINEAR, LOG, PERMANENT, TABLE, COARSE, FINE, HUGE])
@pytest.mark.parametrize("reports", [0, 1, 2, 500, 10**9])
def test_every_answer_fits_its_schema_and_no_other(one: Metric, reports: int) -> None:
    rng = np.random.default_rng(reports)
    told = answer(survey(one, drawn(one, hill(one, 0.3), reports, rng)))
    assert valid(told, NUMBERS.schema)
    assert not valid(told, Shares.schema)
    assert told["reports"] == reports
    assert [row["at"] for row in told["cdf"]] == sorted(row["at"] for row in told["cdf"])
    assert len(told["cdf"]) == min(32, (one.mechanism.size or 0) - 1) - 1
    ends = [(row["low"], row["high"]) for row in [*told["quantiles"], *told["cdf"]]]
    assert all(low <= high for low, high in ends)
    if not reports:
        assert told["mean"]["value"] is None
        assert {row["value"] for row in told["quantiles"]} == {None}
        assert (told["mean"]["low"], told["mean"]["high"]) == pytest.approx((one.question.low, one.question.high))  # type: ignore[attr-defined]


@pytest.mark.parametrize("one", [LINEAR, LOG, PERMANENT])
def test_many_reports_say_what_is_so(one: Metric) -> None:
    """A miss of six standard errors has a probability of 2e-9; the grid is known, and its step is the rest."""
    shares = hill(one, 0.4)
    of = survey(one, drawn(one, shares, 10**9, np.random.default_rng(1)))
    told, points = answer(of), np.arange(len(shares)) / (len(shares) - 1)
    scale_of = NUMBERS.exhibit(of, Query(), ESTIMATOR, None).scale  # type: ignore[arg-type]
    mean = told["mean"]
    assert mean["value"] == pytest.approx(scale_of.value(float(shares @ points)), abs=6 * mean["standard_error"])
    for one_of in told["quantiles"]:
        point = int(np.searchsorted(np.cumsum(shares), one_of["share"]))
        assert one_of["low"] <= scale_of.at(point) <= one_of["high"]
    for row in told["cdf"]:
        place = scale_of.place(row["at"]) + 0.5
        below = float(np.interp(place, np.arange(len(shares) + 1), np.append(0, np.cumsum(shares))))
        assert row["share"] == pytest.approx(below, abs=6 * row["standard_error"] + 1e-9)


@pytest.mark.parametrize("beyond", [0.0, 0.1])
def test_the_share_at_an_end_has_an_interval(beyond: float) -> None:
    """The curve alone is biased there; the interval misses in far less than 5% of such tallies."""
    shares = (1 - beyond) * hill(LINEAR, 0.4)
    shares[0] += beyond
    told = answer(survey(LINEAR, drawn(LINEAR, shares, 10**6, np.random.default_rng(5))))["clipped"]
    assert told["low"]["low"] <= shares[0] <= told["low"]["high"] < beyond + 0.05
    assert told["low"]["share"] == pytest.approx(beyond, abs=0.03)
    assert told["high"]["low"] == 0


def test_a_table_has_no_raw_shares_and_says_so_as_null() -> None:
    told = answer(survey(TABLE, drawn(TABLE, hill(TABLE, 0.5), 1000, np.random.default_rng(2))))
    assert {(row["share"], row["noise_error"], row["standard_error"]) for row in told["cdf"]} == {(None, None, None)}
    assert told["poisoning"]["cdf_shift"] is None
    assert told["poisoning"]["mean_up"] > 0
    assert told["health"] == []


def test_quantiles_and_points_that_are_asked_for() -> None:
    of = survey(LINEAR, drawn(LINEAR, hill(LINEAR, 0.5), 1000, np.random.default_rng(2)))
    told = answer(of, Query(quantile=(0.9, 0.1), at=(7.5, 0.0, 10.0)))
    assert [one["share"] for one in told["quantiles"]] == [0.9, 0.1]
    assert [row["at"] for row in told["cdf"]] == [7.5, 0.0, 10.0]
    with pytest.raises(ParameterError) as caught:
        answer(of, Query(at=(10.5,)))
    assert caught.value.place == "at"


def test_what_is_not_for_numbers_is_refused() -> None:
    of = survey(LINEAR, nothing(LINEAR))
    with pytest.raises(ParameterError, match="each of their intervals holds by itself"):
        NUMBERS.table(of, Query(simultaneous=True), ESTIMATOR)
    with pytest.raises(ParameterError, match="candidates are for strings"):
        NUMBERS.table(of, Query(), ESTIMATOR, ("a",))
    with pytest.raises(ParameterError, match="name a version"):
        NUMBERS.combine("startup", [of], EstimateQuery(), ESTIMATOR)
    shares = Survey(MOBILE, nothing(MOBILE), (TODAY, TODAY), {})
    for query in (Query(quantile=(0.5,)), Query(at=(1.0,))):
        with pytest.raises(ParameterError, match="asks for no number"):
            SUMMARIES["boolean"].table(shares, query, ESTIMATOR)


@pytest.mark.parametrize("one", [LINEAR, LOG])
@pytest.mark.parametrize("forged", [0.01, 0.3])
@pytest.mark.parametrize("name", ["mean_up", "mean_down"])
def test_a_forger_moves_the_mean_by_what_is_said(one: Metric, forged: float, name: str) -> None:
    honest = drawn(one, hill(one, 0.4), 700_000, np.random.default_rng(3))
    scores = law_of(one.mechanism).score_table  # type: ignore[attr-defined]
    counts = honest.counts.copy()
    end = scores.argmax() if name == "mean_up" else scores.argmin()
    counts[np.unravel_index(end, scores.shape)] += round(honest.total * forged / (1 - forged))
    told = answer(survey(one, Tally(counts.sum(axis=1), counts)), Query(forged=forged))
    moved = told["mean"]["value"] - answer(survey(one, honest))["mean"]["value"]
    assert abs(moved) == pytest.approx(told["poisoning"][name], rel=1e-4)
    assert [check["odd"] for check in told["health"]] == [True]  # it chose one phase


def test_forged_reports_leave_the_honest_mean_in_its_range() -> None:
    told = answer(survey(LINEAR, drawn(LINEAR, hill(LINEAR, 0.4), 10**6, np.random.default_rng(3))), Query(forged=0.9))
    mean = told["mean"]["value"]
    assert told["poisoning"]["mean_up"] == pytest.approx(mean)
    assert told["poisoning"]["mean_down"] == pytest.approx(10 - mean)


@pytest.mark.parametrize("one", [LINEAR, TABLE, PERMANENT])
def test_days_stretch_the_error_of_the_same_people(one: Metric) -> None:
    tally = drawn(one, hill(one, 0.5, 10), 10**6, np.random.default_rng(4))
    day, month = (answer(survey(one, tally, TODAY - timedelta(days=days), TODAY)) for days in (0, 29))
    assert day["mean"]["repeat_error"] == pytest.approx(day["mean"]["standard_error"])
    stretched = (month["mean"]["repeat_error"] / month["mean"]["standard_error"]) ** 2
    error = (month["mean"]["standard_error"] / 10) ** 2 * 10**6  # of one report, in parts of the range
    people = float(np.var(np.linspace(0, 1, 10_001)))
    least = 30 if one is PERMANENT else 1 + 29 * people / error
    assert stretched >= 0.98 * least
    assert stretched <= 30.001
