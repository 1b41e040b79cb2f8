"""Strata through the API: each by itself and all together, compared, and in the columns of an export."""

import csv
import io
import itertools
import json
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from flask import Flask
from flask.testing import FlaskClient

from dither_server.app import collector_of
from dither_server.reading.estimates import EstimateReader
from dither_server.reading.query import Query
from dither_server.reading.sources import AnswerCache
from dither_server.store import Snapshot, Store
from dither_server.tally.tally import Tally
from dither_serving.problems import Problem
from dither_shared import parse_metrics
from server.collecting import LAYOUT, METRICS, SPEED, STRATA, STRATA_TOML, TODAY, collect, collector, problem

YESTERDAY = TODAY - timedelta(days=1)
LABELS = ("linux/stable", "linux/other", "windows/stable", "windows/other", "other/stable", "other/other")
SENT = {0: (200, "tabs"), 1: (100, "list"), 2: (300, "list"), 5: (50, "tabs")}
"""Reports by the place of their stratum, and what all of these answer."""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    with collector(tmp_path_factory.mktemp("strata"), metrics=METRICS | STRATA) as app:
        store = collector_of(app).store
        for place, (count, value) in SENT.items():
            day = YESTERDAY if place == 1 else TODAY
            collect(store, LAYOUT, count, value, day=day, stratum=place, seed=bytes([place]))
        for place, seconds in ((0, 2.0), (1, 8.0)):
            collect(store, SPEED, 400, seconds, stratum=place, seed=bytes([place]))
        yield app


@pytest.fixture(scope="module")
def client(app: Flask) -> FlaskClient:
    return app.test_client()


def ask(client: FlaskClient, path: str, name: str = "layout", status: int = 200) -> Any:
    response = client.get(f"/v1/metrics/{name}/{path}")
    assert response.status_code == status, response.text
    return json.loads(response.data)


def refused(client: FlaskClient, path: str, name: str = "layout") -> str:
    response = client.get(f"/v1/metrics/{name}/{path}")
    assert problem(response) == (400, "parameter"), response.text
    return str(json.loads(response.data)["detail"])


def test_estimates_and_trends_of_a_stratum_hold_its_reports_and_days_alone(client: FlaskClient) -> None:
    for query, reports, periods, platform, channel in (
        ("", 650, 2, None, None),
        ("platform=linux", 300, 2, "linux", None),
        ("channel=stable", 500, 1, None, "stable"),
        ("platform=windows&channel=other", 0, 1, "windows", "other"),
        ("platform=other&channel=other", 50, 1, "other", "other"),
        ("platform=linux&since=2026-11-20", 200, 1, "linux", None),
    ):
        answer, trend = ask(client, f"estimate?{query}"), ask(client, f"trend?{query}")
        stratum = {"platform": platform, "channel": channel}
        assert (answer["reports"], answer["periods"], answer["stratum"]) == (reports, periods, stratum), query
        assert (sum(step["reports"] for step in trend["steps"]), trend["stratum"]) == (reports, stratum), query
    assert "stratum" not in ask(client, "estimate", "theme")
    listed = client.get("/v1/metrics").get_json()["metrics"]
    strata = {metric["metric"]: metric["strata"] for metric in listed}
    assert strata["layout"] == {"platform": ["linux", "windows", "other"], "channel": ["stable", "other"]}
    assert strata["theme"] == {}


def test_answers_by_an_attribute_end_with_all_of_them_together(client: FlaskClient) -> None:
    answers = ask(client, "estimate?by=platform")
    assert [(answer["stratum"]["platform"], answer["reports"]) for answer in answers] == [
        ("linux", 300), ("windows", 300), ("other", 50), (None, 650),
    ]  # fmt: skip
    assert answers[-1] == ask(client, "estimate")
    assert answers[0] == ask(client, "estimate?platform=linux")


def test_answers_by_several_attributes_or_days_are_of_those_with_reports(client: FlaskClient) -> None:
    answers = ask(client, "estimate?by=channel&by=platform&values=tabs")
    paths = ["/".join(part["stratum"][name] or "-" for name in ("platform", "channel")) for part in answers]
    assert paths == [*(LABELS[place] for place in SENT), "-/-"]
    assert {len(part["values"]) for part in answers} == {1}
    answers = ask(client, "estimate?by=channel&by_day=true&platform=linux")
    assert [(part["since"], part["stratum"], part["reports"]) for part in answers] == [
        ("2026-11-19", {"platform": "linux", "channel": "other"}, 100),
        ("2026-11-19", {"platform": "linux", "channel": None}, 100),
        ("2026-11-20", {"platform": "linux", "channel": "stable"}, 200),
        ("2026-11-20", {"platform": "linux", "channel": None}, 200),
    ]
    (answer,) = ask(client, "estimate?by=platform&until=2026-01-01")
    assert (answer["reports"], answer["stratum"]) == (0, {"platform": None, "channel": None})


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_answer_by_strata_adds_up_while_reports_arrive(
    database: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A report is counted each time before a tally is read: an answer of several moments would not add up."""
    url = f"sqlite:///{tmp_path}/d.db" if database == "sqlite" else request.getfixturevalue("postgresql_url")
    tally, places = Snapshot.tally, itertools.cycle(range(6))
    with closing(Store(url)) as store:
        store.register([LAYOUT])
        for place, (count, value) in SENT.items():
            collect(store, LAYOUT, count, value, stratum=place)

        def late(self: Snapshot, *arguments: Any) -> Tally:
            collect(store, LAYOUT, 3, "tabs", stratum=next(places))
            return tally(self, *arguments)

        monkeypatch.setattr(Snapshot, "tally", late)
        reader = EstimateReader(store, AnswerCache(1 << 20))
        for query in (Query(by=("platform",)), Query(by=("channel", "platform"), by_day=True), Query(by=("channel",))):
            *parts, whole = reader.tables(LAYOUT, query)
            assert len(parts) > 1
            assert sum(part.about["reports"] for part in parts) == whole.about["reports"]


def test_numbers_of_strata_are_estimated_and_compared(client: FlaskClient) -> None:
    low, high, both = ask(client, "estimate?by=platform", "speed")
    assert low["mean"]["high"] < both["mean"]["value"] < high["mean"]["low"]
    answer = ask(client, "compare?platform=linux&other_platform=windows", "speed")
    assert answer["values"][0]["low"] > 4
    assert [side["stratum"] for side in answer["sides"]] == [{"platform": "linux"}, {"platform": "windows"}]


def test_answer_by_strata_costs_each_of_them(app: Flask) -> None:
    reader = EstimateReader(collector_of(app).store, limit=20)
    assert len(list(reader.tables(LAYOUT, Query(by=("channel",))))) == 3
    with pytest.raises(Problem, match="in 7 steps cost 30"):
        list(reader.tables(LAYOUT, Query(by=("channel", "platform"))))


def test_strata_are_compared_on_the_same_days_with_their_own_or_another_metric(client: FlaskClient) -> None:
    answer = ask(client, "compare?platform=linux&channel=stable&other_platform=windows")
    assert [(side["reports"], side["stratum"]) for side in answer["sides"]] == [
        (200, {"platform": "linux", "channel": "stable"}),
        (300, {"platform": "windows", "channel": "stable"}),
    ]
    tabs = answer["values"][0]
    assert (tabs["value"], tabs["changed"]) == ("tabs", True)
    assert tabs["high"] < -0.7
    sides = ask(client, "compare?other=layout&other_channel=other&channel=stable")["sides"]
    assert [side["reports"] for side in sides] == [500, 150]
    message = refused(client, "compare?other=theme&channel=stable&other_channel=other")
    assert message.startswith("'other_channel': unknown; known here: since,")
    assert message.endswith("platform, channel")


def test_comparison_of_overlapping_strata_needs_days_apart(client: FlaskClient) -> None:
    linux = "platform=linux"
    for query in (
        "since=2026-11-19&other_since=2026-11-20",
        f"{linux}&other_since=2026-11-01",
        f"{linux}&since=2026-11-19",
        f"{linux}&other_channel=other&since=2026-11-19",  # a part of it
    ):
        message = refused(client, f"compare?{query}")
        assert message == "other_since: both sides hold the same reports; give days or strata that do not overlap"
    days = "since=2026-11-19&until=2026-11-19&other_since=2026-11-20"
    sides = ask(client, f"compare?platform=linux&{days}")["sides"]
    assert [(side["reports"], side["stratum"]["platform"]) for side in sides] == [(100, "linux"), (200, "linux")]
    assert [side["reports"] for side in ask(client, "compare?platform=linux")["sides"]] == [0, 300]  # two weeks


def test_versions_with_the_stratum_are_combined(tmp_path: Path) -> None:
    bare = parse_metrics(STRATA_TOML.split("\nstrata")[0])["layout"]
    with_beta = parse_metrics(STRATA_TOML.replace('["stable"]', '["stable", "beta"]'))
    with collector(tmp_path, metrics={"layout": bare}) as former:
        collector_of(former).store.register([LAYOUT, with_beta["layout"]])
    with collector(tmp_path, metrics=with_beta) as app:
        for metric, place in ((bare, 0), (LAYOUT, 0), (with_beta["layout"], 0), (with_beta["layout"], 1)):
            collect(collector_of(app).store, metric, 3, "tabs", stratum=place)
        client = app.test_client()
        combined = [(answer["reports"], len(answer["versions"]), answer.get("stratum")) for answer in (
            ask(client, "combined"), ask(client, "combined?platform=linux"), ask(client, "combined?channel=beta")
        )]  # fmt: skip
        assert combined == [(12, 3, None), (9, 2, {"platform": "linux"}), (3, 1, {"channel": "beta"})]
        assert refused(client, "combined?channel=nightly") == "channel: 'nightly' is not one of stable, beta, other"


@pytest.mark.parametrize("path", ["estimate", "trend", "combined", "compare"])
def test_error_about_an_unknown_attribute_or_value_lists_the_known_ones(client: FlaskClient, path: str) -> None:
    assert refused(client, f"{path}?platform=amiga") == "platform: 'amiga' is not one of linux, windows, other"
    message = refused(client, f"{path}?color=red")
    assert message.startswith("'color': unknown; known here: since, until, confidence,")
    assert "platform, channel" in message
    assert "strata" not in message
    assert refused(client, f"{path}?platform=linux&platform=windows") == "platform: given twice"
    assert refused(client, f"{path}?platform=").startswith("'platform': not a value")
    assert refused(client, f"{path}?strata=linux").startswith("'strata': unknown; known here:")
    assert refused(client, f"{path}?platform=linux", "theme").startswith("'platform': unknown; known here: since,")
    assert refused(client, f"{path}?" + "x" * 500 + "=1").startswith(f"'{'x' * 32}': unknown;")
    if path == "estimate":
        assert refused(client, "estimate?by=color") == "by: names no attribute of layout; known: platform, channel"
        assert refused(client, "estimate?by=platform", "theme") == "by: names no attribute of theme; it has none"
        message = refused(client, "estimate?by=platform&platform=linux")
        assert message == "by: platform has only one value in this query; leave out one of the two"


def test_exported_tables_have_a_column_for_each_attribute(client: FlaskClient) -> None:
    url = "/v1/metrics/layout/estimate?by=platform&format="
    lines = list(csv.DictReader(io.StringIO(client.get(f"{url}csv").text)))
    assert [(line["platform"], line["channel"]) for line in lines[::3]] == [
        ("linux", ""), ("windows", ""), ("other", ""), ("", ""),
    ]  # fmt: skip
    table = pa.ipc.open_stream(client.get(f"{url}arrow").data).read_all()
    assert table.column_names == list(lines[0])
    assert table.column("platform").to_pylist()[::3] == ["linux", "windows", "other", None]
    assert table.schema.field("channel").type == pa.string()
    assert "platform" not in client.get("/v1/metrics/theme/estimate?format=csv").text
