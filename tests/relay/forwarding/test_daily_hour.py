from datetime import UTC, date, datetime, time, timedelta

from dither_relay.forwarding import following, is_due, latest

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
