"""Rows of a number's answer: for tables of other programs, and for the database."""

import numpy as np

from dither_server.reading.query import EstimateQuery, Query
from dither_server.reading.summaries.numbers.rows import NumberRow, daily_row, flat
from dither_server.reading.summaries.numbers.summary import Numbers
from dither_server.store.tables.schema import NUMBERS

from .surveys import ESTIMATOR, LINEAR, TABLE, drawn, hill, survey


def test_a_row_for_each_number_that_is_told() -> None:
    tally = drawn(LINEAR, hill(LINEAR, 0.5), 1000, np.random.default_rng(1))
    table = Numbers().table(survey(LINEAR, tally), Query(quantile=(0.5, 0.9), at=(2.5,)), ESTIMATOR)
    rows, mean = flat(table).rows(), table.about["mean"]
    assert [(row["statistic"], row["at"], row["unit"]) for row in rows] == [
        ("mean", None, "s"),
        ("quantile", 0.5, "s"),
        ("quantile", 0.9, "s"),
        ("share", 2.5, ""),
    ]
    assert all(list(row) == list(NumberRow.__annotations__) for row in rows)
    assert {name: rows[0][name] for name in ("estimate", "low", "high", "standard_error", "noise_error")} == {
        "estimate": mean["value"],
        **{name: mean[name] for name in ("low", "high", "standard_error", "noise_error")},
    }
    assert rows[3]["estimate"] == table.rows()[0]["share"]
    assert rows[3]["consistent"] == table.rows()[0]["consistent"]


def test_what_a_table_does_not_know_is_none() -> None:
    tally = drawn(TABLE, hill(TABLE, 0.5), 1000, np.random.default_rng(1))
    *_, last = flat(Numbers().table(survey(TABLE, tally), Query(at=(2.5,)), ESTIMATOR)).rows()
    assert (last["statistic"], last["estimate"], last["standard_error"]) == ("share", None, None)
    assert 0 <= last["low"] <= last["high"] <= 1


def test_a_day_has_each_column_of_its_table() -> None:
    tally = drawn(LINEAR, hill(LINEAR, 0.5), 1000, np.random.default_rng(1))
    table = Numbers().table(survey(LINEAR, tally), EstimateQuery(), ESTIMATOR)
    row = daily_row(table)
    assert set(row) == set(NUMBERS.c.keys()) - {"version", "day", "place"}
    told = {one["share"]: one for one in table.about["quantiles"]}
    assert (row["p95_low"], row["p95"], row["p95_high"]) == tuple(told[0.95][name] for name in ("low", "value", "high"))
    assert row["mean_error"] == table.about["mean"]["standard_error"]
