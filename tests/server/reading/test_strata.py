"""Strata through the API: each by itself and all together, compared, and in the columns of an export."""

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from flask import Flask
from flask.testing import FlaskClient

from dither_server.app import collector_of, create_app
from dither_server.reading.estimates import EstimateReader
from dither_server.reading.query import Comparison, Query
from dither_server.reading.strata import EVERYONE, Part, both_sides, has_stratum, part_of, parts_by
from dither_server.store import History
from dither_server.tally.tally import Tally
from dither_serving.problems import Problem
from dither_shared import Metric, ParameterError, parse_metrics
from dither_simulations.samplers import sample_tally
from dither_simulations.users.populations import Population
from server.collecting import (
    LAYOUT,
    METRICS,
    SPEED,
    STRATA,
    STRATA_TOML,
    THEME,
    TODAY,
    config,
    problem,
    rows_of,
    upload,
)

SHARD = b"s" * 16
YESTERDAY = TODAY - timedelta(days=1)
LABELS = ("linux/stable", "linux/other", "windows/stable", "windows/other", "other/stable", "other/other")
SENT = {0: (200, "tabs"), 1: (100, "list"), 2: (300, "list"), 5: (50, "tabs")}
"""Reports by the place of their stratum, and what all of these answer."""


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Flask]:
    app = create_app(config(tmp_path, metrics=METRICS | STRATA))
    store = collector_of(app).store
    for place, (count, value) in SENT.items():
        rows = rows_of(LAYOUT, count, bytes([place]), value)
        store.commit([upload(LAYOUT, rows, stratum=place)], YESTERDAY if place == 1 else TODAY, SHARD)
    for place, seconds in ((0, 2.0), (1, 8.0)):
        store.commit([upload(SPEED, rows_of(SPEED, 400, bytes([place]), seconds), stratum=place)], TODAY, SHARD)
    yield app
    collector_of(app).close()


def asked(client: FlaskClient, path: str, name: str = "layout", status: int = 200) -> Any:
    response = client.get(f"/v1/metrics/{name}/{path}")
    assert response.status_code == status, response.text
    return json.loads(response.data)


def refused(client: FlaskClient, path: str, name: str = "layout") -> str:
    response = client.get(f"/v1/metrics/{name}/{path}")
    assert problem(response) == (400, "parameter"), response.text
    return str(json.loads(response.data)["detail"])


def test_a_listing_shows_strata(client: FlaskClient) -> None:
    answer = client.get("/v1/metrics").json
    assert answer is not None
    strata = {one["metric"]: one["strata"] for one in answer["metrics"]}
    assert strata["layout"] == {"platform": ["linux", "windows", "other"], "channel": ["stable", "other"]}
    assert strata["theme"] == {}


@pytest.mark.parametrize(
    ("query", "reports", "stratum"),
    [
        ("", 650, {"platform": None, "channel": None}),
        ("?platform=linux", 300, {"platform": "linux", "channel": None}),
        ("?channel=stable", 500, {"platform": None, "channel": "stable"}),
        ("?platform=windows&channel=other", 0, {"platform": "windows", "channel": "other"}),
        ("?platform=other&channel=other", 50, {"platform": "other", "channel": "other"}),
        ("?platform=linux&since=2026-11-20", 200, {"platform": "linux", "channel": None}),
    ],
)
def test_an_estimate_of_a_stratum_is_of_its_reports_alone(
    client: FlaskClient, query: str, reports: int, stratum: Mapping[str, str | None]
) -> None:
    answer = asked(client, f"estimate{query}")
    assert (answer["reports"], answer["stratum"]) == (reports, stratum)


def test_an_estimate_without_strata_speaks_of_none(client: FlaskClient) -> None:
    assert "stratum" not in asked(client, "estimate", "theme")


def test_days_are_those_of_the_stratum(client: FlaskClient) -> None:
    """So that the errors of one that reported for a day are not those of two."""
    told = [asked(client, f"estimate{query}") for query in ("", "?channel=stable")]
    assert [(one["since"], one["periods"]) for one in told] == [("2026-11-19", 2), ("2026-11-20", 1)]


def test_by_an_attribute_each_stratum_and_at_last_all(client: FlaskClient, app: Flask) -> None:
    answers = asked(client, "estimate?by=platform")
    assert [(one["stratum"]["platform"], one["reports"]) for one in answers] == [
        ("linux", 300), ("windows", 300), ("other", 50), (None, 650),
    ]  # fmt: skip
    assert answers[-1] == asked(client, "estimate")
    assert answers[0] == asked(client, "estimate?platform=linux")
    store = collector_of(app).store
    parts = [store.tally(LAYOUT, places=places) for places in ((0, 1), (2, 3), (4, 5))]
    assert answers[-1]["reports"] == sum(part.total for part in parts)
    assert (store.tally(LAYOUT).counts == sum(part.counts for part in parts)).all()


def test_by_several_attributes_only_strata_with_reports(client: FlaskClient) -> None:
    answers = asked(client, "estimate?by=channel&by=platform&values=tabs")
    told = ["/".join(one["stratum"][name] or "-" for name in ("platform", "channel")) for one in answers]
    assert told == [*(LABELS[place] for place in SENT), "-/-"]
    assert {len(one["values"]) for one in answers} == {1}


def test_by_an_attribute_within_a_stratum_and_by_day(client: FlaskClient) -> None:
    answers = asked(client, "estimate?by=channel&by_day=true&platform=linux")
    told = [(one["since"], one["stratum"]["channel"], one["reports"]) for one in answers]
    assert told == [
        ("2026-11-19", "other", 100),
        ("2026-11-19", None, 100),
        ("2026-11-20", "stable", 200),
        ("2026-11-20", None, 200),
    ]
    assert {one["stratum"]["platform"] for one in answers} == {"linux"}


def test_without_reports_all_is_answered_still(client: FlaskClient) -> None:
    (answer,) = asked(client, "estimate?by=platform&until=2026-01-01")
    assert (answer["reports"], answer["stratum"]) == (0, {"platform": None, "channel": None})


def test_numbers_have_strata_too(client: FlaskClient) -> None:
    low, high, both = asked(client, "estimate?by=platform", "speed")
    assert low["mean"]["high"] < both["mean"]["value"] < high["mean"]["low"]
    answer = asked(client, "compare?platform=linux&other_platform=windows", "speed")
    assert answer["values"][0]["low"] > 4
    assert [side["stratum"] for side in answer["sides"]] == [{"platform": "linux"}, {"platform": "windows"}]


def test_an_answer_of_many_strata_costs_as_many_times(app: Flask) -> None:
    reader = EstimateReader(collector_of(app).store, limit=20)
    assert len(list(reader.tables(LAYOUT, Query(by=("channel",))))) == 3
    with pytest.raises(Problem, match="in 7 steps cost 30"):
        list(reader.tables(LAYOUT, Query(by=("channel", "platform"))))


def test_strata_of_the_same_days_are_compared(client: FlaskClient) -> None:
    answer = asked(client, "compare?platform=linux&channel=stable&other_platform=windows")
    assert [(side["reports"], side["stratum"]) for side in answer["sides"]] == [
        (200, {"platform": "linux", "channel": "stable"}),
        (300, {"platform": "windows", "channel": "stable"}),
    ]
    tabs = answer["values"][0]
    assert (tabs["value"], tabs["changed"]) == ("tabs", True)
    assert tabs["high"] < -0.7


def test_what_is_compared_must_be_of_other_reports(client: FlaskClient) -> None:
    linux = "platform=linux"
    for query in (
        "since=2026-11-19&other_since=2026-11-20",
        f"{linux}&other_since=2026-11-01",
        f"{linux}&since=2026-11-19",
    ):
        told = refused(client, f"compare?{query}")
        assert told == "other_since: both sides hold the same reports; give days or strata that do not overlap"
    days = "since=2026-11-19&until=2026-11-19&other_since=2026-11-20"
    sides = asked(client, f"compare?platform=linux&{days}")["sides"]
    assert [(side["reports"], side["stratum"]["platform"]) for side in sides] == [(100, "linux"), (200, "linux")]
    assert [side["reports"] for side in asked(client, "compare?platform=linux")["sides"]] == [0, 300]  # two weeks


def test_a_stratum_is_compared_with_one_of_another_metric(client: FlaskClient) -> None:
    sides = asked(client, "compare?other=layout&other_channel=other&channel=stable")["sides"]
    assert [side["reports"] for side in sides] == [500, 150]
    told = refused(client, "compare?other=theme&channel=stable&other_channel=other")
    assert told.startswith("'other_channel': unknown; known here: since,")
    assert told.endswith("platform, channel")


def test_a_trend_of_a_stratum(client: FlaskClient) -> None:
    answer = asked(client, "trend?platform=linux")
    assert [step["reports"] for step in answer["steps"]] == [100, 200]
    assert answer["stratum"] == {"platform": "linux", "channel": None}
    assert len(asked(client, "trend?channel=stable")["steps"]) == 1


def test_versions_that_have_a_stratum_are_combined(tmp_path: Path) -> None:
    bare = parse_metrics(STRATA_TOML.split("\nstrata")[0])["layout"]
    with_beta = parse_metrics(STRATA_TOML.replace('["stable"]', '["stable", "beta"]'))
    app = create_app(config(tmp_path, metrics={"layout": bare}))
    collector_of(app).store.register([LAYOUT, with_beta["layout"]])
    collector_of(app).close()
    app = create_app(config(tmp_path, metrics=with_beta))
    store = collector_of(app).store
    store.commit([upload(bare), upload(LAYOUT, stratum=0)], TODAY, SHARD)
    store.commit([upload(with_beta["layout"], stratum=place) for place in (0, 1)], TODAY, SHARD)
    client = app.test_client()
    told = [(one["reports"], len(one["versions"]), one.get("stratum")) for one in (
        asked(client, "combined"), asked(client, "combined?platform=linux"), asked(client, "combined?channel=beta")
    )]  # fmt: skip
    assert told == [(12, 3, None), (9, 2, {"platform": "linux"}), (3, 1, {"channel": "beta"})]
    assert refused(client, "combined?channel=nightly") == "channel: 'nightly' is not one of stable, beta, other"
    collector_of(app).close()


@pytest.mark.parametrize("path", ["estimate", "trend", "combined", "compare"])
def test_an_unknown_attribute_or_value_is_told_with_those_there_are(client: FlaskClient, path: str) -> None:
    assert refused(client, f"{path}?platform=amiga") == "platform: 'amiga' is not one of linux, windows, other"
    told = refused(client, f"{path}?color=red")
    assert told.startswith("'color': unknown; known here: since, until, confidence,")
    assert "platform, channel" in told
    assert "strata" not in told
    assert refused(client, f"{path}?platform=linux&platform=windows") == "platform: given twice"
    assert refused(client, f"{path}?platform=").startswith("'platform': not a value")
    assert refused(client, f"{path}?strata=linux").startswith("'strata': unknown; known here:")
    assert refused(client, f"{path}?platform=linux", "theme").startswith("'platform': unknown; known here: since,")
    assert refused(client, f"{path}?" + "x" * 500 + "=1").startswith(f"'{'x' * 32}': unknown;")


def test_an_unknown_attribute_to_part_by_is_told_with_those_there_are(client: FlaskClient) -> None:
    assert refused(client, "estimate?by=color") == "by: names no attribute of layout; there are platform, channel"
    assert refused(client, "estimate?by=platform", "theme") == "by: names no attribute of theme; it has none"
    told = refused(client, "estimate?by=platform&platform=linux")
    assert told == "by: platform has one value in all that is asked for; leave out either"


def test_tables_have_a_column_for_each_attribute(client: FlaskClient) -> None:
    url = "/v1/metrics/layout/estimate?by=platform&format="
    lines = list(csv.DictReader(io.StringIO(client.get(f"{url}csv").text)))
    names = list(lines[0])
    assert names[: names.index("value")][-2:] == ["platform", "channel"]
    assert [line["platform"] for line in lines] == [one for one in ("linux", "windows", "other", "") for _ in range(3)]
    assert {line["channel"] for line in lines} == {""}
    rows = [json.loads(line) for line in client.get(f"{url}ndjson").text.splitlines()]
    assert [row["platform"] for row in rows[::3]] == ["linux", "windows", "other", None]
    table = pa.ipc.open_stream(client.get(f"{url}arrow").data).read_all()
    assert table.column_names == names
    assert table.column("platform").to_pylist()[::3] == ["linux", "windows", "other", None]
    assert table.schema.field("channel").type == pa.string()
    assert "platform" not in client.get("/v1/metrics/theme/estimate?format=csv").text


def test_a_value_that_a_spreadsheet_would_run_is_inert(tmp_path: Path) -> None:
    metrics = parse_metrics(STRATA_TOML.replace('"windows"]', '"=1+1"]'))
    app = create_app(config(tmp_path, metrics=metrics))
    layout = metrics["layout"]
    collector_of(app).store.commit([upload(layout, stratum=2)], TODAY, SHARD)
    text = app.test_client().get("/v1/metrics/layout/estimate?by=platform&format=csv").text
    assert next(csv.DictReader(io.StringIO(text)))["platform"] == "'=1+1"
    collector_of(app).close()


def test_parts_are_combinations_of_values() -> None:
    everyone = part_of(LAYOUT, ())
    assert everyone == Part((("platform", None), ("channel", None)), tuple(range(6)))
    assert part_of(THEME, ()) == EVERYONE == Part()
    linux = part_of(LAYOUT, (("platform", "linux"),))
    assert (linux.places, linux.label) == ((0, 1), "linux")
    assert [part.places for part in parts_by(LAYOUT, everyone, ["channel"])] == [(0, 2, 4), (1, 3, 5)]
    assert [part.label for part in parts_by(LAYOUT, linux, ["channel"])] == ["linux / stable", "linux / other"]
    assert parts_by(LAYOUT, linux, []) == [linux]
    assert [part.label for part in parts_by(LAYOUT, everyone, ["channel", "platform"])] == [
        label.replace("/", " / ") for label in LABELS
    ]


def test_parts_overlap_where_they_share_a_stratum() -> None:
    chosen = (("platform", "linux"), ("platform", "windows"), ("channel", "stable"))
    linux, windows, stable = (part_of(LAYOUT, (one,)) for one in chosen)
    assert not linux.overlaps(windows)
    assert linux.overlaps(stable)
    assert stable.overlaps(linux)
    assert linux.overlaps(linux)
    assert EVERYONE.overlaps(EVERYONE)


def test_the_other_side_has_the_same_stratum_unless_another_is_named() -> None:
    known = Comparison.names()
    first, second = both_sides(LAYOUT, SPEED, (("platform", "linux"), ("channel", "stable")), known)
    assert (first.label, second.label) == ("linux / stable", "linux")
    first, second = both_sides(LAYOUT, LAYOUT, (("other_channel", "other"), ("platform", "linux")), known)
    assert (first.label, second.label) == ("linux", "linux / other")
    first, second = both_sides(THEME, SPEED, (("other_platform", "windows"),), known)
    assert (first, second.label) == (EVERYONE, "windows")
    with pytest.raises(ParameterError, match=r"'other_channel'.*unknown"):
        both_sides(LAYOUT, SPEED, (("other_channel", "stable"),), known)
    assert has_stratum(SPEED, (("platform", "linux"),))
    assert not has_stratum(SPEED, (("channel", "stable"),))
    assert not has_stratum(THEME, (("platform", "linux"),))


class Tallies:
    """A store that holds a tally for each stratum."""

    def __init__(self, tallies: Sequence[Tally]) -> None:
        self.parts = tallies

    def tally(self, metric: Metric, since: date | None, until: date | None, places: Sequence[int]) -> Tally:
        """The tally of some strata together."""
        first, *rest = (self.parts[place] for place in places)
        return sum(rest, first)

    def history(self, metric: Metric, *_: date | None) -> History:
        """A day of reports, of which none was refused."""
        reports = {TODAY: {place: tally.total for place, tally in enumerate(self.parts)}}
        return History(metric.version, reports, {}, {}, purges=0, blocks=0, chunks=0, folded_up_to=None)


def test_intervals_of_differences_between_strata_cover_as_they_say() -> None:
    """400 comparisons of strata of 6,000 and 2,000 people: by chance fewer than 92% cover once in 10^7 runs, nearly."""
    rng = np.random.default_rng(11)
    shares = np.array([[0.5, 0.3, 0.2], [0.35, 0.35, 0.3], [1.0, 0.0, 0.0]])
    people = (6_000, 2_000, 500)
    asked = Comparison(strata=(("platform", "linux"), ("other_platform", "windows")))
    covered = 0
    for _ in range(400):
        tallies = [
            sample_tally(SMALL.mechanism, Population.drawn(SMALL.labels, share, count, rng), rng)
            for count, share in zip(people, shares, strict=True)
        ]
        row = EstimateReader(Tallies(tallies)).compare(SMALL, SMALL, asked).rows()[0]  # type: ignore[arg-type]
        covered += row["low"] <= shares[1][0] - shares[0][0] <= row["high"]
    assert 368 <= covered <= 398


SMALL = parse_metrics(
    '[metrics.small]\ntype = "choice"\nvalues = ["a", "b"]\nepsilon = 2\n'
    'mechanism = "randomized-response"\nstrata = {platform = ["linux", "windows"]}\n'
)["small"]
