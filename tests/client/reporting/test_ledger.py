"""Caps and the change budget: a used-up budget is not spent again, and silence reveals nothing about a value."""

import dataclasses
import math

import pytest

import dither
from client.devices import BROWSER, MOBILE, THEME, Calendar, Make, State
from dither.reporting.ledger import Account, Ledger, cap_of
from dither.state.journal_records import Charged, Corrected, Debit, Disabled, Hold, Permanent
from dither.state.state import StateError
from dither_shared import Metric
from dither_shared.privacy.composition import group

DAY = 739_938  # the 19th of November 2026


def spent(client: dither.Client, name: str) -> float:
    return next(metric.spent for metric in client.status().metrics if metric.name == name)


def rows(client: dither.Client, name: str) -> list[bytes]:
    bodies = [body for body in client.preview() if b'"%s"' % name.encode() in body]
    return [body.split(b'"reports":"')[1] for body in bodies]


@pytest.mark.parametrize(("cap", "lifetime_cap"), [(2.0, math.inf), (None, 2.0)])
def test_the_status_says_that_a_cap_is_reached(
    make: Make, state: State, calendar: Calendar, cap: float | None, lifetime_cap: float
) -> None:
    """The state and the first period without a report are those of the JavaScript client."""
    client = make(state, metrics={"mobile": dataclasses.replace(MOBILE, cap=cap)}, lifetime_cap=lifetime_cap)
    states = []
    for _ in range(4):
        client.record("mobile", True)
        states.append(client.status().metrics[0].state)
        calendar.pass_days(1)
    assert states == ["collected", "collected", "spent", "spent"]
    assert len(rows(client, "mobile")) == 2
    client.consent("off")
    assert client.status().metrics[0].state == "off"


def test_the_lifetime_cap_holds_over_all_metrics(make: Make, state: State, calendar: Calendar) -> None:
    metrics = {"mobile": MOBILE, "theme": THEME}
    for _ in range(5):
        client = make(state, metrics=metrics, lifetime_cap=5.0)
        client.record("mobile", True)
        client.record("theme", "dark")
        calendar.pass_days(1)
    assert (len(rows(client, "mobile")), len(rows(client, "theme"))) == (3, 2)


@pytest.mark.parametrize("values", [["x"], ["x", "y", "z", "w"]])
def test_changes_of_one_metric_do_not_affect_the_reports_of_another(
    make: Make, calendar: Calendar, values: list[str]
) -> None:
    state = dither.MemoryState()
    metrics = {"browser": BROWSER, "mobile": MOBILE}
    for day in range(8):
        client = make(state, metrics=metrics, lifetime_cap=cap_of(BROWSER) + 3.0)
        client.record("browser", values[day % len(values)])
        client.record("mobile", True)
        calendar.pass_days(1)
    assert (len(rows(client, "browser")), len(rows(client, "mobile"))) == (8, 3)


def test_a_metric_with_permanent_draws_that_the_lifetime_cannot_pay_for_never_begins(make: Make) -> None:
    client = make(lifetime_cap=cap_of(BROWSER) - 0.5)
    client.record("browser", "firefox")
    client.record("mobile", True)
    assert (len(rows(client, "browser")), len(rows(client, "mobile"))) == (0, 1)


def test_records_that_cannot_be_read_count_as_charges_of_every_metric() -> None:
    """The spend is an upper bound: any unreadable record may have been a charge of any metric."""
    ledger = Ledger()
    assert ledger.spent(MOBILE) == 0.0
    ledger.apply(Debit(MOBILE.name, MOBILE.version, 739_000, 7, 7, MOBILE.charge, 0.0))
    assert ledger.spent(MOBILE) == group(MOBILE.charge, 7)
    ledger.apply(Hold(739_001, 3))
    assert ledger.spent(MOBILE) == group(MOBILE.charge, 10)
    assert ledger.spent(THEME) == group(THEME.charge, 3)
    ledger.apply(ledger.hold(739_002, 2))
    assert ledger.spent(MOBILE) == group(MOBILE.charge, 12)


def debit_of(metric: Metric, day: int = DAY, charges: int = 1) -> Debit:
    return Debit(metric.name, metric.version, day, 1, charges, metric.charge, 0.0)


def test_ledger_reads_twice_the_entries_that_it_writes_and_no_more() -> None:
    ledger = Ledger()
    for number in range(10_000):
        ledger.debit(MOBILE, DAY)
        ledger.apply(Disabled(f"{number}", DAY))
    with pytest.raises(StateError, match="the ledger is full"):
        ledger.debit(MOBILE, DAY)
    for number in range(10_000, 20_000):
        ledger.apply(Disabled(f"{number}", DAY))
    ledger.check_size()
    ledger.apply(Disabled("one more", DAY))
    with pytest.raises(StateError, match="more accounts than dither writes"):
        ledger.check_size()


def test_every_record_of_a_ledger_counts_towards_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dither.reporting.ledger._MOST", 7)
    ledger = Ledger()
    ledger.apply(debit_of(THEME))  # its account, and the day of its last report
    ledger.apply(Charged(THEME.version, "tag"))
    ledger.apply(Permanent(THEME.version, "tag", "0" * 250))
    ledger.apply(Disabled("a", DAY))
    ledger.apply(Corrected(DAY))
    ledger.debit(MOBILE, DAY)
    ledger.apply(Disabled("b", DAY))
    with pytest.raises(StateError, match="the ledger is full"):
        ledger.debit(MOBILE, DAY)
    ledger.debit(THEME, DAY)  # this metric has an account
    ledger.forget_draws()  # frees the size of two records
    for version in "cd":
        ledger.debit(MOBILE, DAY)
        ledger.apply(Disabled(version, DAY))
    with pytest.raises(StateError, match="the ledger is full"):
        ledger.debit(MOBILE, DAY)


def test_a_long_permanent_draw_counts_once_for_each_250_digits() -> None:
    account = Account("version")
    size = account.charged(Charged("version", "tag"))
    for digits, expected in ((0, 1), (249, 1), (250, 2), (499, 2), (500, 3), (250, 2)):
        size += account.charged(Permanent("version", "tag", "0" * digits))
        assert size == expected


def test_disabled_version_is_silent_for_30_days_and_others_are_not() -> None:
    ledger = Ledger()
    ledger.apply(Disabled(THEME.version, DAY))
    assert [ledger.open_to(THEME, DAY + days) for days in (0, 30, 31)] == [False, False, True]
    assert ledger.open_to(MOBILE, DAY)


def test_correction_sets_marks_beyond_tomorrow_to_today_and_keeps_those_of_tomorrow() -> None:
    for ahead, after in ((1, 1), (2, 0), (9, 0)):
        ledger = Ledger()
        ledger.apply(debit_of(MOBILE, DAY + ahead))
        ledger.apply(Hold(DAY + ahead, 1))
        ledger.apply(Disabled(THEME.version, DAY + ahead))
        ledger.apply(Corrected(DAY))
        assert ledger.accounts()[0].day == ledger.furthest == ledger.hold(DAY, 0).day == DAY + after
        assert [ledger.open_to(THEME, DAY + after + 30 + days) for days in (0, 1)] == [False, True]


@pytest.mark.parametrize("way", [1, -1])
def test_corrections_are_30_days_apart(way: int) -> None:
    ledger = Ledger()
    ledger.apply(Corrected(DAY + way * 30))
    ledger.apply(Disabled(THEME.version, DAY + 99))
    assert ledger.correction(DAY) == Corrected(DAY)
    assert ledger.correction(DAY + way) is None


def test_new_ledger_and_one_that_starts_over_know_of_nothing_spent() -> None:
    ledger = Ledger()
    capped = dataclasses.replace(MOBILE, cap=MOBILE.charge)
    for _ in range(2):
        assert (ledger.reports(MOBILE), ledger.spent(MOBILE), ledger.untouched) == (0, 0.0, True)
        assert ledger.open_to(capped, DAY)
        ledger.apply(Hold(DAY - 1, 1))
        assert not ledger.open_to(capped, DAY)
        assert not ledger.untouched
        ledger.start_over()
    ledger.apply(Charged(THEME.version, "tag"))  # its debit was lost, but unreadable records count separately
    assert [(account.spent, account.reports) for account in ledger.accounts()] == [(0.0, 0)]


def test_ledger_is_written_with_each_debit_twice() -> None:
    ledger = Ledger()
    assert ledger.debit(MOBILE, DAY).claim == 0.0
    ledger.apply(debit_of(MOBILE))
    ledger.apply(Disabled(THEME.version, DAY))
    assert sorted(map(str, ledger.records())) == sorted(map(str, [debit_of(MOBILE), Disabled(THEME.version, DAY)] * 2))


def test_first_value_is_paid_for_despite_unreadable_records() -> None:
    """The first report claimed the cap for the first value."""
    ledger = Ledger()
    ledger.apply(debit_of(BROWSER, charges=0))
    ledger.apply(Hold(DAY, 100))
    assert ledger.pays(BROWSER, "tag")
    ledger.apply(debit_of(BROWSER, charges=1))
    assert not ledger.pays(BROWSER, "tag")


@pytest.mark.parametrize(("damaged", "pays"), [(1, True), (2, False)])
def test_records_that_cannot_be_read_use_up_caps(damaged: int, pays: bool) -> None:
    ledger = Ledger()
    ledger.apply(Debit(MOBILE.name, MOBILE.version, 739_000, 1, 1, MOBILE.charge, 0.0))
    ledger.apply(Hold(739_000, damaged))
    assert ledger.open_to(dataclasses.replace(MOBILE, cap=3 * MOBILE.charge), 739_001) == pays


def test_spend_of_a_million_charges_is_one_product(monkeypatch: pytest.MonkeyPatch) -> None:
    """A forged journal may claim any number of them."""
    monkeypatch.setattr("dither_shared.privacy.composition.sequential", lambda _: pytest.fail("a sum"))
    ledger = Ledger()
    ledger.apply(Debit("mobile", MOBILE.version, 740_000, 10**6, 10**6, MOBILE.charge, 0.0))
    ledger.apply(Hold(740_000, 10**6))
    assert ledger.spent(MOBILE) == pytest.approx(2 * 10**6 * MOBILE.charge)
