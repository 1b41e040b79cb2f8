"""What an answer costs is known before it is begun, and work ends with whoever asked for it."""

import json
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from dither_server.app import collector_of, create_app
from dither_server.observability.prometheus import Prometheus
from dither_server.protocol.problems import Problem
from dither_server.reading.costs import effort
from dither_server.reading.places import Analyses, PeerGoneError, Turns
from dither_server.store import Store, StoreError
from dither_shared import Metric, parse_metrics
from server.collecting import METRICS, THEME, TODAY, config, problem, rows_of, upload

DAYS = 20
WIDE = parse_metrics(
    '[metrics.wide]\ntype = "choice"\nmechanism = "symmetric-unary"\nepsilon = 3.0\nvalues = [{}]\n'.format(
        ", ".join(f'"v,{number}"' for number in range(299))
    )
)["wide"]
ESTIMATE, TREND = "/v1/metrics/wide/estimate", "/v1/metrics/wide/trend"
COMPARE = "/v1/metrics/wide/compare"
TABLE = f"{ESTIMATE}?by_day=true&format=csv"


def filled(folder: Path, **changed: object) -> Flask:
    app = create_app(config(folder, metrics=METRICS | {"wide": WIDE}, **changed))
    store = collector_of(app).store
    for day in range(DAYS):
        rows = b"".join(rows_of(WIDE, 20, b"%d" % number, f"v,{number * number % 7}") for number in range(5))
        store.commit([upload(WIDE, rows), upload(THEME, rows_of(THEME, 60))], TODAY - timedelta(days=day), b"s" * 16)
    return app


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Flask]:
    app = filled(tmp_path, analyses=1, analysis_wait=0.01)
    yield app
    collector_of(app).close()


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The metrics whose tallies were read, one for each time."""
    names: list[str] = []
    tally = Store.tally

    def reading(self: Store, metric: Metric, *days: Any) -> Any:
        names.append(metric.name)
        return tally(self, metric, *days)

    monkeypatch.setattr(Store, "tally", reading)
    return names


def ended(app: Flask) -> dict[str, int]:
    """How many analyses ended in each way."""
    told = collector_of(app).prometheus.text().decode().splitlines()
    counts = [line.partition('outcome="')[2].split('"} ') for line in told if line.startswith("dither_analyses_total")]
    return {outcome: int(float(number)) for outcome, number in counts}


@pytest.mark.parametrize(
    ("path", "limit", "hint"),
    [
        (f"{ESTIMATE}?by_day=true", 300 * DAYS, "ask for fewer days, step=week for a trend, values= or top=50"),
        (TABLE, 300 * DAYS, "fewer days"),
        (f"{TABLE}&top=50", 50 * DAYS, "values= or top=50"),
        (TREND, 300 * DAYS, "step=week"),
        (TREND, 10, "ask for fewer days, or step=week for a trend"),
        (ESTIMATE, 300, "ask for top=50 or values="),
        (COMPARE, 300, "ask for top=50 or values="),
        ("/v1/metrics/wide/combined", 300, "ask for top=50 or values="),
        ("/v1/metrics/version/estimate", 100, "list fewer candidates in its definition"),
        ("/", 100, "fewer candidates"),
    ],
)
def test_what_would_cost_too_much_is_refused_before_it_is_begun(
    path: str, limit: int, hint: str, tmp_path: Path, read: list[str]
) -> None:
    with closing(collector_of(app := filled(tmp_path, estimates_limit=limit))):
        response = app.test_client().get(path)
        assert problem(response) == (413, "too-costly")
        assert hint in response.json["detail"]  # type: ignore[index]
        assert "wide" not in read
        assert ended(app) == {"refused": 1}


@pytest.mark.parametrize(
    "path",
    [
        f"{TABLE}&top=50",
        f"{TABLE}&values=v,1&values=v,2",
        f"{TABLE}&limit=50&offset=100",
        f"{TABLE}&since=2026-11-18",
        f"{TREND}?top=50",
        f"{TREND}?step=week",
        ESTIMATE,
        COMPARE,
        "/m/wide",
    ],
)
def test_what_the_hints_say_helps(path: str, tmp_path: Path) -> None:
    with closing(collector_of(app := filled(tmp_path, estimates_limit=7 * (300 + effort(WIDE))))):
        assert app.test_client().get(path).status_code == 200


def test_the_largest_answer_that_is_allowed_by_default() -> None:
    """What the hints of the default limit promise, of a year of 16,384 values."""
    text = '[metrics.x]\ntype = "choice"\nepsilon = 1.0\nvalues = [{}]\n'
    wide = parse_metrics(text.format(", ".join(f'"{number}"' for number in range(16_383))))["x"]
    limit = 500_000
    assert 365 * (effort(wide) + 50) <= limit < 365 * (effort(wide) + 16_384)
    assert 28 * (effort(wide) + 16_384) <= limit


def rows(client: FlaskClient, path: str) -> list[dict[str, Any]]:
    response = client.get(path)
    assert response.status_code == 200, response.data
    return list(json.loads(response.data)["values"])


@pytest.mark.parametrize(
    "base", [ESTIMATE, TREND, COMPARE, "/v1/metrics/wide/combined", f"{ESTIMATE}?simultaneous=true"]
)
def test_what_is_left_out_changes_no_number(base: str, app: Flask) -> None:
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


def test_each_day_shows_the_same_values(app: Flask) -> None:
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


def test_parts_that_cannot_be(app: Flask) -> None:
    wrong = ["top=0", "top=-1", "top=x", "top=1&top=2", "top=9999999999", "top=2&limit=2", "top=2&offset=1"]
    wrong += ["limit=0", "offset=-1", "offset=1e3", "values=nobody", "values=v,1&values="]
    for base, query in product((ESTIMATE, TREND, COMPARE), wrong):
        response = app.test_client().get(f"{base}?{query}")
        assert problem(response) == (400, "parameter")
        assert "nobody" not in response.text
    assert not {"answered", "failed"} & set(ended(app))


def test_metrics_and_their_values_come_in_parts(app: Flask) -> None:
    client = app.test_client()
    whole = client.get("/v1/metrics").json
    assert whole is not None
    assert (whole["size"], len(whole["metrics"])) == (5, 5)
    wide = whole["metrics"][-1]
    assert (wide["metric"], wide["size"], wide["values"]) == ("wide", 300, list(WIDE.labels[:100]))
    part = client.get("/v1/metrics?limit=2&offset=1").json
    assert part == {"metrics": whole["metrics"][1:3], "size": 5, "former": []}
    one = client.get("/v1/metrics/wide").json
    assert one is not None
    assert one["values"] == list(WIDE.labels)
    assert client.get("/v1/metrics/wide?limit=7&offset=290").json == one | {"values": list(WIDE.labels[290:297])}
    assert problem(client.get("/v1/metrics?limit=0")) == (400, "parameter")
    assert problem(client.get("/v1/metrics/wide?top=2")) == (400, "parameter")


def test_pages_take_a_limit_and_no_values(app: Flask) -> None:
    client = app.test_client()
    page = client.get("/m/wide?limit=3&page=2").text
    assert page.count("<bdi>v,") == 3 * 2  # in the table, and above its course
    assert "Page 2 of 100" in page
    assert "limit=3" in page
    for query in ("limit=501", "limit=0", "top=3", "values=v,1", "offset=2"):
        assert problem(client.get(f"/m/wide?{query}")) == (400, "parameter")


def test_a_table_by_day_is_made_while_it_is_read(app: Flask, read: list[str]) -> None:
    """And a second one waits for its place, which is free when the first is closed."""
    client = app.test_client()
    stream = client.get(TABLE, buffered=False)
    pieces = stream.iter_encoded()
    next(pieces)
    assert 0 < len(read) < 8  # a hundred kilobytes are some days
    before = len(read)
    busy = client.get(ESTIMATE)
    assert problem(busy) == (503, "busy")
    assert int(busy.headers["Retry-After"]) > 0
    stream.close()
    assert len(rows(client, ESTIMATE)) == 300
    assert len(read) == before + 1
    assert ended(app) == {"busy": 1, "abandoned": 1, "answered": 1}
    assert client.get(TABLE).text.count("\r\n") == 1 + 300 * DAYS
    assert len(read) == before + 1 + DAYS


def test_an_answer_that_nobody_reads_frees_its_place(app: Flask) -> None:
    for _ in range(3):
        app.test_client().head(TABLE).close()
    assert app.test_client().get(ESTIMATE).status_code == 200


@pytest.mark.parametrize(
    ("path", "told_by"),
    [
        *((path, "dither.peer_gone") for path in (TABLE, TREND, f"{TREND}?top=2", ESTIMATE, "/m/wide", "/")),
        (TABLE, "waitress.client_disconnected"),
    ],
)
def test_work_ends_when_the_peer_is_gone(path: str, told_by: str, app: Flask, read: list[str]) -> None:
    asked: list[bool] = []

    def gone() -> bool:
        asked.append(True)
        return len(asked) > 2

    app.test_client().get(path, environ_overrides={told_by: gone})
    assert len(asked) == 3 or path == ESTIMATE
    assert len(read) <= 4
    assert ended(app) == {"abandoned": 1}
    assert app.test_client().get(ESTIMATE).status_code == 200


def test_a_failure_in_the_middle_cuts_the_answer(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    """A whole table would be taken for all there is."""
    stream = app.test_client().get(TABLE, buffered=False)
    pieces = stream.iter_encoded()
    next(pieces)

    def fail(*_: object) -> None:
        raise StoreError("database: gone")

    monkeypatch.setattr(Store, "tally", fail)
    with pytest.raises(StoreError):
        list(pieces)
    stream.close()
    assert ended(app) == {"failed": 1}
    assert problem(app.test_client().get(TABLE)) == (503, "unavailable")
    assert ended(app) == {"failed": 2}


def test_turns_are_taken_in_order() -> None:
    turns, order, waiting = Turns(), list[int](), list[threading.Thread]()
    assert turns.acquire(0)
    assert not turns.acquire(0.001)

    def wait(number: int) -> None:
        assert turns.acquire(10)
        order.append(number)
        turns.release()

    for number in range(5):
        waiting.append(threading.Thread(target=wait, args=(number,)))
        waiting[-1].start()
        while turns.waiting <= number:
            pass
    turns.release()
    for thread in waiting:
        thread.join()
    assert order == [0, 1, 2, 3, 4]
    assert turns.acquire(0)


def test_only_one_computes_and_a_slow_reader_holds_nobody_up() -> None:
    analyses = Analyses(2, Prometheus())
    one, other = analyses.begin(lambda: False), analyses.begin(lambda: False)
    inside: list[int] = []

    def steps(name: int) -> Iterator[bytes]:
        for _ in range(50):
            inside.append(name)
            assert len(inside) == 1
            inside.pop()
            yield b"x" * 70_000

    first, second = one.pieces(steps(1)), other.pieces(steps(2))
    next(first)  # and then it is not read on
    reading = threading.Thread(target=lambda: sum(map(len, second)))
    reading.start()
    reading.join(10)
    assert not reading.is_alive()
    assert len(list(first)) == 49


def test_a_place_is_given_back_once() -> None:
    analyses = Analyses(1, Prometheus(), patience=0.01)
    with pytest.raises(PeerGoneError), analyses.begin(lambda: True) as work, work.step():
        raise AssertionError("a step for nobody")
    with analyses.begin(lambda: False) as work:
        work.end()
        with analyses.begin(lambda: False), pytest.raises(Problem):
            analyses.begin(lambda: False)
    analyses.begin(lambda: False).end()
