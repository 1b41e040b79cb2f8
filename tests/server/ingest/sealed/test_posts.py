"""POST /v1/sealed, by honest relays and by others."""

import json
import logging
import random
import secrets
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import date
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from hypothesis import given, settings
from hypothesis import strategies as st

from dither_server.app import collector_of, create_app
from dither_server.ingest.hpke import opener
from dither_server.ingest.seal_keys import SecretKey
from dither_server.ingest.sealed import row_ids, sound
from dither_server.store import Refusal, Sealed
from dither_server.tally.tally import Tally
from dither_shared import Metric, WireError, parse_metrics
from dither_shared.seal_key import SUITES, Suite
from dither_shared.sealed import Pool, SealedBatch, SealedReport
from server.collecting import (
    LAYOUT,
    METRICS,
    MOBILE,
    STRATA,
    THEME,
    TODAY,
    VERSION,
    batch,
    config,
    problem,
    rows_of,
    same,
)
from server.database import execute, url_of
from server.ingest.posting import post as post_plain
from server.ingest.sealed.sealing import batch_of, drawn, keep, pool, post, seal, sealed_rows, split

NEVER = bytes(range(200, 248)) + bytes(THEME.mechanism.row_bytes)
"""Return rows that no key opens."""


@pytest.fixture
def key(tmp_path: Path) -> SecretKey:
    one = drawn()
    keep(tmp_path / "seal-keys.json", one)
    return one


def noise(count: int, suite: str = "x25519") -> list[bytes]:
    return [secrets.token_bytes(THEME.mechanism.row_bytes + SUITES[suite].overhead) for _ in range(count)]


def refusals(app: Flask) -> dict[Refusal, int]:
    collector_of(app).close()
    return collector_of(app).store.refusals.read()


@pytest.mark.parametrize("suite", SUITES)
def test_sealed_reports_are_opened_and_counted(suite: str, tmp_path: Path, door: FlaskClient, app: Flask) -> None:
    key = drawn(suite)
    keep(tmp_path / "seal-keys.json", drawn("x25519"), drawn("xwing"), key)
    for metric in (THEME, MOBILE, VERSION):
        rows = rows_of(metric, 7)
        sealed = [seal(row, key.public, pool(metric)) for row in split(metric, rows)]
        sent = SealedBatch.of(pool(metric), SUITES[suite], 812, sealed)
        response = post(door, sent.encode())
        assert (response.status_code, response.json) == (202, {"accepted": 7, "refused": 0})
        assert response.headers["Cache-Control"] == "no-store"
        assert same(collector_of(app).store.tally(metric), Tally.fold(metric.mechanism, rows))
        assert collector_of(app).store.sealed(metric) == Sealed(1, 7, 812, 0)
    assert execute(url_of(tmp_path), "SELECT DISTINCT length(batch) FROM batches") == [(17,)]
    assert refusals(app) == {}


def test_body_counts_once_though_its_keys_are_retired_between_two_tries(
    tmp_path: Path, door: FlaskClient, app: Flask
) -> None:
    path = tmp_path / "seal-keys.json"
    former, following = drawn(), drawn()
    keep(path, former, following)
    sealed = [*sealed_rows(THEME, former.public, 40), *sealed_rows(THEME, following.public, 41)]
    body = batch_of(THEME, sealed).encode()  # of which 64 are tried first
    answers = [post(door, body).json]
    for left in ([following], [drawn()], []):
        keep(path, *left)
        answers.append(post(door, body).json)
    counts = [(answer["accepted"], answer["refused"]) for answer in answers if answer]
    assert counts == [(81, 0), (41, 40), (0, 81), (0, 81)]
    assert collector_of(app).store.sealed(THEME) == Sealed(1, 81, 81, 0)
    assert collector_of(app).store.tally(THEME).total == 81


_BODIES = st.lists(
    st.tuples(
        st.sets(st.integers(0, 11), min_size=1), st.integers(0, 1), st.booleans(), st.sampled_from(["ab", "b", "a"])
    ),
    min_size=3,
    max_size=12,
)
"""Bodies: which of 12 rows, to which collector, whether that is restarted before, and the keys that are valid then."""


@given(bodies=_BODIES)
@settings(max_examples=6, deadline=None, derandomize=True)
def test_each_row_that_opens_counts_once_in_any_bodies(bodies: list[tuple[set[int], int, bool, str]]) -> None:
    """Rows 0 to 4 are sealed for key a, 5 to 9 for key b, 10 is not a valid report, and 11 opens with no key."""
    keys = {"a": drawn(), "b": drawn()}
    plain = split(THEME, rows_of(THEME, 10))
    sealed = [seal(row, keys["ab"[place // 5]].public, pool(THEME)) for place, row in enumerate(plain)]
    sealed += [seal(b"\xff", keys["b"].public, pool(THEME)), NEVER]
    opens = {"a": set(range(5)), "b": set(range(5, 10)), "ab": set(range(10))}
    counted: set[int] = set()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as closed:
        path = Path(folder)
        apps = [create_app(config(path)) for _ in range(2)]

        def close() -> None:
            for each in apps:
                collector_of(each).close()

        closed.callback(close)
        for rows, number, restarted, valid in bodies:
            keep(path / "seal-keys.json", *(keys[name] for name in valid))
            if restarted:
                collector_of(apps[number]).close()
                apps[number] = create_app(config(path))
            answer = post(apps[number].test_client(), batch_of(THEME, [sealed[row] for row in rows]).encode())
            fresh = rows & opens[valid]
            if fresh or rows & counted:
                assert answer.json == {"accepted": len(fresh), "refused": len(rows - fresh)}
            else:
                assert problem(answer) == (400, "sealed")
            counted |= fresh
            tally = collector_of(apps[0]).store.tally(THEME)
            assert same(tally, Tally.fold(THEME.mechanism, b"".join(plain[row] for row in sorted(counted))))
            summary = collector_of(apps[1]).store.sealed(THEME)
            assert (0 if summary is None else summary.reports) == len(counted)


@pytest.mark.parametrize("suite", SUITES.values(), ids=SUITES)
def test_id_of_a_row_is_of_its_pool_and_its_whole_encapsulated_key(suite: Suite) -> None:
    end = suite.encapsulated_bytes
    row = bytes(end + 17)
    other_key, other_text = row[: end - 1] + b"\1" + row[end:], row[:-1] + b"\1"
    batch = SealedBatch.of(pool(THEME), suite, 3, [row])
    first, second, third = row_ids(batch, [row, other_key, other_text])
    assert first == third != second
    assert [first] != list(row_ids(batch._replace(pool=pool(MOBILE)), [row]))


def test_holder_of_two_keys_can_separate_the_reports_of_a_batch_by_key() -> None:
    """Reports of an app that has just changed its key are therefore hidden only among those for the same key."""
    old, new = drawn(), drawn()
    body = batch_of(THEME, sealed_rows(THEME, old.public, 9) + sealed_rows(THEME, new.public, 1))
    for key, count in ((old, 9), (new, 1)):
        open_row = opener(key.public, key.private)
        opened = [open_row(row, body.pool.info) for row in body.split(THEME.mechanism.row_bytes)]
        assert sum(row is not None for row in opened) == count


def test_reports_of_a_stratum_are_counted_there(make_app: Callable[..., Flask], key: SecretKey) -> None:
    app = make_app(metrics=STRATA)
    client, store = app.test_client(), collector_of(app).store
    sealed = [seal(row, key.public, pool(LAYOUT, "linux/stable")) for row in split(LAYOUT, rows_of(LAYOUT, 6))]
    assert post(client, batch_of(LAYOUT, sealed, stratum="linux/stable").encode()).status_code == 202
    ((place, reports),) = store.history(LAYOUT).strata().items()
    assert LAYOUT.strata is not None
    assert (LAYOUT.strata.labels[place], reports) == ("linux/stable", 6)
    assert store.sealed(LAYOUT, places=(place,)) == Sealed(1, 6, 6, 0)
    assert store.sealed(LAYOUT, places=(place + 1,)) is None
    for stratum, kind in (("windows/other", "sealed"), ("linux/beta", "malformed"), (None, "malformed")):
        refused = post(client, batch_of(LAYOUT, sealed, stratum=stratum).encode())
        assert problem(refused) == (400, kind)  # it opens in its own pool alone


def test_rows_that_do_not_open_or_are_no_reports_are_refused_one_by_one(
    key: SecretKey, door: FlaskClient, app: Flask, caplog: pytest.LogCaptureFixture
) -> None:
    wrong = [seal(bytes([200 + one]), key.public, pool(THEME)) for one in range(2)]
    elsewhere = [seal(row, key.public, pool(MOBILE)) for row in split(THEME, rows_of(THEME, 3))]
    plain = [rows_of(THEME, 1) * 49]
    body = batch_of(THEME, [*sealed_rows(THEME, key.public, 40), *wrong, *elsewhere, *noise(4), *plain]).encode()
    with caplog.at_level(logging.WARNING):
        assert post(door, body).json == {"accepted": 40, "refused": 10}
    (line,) = [one for one in caplog.messages if one.startswith("a sealed batch")]
    assert line.startswith(
        f"a sealed batch of theme, version {THEME.version}: 10 of 50 reports cannot be opened or read"
    )
    assert collector_of(app).store.tally(THEME).total == 40
    counters = collector_of(app).prometheus.text().decode()
    for said, count in (("reports", 40), ("refused", 10), ("alarms", 1)):
        assert f'dither_sealed_{said}_total{{metric="theme"}} {count}.0' in counters
    assert f'dither_refused_batches_total{{metric="theme",reason="sealed",version="{THEME.version}"}} 10.0' in counters
    assert refusals(app) == {Refusal("theme", TODAY, "sealed", THEME.version): 10}


def test_more_than_5_percent_that_do_not_open_are_logged_once_a_minute(
    key: SecretKey, app: Flask, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        for bad, alarms in ((0, 0), (1, 0), (2, 1), (2, 1)):
            post(app.test_client(), batch_of(THEME, [*sealed_rows(THEME, key.public, 20 - bad), *noise(bad)]).encode())
            assert sum(one.startswith("a sealed batch") for one in caplog.messages) == alarms, bad


def test_where_nothing_opens_the_batch_is_refused_and_may_come_again(
    tmp_path: Path, door: FlaskClient, app: Flask
) -> None:
    key = drawn()
    body = batch_of(THEME, sealed_rows(THEME, key.public, 30)).encode()
    for keys in ([], [drawn("xwing")], [drawn()]):
        keep(tmp_path / "seal-keys.json", *keys)
        assert problem(post(door, body)) == (400, "sealed")
    assert collector_of(app).store.sealed(THEME) is None
    keep(tmp_path / "seal-keys.json", key)
    assert post(door, body).json == {"accepted": 30, "refused": 0}
    assert collector_of(app).store.tally(THEME).total == 30
    assert refusals(app) == {Refusal("theme", TODAY, "sealed", THEME.version): 90}


def test_a_disabled_version_is_gone_and_what_it_counted_stays(key: SecretKey, door: FlaskClient, app: Flask) -> None:
    store = collector_of(app).store
    body, unopened = batch_of(THEME, sealed_rows(THEME, key.public)).encode(), batch_of(THEME, noise(3)).encode()
    assert post(door, body).status_code == 202
    store.definitions.disable("theme", None, TODAY)
    assert post(door, body).status_code == 202
    for one in (batch_of(THEME, sealed_rows(THEME, key.public)).encode(), unopened):
        assert problem(post(door, one)) == (410, "metric-disabled")
    assert store.tally(THEME).total == 5


def never_sent() -> Iterator[tuple[bytes, int, str]]:
    """Bodies that no relay sends, with the status and the problem that they get."""
    rows, ours = sorted(noise(3)), pool(THEME)

    def raw(sealed: bytes = b"".join(rows), total: int = 9, where: Pool = ours, suite: str = "x25519") -> bytes:
        return SealedBatch.of(where, SUITES[suite], total, [sealed]).encode()  # with the right id

    yield raw(where=Pool("no", THEME.version)), 404, "unknown-metric"
    yield raw(where=Pool("theme", "0" * 16)), 409, "version-conflict"
    yield bytes(20_001), 413, "too-large"
    wrong: list[dict[str, Any]] = [{"sealed": b"".join(reversed(rows))}, {"sealed": rows[0] * 2}, {"total": 2}]
    wrong += [{"sealed": b"".join(rows) + b"\0"}, {"suite": "xwing"}, {"where": Pool("theme", THEME.version, "linux")}]
    right = json.loads(raw())
    members: list[dict[str, object]] = [{"batch": "0" * 32}, {"total": "0"}, {"total": 3}, {"suite": "rot13"}]
    members += [{"pool": "theme"}, {"sealed": ""}, {"more": "x"}]
    without = {name: value for name, value in right.items() if name != "suite"}
    for body in (
        *(raw(**one) for one in wrong),
        *(json.dumps(one).encode() for one in (without, *(right | member for member in members))),
        batch(THEME).encode(),
        b"[]",
    ):
        yield body, 400, "malformed"


def test_malformed_sealed_bodies_are_refused_before_anything_is_opened(
    key: SecretKey, door: FlaskClient, app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> None:
        raise AssertionError("it was opened")

    monkeypatch.setattr("dither_server.ingest.sealed._Place.open", never)
    kinds = set()
    for body, status, kind in never_sent():
        assert problem(post(door, body)) == (status, kind), body
        kinds.add(kind)
    assert {one.kind for one in refusals(app)} == kinds


def test_sealed_report_of_a_device_is_refused_as_an_unknown_pool(key: SecretKey, door: FlaskClient) -> None:
    (row,) = sealed_rows(THEME, key.public, 1)
    assert problem(post(door, SealedReport(pool(THEME), row).encode())) == (404, "unknown-pool")
    assert problem(post(door, b'{"pool":"x","sealed":"AA=="}')) == (400, "malformed")


def test_more_reports_than_the_limit_cost_no_opening(
    key: SecretKey, make_app: Callable[..., Flask], monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("dither_server.ingest.sealed._Place.open", never)
    refused = post(make_app(body_limit=1 << 24).test_client(), batch_of(THEME, noise(20_001)).encode())
    assert problem(refused) == (413, "too-large")
    assert "more than 20,000 reports" in json.loads(refused.data)["detail"]


def test_relay_is_asked_to_retry_while_the_keys_cannot_be_read(
    key: SecretKey, tmp_path: Path, door: FlaskClient, app: Flask, caplog: pytest.LogCaptureFixture
) -> None:
    body, path = batch_of(THEME, sealed_rows(THEME, key.public)).encode(), tmp_path / "seal-keys.json"
    path.chmod(0o644)
    with caplog.at_level(logging.ERROR):
        refused = post(door, body)
    assert problem(refused) == (503, "unavailable")
    assert int(refused.headers["Retry-After"]) > 0
    assert str(path) not in refused.text
    assert f"sealed reports cannot be opened: {path}: others may read it" in caplog.text
    path.chmod(0o600)
    assert post(door, body).status_code == 202


def test_with_a_spool_sealed_reports_are_counted_at_once_and_once(
    key: SecretKey, make_app: Callable[..., Flask], tmp_path: Path
) -> None:
    app = make_app(spool=f"{tmp_path}/spool")
    client, store = app.test_client(), collector_of(app).store
    body = batch_of(THEME, [*sealed_rows(THEME, key.public, 30), NEVER]).encode()
    assert [post(client, body).status_code for _ in range(2)] == [202, 202]
    assert post_plain(client, batch(THEME).encode()).status_code == 202
    keep(tmp_path / "seal-keys.json")
    assert post(client, body).json == {"accepted": 0, "refused": 31}
    assert problem(post(client, batch_of(THEME, noise(2)).encode())) == (400, "sealed")
    assert store.tally(THEME).total == 30  # the plain one waits for the fold
    assert store.sealed(THEME) == Sealed(1, 30, 31, 1)
    collector_of(app).close()
    again = make_app(spool=f"{tmp_path}/spool")
    assert post(again.test_client(), body).json == {"accepted": 0, "refused": 31}
    assert collector_of(again).store.tally(THEME).total == 30


def test_pools_are_listed_by_digests_that_reveal_no_name(make_app: Callable[..., Flask], tmp_path: Path) -> None:
    key, other = drawn(), drawn("xwing")
    configured = {**METRICS, "theme": replace(THEME, seal=key.public), "layout": replace(LAYOUT, seal=key.public)}
    app = make_app(metrics=configured, rows_limit=99, body_limit=5000)
    client = app.test_client()
    assert client.get("/v1/sealed").json == {"pools": [], "batch_limit": 99, "body_limit": 5000}
    keep(tmp_path / "seal-keys.json", key, drawn(), other)
    answer = client.get("/v1/sealed")
    assert LAYOUT.strata is not None
    digests = [pool(THEME).digest, *(pool(LAYOUT, label).digest for label in LAYOUT.strata.labels)]
    by_suite = product(sorted(digests), ("x25519", "xwing"))  # so that the order reveals nothing either
    assert json.loads(answer.text)["pools"] == [
        {"pool": digest, "suite": suite, "length": 1 + SUITES[suite].overhead} for digest, suite in by_suite
    ]
    words = {"theme", "layout", THEME.version, LAYOUT.version, *LAYOUT.strata.labels}
    assert not [word for word in words if word in answer.text]
    collector_of(app).store.definitions.disable("layout", None, TODAY)
    assert {entry["pool"] for entry in json.loads(client.get("/v1/sealed").text)["pools"]} == {digests[0]}
    (tmp_path / "seal-keys.json").chmod(0o640)
    assert problem(client.get("/v1/sealed")) == (503, "unavailable")


def is_counted(metric: Metric, row: bytes) -> bool:
    try:
        return Tally.check(metric.mechanism, row) == 1
    except WireError:
        return False


def test_opened_rows_are_counted_only_if_a_device_could_have_sent_them() -> None:
    listed = parse_metrics('[metrics.editors]\ntype = "selection"\nvalues = ["a", "b", "c", "d", "e"]\nepsilon = 1.0\n')
    for metric in (*METRICS.values(), *STRATA.values(), *listed.values()):
        width, draws = metric.mechanism.row_bytes, random.Random(7)
        rows = [bytes(width), b"\xff" * width, *(draws.randbytes(width) for _ in range(300))]
        for some in ([], rows[:1], rows[1:2], rows):
            named = {place.to_bytes(16, "big"): row for place, row in enumerate(some)}
            right = {name: row for name, row in named.items() if is_counted(metric, row)}
            assert sound(metric.mechanism, named) == right, metric.name


PROMISE = "period = 'week'\nmixed = {epsilon = 0.5, least = 20, delta = 0.01}\n"
MIXED = parse_metrics(f"[metrics.theme]\ntype = 'boolean'\nepsilon = 1.0\nof = 'any'\n{PROMISE}")["theme"]
WEEK = Pool("theme", MIXED.version, None, "week-2026-11-09", 20)
"""The week that ends on Monday, 16 November."""


Weekly = Callable[[date], Flask]


@pytest.fixture
def weekly(make_app: Callable[..., Flask]) -> Weekly:
    """Makes a collector of the weekly question on a day."""
    return lambda today: make_app(metrics={"theme": MIXED}, today=lambda: today)


def batch_in(where: Pool, key: SecretKey, count: int = 20, total: int | None = None) -> bytes:
    sealed = [seal(row, key.public, where) for row in split(MIXED, rows_of(MIXED, count, value=True))]
    return SealedBatch.of(where, SUITES["x25519"], total or count, sealed).encode()


@pytest.mark.parametrize(
    ("today", "status", "kind"),
    [
        (date(2026, 11, 15), 409, "unmixed"),
        (date(2026, 11, 16), 202, ""),
        (date(2026, 12, 30), 202, ""),
        (date(2026, 12, 31), 422, "pool-closed"),
    ],
)
def test_a_batch_counts_for_its_period_when_that_is_over_until_rows_may_be_forgotten(
    today: date, status: int, kind: str, key: SecretKey, weekly: Weekly
) -> None:
    app = weekly(today)
    answer = post(app.test_client(), batch_in(WEEK, key))
    assert answer.status_code == status, answer.data
    if status != 202:
        assert problem(answer) == (status, kind)
        return
    store = collector_of(app).store
    assert (store.tally(MIXED).total, store.tally(MIXED, until=date(2026, 11, 9)).total) == (20, 20)
    assert store.sealed(MIXED, until=date(2026, 11, 9)) == Sealed(1, 20, 20, 0)


def test_a_relay_that_forwards_early_or_too_little_is_refused_before_anything_is_opened(
    key: SecretKey, weekly: Weekly
) -> None:
    app = weekly(date(2026, 11, 18))
    door = app.test_client()
    now = WEEK._replace(period="week-2026-11-16")
    for body in (batch_in(now, key), batch_in(WEEK, key, 19), batch_in(WEEK, key, 19, 19)):
        assert problem(post(door, body)) == (409, "unmixed")
    for least in (1, 19, 21):  # a pool that the definition does not have
        assert problem(post(door, batch_in(WEEK._replace(least=least), key, 21)))[1] == "malformed"
    for period in ("day-2026-11-09", "month-2026-10-01", "once"):  # a kind that this version never had
        assert problem(post(door, batch_in(WEEK._replace(period=period), key))) == (400, "malformed")
    assert collector_of(app).store.tally(MIXED).total == 0
    early = SealedBatch.decode(batch_in(now, key))
    moved = SealedBatch.of(WEEK, early.suite, 20, early.split(MIXED.mechanism.row_bytes))
    assert problem(post(door, moved.encode())) == (400, "sealed")  # rows of a week open in no other
