"""Selections from real clients through a collector: recorded, estimated, compared, shown and exported.

The devices' entropy is seeded, so no assertion depends on chance.
"""

import csv
import io
import json
from collections.abc import Iterator
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from flask import Flask

from dither_server.app import collector_of, create_app
from dither_server.reading.summaries.selections import COLUMNS
from dither_shared import KeyedEntropy, parse_metrics
from server.cli.invoking import invoke
from server.collecting import TODAY, config
from server.devices import bodies, count

DEFINITION = """
[metrics.used]
description = "Which of these did you use?"
type = "selection"
values = ["export", "search", "sync", "print"]
epsilon = 6.0
strata = {platform = ["linux"]}

[metrics.matters]
description = "Which two matter most?"
type = "selection"
values = ["speed", "price", "looks", "privacy", "docs", "plugins", "offline", "mobile"]
at_most = 2
mechanism = "privset"
epsilon = 6.0
"""
METRICS = parse_metrics(DEFINITION)
USED = [["export", "search"]] * 60 + [["search"]] * 20 + [["search", "sync", "print"]] * 20 + [[]] * 20
MATTERS = [["speed", "privacy", "docs"]] * 80 + [["price"]] * 40
"""By person; of more than two the first two count."""
SHARES = {"export": 60 / 120, "search": 100 / 120, "sync": 20 / 120, "print": 20 / 120}
BEFORE = TODAY - timedelta(days=7)


class Clock:
    """A date that all devices and the collector agree on."""

    day = TODAY

    def __call__(self) -> date:
        return self.day


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("selections")


@pytest.fixture(scope="module")
def app(folder: Path) -> Iterator[Flask]:
    """A collector with a week-old day on which nobody exported, and three days on which half of all people did."""
    clock, entropy = Clock(), KeyedEntropy(b"selections")
    app = create_app(config(folder, metrics=METRICS, today=clock))
    with closing(collector_of(app)):
        for back in (7, 2, 1, 0):
            clock.day = TODAY - timedelta(days=back)
            posted: list[bytes] = []
            for used, matters in zip(USED, MATTERS, strict=True):
                chosen = [value for value in used if back < 7 or value != "export"]
                answers, platform = {"matters": matters, "used": chosen}, "linux" if "export" in chosen else "other"
                posted += bodies(METRICS, entropy, answers, {"platform": platform}, clock)
            count(app, posted, clock.day)
        yield app


def test_estimate_has_shares_the_average_and_pairs(app: Flask) -> None:
    answer = app.test_client().get(f"/v1/metrics/used/estimate?since={TODAY - timedelta(days=2)}").get_json()
    assert answer["reports"] == 3 * len(USED)
    for row in answer["values"]:
        assert row["low"] <= SHARES[row["value"]] <= row["high"]
        assert row["high"] - row["low"] < 0.25
    assert answer["average"]["low"] <= sum(SHARES.values()) <= answer["average"]["high"]
    assert answer["average"]["value"] == pytest.approx(sum(row["frequency"] for row in answer["values"]))
    assert (answer["unseen_pairs"], len(answer["pairs"])) == (None, 4 * 3)
    pairs = {(pair["given"], pair["value"]): pair for pair in answer["pairs"]}
    truths = {("export", "search"): 1, ("search", "export"): 0.6, ("print", "sync"): 1, ("sync", "export"): 0}
    for pair, share in truths.items():
        assert pairs[pair]["low"] <= share <= pairs[pair]["high"], pair
    assert pairs["search", "export"]["both"] == pairs["export", "search"]["both"]


def test_set_is_cut_to_at_most_values_and_privset_gives_no_pairs(app: Flask) -> None:
    answer = app.test_client().get("/v1/metrics/matters/estimate").get_json()
    assert answer["mechanism"] == "privset"
    shares = {row["value"]: row for row in answer["values"]}
    for value, share in {"speed": 2 / 3, "privacy": 2 / 3, "docs": 0, "price": 1 / 3}.items():
        assert shares[value]["low"] <= share <= shares[value]["high"], value
    assert sum(row["consistent"] for row in answer["values"]) <= 2 + 1e-9
    assert answer["average"]["low"] <= 5 / 3 <= answer["average"]["high"] <= 2
    assert answer["pairs"] == []
    assert "set-response" in answer["unseen_pairs"]


def test_days_are_compared_and_drawn_as_a_trend(app: Flask) -> None:
    http = app.test_client()
    answer = http.get(
        f"/v1/metrics/used/compare?since={BEFORE}&until={BEFORE}&other_since={TODAY - timedelta(days=2)}"
    ).get_json()
    rows = {row["value"]: row for row in answer["values"]}
    assert rows["export"]["changed"]
    assert rows["export"]["difference"] == pytest.approx(0.5, abs=0.25)
    assert not rows["print"]["changed"]
    trend = http.get("/v1/metrics/used/trend").get_json()
    assert [len(course["points"]) for course in trend["values"]] == [4] * 4
    assert {course["value"] for course in trend["values"] if course["drift"]} == {"export"}
    combined = http.get("/v1/metrics/used/combined").get_json()
    whole = http.get("/v1/metrics/used/estimate").get_json()
    assert [row["frequency"] for row in combined["values"]] == [row["frequency"] for row in whole["values"]]


def test_every_format_has_one_row_per_value_and_one_per_pair(app: Flask) -> None:
    http, url = app.test_client(), "/v1/metrics/used/estimate"
    answer = http.get(url).get_json()
    rows = [json.loads(line) for line in http.get(f"{url}?format=ndjson").text.splitlines()]
    plain, pairs = ([row for row in rows if (row["given"] is None) is kind] for kind in (True, False))
    assert [{name: row[name] for name in answer["values"][0]} for row in plain] == answer["values"]
    assert [(row["given"], row["value"], row["frequency"], row["low"], row["high"], row["both"]) for row in pairs] == [
        tuple(pair[name] for name in ("given", "value", "share", "low", "high", "both")) for pair in answer["pairs"]
    ]
    table = pa.ipc.open_stream(http.get(f"{url}?format=arrow").data).read_all()
    dated = {"since": BEFORE, "until": TODAY}
    assert table.to_pylist() == [row | dated for row in rows]
    text = list(csv.DictReader(io.StringIO(http.get(f"{url}?format=csv").text)))
    assert list(text[0]) == list(rows[0])
    assert {column.name for column in COLUMNS} <= set(text[0])
    assert [row["given"] for row in text] == [row["given"] or "" for row in rows]


def test_strata_have_their_own_shares_and_pairs(app: Flask) -> None:
    """Everyone on Linux searched and exported, and nobody else exported."""
    http, url = app.test_client(), "/v1/metrics/used/estimate"
    linux, other = (http.get(f"{url}?platform={name}").get_json() for name in ("linux", "other"))
    assert (linux["reports"], other["reports"]) == (3 * 60, 3 * 60 + len(USED))
    assert [row["value"] for row in linux["values"] if row["low"] > 0.5] == ["export", "search"]
    assert other["values"][0]["high"] < 0.25
    parts = {part["stratum"]["platform"]: part["pairs"] for part in http.get(f"{url}?by=platform").get_json()}
    assert parts == {"linux": linux["pairs"], "other": other["pairs"], None: http.get(url).get_json()["pairs"]}


def test_pages_and_commands_show_shares_and_pairs(app: Flask, folder: Path) -> None:
    http = app.test_client()
    page = http.get("/m/used").text
    for text in ("On average, a person chose", "Chosen together", "of those with <bdi>search</bdi>", "linux"):
        assert text in page
    assert "Which answers go together cannot be seen" in http.get("/m/matters").text
    (folder / "metrics.toml").write_text(DEFINITION, encoding="utf-8")
    printed = invoke(folder, "estimate", "used").stdout
    assert "a person has" in printed
    assert "of those with" in printed
    assert "each value of a report is counted separately" in invoke(folder, "estimate", "matters").stdout
    assert "4 days written" in invoke(folder, "refresh").output
