"""Answers that a device derives from its events: their law, what the disk holds, and one report per period."""

import re
from binascii import crc32
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from errno import ENOSPC
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

import dither
from client.devices import Calendar, Make, Script, compact
from client.seals import KEYS
from contract.exact_law import exact_law, law_of
from dither.reporting.bodies import draw_row
from dither.reporting.events import Events, redrawn
from dither_shared import Batch, Entropy, Metric, ParameterError, Report
from dither_shared.metrics.definition import parse_metrics
from dither_shared.seal_key import SealKey

EXACT = "epsilon = 20.0"  # a report differs from the answer with a probability below 1e-6 in all of these tests
TEXT = "[metrics]\n" + "".join(
    f'{name} = {{type = "{kind}", of = "{of}", period = "week", {EXACT}{more}}}\n'
    for name, kind, of, more in (
        ("exports", "number", "count", ", low = 0, high = 50"),
        ("bytes", "number", "sum", ", low = -50, high = 50"),
        ("longest", "number", "max", ", low = 0, high = 50"),
        ("days", "number", "days", ", low = 0, high = 28"),
        ("crash", "boolean", "any", ""),
        ("used", "selection", "set", ', values = ["export", "print", "share"]'),
        ("step", "choice", "furthest", ', values = ["opened", "edited", "saved"]'),
        ("retention", "choice", "weeks-since-first-use", ', values = ["0", "1", "4"]'),
    )
)
METRICS = parse_metrics(TEXT)
NOTHING = {"exports": [0], "bytes": [0], "longest": [0], "days": [0], "crash": ["false"], "step": ["other"]}


def only(*names: str, **changes: object) -> dict[str, Metric]:
    """Return some of the metrics, all with the same keys added to their definitions."""
    keys = "".join(f", {key} = {value}" for key, value in changes.items())
    return {name: metric for name, metric in parse_metrics(TEXT.replace(EXACT, EXACT + keys)).items() if name in names}


def answers(client: dither.Client, metrics: Mapping[str, Metric] = METRICS) -> dict[str, list[Any]]:
    """Return what waiting reports say by metric: the middle of a number's range, a label, or a set's pattern."""
    said_by_metric: dict[str, list[Any]] = {}
    for body in client.preview():
        batch = Batch.decode(body)
        metric = metrics[batch.metric]
        report = Report.decode(batch.reports, metric.mechanism)
        said_by_metric.setdefault(batch.metric, []).append(meaning(metric, report))
    return said_by_metric


def meaning(metric: Metric, report: Report) -> object:
    if metric.question.kind == "number":
        said = metric.question.reading(metric.mechanism, report).partition(";")[0]
        ends = [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", said)]
        return round(sum(ends) / len(ends))
    (cell,) = report.cells(metric.mechanism)
    return (report.cohort, cell) if metric.question.kind == "selection" else metric.labels[cell]


@pytest.fixture
def monday(calendar: Calendar) -> Calendar:
    calendar.day = date(2026, 11, 23)
    return calendar


def final_law(metric: Metric, items: Iterable[int]) -> Mapping[bytes, Fraction]:
    """Return the law of the row that is sent after events of these items."""

    def draw(entropy: Entropy) -> bytes:
        row = draw_row(metric, 0, entropy)
        for item in items:
            row = redrawn(metric, row, item, entropy)
        return row

    return exact_law(draw)


def test_row_of_any_has_the_law_of_the_answer_after_each_number_of_events() -> None:
    metric = parse_metrics('[metrics.m]\ntype = "boolean"\nof = "any"\nepsilon = 1.0')["m"]
    for events in range(4):
        assert final_law(metric, [1] * events) == law_of(metric.mechanism, min(events, 1))


def test_row_of_a_set_has_the_law_of_the_set_in_whatever_order_its_values_come() -> None:
    text = '[metrics.m]\ntype = "selection"\nvalues = ["a", "b", "c"]\nof = "set"\nepsilon = 1.0'
    metric = parse_metrics(text)["m"]
    mechanism, size = metric.mechanism, 3
    for chosen in ((), (1,), (1, 4), (1, 2, 4)):
        item = sum(chosen)
        expected: dict[bytes, Fraction] = {}
        for cohort in range(size):
            for payload, chance in law_of(mechanism, item, cohort).items():
                expected[Report(cohort, payload).encode(mechanism)] = chance / size
        for order in permutations(chosen):
            assert final_law(metric, order) == expected
            assert final_law(metric, order + order[:1]) == expected


def test_answer_of_a_week_is_reported_once_at_the_first_run_of_the_next(
    make: Make, folder: Path, monday: Calendar
) -> None:
    for _ in range(3):
        client = make(folder, metrics=METRICS)
        for name in ("exports", "days", "days", "crash"):
            client.add(name)
        for name, value in (("bytes", 5), ("bytes", -10), ("longest", 7), ("longest", 3), ("used", "print")):
            client.add(name, value)
        for value in ("edited", "opened"):
            client.add("step", value)
        monday.pass_days(2)
        client.close()
    assert answers(make(folder, metrics=METRICS)) == {"retention": ["0"]}  # on Sunday
    monday.pass_days(1)
    for _ in range(2):
        reported = answers(make(folder, metrics=METRICS))
        (cohort, pattern), *others = reported.pop("used")
        assert pattern == (cohort == 1)
        assert not others
        assert reported == {
            "exports": [3],
            "bytes": [-15],
            "longest": [7],
            "days": [3],
            "crash": ["true"],
            "step": ["edited"],
            "retention": ["0", "1"],
        }


def test_week_without_an_event_is_reported_too_and_one_without_a_run_is_not(
    make: Make, folder: Path, monday: Calendar
) -> None:
    make(folder, metrics=METRICS)
    monday.pass_days(15)
    client = make(folder, metrics=METRICS, transport=Script(down=True))
    reported = answers(client)
    assert [pattern for _, pattern in reported.pop("used")] == [0]
    assert reported == NOTHING | {"retention": ["0"]}, "week 2 is not listed"
    client.add("exports")
    monday.pass_days(7)
    client.add("exports")
    monday.pass_days(7)
    client.flush()
    assert answers(client)["exports"] == [0, 1, 1], "a program that runs on reports at its first call"


def test_week_that_ended_more_than_thirty_days_ago_is_dropped_and_counted(make: Make, monday: Calendar) -> None:
    state = dither.MemoryState()
    make(state, metrics=METRICS).add("exports")
    monday.pass_days(7 + 30)
    client = make(state, metrics=METRICS)
    assert set(answers(client)) == {"retention"}
    assert sum(client.status().trouble.values()) == len(METRICS) - 1
    client.add("exports")
    monday.pass_days(7)
    assert answers(make(state, metrics=METRICS))["exports"] == [1]


def test_day_counts_only_as_one_of_the_last_28(make: Make, monday: Calendar) -> None:
    metrics = only("days")
    state = dither.MemoryState()
    for _ in range(40):
        make(state, metrics=metrics).add("days")
        monday.pass_days(1)
    assert answers(make(state, metrics=metrics))["days"] == [7, 14, 21, 28, 28]


def test_disk_holds_only_the_row_and_no_event_of_any_and_set(make: Make, folder: Path, monday: Calendar) -> None:
    metrics = only("crash", "used")
    client = make(folder, metrics=metrics)
    journal, opened = (folder / "journal").read_bytes(), (folder / "events").stat()
    client.add("crash")
    client.add("used", "share")
    client.close()
    spent = {metric.name: metric.spent for metric in client.status().metrics}
    assert spent == {name: metric.mechanism.epsilon for name, metric in metrics.items()}, "before the first event"
    words = (folder / "events").read_text("ascii").split()
    assert (folder / "journal").read_bytes() == journal
    rows = {version: len(row.partition(":")[2]) // 2 for version, row in zip(words[1::3], words[3::3], strict=True)}
    assert rows == {metric.version: metric.mechanism.row_bytes for metric in metrics.values()}
    after = (folder / "events").stat()  # at this epsilon the events have changed the rows
    assert (after.st_mtime_ns, after.st_size) == (0, opened.st_size), "nor does the file's time show an event"


def test_status_says_spent_in_the_first_period_whose_events_count_no_more(make: Make, monday: Calendar) -> None:
    """As the JavaScript client does: the report of an ended period makes no difference."""
    client, states = make(metrics=only("crash", "used", "exports", cap=40.0)), []
    for _ in range(5):
        client.add("crash")
        states.append({metric.name: metric.state for metric in client.status().metrics})
        monday.pass_days(7)
    assert [state["crash"] for state in states] == ["collected", "collected", "spent", "spent", "spent"]
    assert [state["used"] for state in states] == [state["crash"] for state in states]
    assert [state["exports"] for state in states] == ["collected", "collected", "collected", "spent", "spent"]


@pytest.mark.parametrize("seal", [None, KEYS["x25519"]])
@pytest.mark.parametrize("cap", [20.0, 200.0])
def test_row_is_reported_once_although_its_events_cannot_be_deleted(
    make: Make, folder: Path, monday: Calendar, monkeypatch: pytest.MonkeyPatch, seal: SealKey | None, cap: float
) -> None:
    metrics = only("crash", "used", cap=cap)
    make(folder, metrics=metrics, seal=seal).add("crash")
    monday.pass_days(7)

    def full(*_: object) -> None:
        raise OSError(ENOSPC, "no space left")

    transport = Script()
    monkeypatch.setattr(Events, "_write", full)
    client = make(folder, metrics=metrics, seal=seal, transport=transport, strict=False)
    sizes = set()
    for _ in range(5):
        client.add("crash")
        client.flush()
        sizes.add((folder / "journal").stat().st_size)
    assert len(transport.bodies) == len(metrics)
    assert len(sizes) == 1
    assert all(metric.spent <= cap for metric in client.status().metrics)


def test_row_whose_debit_is_lost_is_not_reported(make: Make, folder: Path, monday: Calendar) -> None:
    metrics = only("crash")
    make(folder, metrics=metrics).add("crash")
    (folder / "journal").unlink()
    monday.pass_days(7)
    client = make(folder, metrics=metrics, strict=False)
    client.add("crash")
    assert not client.preview()


def test_clock_that_was_ahead_loses_its_period_and_gains_no_report(make: Make, folder: Path, monday: Calendar) -> None:
    metrics = only("exports", "crash")
    client = make(folder, metrics=metrics)
    client.add("exports")
    monday.pass_days(300)
    make(folder, metrics=metrics).add("exports")
    monday.pass_days(-300)
    for _ in range(4):
        client = make(folder, metrics=metrics)
        client.add("exports")
        client.add("crash")
        monday.pass_days(7)
    for metric in make(folder, metrics=metrics).status().metrics:
        assert metric.reports <= 1 + 1 + 4
    assert len(answers(make(folder, metrics=metrics))["exports"]) <= 4


@pytest.mark.parametrize("damage", [b"", b"00000000 x 1 1\n", b"\xff\xfe\n", b"x" * 200_000 + b"\n"])
def test_damaged_events_cost_one_report_and_are_reported_in_the_status(
    make: Make, folder: Path, monday: Calendar, damage: bytes
) -> None:
    metrics = only("exports", "crash")
    make(folder, metrics=metrics).add("exports")
    (folder / "events").write_bytes(damage)
    monday.pass_days(1)
    client = make(folder, metrics=metrics, strict=False)
    client.add("exports")
    monday.pass_days(7)
    client = make(folder, metrics=metrics, strict=False)
    assert len(answers(client).get("exports", [])) <= (damage == b"")
    monday.pass_days(7)
    client.add("exports")
    monday.pass_days(7)
    assert answers(make(folder, metrics=metrics))["exports"][-1] in {0, 1}


@pytest.mark.parametrize("state", ["x", "1:zz", ":"])
def test_edited_events_with_a_right_checksum_cost_their_report_and_nothing_else(
    make: Make, folder: Path, monday: Calendar, state: str
) -> None:
    metrics = only("exports", "crash", "days", "step") | parse_metrics(
        '[metrics.theme]\ntype = "boolean"\nepsilon = 1.0'
    )
    make(folder, metrics=metrics).add("exports")
    begun = monday.day.toordinal()
    text = " ".join(f"{metric.version} {begun} {state}" for metric in metrics.values() if metric.of)
    (folder / "events").write_bytes(f"{crc32(text.encode()):08x} {text}\n".encode())
    client = make(folder, metrics=metrics, strict=False)
    client.add("exports")
    monday.pass_days(7)
    client = make(folder, metrics=metrics, strict=False)
    client.record("theme", True)
    assert client.status().queued >= 1
    assert "the events of a period could not be read" in client.status().trouble
    client.add("exports")
    monday.pass_days(7)
    reported = answers(make(folder, metrics=metrics), metrics)
    assert reported["exports"] == [1]
    assert reported["days"] == [0]


@pytest.mark.parametrize("how", ["off", "forget"])
def test_refusing_or_forgetting_deletes_the_events(make: Make, folder: Path, monday: Calendar, how: str) -> None:
    client = make(folder, metrics=METRICS, environ={"DITHER": "on"} if how == "forget" else {})
    client.add("exports")
    if how == "forget":
        client.forget()
    client.consent("off")
    assert client.status().queued == 0
    assert not (folder / "events").exists() or not (folder / "events").read_bytes().strip()
    client.add("exports")
    assert not (folder / "events").exists() or not (folder / "events").read_bytes().strip()


def test_events_of_the_mode_local_are_never_sent(make: Make, folder: Path, monday: Calendar) -> None:
    metrics, transport = only("exports", "crash", "days"), Script()
    client = make(folder, metrics=metrics, mode="local")
    for name in metrics:
        client.add(name)
    client.close()
    client = make(folder, metrics=metrics, transport=transport)  # the user says yes on the same day
    client.add("exports")
    client.add("exports")
    sent: dict[str, list[object]] = {name: [] for name in metrics}
    for _ in range(2):
        monday.pass_days(7)
        client.flush()
    for batch in map(Batch.decode, transport.bodies):
        metric = metrics[batch.metric]
        sent[batch.metric].append(meaning(metric, Report.decode(batch.reports, metric.mechanism)))
    assert sent == {"exports": [2, 0], "days": [0, 0], "crash": ["false"]}  # crash was paid for in the first week


def test_events_stay_while_the_mode_is_local(make: Make, folder: Path, monday: Calendar) -> None:
    metrics = only("exports", "crash")
    for _ in range(2):
        client = make(folder, metrics=metrics, mode="local")
        client.add("exports")
        client.add("crash")
        client.close()
    monday.pass_days(7)
    assert answers(make(folder, metrics=metrics, mode="local"), metrics) == {"exports": [2], "crash": ["true"]}


def test_nothing_is_stored_before_the_user_consents(make: Make, folder: Path, monday: Calendar) -> None:
    client = make(folder, metrics=METRICS, mode=None)
    client.add("exports")
    assert not folder.exists()


def test_two_programs_with_different_metrics_keep_each_others_events(
    make: Make, folder: Path, monday: Calendar
) -> None:
    first, other = only("exports"), only("longest")
    make(folder, metrics=first).add("exports")
    make(folder, metrics=other).add("longest", 9)
    make(folder, metrics=first).add("exports")
    monday.pass_days(7)
    assert answers(make(folder, metrics=first))["exports"] == [2]
    assert answers(make(folder, metrics=other))["longest"] == [9]


def test_container_that_lives_a_day_never_reports_a_metric_with_after(make: Make, monday: Calendar) -> None:
    metrics = only("exports", "crash", "retention", after='"7 days"')
    for _ in range(20):
        client = make(dither.MemoryState(), metrics=metrics)
        client.add("exports")
        assert client.preview() == []
        monday.pass_days(1)
    state = dither.MemoryState()
    for _ in range(15):  # a device that keeps its state
        make(state, metrics=metrics).add("exports")
        monday.pass_days(1)
    reported = answers(make(state, metrics=metrics))
    assert reported["exports"]
    assert reported["retention"] == ["1"]  # week 0 was too new


def test_metric_that_apps_answer_waits_for_after_too(make: Make, monday: Calendar) -> None:
    text = '[metrics.theme]\ntype = "choice"\nvalues = ["dark", "light"]\nafter = "2 days"\nepsilon = 1.0'
    state, metrics = dither.MemoryState(), parse_metrics(text)
    for expected in (0, 0, 1):
        client = make(state, metrics=metrics)
        client.record("theme", "dark")
        assert client.status().queued == expected
        assert client.status().metrics[0].state == ("collected" if expected else "too new")
        monday.pass_days(1)


@pytest.mark.parametrize("wrong", [date(1970, 1, 1), date(2036, 1, 1)])
def test_first_use_under_a_wrong_clock_is_the_day_on_which_it_is_set_right(
    make: Make, folder: Path, monday: Calendar, wrong: date
) -> None:
    metrics = parse_metrics('[metrics.theme]\ntype = "boolean"\nafter = "2 days"\nepsilon = 1.0')
    right, monday.day = monday.day, wrong
    make(folder, metrics=metrics)
    monday.day = right
    for queued in (0, 0, 1):
        client = make(folder, metrics=metrics)
        client.record("theme", True)
        assert client.status().queued == queued
        compact(folder, monday, metrics=metrics)  # which keeps the day
        monday.pass_days(1)


def test_values_that_are_no_events_change_nothing(make: Make, monday: Calendar) -> None:
    state = dither.MemoryState()
    client = make(state, metrics=METRICS, strict=False)
    no_events: dict[str, list[object]] = {
        "bytes": ["ten", float("nan"), float("inf")],
        "longest": [None],
        "crash": [False, object()],
        "used": ["mail", ["print"]],
        "step": ["printed"],
    }
    for name, values in no_events.items():
        for value in values:
            client.add(name, value)
    monday.pass_days(7)
    reported = answers(make(state, metrics=METRICS))
    assert [pattern for _, pattern in reported["used"]] == [0]
    assert reported | NOTHING == reported


def test_mistakes_of_the_developer_are_named(make: Make, monday: Calendar) -> None:
    metrics = only("exports", "retention") | parse_metrics('[metrics.theme]\ntype = "boolean"\nepsilon = 1.0')
    client = make(metrics=metrics)
    calls: list[tuple[Callable[..., None], tuple[object, ...], str]] = [
        (client.record, ("exports", 1), r"metrics\.exports: its answers are formed of events; use add"),
        (client.add, ("theme",), r"metrics\.theme: this metric has no of"),
        (client.add, ("retention",), r"metrics\.retention: this metric is answered on its own"),
        (client.add, ("export",), r"did you mean 'exports'"),
    ]
    for call, arguments, message in calls:
        with pytest.raises(ParameterError, match=message):
            call(*arguments)


def test_consent_text_says_what_is_kept_unchanged(make: Make) -> None:
    text = make(metrics=METRICS).consent_text()
    assert "before it is kept" not in text
    assert "Kept on this device: the number of events of the current week, unchanged, until it is reported" in text
    assert "before it is kept" in make(metrics=only("crash", "used")).consent_text()
