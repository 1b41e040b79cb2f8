"""Strings from real clients through a collector: looked up in a list written later, and discovered without one.

The devices' entropy is seeded, so no assertion depends on chance.
"""

from collections.abc import Iterator
from contextlib import closing
from itertools import chain

import jsonschema_rs
import pytest
from flask import Flask

from dither_server.app import collector_of, create_app
from dither_server.reading.estimates import EstimateReader
from dither_server.reading.query import Query
from dither_shared import KeyedEntropy, parse_metrics
from server.collecting import TODAY, config, rows_of, upload
from server.devices import bodies, count
from server.reading.test_numbers import body_schema

DEFINITION = """
[metrics.plugin]
type = "string"
epsilon = 6.0

[metrics.crash]
type = "string"
discover = {alphabet = "a-z.", length = 6, fold = true}
epsilon = 6.0
permanent_epsilon = 8.0
"""
METRICS = parse_metrics(DEFINITION)
PLUGINS = ["vim-mode"] * 200 + ["tidy"] * 100 + ["my own"] * 100
CRASHES = ["Io.Open"] * 200 + ["a.b"] * 160 + ["naïve"] * 40
"""By person. The first is cut, the last is not of the alphabet."""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    app = create_app(config(tmp_path_factory.mktemp("strings"), metrics=METRICS, today=lambda: TODAY))
    with closing(collector_of(app)):
        entropy, people = KeyedEntropy(b"strings"), zip(PLUGINS, CRASHES, strict=True)
        posted = (bodies(METRICS, entropy, {"plugin": plugin, "crash": crash}) for plugin, crash in people)
        count(app, chain.from_iterable(posted))
        yield app


def test_list_of_candidates_written_after_collecting_finds_frequent_strings(app: Flask) -> None:
    reader = EstimateReader(collector_of(app).store)
    candidates = ("vim-mode", "tidy", *(f"plug-in {number}" for number in range(2_000)))
    table = reader.table(METRICS["plugin"], Query(), candidates)
    rows = {row["value"]: row for row in table.rows()}
    assert {value for value, row in rows.items() if row["found"]} == {"vim-mode", "tidy"}
    assert rows["vim-mode"]["low"] <= 0.5 <= rows["vim-mode"]["high"]
    assert rows["tidy"]["low"] <= 0.25 <= rows["tidy"]["high"]
    assert table.about["unlisted"] is None  # too few reports for it


def test_share_of_people_beyond_the_list_is_stated_of_enough_reports(app: Flask) -> None:
    plugin = METRICS["plugin"]
    collector_of(app).store.commit([upload(plugin, rows_of(plugin, 8_000, value="my own"))], TODAY, b"s" * 16)
    unlisted = EstimateReader(collector_of(app).store).table(plugin, Query(), ("vim-mode", "tidy")).about["unlisted"]
    assert unlisted["low"] <= 8_100 / 8_400 <= unlisted["high"]
    assert unlisted["high"] - unlisted["low"] < 0.1


def test_strings_that_nobody_listed_are_discovered(app: Flask) -> None:
    answer = app.test_client().get("/v1/metrics/crash/estimate").get_json()
    by_value = {row["value"]: row for row in answer["values"]}
    assert by_value.keys() == {"io.op…", "a.b"}
    assert by_value["io.op…"]["low"] <= 0.5 <= by_value["io.op…"]["high"]
    assert by_value["a.b"]["low"] <= 0.4 <= by_value["a.b"]["high"]
    assert "io.op…" in app.test_client().get("/m/crash").text
    jsonschema_rs.validate(body_schema(app.test_client(), "/v1/metrics/{name}/estimate"), answer)
