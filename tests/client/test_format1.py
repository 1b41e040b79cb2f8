"""Folders of format 1, as the client of commit 7e49025 left them: nothing is lost, told anew or forgotten."""

import dataclasses
import os
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path

import pytest

import dither
from client.devices import ENDPOINT, Calendar, Make, Script
from client.test_crashes import die_at
from client.test_processes import needs_fork
from dither.keys import Keys
from dither.records import Charged, Debit, Done, FormerDebit, Header, Permanent, Queued, Record, from_lines
from dither_shared import Batch, Metric, Report

HERE = Path(__file__).with_name("format1")
METRICS = dither.load_metrics(HERE / "metrics.toml")
BY_VERSION = {
    metric.version: metric
    for file in ("metrics", "earlier")
    for metric in dither.load_metrics(HERE / f"{file}.toml").values()
}
LASTING = [name for name, metric in METRICS.items() if metric.mechanism.forever_ratio is not None]
WHOLE = ["waiting", "spent", "damaged", "held", "disabled", "torn", "versions"]
FILES = ("consent", "secret", "journal")


@pytest.fixture
def device(folder: Path) -> Callable[[str], Path]:
    """Return a function that puts a device of format 1 into the folder."""

    def put(name: str) -> Path:
        shutil.copytree(HERE / name, folder)
        return folder

    return put


def stored(folder: Path) -> list[Record]:
    return from_lines((folder / "journal").read_bytes())[0]


def shown(bodies: list[bytes]) -> dict[str, list[Report]]:
    """Return the reports of each version, in order."""
    found: dict[str, list[Report]] = defaultdict(list)
    for body in bodies:
        batch = Batch.decode(body)
        found[batch.version].append(Report.decode(batch.reports, BY_VERSION[batch.version].mechanism))
    return found


def spending(records: list[Record]) -> dict[str, tuple[int, int]]:
    """Return reports and charges of each version."""
    found: dict[str, tuple[int, int]] = {}
    for record in records:
        if isinstance(record, Debit | FormerDebit):
            reports, charges = found.get(record.version, (0, 0))
            found[record.version] = max(reports, record.reports), max(charges, record.charges)
    return found


def waiting(records: list[Record]) -> list[bytes]:
    done = {record.batch for record in records if isinstance(record, Done)}
    return [record.body for record in records if isinstance(record, Queued) and record.batch not in done]


def capped(values: int) -> dict[str, Metric]:
    return {name: dataclasses.replace(one, cap=(values + 0.5) * one.charge) for name, one in METRICS.items()}


@pytest.mark.parametrize("name", WHOLE)
def test_nothing_is_lost_and_no_spending_is_forgotten(
    make: Make, device: Callable[[str], Path], calendar: Calendar, name: str
) -> None:
    folder = device(name)
    before = stored(folder)
    calendar.pass_days(7)
    client = make(folder, metrics=METRICS, mode=None)
    assert client.status().mode == "on"
    assert client.preview() == waiting(before)
    assert client.status().trouble == {}
    after = stored(folder)
    assert isinstance(after[0], Header)
    assert after[0].format == 2
    assert spending(after) == spending(before)
    assert sum(isinstance(record, Debit) for record in after) == 2 * len(spending(before))
    again = make(folder, metrics=METRICS, mode=None)
    assert again.preview() == waiting(before)
    assert {one.version: (one.reports, one.spent) for one in again.status().metrics} == {
        one.version: (one.reports, one.spent) for one in client.status().metrics
    }
    assert len(again.sent()) == len([record for record in before if isinstance(record, Done) and record.fate == "sent"])


@pytest.mark.parametrize("name", WHOLE)
def test_no_seal_of_a_value_and_no_day_beside_its_tag_is_left(
    make: Make, device: Callable[[str], Path], calendar: Calendar, name: str
) -> None:
    folder = device(name)
    calendar.pass_days(7)
    digests = [record.digest for record in stored(folder) if isinstance(record, FormerDebit) and record.digest != "-"]
    assert digests
    make(folder, metrics=METRICS, mode=None).status()
    text = b"".join(path.read_bytes() for path in folder.iterdir()).decode()
    after = stored(folder)
    for digest in digests:
        tag, seal = digest[:32], digest[32:]
        assert seal not in text
        assert text.count(tag) == 1 + any(isinstance(one, Permanent) and one.tag == "1." + tag for one in after)
    first_debit = next(place for place, record in enumerate(after) if isinstance(record, Debit))
    assert not any(isinstance(record, Charged | Permanent) for record in after[first_debit:])
    for version in BY_VERSION:
        tags = [record.tag for record in after if isinstance(record, Charged) and record.version == version]
        assert tags == sorted(tags)
        assert sum(isinstance(one, Permanent) and one.version == version for one in after) <= 1


@pytest.mark.parametrize("name", ["waiting", "held", "torn", "versions"])
def test_a_value_keeps_its_draw_and_is_not_charged_again(
    make: Make, device: Callable[[str], Path], calendar: Calendar, name: str
) -> None:
    """Of the first day's answers "a" and the second day's "b"; then "c", which is new."""
    folder = device(name)
    before = shown([record.body for record in stored(folder) if isinstance(record, Queued)])
    calendar.pass_days(7)
    spent = {}
    for value in ("a", "b", "a", "c"):
        client = make(folder, metrics=METRICS, mode=None)
        for question in LASTING:
            client.record(question, value)
        calendar.pass_days(1)
        spent[value] = {one.name: one.spent for one in client.status().metrics}
        assert client.status().trouble == {}
    after = shown(client.preview())
    for question in LASTING:
        version = METRICS[question].version
        now = after[version][-4:]
        assert now[:1] == now[2:3] == before[version][:1]
        if len(before[version]) > 1:  # else the second debit was torn off
            assert now[1:2] == before[version][1:2]
            assert spent["a"][question] == spent["b"][question]
        assert len({report.cohort for report in before[version] + now}) == 1
    assert sum(spent["c"].values()) > sum(spent["a"].values())


def test_beyond_the_budget_the_last_draw_is_replayed(
    make: Make, device: Callable[[str], Path], calendar: Calendar
) -> None:
    """It was charged for "a" and "b", and answered a, b, a, a (for c), a (for d)."""
    folder = device("spent")
    before = shown(waiting(stored(folder)))
    calendar.pass_days(7)
    for value in ("e", "b", "f"):
        client = make(folder, metrics=capped(2), mode=None)
        for question in LASTING:
            client.record(question, value)
        calendar.pass_days(1)
        assert client.status().trouble == {}
    after = shown(client.preview())
    for question in LASTING:
        a, b, *_ = before[METRICS[question].version]
        assert after[METRICS[question].version][-3:] == [a, b, b]


def test_what_the_collector_disabled_stays_so(make: Make, device: Callable[[str], Path], calendar: Calendar) -> None:
    client = make(device("disabled"), metrics=METRICS, mode=None)
    calendar.pass_days(20)
    states = {one.name: one.state for one in client.status().metrics}
    assert states == dict.fromkeys(METRICS, "disabled") | {"survey": "collected"}, "of the survey no report waited"


def test_damage_holds_all_metrics_until_their_next_period(
    make: Make, device: Callable[[str], Path], calendar: Calendar
) -> None:
    calendar.pass_days(1)
    client = make(device("damaged"), metrics=METRICS, mode=None)
    for name in METRICS:
        client.record(name, "true")
    assert client.status().ignored == len(METRICS)
    calendar.pass_days(1)
    for name in METRICS:
        client.record(name, "true")
    assert client.status().ignored == len(METRICS) + 1, "the one that is asked once stays silent"


def test_a_client_that_does_not_know_the_metrics_reads_and_changes_nothing(
    make: Make, device: Callable[[str], Path], calendar: Calendar
) -> None:
    """It could not keep the last draws."""
    folder = device("spent")
    before = {name: (folder / name).read_bytes() for name in FILES}
    calendar.pass_days(6)
    sent = Script()
    client = make(folder, metrics={}, mode=None, transport=sent)
    assert client.preview() == waiting(stored(folder))
    assert client.flush(5) is False
    assert sent.bodies == []
    assert client.status().queued == len(client.preview())
    assert before == {name: (folder / name).read_bytes() for name in FILES}
    reading = make(folder, metrics=METRICS, mode=None)
    reading.record("mobile", True)
    client.status()
    assert len(client.preview()) == len(waiting(stored(folder)))


def test_a_damaged_secret_keeps_the_journal_as_it_is(
    make: Make, device: Callable[[str], Path], calendar: Calendar
) -> None:
    folder = device("spent")
    calendar.pass_days(7)
    journal, secret = (folder / "journal").read_bytes(), (folder / "secret").read_bytes()
    (folder / "secret").write_bytes(secret[:-2])
    client = make(folder, metrics=METRICS, mode=None)
    client.record("theme", "a")
    assert client.status().trouble
    assert (folder / "journal").read_bytes() == journal
    (folder / "secret").write_bytes(secret)
    assert make(folder, metrics=METRICS, mode=None).status().trouble == {}
    assert any(isinstance(record, Permanent) for record in stored(folder))


@pytest.mark.parametrize("name", ["spent", "damaged", "torn"])
def test_a_disk_that_is_full_when_a_folder_is_upgraded(
    make: Make, device: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, calendar: Calendar, name: str
) -> None:
    """The folder stays as it is, the client silent, until there is room; and no debit is counted twice."""
    folder = device(name)
    journal = (folder / "journal").read_bytes()
    calendar.pass_days(7)
    metrics = capped(2) if name == "spent" else METRICS
    client = make(folder, metrics=metrics, mode=None)
    write = os.write
    monkeypatch.setattr("os.write", lambda descriptor, data: write(descriptor, data[:100]))
    for _ in range(20):
        client.record("theme", "a")
        client.status()
    assert client.status().trouble
    monkeypatch.undo()
    assert (folder / "journal").read_bytes() == journal
    assert sorted(path.name for path in folder.iterdir()) == ["consent", "journal", "lock", "secret"]
    client.record("theme", "a")
    assert client.status().metrics
    assert (folder / "journal").read_bytes().split()[1:3] == [b"journal", b"2"]
    other = shutil.copytree(HERE / name, folder.with_name("other"))
    smooth = make(other, metrics=metrics, mode=None)
    smooth.record("theme", "a")
    assert [one.spent for one in client.status().metrics] == [one.spent for one in smooth.status().metrics]
    more = name != "damaged"  # which holds all metrics, once it is noticed
    assert client.status().queued == smooth.status().queued == len(waiting(from_lines(journal)[0])) + more


def test_a_yes_from_which_nothing_followed_is_asked_for_again(make: Make, device: Callable[[str], Path]) -> None:
    """Its secret may be lost; nobody can tell."""
    folder = device("asked")
    client = make(folder, metrics=METRICS, mode=None)
    client.record("theme", "a")
    assert client.status().mode == "off"
    assert client.pending() == list(METRICS)
    client.consent("on")
    client.record("theme", "a")
    assert client.status().queued == 1


def damages(data: bytes) -> Iterator[bytes]:
    for position in range(0, len(data), 7):
        yield data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :]
    for position in range(0, len(data), 13):
        yield data[:position]


def test_any_damage_to_a_journal_of_format_1_costs_at_most_reports(
    make: Make, device: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, calendar: Calendar
) -> None:
    monkeypatch.setattr("os.fsync", lambda _: None)
    folder = device("waiting")
    journal = (folder / "journal").read_bytes()
    lines = journal.splitlines(keepends=True)
    keys = Keys(bytes.fromhex((folder / "secret").read_text().split()[2]))
    calendar.pass_days(1)
    theme = METRICS["theme"]
    whole = spending(from_lines(journal)[0])[theme.version][1] * theme.charge
    for broken in damages(journal):
        (folder / "journal").write_bytes(broken)
        client = make(folder, metrics=METRICS, mode=None)
        client.record("theme", "b")
        status = client.status()
        now = next(one for one in status.metrics if one.name == "theme")
        cut = journal.startswith(broken)
        assert now.spent >= whole - 1e-9 or cut or status.trouble
        assert {r.cohort for r in shown(client.preview())[METRICS["browser"].version]} <= {
            keys.cohort(METRICS["browser"])
        }
        assert b"debit" not in (folder / "journal").read_bytes() or not any(
            isinstance(record, FormerDebit) for record in stored(folder)
        )
        assert len(client.preview()) <= len(lines)


@needs_fork
@pytest.mark.parametrize("name", ["spent", "torn"])
def test_a_death_at_any_system_call_leaves_the_one_format_or_the_other(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("os.fsync", lambda _: None)
    before = stored(HERE / name)
    status, number, formats = 9, 0, set()
    while status:
        number += 1
        folder = tmp_path / str(number)
        shutil.copytree(HERE / name, folder)
        child = os.fork()
        if child == 0:
            upgrade(folder, number)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert status in {0, 9}
        left = stored(folder)
        assert isinstance(left[0], Header)
        formats.add(left[0].format)
        if left[0].format == 1:
            assert (folder / "journal").read_bytes() == (HERE / name / "journal").read_bytes()
        client = make(folder, metrics=METRICS, mode=None, today=lambda: date(2026, 11, 22))
        assert client.preview() == waiting(before)
        assert client.status().trouble == {}
        assert spending(stored(folder)) == spending(before)
    assert formats == {1, 2}
    assert number > 15, "each call was tried"


def upgrade(folder: Path, number: int) -> None:
    """Be a process that upgrades a folder, and dies at some system call."""
    die_at(number)
    client = dither.Client(
        METRICS,
        ENDPOINT,
        "tests",
        folder,
        today=lambda: date(2026, 11, 22),
        background=False,
        environ={},
        transport=Script(),
    )
    client.status()
    os._exit(0)


def test_a_client_of_format_1_refuses_a_journal_of_today(make: Make, folder: Path) -> None:
    """It knows one by its first line, "journal 1 …", and leaves alone what begins with another number."""
    make(folder, metrics=METRICS).record("theme", "a")
    assert (folder / "journal").read_bytes().split()[1:3] == [b"journal", b"2"]
