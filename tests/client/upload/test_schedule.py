"""When reports leave: each at its own moment, also after each answer, and all at once only if the host flushes."""

from pathlib import Path

import pytest

import dither
from client.devices import Clock, Make, Script, parts_on, uploader_of
from dither.settings import SPREAD
from dither.state.journal_records import Queued
from dither.upload.schedule import BUSY, REFUSED, RetryWindow, UploadSchedule, hold_of, rule_for
from dither.upload.transport import UnreachableError

ENTRIES = [Queued(f"{number:032x}", "theme", 1, 0, b"{}") for number in range(1000)]


def departures_of(departures: UploadSchedule, clock: Clock, waiting: list[Queued]) -> list[tuple[Queued, float]]:
    """Let the reports leave one after another; return which left, and when."""
    sent = []
    while waiting:
        entry, wait = departures.next_due(waiting)
        clock.now += wait
        assert departures.next_due(waiting) == (entry, 0.0)
        waiting.remove(entry)
        sent.append((entry, clock.now))
    return sent


def test_each_report_waits_separately_with_full_jitter() -> None:
    clock = Clock()
    sent = departures_of(UploadSchedule(clock=clock), clock, ENTRIES[:])
    waits = sorted(moment - 5000.0 for _, moment in sent)
    assert waits[0] >= 0
    assert waits[-1] <= SPREAD
    # Kolmogorov-Smirnov against the uniform law: P[D > 0.09] <= 2 exp(-2 · 1000 · 0.09²) < 2e-7
    assert max(abs(wait / SPREAD - rank / 1000) for rank, wait in enumerate(waits)) < 0.09
    assert [entry for entry, _ in sent] != ENTRIES, "nor does their order reveal the order of recording"


def test_reports_due_at_the_same_time_do_not_leave_together() -> None:
    clock = Clock()
    drawn = iter([0.1, 0.2, 0.3, 0.5, 0.25])
    departures = UploadSchedule(100.0, uniform=lambda: next(drawn), clock=clock)
    assert departures.next_due(ENTRIES[:3]) == (ENTRIES[0], 10.0)
    clock.now += 1000  # the computer slept
    assert departures.next_due(ENTRIES[:3]) == (ENTRIES[0], 0.0)
    departures.forget(ENTRIES[0])
    departures.redraw_missed()
    assert departures.next_due(ENTRIES[1:3]) == (ENTRIES[2], 25.0)


def test_pause_redraws_departures_that_fall_into_it() -> None:
    clock = Clock()
    drawn = iter([0.1, 0.8, 0.5, 0.3, 0.5])
    departures = UploadSchedule(100.0, uniform=lambda: next(drawn), clock=clock)
    assert departures.next_due(ENTRIES[:2]) == (ENTRIES[0], 10.0)
    departures.pause()
    assert departures.next_due(ENTRIES[:3]) == (ENTRIES[1], 80.0), "60 + 30, 80 as before, 60 + 50"


def test_a_clock_that_is_set_back_does_not_silence_a_device() -> None:
    clock = Clock()
    departures = UploadSchedule(100.0, uniform=lambda: 0.5, clock=clock)
    clock.now = 1e9
    departures.pause()
    departures.put_off(ENTRIES[0], 3600.0, REFUSED)
    departures.next_due(ENTRIES[:2])
    clock.now = 5e8
    assert departures.next_due(ENTRIES[:2])[1] == 50.0
    assert departures.next_for_flush(ENTRIES[:1], ()) == ENTRIES[0]


@pytest.mark.parametrize("spread", [0.0, 300.0, 5000.0])
@pytest.mark.parametrize("wish", [None, 10.0, 3000.0, 1e9])
def test_failed_report_leaves_uniformly_in_a_window_as_long_as_its_hold(spread: float, wish: float | None) -> None:
    clock = Clock()
    hold = hold_of(wish)
    window = max(spread, hold, BUSY.base)
    moments = []
    for draw in (0.0, 0.5, 1.0):
        departures = UploadSchedule(spread, uniform=lambda: draw, clock=clock)  # noqa: B023 - it is called at once
        departures.next_due(ENTRIES[:2])
        assert not departures.put_off(ENTRIES[0], wish, BUSY)
        assert departures.is_put_off(ENTRIES[0]) == (hold > 0 or draw > 0)
        assert not departures.is_put_off(ENTRIES[1])
        moments.append(departures.next_due(ENTRIES[:1])[1])
    assert moments == [hold, hold + window / 2, hold + window]


@pytest.mark.parametrize(("window", "hours"), [(BUSY, [0.25, 0.5, 1, 2, 4, 6, 6]), (REFUSED, [4, 8, 16, 24, 24])])
def test_each_failure_of_a_report_doubles_its_window_up_to_a_cap(window: RetryWindow, hours: list[float]) -> None:
    departures = UploadSchedule(0.0, uniform=lambda: 1.0, clock=Clock())
    for number, expected in enumerate(hours):
        assert departures.put_off(ENTRIES[0], None, window) == (number > 0)
        assert departures.next_due(ENTRIES[:1])[1] == expected * 3600


@pytest.mark.parametrize("name", ["spread", "exit_wait", "exit_every"])
@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_an_invalid_number_of_seconds_is_refused(make: Make, name: str, value: float) -> None:
    with pytest.raises(dither.ParameterError, match=rf"^{name}: "):
        make(**{name: value})


def test_flush_sends_reports_one_after_the_other_until_one_fails() -> None:
    sent = Script([202, 503])
    parts = parts_on(dither.MemoryState("on"))
    for name in ("mobile", "theme", "survey"):
        parts.record(name, True)
    clock = Clock()
    uploader = uploader_of(parts, sent, UploadSchedule(100.0, uniform=lambda: 0.5, clock=clock))
    assert uploader.step() == 50.0
    uploader.begin_flush()
    assert (uploader.step(), uploader.flushing) == (0.0, True)
    assert (uploader.step(), uploader.flushing) == (0.0, False), "the second was refused: the flush is over"
    assert uploader.step() == 50.0, "the third leaves at its own moment"
    clock.now += 20
    assert uploader.step() == 30.0, "asking in between does not make it leave"
    uploader.begin_flush()
    assert [uploader.step() for _ in range(3)] == [0.0, 0.0, None]
    assert len(sent.bodies) == 4
    assert sent.bodies[3] == sent.bodies[1], "a failed report is tried last"


def test_unreachable_collector_pauses_the_device_before_reports_leave_separately() -> None:
    unreachable = UnreachableError("down")
    sent = Script([unreachable, unreachable])
    parts = parts_on(dither.MemoryState("on"))
    for name in ("mobile", "theme"):
        parts.record(name, True)
    clock = Clock()
    drawn = iter([0.1, 0.95, 0.5, 0.2, 0.5, 0.8, 0.3])
    schedule = UploadSchedule(100.0, uniform=lambda: next(drawn), clock=clock)
    uploader = uploader_of(parts, sent, schedule)
    waits = []
    while (wait := uploader.step()) is not None:
        waits.append(wait)
        clock.now += wait
    assert len(sent.bodies) == 4
    # the first tries at 10, pauses for 60, tries at 90, when both pause for 120; then 30 and 80 more
    assert clock.now - 5000.0 == 90 + 120 + 80
    assert sent.bodies[0] == sent.bodies[1] == sent.bodies[3]
    assert max(waits) <= 60, "it looks for new reports every minute"


def test_any_answer_resets_pauses_to_the_shortest() -> None:
    parts, clock = parts_on(dither.MemoryState("on")), Clock()
    parts.record("mobile", True)
    sent = Script([UnreachableError("down"), 503, UnreachableError("down")])
    uploader = uploader_of(parts, sent, UploadSchedule(0.0, uniform=lambda: 1.0, clock=clock))
    moments: dict[int, float] = {}
    while (wait := uploader.step()) is not None:
        moments.setdefault(len(sent.bodies), clock.now - 5000.0)
        clock.now += wait
    assert moments == {1: 0, 2: 120, 3: 120 + 900, 4: 120 + 900 + 120}, "by the number of tries"


def test_other_reports_of_an_earlier_run_wait_for_their_moment(make: Make, folder: Path) -> None:
    earlier = make(folder)
    for name in ("mobile", "theme", "survey"):
        earlier.record(name, True)
    sent = Script()
    uploader = uploader_of(parts_on(folder), sent, UploadSchedule(1e6, uniform=lambda: 0.5))
    assert uploader.choose_due()
    assert [uploader.step() for _ in range(3)] == [0, 60, 60], "it looks for new reports every minute"
    assert len(sent.bodies) == 1


def test_pauses_have_full_jitter_and_a_cap_and_reset_on_an_answer() -> None:
    def pauses(count: int, uniform: float) -> list[float]:
        departures = UploadSchedule(0.0, uniform=lambda: uniform, clock=Clock())
        waits = []
        for number in range(count):
            if number == 5:
                departures.reached()
            departures.pause()
            waits.append(departures.next_due([ENTRIES[number]])[1])
        return waits

    assert pauses(6, 1.0) == [120, 240, 480, 600, 600, 120]
    assert pauses(3, 0.0) == [0, 0, 0]


def test_each_status_has_its_result_and_retry_window() -> None:
    statuses = range(100, 600)
    assert {status for status in statuses if rule_for(status).fate == "sent"} == {200, 202}
    assert {status for status in statuses if rule_for(status).fate == "dropped"} == {400, 410, 413, 415, 422}
    kept = [status for status in statuses if rule_for(status).fate is None]
    busy = {408, 425, 429, 502, 503, 504}
    assert {status for status in kept if rule_for(status).window == BUSY} == busy
    assert all(rule_for(status).window == REFUSED for status in {*kept} - busy)
    assert {status for status in kept if rule_for(status).metric_only} == {404, 409}


def test_retry_after_is_rounded_up_and_capped() -> None:
    wishes = (None, -5.0, 0.0, 1.0, 900.0, 900.5, 21_000.0, 1e9)
    assert [hold_of(wish) for wish in wishes] == [0, 0, 0, 900, 900, 1800, 21_600, 21_600]
