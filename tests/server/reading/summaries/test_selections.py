"""Rows of answers about sets: unknown ones, chosen ones, and their form in tables and terminals."""

import json

import numpy as np
import pytest

from dither_server.analysis.columns import Table, names_of
from dither_server.analysis.weighted import WEIGHTED
from dither_server.cli.terminal_tables import as_text
from dither_server.reading.exports import json_object
from dither_server.reading.query import Query
from dither_server.reading.summaries import summary_of
from dither_server.reading.summaries.selections import COLUMNS, PAIRS
from dither_server.reading.summaries.summary import CollectedReports
from dither_server.reading.summaries.view import PageRequest
from dither_server.tally.tally import Tally
from dither_shared import SetResponse, parse_metrics
from server.collecting import TODAY
from server.estimation.sets_of_people import People, response_tally

VALUES = ", ".join(f'"v{number}"' for number in range(9))
METRIC = parse_metrics(f'[metrics.used]\ntype = "selection"\nvalues = [{VALUES}]\nepsilon = 4.0\n')["used"]
SELECTIONS = summary_of(METRIC)


def table_of(reports: int, simultaneous: bool = False) -> Table:
    assert isinstance(METRIC.mechanism, SetResponse)
    tally = response_tally(METRIC.mechanism, People.of(9), reports, np.random.default_rng(2))
    survey = CollectedReports(METRIC, tally, (TODAY, TODAY), {}, SELECTIONS.estimate)
    return SELECTIONS.table(survey, Query(simultaneous=simultaneous))


@pytest.mark.parametrize("reports", [0, 2_000, 10**9])
def test_answer_and_terminal_from_no_report_to_many(reports: int) -> None:
    table = table_of(reports)
    whole = table.whole()
    assert json.loads(b"".join(json_object(table))) == json.loads(json.dumps(whole, allow_nan=False)) == whole
    assert (len(whole["values"]), len(whole["pairs"])) == (9, 9 * 6)
    assert set(whole["pairs"][0]) == set(names_of(PAIRS))
    assert all((row["share"] is None) == (row["low"] is None) == (row["high"] is None) for row in whole["pairs"])
    assert all(row["share"] is None for row in whole["pairs"] if row["reports"] < 250)
    few = [row for row in whole["values"] if row["frequency"] is None]
    assert {row["verdict"] for row in few} <= {"too-few"}
    assert all(row["consistent"] is None for row in few)
    if reports < 5:
        assert few
        assert whole["average"] == {"value": None, "standard_error": None, "low": 0.0, "high": 9.0}
        assert {row["verdict"] for row in whole["pairs"]} == {"too-few"}
    if reports > 10**6:
        assert not few
        assert whole["average"]["value"] == pytest.approx(People.of(9).chances.mean(axis=0).sum(), abs=0.01)
        assert {row["verdict"] for row in whole["pairs"]} == {"ok"}
    text = as_text(SELECTIONS.text(whole))
    assert "pairs that can be seen together: 27" in text
    assert "- to -" not in text
    assert "\n\n\n" not in text
    assert ("too few reports to estimate how many" in text) == all(row["share"] is None for row in whole["pairs"])
    assert "4 neighbouring values" in text
    nothing = CollectedReports(METRIC, Tally.zero(METRIC.mechanism), (None, None), {}, SELECTIONS.estimate)
    view = SELECTIONS.view(nothing, Query(), PageRequest("", 1, 5))
    assert view.needs.endswith("for ±2 points.")


def test_pairs_are_those_of_the_chosen_values() -> None:
    table = table_of(2_000)
    chosen = table.chosen(np.array([8, 0, 4]))
    assert chosen.columns["value"] == ["v8", "v0", "v4"]
    assert {(row["given"], row["value"]) for row in chosen.related["pairs"].rows()} == {("v0", "v8"), ("v8", "v0")}
    assert chosen.whole()["average"] == table.whole()["average"]
    assert table.chosen(np.array([], dtype=np.intp)).whole()["pairs"] == []


def test_flat_rows_are_values_and_pairs() -> None:
    flat = SELECTIONS.flat(table_of(2_000))
    rows = flat.rows()
    assert set(rows[0]) == set(names_of(COLUMNS)) - set(names_of(WEIGHTED))  # these only if asked for
    assert [row["given"] for row in rows[:9]] == [None] * 9
    assert [(row["given"], row["value"], row["frequency"], row["both"]) for row in rows[9:]] == [
        (pair["given"], pair["value"], pair["share"], pair["both"]) for pair in table_of(2_000).whole()["pairs"]
    ]


def test_simultaneous_intervals_of_pairs_are_wider() -> None:
    each, together = (table_of(20_000, simultaneous).whole()["pairs"] for simultaneous in (False, True))
    assert all(
        wide["low"] < narrow["low"] and narrow["high"] < wide["high"]
        for wide, narrow in zip(together, each, strict=True)
    )
    assert [row["share"] for row in each] == [row["share"] for row in together]
