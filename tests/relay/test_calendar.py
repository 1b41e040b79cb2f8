"""Periods at a relay: which reports it takes, forwards and drops as its clock advances."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from io import BytesIO
from pathlib import Path

import pytest

from dither_relay.relay import Relay
from dither_relay.store import RelayStore
from dither_serving.problems import Problem
from dither_shared.sealed import Pool, SealedReport, pool_period
from relay.fake_collector import FakeCollector, collecting
from relay.relaying import (
    LAYOUT,
    LIMITS,
    LISTED,
    POOLS,
    THEME,
    TODAY,
    arrivals,
    config,
    forward,
    hold,
    rounds,
    rows,
)

MONDAY = date(2026, 11, 16)
WEEK = f"week-{MONDAY}"


def _standing(now: datetime) -> Callable[[], datetime]:
    return lambda: now


def answer(pool: Pool, day: date) -> int:
    """Return the status with which a relay answers a report of a pool on a day; 202 if it takes it."""
    try:
        config(
            Path(), "http://collector", now=_standing(datetime(day.year, day.month, day.day, tzinfo=UTC))
        ).require_open(pool)
    except Problem as problem:
        return problem.kind.status
    return 202


def test_a_pool_takes_reports_from_its_first_day_until_long_after_its_last() -> None:
    week = THEME._replace(period=WEEK)
    days = [answer(week, MONDAY + timedelta(days=number)) for number in range(-2, 26)]
    assert days == [404] * 2 + [202] * 23 + [422] * 3
    assert {answer(THEME, day) for day in (date(1970, 1, 1), date(2400, 1, 1))} == {202}  # once


@pytest.mark.parametrize(("period", "due"), [(WEEK, 8), (f"day-{MONDAY}", 2), ("once", -1)])
def test_a_pool_leaves_a_day_after_its_period(
    period: str, due: int, store: RelayStore, collector: FakeCollector
) -> None:
    hold(store, rows(9), period=period, day=MONDAY)
    for number in range(-1, 10):
        assert forward(store, collector.url, today=MONDAY + timedelta(days=number)).reports == 9 * (number == due)


def test_late_reports_wait_for_a_batch_of_their_own_or_are_dropped_and_counted(
    store: RelayStore, collector: FakeCollector
) -> None:
    hold(store, rows(9), period=WEEK)
    day = MONDAY + timedelta(days=8)
    one = rounds(store, collector.url, today=day)
    one.freeze()
    assert one.post({}).reports == 9
    hold(store, rows(13), period=WEEK, day=day)  # nine retries, and four that are too few
    one.freeze()
    assert one.post({}).reports == 0
    later = rounds(store, collector.url, today=day + timedelta(days=30))
    later.freeze()
    later.tidy()
    (theme, *_) = (held for held in store.held() if held.forwarded)
    assert (theme.waiting, theme.forwarded, theme.dropped) == (0, 9, 4)


def test_reports_of_a_long_period_are_not_too_old(store: RelayStore, collector: FakeCollector) -> None:
    hold(store, rows(3), period=WEEK, day=MONDAY - timedelta(days=60))  # days of the relay, not of its clock
    hold(store, rows(2), pool=2, day=MONDAY - timedelta(days=60))
    rounds(store, collector.url, today=MONDAY).tidy()
    assert [(held.waiting, held.dropped) for held in store.held() if held.waiting or held.dropped] == [
        (0, 2),
        (3, 0),
    ]


def test_a_batch_that_a_clock_ahead_has_frozen_waits_until_its_period_is_over(
    store: RelayStore, collector: FakeCollector
) -> None:
    """The collector takes it no earlier, and by then it is older than ``max_age``."""
    hold(store, rows(9), period=f"month-{date(2026, 11, 1)}")
    store.use_hour(date(2026, 10, 31))
    rounds(store, collector.url, today=date(2027, 1, 1)).freeze()
    for day in (date(2026, 11, 1) + timedelta(days=number) for number in range(31)):
        store.use_hour(day)
        collector.answers.append(409)
        one = rounds(store, collector.url, today=day)
        assert one.post({}).rejected == 1
        one.tidy()
    assert forward(store, collector.url, today=date(2026, 12, 2)).reports == 9


@pytest.mark.parametrize(("least", "leaves"), [(1, True), (9, True), (10, False), (10_000, False)])
def test_pool_waits_for_its_own_minimum_if_that_is_above_the_relays(
    least: int, leaves: bool, store: RelayStore, collector: FakeCollector
) -> None:
    pool = THEME._replace(least=least)
    store.list_pools([LISTED[0]._replace(digest=pool.digest)], LIMITS)
    ((_, number),) = store.pools()[pool.digest].items()
    store.commit([arrival._replace(number=number, pool=pool) for arrival in arrivals(rows(9))], TODAY, b"")
    assert forward(store, collector.url, batch=5).reports == 9 * leaves


def test_a_collector_that_lowers_least_gets_no_report(tmp_path: Path) -> None:
    """Devices name the least number in their pool; with another number the collector lists another pool."""
    with collecting(POOLS) as collector, Relay(config(tmp_path, collector.url)) as relay:
        relay.pools.refresh()
        with pytest.raises(Problem) as caught:
            relay.pools.number(THEME._replace(least=1000), 51)
        assert caught.value.kind.slug == "unknown-pool"


def taken(relay: Relay, period: str) -> int:
    """Return the status of a report of a period at a relay."""
    body = SealedReport(LAYOUT._replace(period=period), rows(1)[0]).encode()
    environ = {"REQUEST_METHOD": "POST", "CONTENT_TYPE": "application/json", "CONTENT_LENGTH": str(len(body))}
    return relay.endpoint.respond(environ | {"wsgi.input": BytesIO(body), "REMOTE_ADDR": "127.0.0.1"})[0]


def test_wrong_clocks_of_devices_are_refused_and_counted(tmp_path: Path, collector: FakeCollector) -> None:
    clock = datetime(2026, 11, 20, 12, tzinfo=UTC)
    with Relay(config(tmp_path, collector.url, now=lambda: clock)) as relay:
        relay.pools.refresh()
        today = clock.toordinal()
        statuses = {days: taken(relay, pool_period("day", today + days)) for days in (-900, -17, -15, 0, 1, 900)}
        assert statuses == {-900: 422, -17: 422, -15: 202, 0: 202, 1: 404, 900: 404}
        counts = relay.numbers.text([]).decode()
        assert 'dither_relay_refused_total{reason="pool-closed"} 2.0' in counts
        assert 'dither_relay_refused_total{reason="unknown-pool"} 2.0' in counts
