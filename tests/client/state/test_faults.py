"""Faults of the state never reach the host, and no permanent answer is drawn twice."""

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from client.devices import BROWSER, METRICS, MOBILE, Calendar, Make, reports
from dither.reporting.keys import Keys
from dither.state.journal_records import Header, to_line
from dither_shared import Batch

NAMES = ("mobile", "browser")
Where = Callable[[bytes], list[int]]
Damage = Callable[[bytes, list[int]], Iterator[bytes]]


@pytest.fixture
def used(make: Make, folder: Path, calendar: Calendar) -> dict[str, bytes]:
    """Return the files of a device that reported yesterday, sent it, and reported again today."""
    client = make(folder)
    for _ in range(2):
        for name in NAMES:
            client.record(name, "true")
        calendar.pass_days(1)
        if not client.status().sent:
            assert client.flush(60)
    calendar.pass_days(-1)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip fsync in tests that go through thousands of states."""
    monkeypatch.setattr("os.fsync", lambda _: None)


def restore(folder: Path, files: dict[str, bytes]) -> None:
    for path in folder.iterdir():
        path.unlink()
    for name, data in files.items():
        (folder / name).write_bytes(data)


def near_line_ends(data: bytes) -> list[int]:
    """Return the positions around each line end, and every 97th, because damage within a line has one effect."""
    ends = [position for position, byte in enumerate(data) if byte == ord("\n")]
    near = {end + offset for end in ends for offset in (-1, 0, 1, 2)}
    return sorted((near | set(range(0, len(data), 97))) & set(range(len(data))))


def everywhere(data: bytes) -> list[int]:
    return list(range(len(data)))


def truncations(data: bytes, positions: list[int]) -> Iterator[bytes]:
    return (data[:length] for length in positions)


def flips(data: bytes, positions: list[int]) -> Iterator[bytes]:
    for position in positions:
        yield data[:position] + bytes([data[position] ^ 0x01]) + data[position + 1 :]
        yield data[:position] + b"\n" + data[position + 1 :]


def reports_today(bodies: list[bytes], name: str, journal: bytes) -> int:
    """Count the reports of a metric without yesterday's, which count once if they are sent again."""
    batches = [Batch.decode(body) for body in bodies]
    return sum(batch.metric == name and f"done {batch.batch}".encode() not in journal for batch in batches)


@pytest.mark.usefixtures("quick_disk")
@pytest.mark.parametrize("damage", [truncations, flips])
@pytest.mark.parametrize("where", [near_line_ends, pytest.param(everywhere, marks=pytest.mark.slow)])
def test_any_damage_to_the_journal_costs_at_most_reports(
    make: Make, folder: Path, calendar: Calendar, used: dict[str, bytes], damage: Damage, where: Where
) -> None:
    """Damage at every byte is slow: it takes 20 s of processor time."""
    journal = used["journal"]
    debited = {name: journal.rindex(b"debit %s" % name.encode()) for name in NAMES}
    cohort = Keys(bytes.fromhex(used["secret"].split()[2].decode())).of(BROWSER).cohort
    for broken in damage(journal, where(journal)):
        restore(folder, used | {"journal": broken})
        client = make(folder)
        for name in NAMES:
            client.record(name, "true")
        bodies = client.preview()
        for name in NAMES:
            kept = damage is flips or len(broken) > journal.index(b"\n", debited[name])
            assert reports_today(bodies, name, journal) <= 1 or not kept
        assert all(report.cohort == cohort for name, report in reports(bodies) if name == "browser")
        assert (folder / "secret").read_bytes() == used["secret"]
        calendar.pass_days(1)
        client.record("mobile", True)
        healthy = client.status().queued > len(bodies)
        assert healthy or client.status().trouble
        calendar.pass_days(-1)
        client.close()  # there are hundreds of clients, each with an open journal


def test_after_a_flipped_byte_the_rest_of_the_journal_goes_on(
    make: Make, folder: Path, calendar: Calendar, used: dict[str, bytes]
) -> None:
    position = used["journal"].rindex(b"debit mobile") + 3
    broken = bytearray(used["journal"])
    broken[position] ^= 1
    restore(folder, used | {"journal": bytes(broken)})
    client = make(folder)
    assert len(client.preview()) == 2
    client.record("theme", "dark")
    client.record("survey", True)
    assert len(client.preview()) == 2, "any metric may be the one whose debit is lost"
    calendar.pass_days(1)
    client.record("theme", "dark")
    client.record("survey", True)
    assert len(client.preview()) == 3, "a period later only the metric with period once is silent"
    spent = {metric.name: metric.spent for metric in make(folder).status().metrics}
    assert spent["mobile"] >= 2 * MOBILE.mechanism.epsilon
    assert b"hold" in (folder / "journal").read_bytes()


@pytest.mark.usefixtures("quick_disk")
@pytest.mark.parametrize("damage", [truncations, flips])
def test_a_damaged_secret_silences_the_client_and_is_never_replaced(
    make: Make, folder: Path, calendar: Calendar, used: dict[str, bytes], damage: Damage
) -> None:
    calendar.pass_days(1)
    for broken in damage(used["secret"], everywhere(used["secret"])[::3]):
        if broken == used["secret"]:
            continue
        restore(folder, used | {"secret": broken})
        client = make(folder)
        waiting = client.status().queued
        for name in NAMES:
            client.record(name, "true")
        assert client.status().queued == waiting
        assert client.status().trouble
        assert (folder / "secret").read_bytes() == broken
        client.close()


@pytest.mark.parametrize(("mode", "environ"), [(None, {}), (None, {"DITHER": "on"}), ("on", {})])
def test_state_without_its_journal_is_not_a_new_device(
    make: Make, folder: Path, used: dict[str, bytes], mode: str | None, environ: dict[str, str]
) -> None:
    del used["journal"]
    restore(folder, used)
    client = make(folder, mode=mode, environ=environ)
    client.record("browser", "firefox")
    assert client.status().trouble
    assert not (folder / "journal").exists()


def test_journal_that_vanishes_while_the_program_runs_is_not_recreated(
    make: Make, folder: Path, calendar: Calendar
) -> None:
    client = make(folder)
    client.record("mobile", True)
    for path in folder.iterdir():
        path.unlink()
    client.consent("on")
    calendar.pass_days(1)
    client.record("mobile", True)
    assert not (folder / "journal").exists()
    assert client.status().trouble


def test_journal_that_shrinks_while_the_program_runs_stops_reports(
    make: Make, folder: Path, calendar: Calendar
) -> None:
    client = make(folder)
    client.record("mobile", True)
    journal = folder / "journal"
    journal.write_bytes(journal.read_bytes().partition(b"\n")[0] + b"\n")
    client.record("mobile", True)
    calendar.pass_days(1)
    client.record("mobile", True)
    assert client.status().queued == 1
    assert f"record failed: StateError, the journal has shrunk: {str(folder)!r}" in client.status().trouble


def test_a_format_of_the_future_is_left_alone(make: Make, folder: Path, used: dict[str, bytes]) -> None:
    future = to_line(Header(3, "0" * 16)) + used["journal"].partition(b"\n")[2]
    restore(folder, used | {"journal": future})
    client = make(folder)
    client.record("theme", "dark")
    assert client.preview() == []
    assert (folder / "journal").read_bytes() == future


@pytest.mark.parametrize("name", ["journal", "secret", "consent", "lock"])
def test_symbolic_links_are_refused(
    make: Make, folder: Path, tmp_path: Path, used: dict[str, bytes], name: str
) -> None:
    target = tmp_path / "target"
    target.write_bytes(used[name])
    restore(folder, used)
    (folder / name).unlink()
    (folder / name).symlink_to(target)
    client = make(folder, mode=None)
    client.record("theme", "dark")
    assert client.status().trouble
    assert target.read_bytes() == used[name]


def test_a_folder_that_is_a_symbolic_link_is_refused(make: Make, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    folder.symlink_to(tmp_path / "elsewhere")
    client = make(folder)
    client.record("mobile", True)
    assert client.status().trouble
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("room", [0, 1, 40, 200, 300])
def test_state_written_before_a_full_disk_stays_readable(
    make: Make, folder: Path, calendar: Calendar, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    client = make(folder)
    client.record("mobile", True)
    calendar.pass_days(1)
    free = [room]
    write = os.write

    def full(descriptor: int, data: bytes) -> int:
        if not free[0]:
            raise OSError(errno.ENOSPC, "no space left")
        written = write(descriptor, data[: free[0]])
        free[0] -= written
        return written

    monkeypatch.setattr("os.write", full)
    for name in METRICS:
        client.record(name, "true")
    monkeypatch.undo()
    assert (folder / "journal").read_bytes().endswith(b"\n")
    assert client.status().trouble
    again = make(folder)
    assert again.status().trouble == {}, "no fragment is left behind"
    held = {metric.name for metric in again.status().metrics if metric.reported}
    assert len(again.preview()) <= 1 + len(held)
    calendar.pass_days(1)
    again.record("theme", "dark")
    assert again.status().metrics[1].reported
