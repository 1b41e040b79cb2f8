"""One report for each metric and period, behind its debit.

A mistaken answer is logged for the developer and reported like any other: silence never depends on the value.
"""

import dataclasses
import os
from contextlib import nullcontext
from datetime import date
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dither
from client.devices import METRICS, MOBILE, Calendar, Make, Script, State, parts_on
from client.reporting.test_ledger import spent
from dither.consent.rules import Mode
from dither_shared import Entropy
from dither_shared.metrics.metric import Survey
from shared import odd

VALUES = [*odd.TRUE, *odd.FALSE, *odd.NEITHER, *odd.NO_ANSWERS]


def test_mistaken_answer_is_reported_and_logged_by_metric_and_type(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    client = make(strict=False)
    for value in ("Very-Secret", 2, None):
        client.record("mobile", value)
    status = client.status()
    assert (status.queued, status.ignored, status.outside, status.mistakes) == (1, 2, 1, 3)
    assert status.trouble == {"wrong value for metrics.mobile": 3}
    client.record("mobile", "Other-Secret")
    heads = [line.partition(" is not an answer; give True or")[0] for line in caplog.messages]
    assert heads == [f"wrong value for metrics.mobile; {name}" for name in ("str", "int", "NoneType")]


def test_mistakes_of_many_types_do_not_fill_a_log(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    client = make(strict=False)
    for number in range(1000):
        client.record("mobile", type(f"T{number}", (), {})())
    assert len(caplog.messages) == 20
    client.record("theme", [])
    assert len(caplog.messages) == 21, "the first mistake of a metric is logged nevertheless"


def test_mistaken_answer_is_logged_whatever_the_user_has_chosen(make: Make) -> None:
    client = make(mode="off", strict=False)
    client.record("mobile", None)
    assert (client.status().mistakes, client.status().queued, client.status().outside) == (1, 0, 0)


@pytest.mark.parametrize("metric", METRICS)
def test_any_recorded_object_makes_one_report(metric: str, make: Make, caplog: pytest.LogCaptureFixture) -> None:
    for value in VALUES:
        client = make(strict=False)
        client.record(metric, value)
        status = client.status()
        assert status.queued == 1
        assert list(status.trouble) == [f"wrong value for metrics.{metric}"] * status.mistakes
        assert status.outside >= status.mistakes
        refused = pytest.raises(dither.ParameterError, match=rf"^metrics\.{metric}: \w+ is not an answer; gi")
        with refused if status.mistakes else nullcontext():
            make(strict=True).record(metric, value)
    assert "Very-Secret" not in caplog.text


_INDICES = st.integers(0, len(VALUES) - 1)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(list(METRICS)), st.lists(st.tuples(_INDICES, _INDICES, st.integers(0, 8)), max_size=25))
def test_number_of_reports_depends_on_no_value(make: Make, metric: str, days: list[tuple[int, int, int]]) -> None:
    calendar = Calendar()
    client, twin = (make(strict=False, today=calendar) for _ in range(2))
    for index, twin_index, later in days:
        client.record(metric, VALUES[index])
        twin.record(metric, VALUES[twin_index])
        calendar.pass_days(later)
        for each in (client, twin):
            assert not [message for message in each.status().trouble if "failed" in message]
        assert _counts(client) == _counts(twin)
        assert [len(body) for body in client.preview()] == [len(body) for body in twin.preview()]


def _counts(client: dither.Client) -> tuple[int, ...]:
    status = client.status()
    return (status.queued, status.ignored, status.dropped, *(metric.reports for metric in status.metrics))


@pytest.mark.parametrize(
    ("changed", "mode", "made", "counted"),
    [
        ({}, "on", 1, "ignored"),
        ({}, "off", 0, ""),
        ({"expires": date(2026, 11, 17)}, "on", 0, "withheld"),
        ({"survey": Survey("looks", ("font", "theme"))}, "on", 0, "unasked"),
    ],
)
def test_recorder_says_whether_there_is_one_more_report_and_counts_why_not(
    changed: dict[str, Any], mode: Mode, made: int, counted: str
) -> None:
    core = parts_on(dither.MemoryState(mode), metrics={"mobile": dataclasses.replace(METRICS["mobile"], **changed)})
    assert [core.make_report("mobile", True) for _ in range(3)] == [made == 1, False, False]
    silent = {name: getattr(core.recorder, name) for name in ("ignored", "withheld", "unasked")}
    assert {name: count for name, count in silent.items() if count} == ({counted: 3 - made} if counted else {})


def test_report_is_not_repeated_if_another_process_has_just_made_it(make: Make, folder: Path) -> None:
    make(folder)
    first, other = parts_on(folder), parts_on(folder)
    assert [core.make_report("mobile", True) for core in (first, other, other)] == [True, False, False]
    assert other.recorder.ignored == 2
    assert [core.make_report("theme", "dark") for core in (first, other)] == [True, False]
    assert first.make_report("weekly", True)
    assert other.make_report("survey", True), "a record of another metric prevents no report"


def test_unknown_metric_name_gets_a_suggestion(make: Make) -> None:
    client = make()
    with pytest.raises(dither.ParameterError, match=r"^metrics\.them: not defined; did you mean 'theme'\?$"):
        client.record("them", "dark")
    with pytest.raises(dither.ParameterError, match=r"^metrics\.browzer: not defined; did you mean 'browser'\?$"):
        client.consent("on", ["browzer"])
    with pytest.raises(dither.ParameterError, match=rf"^metrics\.{64 * 'x'}: not defined$"):
        client.record(1000 * "x", "dark")
    for name in (None, ["theme"], object()):
        with pytest.raises(dither.ParameterError, match=r"^metrics: a value of type \w+ is not the name of a metric$"):
            client.record(name, "true")  # type: ignore[arg-type]  # that is the mistake


def test_suggestion_for_an_unknown_metric_name_is_computed_once(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[object] = []

    def look(name: object, _: object) -> str:
        looked.append(name)
        return ""

    client = make(strict=False)
    monkeypatch.setattr("dither.reporting.recorder.did_you_mean", look)
    for name in ("them", "x" * 10_000_000, "them"):
        client.record(name, "true")
    assert looked == ["them"]
    assert client.status().trouble == {"unknown metric": 3}


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
