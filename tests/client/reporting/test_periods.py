"""One report for each metric and period; the spend stands before the report."""

import os
from pathlib import Path
from typing import NoReturn

import pytest

import dither
from client.devices import METRICS, MOBILE, Calendar, Make, Script, State
from client.reporting.test_ledger import spent
from dither_shared import Entropy


def test_the_first_value_of_a_day_counts_and_later_ones_are_ignored(
    make: Make, state: State, calendar: Calendar
) -> None:
    client = make(state)
    for _ in range(3):
        client.record("mobile", True)
    assert client.status().queued == 1
    assert client.status().ignored == 2
    assert spent(client, "mobile") == MOBILE.mechanism.epsilon
    make(state).record("mobile", False)  # after a restart, too
    assert client.status().queued == 1
    calendar.pass_days(1)
    client.record("mobile", True)
    assert client.status().queued == 2
    assert spent(client, "mobile") == 2 * MOBILE.mechanism.epsilon


def test_a_week_begins_on_monday(make: Make, state: State, calendar: Calendar) -> None:
    client = make(state)
    client.record("weekly", True)  # Wednesday
    calendar.pass_days(4)  # Sunday
    client.record("weekly", True)
    assert client.status().queued == 1
    calendar.pass_days(1)
    client.record("weekly", True)
    assert client.status().queued == 2


def test_metric_with_period_once_reports_once(make: Make, state: State, calendar: Calendar) -> None:
    client = make(state)
    client.record("survey", True)
    calendar.pass_days(4000)
    client.record("survey", True)
    make(state).record("survey", True)
    assert client.status().metrics[list(METRICS).index("survey")].reports == 1


def test_a_report_that_cannot_be_drawn_costs_nothing_and_is_drawn_another_time(make: Make, state: State) -> None:
    class Failing(Entropy):
        def take(self, count: int) -> NoReturn:
            raise OSError("no entropy")

    make(state).record("theme", "dark")  # so that the state has its secret
    client = make(state, entropy=Failing())
    client.record("mobile", True)
    assert client.status().queued == 1
    assert spent(client, "mobile") == 0
    again = make(state)
    again.record("mobile", True)
    assert again.status().queued == 2
    assert spent(again, "mobile") == MOBILE.mechanism.epsilon


@pytest.mark.parametrize("name", ["mobile", "browser"])
def test_a_debit_stands_before_its_report_in_one_write(
    make: Make, folder: Path, calendar: Calendar, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    written: list[bytes] = []
    write = os.write

    def watch(descriptor: int, data: bytes) -> int:
        written.append(data)
        return write(descriptor, data)

    client = make(folder)
    monkeypatch.setattr("os.write", watch)
    for _ in range(3):
        client.record(name, "true")
        calendar.pass_days(1)
    written = [data for data in written if data and data.split()[1] == b"debit"]  # all but those of a tidying
    assert len(written) == 3
    for number, data in enumerate(written):
        debit, *drawn, queued = data.splitlines()
        assert (debit.split()[1], debit.split()[2]) == (b"debit", name.encode())
        assert [line.split()[1] for line in drawn] == [b"permanent"] * (name == "browser" and number == 0)
        assert (queued.split()[1], queued.split()[3]) == (b"queued", name.encode())


def test_partial_write_leaves_no_report_without_its_debit(
    make: Make, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    for room in range(0, 400, 13):
        client = make(folder / str(room))
        monkeypatch.setattr("os.write", lambda descriptor, data, room=room: write(descriptor, data[:room]))
        monkeypatch.setattr("os.ftruncate", _fails)
        client.record("mobile", True)
        monkeypatch.undo()
        status = make(folder / str(room)).status()
        mobile = status.metrics[list(METRICS).index("mobile")]
        assert status.queued <= mobile.reports <= 1, room


def _fails(*_: object) -> NoReturn:
    raise OSError("the disk is gone")


def test_nothing_is_sent_before_it_is_durable(make: Make, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_fsync(_: int) -> NoReturn:
        raise OSError("the disk is gone")

    sent = Script()
    client = make(folder, transport=sent)
    client.record("mobile", True)
    monkeypatch.setattr("os.fsync", no_fsync)
    assert not client.flush(60)
    assert sent.bodies == []
    monkeypatch.undo()
    assert client.flush(60)
    assert len(sent.bodies) == 1


def test_a_metric_that_changes_keeps_its_period_and_opens_an_account(make: Make, calendar: Calendar) -> None:
    state = dither.MemoryState()
    make(state).record("mobile", True)
    changed = {"mobile": dither.Metric("mobile", METRICS["survey"].question, METRICS["survey"].mechanism)}
    assert changed["mobile"].version == MOBILE.version
    other = METRICS["theme"]
    changed = {"mobile": dither.Metric("mobile", other.question, other.mechanism)}
    client = make(state, metrics=changed)
    client.record("mobile", "dark")
    assert client.status().queued == 1
    calendar.pass_days(1)
    client.record("mobile", "dark")
    assert spent(client, "mobile") == other.mechanism.epsilon
