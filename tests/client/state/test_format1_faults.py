"""Folders of format 1 that are damaged, or whose upgrade is cut short: the one format is left or the other."""

import os
import shutil
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path

import pytest

import dither
from client.devices import ENDPOINT, Calendar, Make, Script
from client.state.format1_devices import HERE, METRICS, capped, shown, spending, stored, waiting
from client.state.test_crashes import die_at
from client.test_processes import needs_fork
from dither.reporting.draws.keys import Keys
from dither.state.journal_records import FormerDebit, Header, Permanent, from_lines


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


def damages(data: bytes) -> Iterator[bytes]:
    for position in range(0, len(data), 7):
        yield data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :]
    for position in range(0, len(data), 13):
        yield data[:position]


@pytest.mark.slow  # goes with format 1
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
        client.close()


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
    assert number > 6, "each call was tried"


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
