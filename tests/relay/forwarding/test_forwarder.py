import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

import pytest

from dither_relay.collector import CollectorClient
from dither_relay.forwarding import Forwarder, following, is_due, latest
from dither_relay.store import RelayStore
from dither_server.store import StoreError
from relay.fake_collector import LOST, FakeCollector, collecting
from relay.relaying import PATIENCE, POOLS, config, hold, rows, stored, waiting


class Clock:
    """A wall clock and a monotonic one, both set by hand."""

    def __init__(self) -> None:
        self.wall = datetime(2026, 11, 20, 2, tzinfo=UTC)
        self.seconds = 0.0

    def now(self) -> datetime:
        return self.wall

    def monotonic(self) -> float:
        return self.seconds

    def pass_by(self, **spans: float) -> None:
        self.wall += timedelta(**spans)
        self.seconds += timedelta(**spans).total_seconds()


@contextmanager
def forwarding(folder: Path) -> Iterator[tuple[Clock, RelayStore, FakeCollector, Forwarder]]:
    """A forwarder that beats when the test calls it; the hour of yesterday is used."""
    clock = Clock()
    with stored(folder) as store, collecting(POOLS) as collector:
        store.freeze(clock.wall.date(), lambda *_: None, clock.wall.date() - timedelta(days=1))
        yield clock, store, collector, forwarder_of(store, collector, clock)


def hold_today(store: RelayStore, sealed: Sequence[bytes]) -> None:
    """Hold sealed rows as the relay does, by its own calendar."""
    assert store.day is not None
    hold(store, sealed, day=store.day)


def forwarder_of(store: RelayStore, collector: FakeCollector, clock: Clock) -> Forwarder:
    settings = config(Path(), collector.url, now=clock.now)
    return Forwarder(settings, store, CollectorClient(collector.url, "", PATIENCE), clock.monotonic)


def test_forwarder_posts_at_the_hour_once(tmp_path: Path) -> None:
    with forwarding(tmp_path) as (clock, store, collector, forwarder):
        hold(store, rows(9))
        assert 0 < forwarder.beat() <= 60
        assert collector.bodies == []
        clock.pass_by(hours=1)
        forwarder.beat()
        assert len(collector.bodies) == 1
        hold(store, rows(9, 1))
        clock.pass_by(hours=23, minutes=59)
        forwarder.beat()
        assert len(collector.bodies) == 1
        clock.pass_by(minutes=1)
        forwarder.beat()
        assert collector.rows() == Counter(rows(9) + rows(9, 1))


def test_a_relay_that_never_ran_waits_for_the_next_hour(tmp_path: Path) -> None:
    clock = Clock()
    clock.pass_by(hours=12)
    with stored(tmp_path) as store, collecting(POOLS) as collector:
        hold(store, rows(9))
        forwarder = forwarder_of(store, collector, clock)
        forwarder.beat()
        assert waiting(store) == [(9, 0, 0, 0)]
        clock.pass_by(hours=13)
        forwarder.beat()
        assert waiting(store) == [(0, 0, 9, 0)]


def test_a_missed_hour_is_made_up_for_at_the_start(tmp_path: Path) -> None:
    with forwarding(tmp_path) as (clock, store, collector, _):
        hold(store, rows(9))
        clock.pass_by(days=3)
        forwarder = forwarder_of(store, collector, clock)
        forwarder.beat()
        assert len(collector.bodies) == 1
        hold(store, rows(9, 1))
        forwarder_of(store, collector, clock).beat()  # and not again at the next start
        assert len(collector.bodies) == 1


def test_bodies_that_a_process_left_unposted_are_posted_at_the_next_start(tmp_path: Path) -> None:
    with forwarding(tmp_path) as (clock, store, collector, forwarder):
        hold(store, rows(9))
        collector.answers.extend([LOST])
        clock.pass_by(hours=1)
        forwarder.beat()
        assert waiting(store) == [(0, 9, 0, 0)]
        clock.pass_by(minutes=1)
        forwarder_of(store, collector, clock).beat()
        assert collector.rows() == Counter(rows(9))
        assert collector.bodies[0] == collector.bodies[1]


def test_forwarder_retries_with_doubling_pauses(tmp_path: Path) -> None:
    with forwarding(tmp_path) as (clock, store, collector, forwarder):
        hold(store, rows(9))
        collector.answers.extend([503, (503, {"Retry-After": "100"}), 503, 503])
        clock.pass_by(hours=1)
        tries: list[float] = []
        for _ in range(600):
            before = len(collector.answers)
            forwarder.beat()
            if len(collector.answers) < before or (collector.bodies and len(tries) < 5):
                tries.append(clock.seconds - 3600)
            clock.pass_by(seconds=1)
        assert tries == [0, 10, 110, 150, 230]
        assert collector.rows() == Counter(rows(9))


def test_rejected_body_waits_for_another_day(tmp_path: Path) -> None:
    with forwarding(tmp_path) as (clock, store, collector, forwarder):
        hold(store, rows(9))
        collector.answers.extend([404])
        clock.pass_by(hours=1)
        for _ in range(5):
            forwarder.beat()
            clock.pass_by(hours=4)
        assert collector.bodies == []
        clock.pass_by(hours=4)
        forwarder.beat()
        assert collector.rows() == Counter(rows(9))


def test_old_reports_that_can_leave_at_this_hour_are_not_dropped(tmp_path: Path) -> None:
    """A batch was frozen before the collector was gone for long; another one has enough reports since today."""
    with forwarding(tmp_path) as (clock, store, collector, forwarder):
        old = clock.wall.date() - timedelta(days=90)
        hold(store, rows(9), day=old)
        store.freeze(old, lambda _: 100, None)
        hold(store, rows(4, 1), day=old)
        hold_today(store, rows(5, 2))
        clock.pass_by(hours=1)
        forwarder.beat()
        assert collector.rows() == Counter(rows(9) + rows(4, 1) + rows(5, 2))


def test_closed_forwarder_posts_no_further_body(tmp_path: Path) -> None:
    with forwarding(tmp_path) as (clock, store, collector, forwarder):
        hold(store, rows(9))
        forwarder.close()
        clock.pass_by(hours=1)
        forwarder.beat()
        assert collector.bodies == []
        assert waiting(store) == [(0, 9, 0, 0)]


def test_forwarder_ends_soon_although_the_collector_has_not_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with forwarding(tmp_path) as (clock, store, collector, forwarder):
        hold(store, rows(9))
        clock.pass_by(hours=1)
        collector.gate.clear()
        forwarder.start()
        assert collector.arrived.wait(PATIENCE)
        with monkeypatch.context() as hasty:
            hasty.setattr("dither_relay.forwarding._PATIENCE", 0.01)
            forwarder.close()
        assert store.frozen()
        collector.gate.set()
        forwarder.close()
        assert collector.rows() == Counter(rows(9))


@pytest.mark.parametrize(("jump", "days"), [(-3650, 5), (-46, 1), (20, 1), (3650, 5)])
def test_clock_that_jumps_drops_neither_reports_nor_digests(tmp_path: Path, jump: int, days: int) -> None:
    """This holds while the clock is wrong and when it is set right: few reports go on waiting, digests stay known."""
    few, left = rows(3, 1), rows(9)
    with forwarding(tmp_path) as (clock, store, collector, forwarder):
        hold_today(store, left)
        clock.pass_by(hours=1)
        forwarder.beat()
        hold_today(store, few)
        for wrong in (jump, -jump):
            clock.wall += timedelta(days=wrong)
            for _ in range(days):
                forwarder.beat()
                hold_today(store, left[:3])  # devices that saw no answer
                hold_today(store, few[:1])
                clock.pass_by(days=1)
        assert waiting(store) == [(3, 0, 9, 0)]
        assert collector.rows() == Counter(left)


@pytest.mark.parametrize("jump", [-3650, 3650])
def test_days_of_the_relay_pass_whatever_its_clock_says(tmp_path: Path, jump: int) -> None:
    """Pools with too few reports are dropped after 14 days, and digests after 45: nothing piles up."""
    left = rows(9)
    with forwarding(tmp_path) as (clock, store, collector, forwarder):
        hold_today(store, left)
        clock.pass_by(hours=1)
        forwarder.beat()
        hold_today(store, rows(3, 1))
        clock.wall += timedelta(days=jump)
        seen = []
        for _ in range(47):
            forwarder.beat()
            seen.append(waiting(store)[0][-1])
            clock.pass_by(days=1)
        late = jump <= 0  # a clock that is set back does not end the day in which that happens
        assert seen == [0] * (14 + late) + [3] * (33 - late)
        hold_today(store, left)
        assert waiting(store) == [(9, 0, 9, 3)]
        assert collector.rows() == Counter(left)


def test_a_new_process_continues_the_day_count_of_the_last(tmp_path: Path) -> None:
    with forwarding(tmp_path) as (clock, store, _, forwarder):
        day = store.day
        assert day is not None
        clock.pass_by(days=400)
        forwarder.beat()
        with stored(tmp_path) as other:
            assert store.day == other.day == day + timedelta(days=1)


def test_failing_database_is_logged_once_a_minute_without_posts_to_the_collector(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The collector has taken the body, and the database cannot delete it."""
    with forwarding(tmp_path) as (clock, store, collector, forwarder):
        hold_today(store, rows(9))
        clock.pass_by(hours=1)
        failing = iter(range(20))

        def leave(*arguments: object) -> None:
            raise StoreError("database: database or disk is full")

        def wait(self: threading.Event, seconds: float | None = None) -> bool:
            if threading.current_thread().name != "dither-forwarder" or seconds is None:  # as for a thread to begin
                return rest(self, seconds)
            rests.append((seconds, forwarder.trouble))
            clock.pass_by(seconds=seconds)
            if next(failing, None) is None:
                self.set()
                ended.set()
            return self.is_set()

        rest, rests, ended = threading.Event.wait, list[tuple[float, str]](), threading.Event()
        monkeypatch.setattr(store, "leave", leave)
        monkeypatch.setattr(threading.Event, "wait", wait)
        forwarder.start()
        assert ended.wait(PATIENCE)
        assert all(seconds > 0 and "full" in trouble for seconds, trouble in rests), rests
        assert clock.seconds - 3600 > 200
        assert 2 <= len(collector.bodies) <= 7
        assert len(set(collector.bodies)) == 1
        assert [record.getMessage() for record in caplog.records] == [
            "reports are forwarded later: database: database or disk is full"
        ]


AT = time(3, tzinfo=UTC)
DAY = date(2026, 3, 29)  # on which many clocks change


def at(hour: int, minute: int = 0, days: int = 0) -> datetime:
    return datetime(2026, 3, 29, hour, minute, tzinfo=UTC) + timedelta(days=days)


def test_hour_is_due_once_a_day() -> None:
    used, last = [], DAY - timedelta(days=1)
    for minutes in range(0, 3 * 1440, 7):
        now = at(0) + timedelta(minutes=minutes)
        if is_due(now, AT, last):
            used.append(now)
            last = latest(now, AT)
    assert [moment.date() for moment in used] == [DAY + timedelta(days=days) for days in range(3)]
    assert all(timedelta() <= moment - datetime.combine(moment.date(), AT) < timedelta(minutes=7) for moment in used)


def test_an_hour_that_was_missed_is_made_up_for_once() -> None:
    assert is_due(at(2), AT, DAY - timedelta(days=3))
    assert latest(at(2), AT) == DAY - timedelta(days=1)
    assert not is_due(at(2), AT, DAY - timedelta(days=1))
    assert is_due(at(3), AT, DAY - timedelta(days=1))


def test_a_clock_that_is_set_back_does_not_use_an_hour_twice() -> None:
    assert not is_due(at(2, 50), AT, DAY)
    assert not is_due(at(3, 10), AT, DAY)
    assert not is_due(at(23, days=-1), AT, DAY)


def test_a_clock_that_was_years_ahead_does_not_stop_the_relay() -> None:
    assert is_due(at(4), AT, date(2031, 1, 1))


def test_moved_hour_is_still_due_once_a_day() -> None:
    assert not is_due(at(4), time(5, tzinfo=UTC), DAY - timedelta(days=1))
    assert not is_due(at(5), time(5, tzinfo=UTC), DAY)


def test_next_hour_follows_the_last_one_that_was_used() -> None:
    assert following(at(2), AT, None) == at(3)
    assert following(at(3), AT, None) == at(3, days=1)
    assert following(at(0), time(0, tzinfo=UTC), None) == at(0, days=1)
    today = at(0).date()
    assert following(at(2), AT, today - timedelta(days=1)) == at(3)
    assert following(at(2), AT, today) == at(3, days=1)  # this day was used before the hour was moved
    assert following(at(3), AT, today) == at(3, days=1)
    assert following(at(2), AT, today + timedelta(days=3)) == at(3)  # a clock's fault; this one is due
