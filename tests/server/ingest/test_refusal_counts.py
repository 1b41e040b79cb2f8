"""Refused batches: counted in memory, written seldom, read by metric, day and kind."""

import json
from collections.abc import Mapping
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner
from flask import Flask
from flask.testing import FlaskClient

from dither_server.app import collector_of
from dither_server.cli.main import cli
from dither_server.ingest.committer import RefusalCounts
from dither_server.store import Refusal, Store, StoreError
from dither_shared.metrics.period import utc_today
from server.collecting import METRICS_TOML, MOBILE, THEME, TODAY, batch, by_kind, environment, problem
from server.database import url_of
from server.ingest.posting import changed, post

TOMORROW = TODAY + timedelta(days=1)
VERSION = THEME.version


def add(refusals: RefusalCounts) -> None:
    """Add a batch of our metric."""
    refusals.add("malformed", "theme", VERSION, is_ours=True, size=120)


class Written:
    """Return the refusals in the database, which may be unavailable."""

    def __init__(self) -> None:
        self.writes: list[dict[Refusal, int]] = []
        self.failure: Exception | None = None

    def add_refusals(self, refused: Mapping[Refusal, int], shard: bytes) -> None:
        if self.failure is not None:
            raise self.failure
        self.writes.append(dict(refused))


def test_flood_of_refusals_is_written_once_after_a_pause() -> None:
    now, days, written = [0.0], [TODAY], Written()
    woken: list[float] = []
    refusals = RefusalCounts(lambda: days[-1], lambda: woken.append(now[-1]), lambda: now[-1])
    assert refusals.pause() is None
    for _ in range(500):
        add(refusals)
    now.append(4.0)
    days.append(TOMORROW)
    add(refusals)
    assert woken == [0.0]
    assert refusals.pause() == 6.0
    now.append(11.0)
    assert refusals.pause() == 0.0
    refusals.write(written.add_refusals, b"")
    assert written.writes == [
        {Refusal("theme", TODAY, "malformed", VERSION): 500, Refusal("theme", TOMORROW, "malformed", VERSION): 1}
    ]
    assert refusals.pause() is None
    refusals.write(written.add_refusals, b"")
    assert len(written.writes) == 1
    add(refusals)
    assert woken == [0.0, 11.0]


def test_refusals_that_cannot_be_written_are_kept_and_tried_later() -> None:
    now, written = [0.0], Written()
    refusals = RefusalCounts(lambda: TODAY, clock=lambda: now[-1])
    for failure in (StoreError("database: locked"), ArithmeticError()):
        refusals.add("malformed")
        now.append(now[-1] + 10.0)
        written.failure = failure
        refusals.write(written.add_refusals, b"")
        assert refusals.pause() == 10.0
    written.failure = None
    refusals.write(written.add_refusals, b"")
    assert written.writes == [{Refusal("", TODAY, "malformed"): 2}]


def test_counts_add_up_over_writes_shards_and_days(store: Store) -> None:
    for day, shard in ((TODAY, b"a" * 16), (TODAY, b"b" * 16), (TOMORROW, b"a" * 16), (TODAY, b"a" * 16)):
        store.add_refusals({Refusal("theme", day, "malformed"): 3, Refusal("", day, "too-large"): 1}, shard)
    store.add_refusals({Refusal("theme", TODAY, "batch-conflict", VERSION): 5}, b"a" * 16)
    assert store.refusals.read("theme", TODAY, TODAY) == {
        Refusal("theme", TODAY, "batch-conflict", VERSION): 5,
        Refusal("theme", TODAY, "malformed"): 9,
    }
    assert store.refusals.read(since=TOMORROW) == {
        Refusal("", TOMORROW, "too-large"): 1,
        Refusal("theme", TOMORROW, "malformed"): 3,
    }
    assert by_kind(store, "theme") == {"batch-conflict": 5, "malformed": 12}
    assert store.refusals.read("mobile", date(2026, 1, 1), TOMORROW) == {}


def test_a_collector_counts_what_it_refuses(client: FlaskClient, app: Flask) -> None:
    good = batch()
    assert post(client, good.encode()).status_code == post(client, good.encode()[:-1] + b" }").status_code == 202
    for body, answer in (
        (b"{", (400, "malformed")),
        (batch(rows=b"\xff").encode(), (400, "malformed")),
        (good._replace(version="0" * 16).encode(), (409, "version-conflict")),
        (good._replace(version=MOBILE.version).encode(), (409, "version-conflict")),
        (batch(rows=b"\x00" * 1001).encode(), (413, "too-large")),
        (changed(metric="stranger"), (404, "unknown-metric")),
        (changed(metric="\ud800"), (404, "unknown-metric")),
    ):
        assert problem(post(client, body)) == answer, body
    assert problem(post(client, good.encode(), content_type="text/plain")) == (415, "media-type")
    store = collector_of(app).store
    assert by_kind(store, "theme") == {}
    collector_of(app).close()
    assert by_kind(store, "theme") == {"malformed": 1, "too-large": 1, "version-conflict": 2}
    assert by_kind(store, "") == {"malformed": 1, "media-type": 1, "unknown-metric": 2}
    assert by_kind(store, "stranger") == {}
    named = {(refusal.metric, refusal.version) for refusal in store.refusals.read()}
    assert named == {("theme", VERSION), ("theme", "0" * 16), ("theme", MOBILE.version), ("", "")}


def test_unknown_versions_are_named_in_a_bounded_number_of_rows() -> None:
    days, written = [TODAY], Written()
    refusals = RefusalCounts(lambda: days[-1], clock=lambda: 0.0)
    for day in (TODAY, TOMORROW):
        days.append(day)
        for number in range(1000):
            refusals.add("version-conflict", "theme", f"{number:016x}")
        add(refusals)
    refusals.add(
        "version-conflict", "crashed", "b" * 16
    )  # versions that are made up for one metric hide none of another
    refusals.write(written.add_refusals, b"")
    (counts,) = written.writes
    assert len(counts) == 2 * (16 + 1 + 1) + 1
    assert counts[Refusal("crashed", TOMORROW, "version-conflict", "b" * 16)] == 1
    assert counts[Refusal("theme", TODAY, "version-conflict", "0" * 16)] == 1
    assert counts[Refusal("theme", TOMORROW, "version-conflict", "")] == 1000 - 16
    assert counts[Refusal("theme", TOMORROW, "malformed", VERSION)] == 1


def test_refusals_are_logged_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    refusals = RefusalCounts(lambda: TODAY, clock=lambda: now[-1])
    for second in range(150):
        now.append(float(second))
        add(refusals) if second < 50 else refusals.add("too-large")
    ours = f"malformed, metric theme, version {VERSION}, 120 bytes; 1"
    other = "too-large, metric unknown, version unknown, unread; 60"
    assert [record.getMessage() for record in caplog.records] == [
        f"a batch was refused: {count} refused since the last such line, at most one a minute"
        for count in (ours, other, other)
    ]


def test_prometheus_counts_refusals_with_few_labels(client: FlaskClient) -> None:
    bodies = [batch().encode().replace(VERSION.encode(), f"{number:016x}".encode()) for number in range(50)]
    bodies += [batch().encode().replace(b"theme", f"stranger{number}".encode()) for number in range(50)]
    for body in [*bodies, batch(rows=b"\xff").encode()]:
        post(client, body)
    lines = client.get("/metrics").text.splitlines()
    assert {line for line in lines if line.startswith("dither_refused_batches_total{")} == {
        'dither_refused_batches_total{metric="theme",reason="version-conflict",version="(unknown)"} 50.0',
        'dither_refused_batches_total{metric="(unknown)",reason="unknown-metric",version="(unknown)"} 50.0',
        f'dither_refused_batches_total{{metric="theme",reason="malformed",version="{VERSION}"}} 1.0',
    }


def test_the_pages_show_what_was_refused(app: Flask, client: FlaskClient) -> None:
    assert "Refused" not in client.get("/").text
    strange = {Refusal("theme", TODAY, "version-conflict", f"{number:016x}"): 10 + number for number in range(12)}
    ours = {Refusal("theme", TODAY, "malformed", VERSION): 1234, Refusal("", TODAY, "too-large"): 99}
    pages = {Refusal("", TODAY, "origin"): 30}
    collector_of(app).store.add_refusals({**strange, **ours, **pages}, b"a" * 16)
    page = client.get("/").text
    assert page.count("unknown here") == 7
    assert "And 60 batches more, for other reasons or of other metrics or versions." in page
    assert '<data value="1234">1,234 batches</data>' in page
    assert "too-large" in page
    assert "The page&#39;s origin is not listed" in page
    about_theme = client.get("/m/theme").text
    assert "too-large" not in about_theme
    assert "And 33 batches more, for other reasons or of other metrics or versions." in about_theme
    assert "Refused" not in client.get("/m/mobile").text
    assert "Refused" not in client.get("/?until=2026-11-19").text


@pytest.fixture
def refused(tmp_path: Path, one_day: None) -> Path:
    """A folder with a database in which some batches were refused, yesterday and today."""
    (tmp_path / "metrics.toml").write_text(METRICS_TOML, encoding="utf-8")
    today = utc_today()
    with closing(Store(url_of(tmp_path))) as store:
        store.register([THEME])
        store.add_refusals(
            {
                Refusal("theme", today, "version-conflict", "0123456789abcdef"): 12_345,
                Refusal("theme", today - timedelta(days=1), "malformed", VERSION): 31,
                Refusal("theme", today, "malformed", VERSION): 1,
                Refusal("theme", today, "sealed", VERSION): 7,
                Refusal("", today, "unknown-metric"): 4,
                Refusal("", today - timedelta(days=8), "unknown-metric"): 1000,
            },
            b"a" * 16,
        )
    return tmp_path


def test_refusals_command_lists_them_by_reason_and_by_day(refused: Path) -> None:
    def lines(*options: str) -> list[list[str]]:
        result = CliRunner().invoke(cli, ["refusals", *options], env=environment(refused))
        assert result.exit_code == 0, result.output
        assert max(map(len, result.stdout.splitlines())) <= 80
        return [line.split() for line in result.stdout.splitlines()]

    today, before = str(utc_today()), str(utc_today() - timedelta(days=1))
    table = [
        ["version-conflict", "12,345", "0123456789abcdef", "theme", "(unknown", "here)"],
        ["malformed", "32", VERSION, "theme"],
        ["sealed", "(reports)", "7", VERSION, "theme"],
        ["unknown-metric", "4", "-", "(no", "metric)"],
    ]
    assert lines() == [["reason", "refused", "version", "metric"], *table]
    assert lines("--metric", "theme")[1:] == table[:3]
    by_day = lines("--by-day")[1:]
    assert by_day[0] == [before, "malformed", "31", VERSION, "theme"]
    assert [row[0] for row in by_day] == [before, today, today, today, today]
    assert lines("--until", "2020-01-01") == [["nothing", "was", "refused", "from", "2019-12-26", "to", "2020-01-01"]]
    assert lines("--since", "2026-01-01")[1][:2] == ["version-conflict", "12,345"]
    assert lines("--since", "2026-01-01")[2][:2] == ["unknown-metric", "1,004"]


def test_refusals_command_prints_json(refused: Path) -> None:
    answer = json.loads(CliRunner().invoke(cli, ["refusals", "--json"], env=environment(refused)).stdout)
    assert answer["until"] == str(utc_today())
    names = ("day", "metric", "version", "registered", "reason", "batches")
    strange = (None, "theme", "0123456789abcdef", False, "version-conflict", 12_345)
    unknown = (None, None, None, None, "unknown-metric", 4)
    assert [answer["refused"][place] for place in (0, -1)] == [
        dict(zip(names, row, strict=True)) for row in (strange, unknown)
    ]
