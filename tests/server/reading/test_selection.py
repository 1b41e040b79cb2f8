"""Parts of an answer: the same numbers, and fewer of them."""

from collections.abc import Iterator
from contextlib import closing
from itertools import product

import pytest
from flask import Flask

from dither_server.app import collector_of
from server.collecting import problem
from server.reading.wide import COMPARE, DAYS, ESTIMATE, TREND, WIDE, ended, filled, rows


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    with closing(collector_of(app := filled(tmp_path_factory.mktemp("wide"), analyses=1, analysis_wait=0.01))):
        yield app


@pytest.mark.parametrize(
    "base", [ESTIMATE, TREND, COMPARE, "/v1/metrics/wide/combined", f"{ESTIMATE}?simultaneous=true"]
)
def test_leaving_values_out_changes_no_other_number(base: str, app: Flask) -> None:
    client, mark = app.test_client(), "&" if "?" in base else "?"
    whole = rows(client, base)
    assert len(whole) == 300
    named = {row["value"]: row for row in whole}
    assert rows(client, f"{base}{mark}values=v,7&values=v,3&values=v,7") == [named["v,7"], named["v,3"]]
    assert rows(client, f"{base}{mark}limit=3&offset=40") == whole[40:43]
    assert rows(client, f"{base}{mark}offset=298") == whole[298:]
    assert rows(client, f"{base}{mark}offset=300") == []
    shares = {row["value"]: row["frequency"] for row in rows(client, ESTIMATE)}
    if base == COMPARE:
        shares = {row["value"]: row["first"] for row in whole}
    top = sorted(shares, key=lambda value: -shares[value])[:5]
    assert rows(client, f"{base}{mark}top=5") == [named[value] for value in top]
    assert rows(client, f"{base}{mark}top=1&values=v,7&values=v,3") == [
        named[max(("v,7", "v,3"), key=lambda value: shares[value])]
    ]


def test_each_day_shows_the_values_that_are_most_frequent_over_all_days(app: Flask) -> None:
    client = app.test_client()
    shares = {row["value"]: row["frequency"] for row in rows(client, ESTIMATE)}
    top = sorted(shares, key=lambda value: -shares[value])[:3]
    days = client.get(f"{ESTIMATE}?by_day=true&top=3").json
    whole = client.get(f"{ESTIMATE}?by_day=true").json
    assert days is not None
    assert whole is not None
    assert len(days) == DAYS
    for day, all_of_it in zip(days, whole, strict=True):
        named = {row["value"]: row for row in all_of_it["values"]}
        assert day == all_of_it | {"values": [named[value] for value in top]}


def test_impossible_selections_are_refused(app: Flask) -> None:
    before = ended(app)
    wrong = ["top=0", "top=-1", "top=x", "top=1&top=2", "top=9999999999", "top=2&limit=2", "top=2&offset=1"]
    wrong += ["limit=0", "offset=-1", "offset=1e3", "values=nobody", "values=v,1&values="]
    for base, query in product((ESTIMATE, TREND, COMPARE), wrong):
        response = app.test_client().get(f"{base}?{query}")
        assert problem(response) == (400, "parameter")
        assert "nobody" not in response.text
    after = ended(app)
    assert not [how for how in ("answered", "failed") if after.get(how) != before.get(how)]


def test_lists_of_metrics_and_values_take_limit_and_offset(app: Flask) -> None:
    client = app.test_client()
    whole = client.get("/v1/metrics").json
    assert whole is not None
    assert (whole["size"], len(whole["metrics"])) == (5, 5)
    wide = whole["metrics"][-1]
    assert (wide["metric"], wide["size"], wide["values"]) == ("wide", 300, list(WIDE.labels[:100]))
    part = client.get("/v1/metrics?limit=2&offset=1").json
    assert part == {"metrics": whole["metrics"][1:3], "size": 5, "former": []}
    entry = client.get("/v1/metrics/wide").json
    assert entry is not None
    assert entry["values"] == list(WIDE.labels)
    assert client.get("/v1/metrics/wide?limit=7&offset=290").json == entry | {"values": list(WIDE.labels[290:297])}
    assert problem(client.get("/v1/metrics?limit=0")) == (400, "parameter")
    assert problem(client.get("/v1/metrics/wide?top=2")) == (400, "parameter")


def test_pages_take_a_limit_and_a_page_but_no_values(app: Flask) -> None:
    client = app.test_client()
    page = client.get("/m/wide?limit=3&page=2").text
    assert page.count("<bdi>v,") == 3 * 2  # in the table, and above its course
    assert "Page 2 of 100" in page
    assert "limit=3" in page
    for query in ("limit=501", "limit=0", "top=3", "values=v,1", "offset=2"):
        assert problem(client.get(f"/m/wide?{query}")) == (400, "parameter")
