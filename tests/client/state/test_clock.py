"""A clock that was ahead neither silences a device for years nor yields more reports; what was spent stays spent."""

from collections import defaultdict
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client.devices import BROWSER, METRICS, MOBILE, SURVEY, WEEKLY, Calendar, Make, Script, State, parts_on
from dither.reporting.ledger import Ledger
from dither.state.journal_records import Corrected, Permanent, from_lines
from dither_shared import Metric

TODAY = date(2026, 11, 18).toordinal()
WRITTEN = date(2026, 11, 1).toordinal()
ASKED = (MOBILE, WEEKLY, SURVEY, BROWSER)
YEARS = 3650


def period(metric: Metric, day: int) -> int:
    return {"day": day, "week": (day - 1) // 7, "once": 0}[metric.period]


class Device:
    """A ledger and a device that uses it on each day that its clock shows; no metric has a cap."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self.corrected: list[int] = []
        self.reports: dict[str, list[int]] = defaultdict(list)
        self.opened: dict[str, set[int]] = defaultdict(set)
        self.shown: dict[str, set[int]] = defaultdict(set)

    def live(self, day: int, *, restart: bool = False) -> None:
        """Run the device while the clock shows ``day``; check all that must hold at every moment."""
        if restart:
            ledger, before = Ledger(), self.ledger
            for record in before.records():
                ledger.apply(record)
            assert [ledger.open_to(metric, day) for metric in ASKED] == [
                before.open_to(metric, day) for metric in ASKED
            ]
            assert ledger.correction(day) == before.correction(day)
            self.ledger = ledger
        counted = [self.ledger.reports(metric) for metric in ASKED]
        correction = self.ledger.correction(day)
        if correction is not None:
            assert day >= WRITTEN
            assert all(abs(day - other) >= 30 for other in self.corrected)
            self.corrected.append(day)
            self.ledger.apply(correction)
            for name, periods in self.shown.items():
                self.shown[name] = {start for start in periods if start <= period(METRICS[name], day)}
        for metric in ASKED:
            fresh = period(metric, day) not in self.shown[metric.name]
            self.shown[metric.name].add(period(metric, day))
            if self.ledger.open_to(metric, day):
                assert fresh, "between two corrections at most once in each period that the clock shows"
                drawn = Permanent(metric.version, "tag", "00") if metric is BROWSER else None
                self.ledger.apply(self.ledger.debit(metric, day, drawn))
                if drawn is not None:
                    self.ledger.apply(drawn)
                self.reports[metric.name].append(day)
        now = [self.ledger.reports(metric) for metric in ASKED]
        assert all(later >= earlier for later, earlier in zip(now, counted, strict=True))

    def check(self) -> None:
        """Check what must hold at the end."""
        assert len(self.reports["survey"]) <= 1
        for metric in (MOBILE, WEEKLY, BROWSER):
            assert self.ledger.reports(metric) == len(self.reports[metric.name])
        assert self.ledger.spent(BROWSER) == (BROWSER.charge if self.reports["browser"] else 0)
        assert self.ledger.spent(MOBILE) == pytest.approx(len(self.reports["mobile"]) * MOBILE.charge)


DAYS = st.one_of(
    st.integers(WRITTEN, WRITTEN + 60),
    st.integers(WRITTEN, WRITTEN + 20_000),
    st.integers(date(1970, 1, 1).toordinal(), WRITTEN + 20_000),
)


@settings(max_examples=100)
@given(st.lists(st.tuples(DAYS, st.booleans()), max_size=60))
def test_invariants_hold_for_any_walk_of_the_clock(walk: list[tuple[int, bool]]) -> None:
    device = Device()
    for day, restart in walk:
        device.live(day, restart=restart)
    device.check()


@settings(max_examples=40)
@given(st.lists(DAYS, max_size=15), st.integers(WRITTEN, WRITTEN + 5000))
def test_reports_resume_once_the_clock_is_right(walk: list[int], right: int) -> None:
    """Days of corrections that are still to come, one after the other, are the longest that it can take."""
    device = Device()
    for day in walk:
        device.live(day)
    patience = 59 * len(device.corrected) + 1
    for day in range(right, right + patience + 3):
        device.live(day)
    assert device.reports["mobile"][-3:] == [right + patience, right + patience + 1, right + patience + 2]


@pytest.mark.parametrize("ahead", [2, 30, 31, 20_000])
def test_clock_moved_back_and_forth_gains_one_report_in_30_days(ahead: int) -> None:
    device, days = Device(), 200
    for day in range(TODAY, TODAY + days):
        for _ in range(5):
            device.live(day + ahead)
            device.live(day)
    assert len(device.corrected) <= 2 * (days // 30 + 1)
    honest = set(range(TODAY, TODAY + days)) | set(range(TODAY + ahead, TODAY + ahead + days))
    assert len(device.reports["mobile"]) <= len(honest) + len(device.corrected)


def test_a_device_whose_clock_was_years_ahead_reports_again(make: Make, state: State, calendar: Calendar) -> None:
    make(state).record("mobile", True)
    calendar.pass_days(YEARS)
    ahead = make(state)
    for name in METRICS:
        ahead.record(name, True)
    spent = {metric.name: metric.spent for metric in ahead.status().metrics}
    calendar.pass_days(-YEARS)
    client = make(state)
    for days in (0, 1, 6):  # today, tomorrow, and next week
        calendar.pass_days(days)
        for name in METRICS:
            client.record(name, True)
    status = client.status()
    made = {"mobile": 4, "theme": 3, "survey": 1, "weekly": 2, "browser": 3, "editor": 3}
    assert {metric.name: metric.reports for metric in status.metrics} == made, "the survey is asked once"
    assert status.dropped == len(METRICS) + 1, "the reports dated ahead, and the first, which was too old then"
    assert status.queued == sum(made.values()) - status.dropped
    assert all(metric.spent >= spent[metric.name] for metric in status.metrics)
    messages = list(status.trouble)
    assert any("clock was ahead when it was made" in message for message in messages)
    assert any("can be answered again from" in message for message in messages)


def test_a_report_of_the_future_is_dropped_and_never_sent(make: Make, state: State, calendar: Calendar) -> None:
    sent = Script()
    client = make(state, transport=sent)
    calendar.pass_days(2)
    client.record("mobile", True)
    calendar.pass_days(-1)
    assert client.status().queued == 1, "tomorrow is nearer than some time zones"
    calendar.pass_days(-1)
    assert client.flush(60)
    assert sent.bodies == []
    assert (client.status().queued, client.status().dropped) == (0, 1)
    assert list(client.status().trouble.values()) == [1, 1]


@pytest.mark.parametrize("day", [date(1970, 1, 1), date(2020, 1, 1), date(2026, 10, 31)])
def test_clock_that_is_behind_opens_no_period_and_drops_no_report(
    make: Make, state: State, calendar: Calendar, day: date
) -> None:
    make(state).record("mobile", True)
    right, calendar.day = calendar.day, day
    for _ in range(40):
        client = make(state)
        client.record("mobile", True)
        assert len(parts_on(state, today=calendar).journal.waiting()) == 1
        calendar.pass_days(1 if calendar.day < date(2026, 10, 31) else 0)
    calendar.day = right
    status = make(state).status()
    assert (status.queued, status.dropped, status.metrics[0].reports) == (1, 0, 1)


def test_a_process_that_was_stopped_for_days_undoes_no_report_of_others(make: Make, folder: Path) -> None:
    """The process read the day before it was stopped, and finds marks of later days when it continues."""
    now, stale = Calendar(), Calendar()
    days = [stale.day]
    stopped = make(folder, today=lambda: days.pop() if days else now.day)
    other = make(folder, today=now, mode=None)
    now.pass_days(5)
    other.record("mobile", True)
    days.append(stale.day)
    stopped.record("mobile", True)
    other.record("mobile", False)
    other.record("theme", "dark")
    assert {status.name: status.reports for status in other.status().metrics if status.reports} == {
        "mobile": 1,
        "theme": 1,
    }
    assert not any(isinstance(record, Corrected) for record in from_lines((folder / "journal").read_bytes())[0])


def test_a_running_client_notices_that_the_clock_was_set_right(make: Make, calendar: Calendar) -> None:
    client = make()
    for days in (YEARS, 1 - YEARS, 1):
        calendar.pass_days(days)
        client.record("mobile", True)
    assert (client.status().metrics[0].reports, client.status().queued) == (2, 1)
