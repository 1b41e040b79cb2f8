"""The journal stays open between calls: its descriptor is verified, replaced with the file, and closed in time.

Its records are read back as they were written, whatever their bodies hold.
"""

import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dither
from client.devices import Calendar, Make, compact, parts_on
from client.state.open_files import as_on_windows
from dither.state.folder import FolderState
from dither.state.journal_records import Corrected, Debit, Done, Queued, from_line, from_lines, to_line
from dither.state.state import START, BusyError
from dither_shared import Batch

fcntl = pytest.importorskip("fcntl", reason="where there is no flock, nothing is kept open")


@pytest.fixture(autouse=True)
def _quick_collection() -> Iterator[None]:
    """Let garbage collections skip everything that the suite has imported."""
    gc.freeze()
    yield
    gc.unfreeze()


def open_files() -> int:
    """Return how many descriptors this process has open, after a garbage collection."""
    gc.collect()
    return len(list(Path("/dev/fd").iterdir()))


def number_of(folder: Path) -> int:
    """Return the only descriptor under which this process has the journal open."""
    journal, numbers = (folder / "journal").stat(), map(int, os.listdir("/dev/fd"))  # noqa: PTH208 - numbers, no paths
    (number,) = (number for number in numbers if is_open(number) and os.path.samestat(os.fstat(number), journal))
    return number


def is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:  # the descriptor by which the folder itself was listed
        return False
    return True


def test_a_record_opens_no_file(make: Make, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = make(folder)
    client.record("browser", "firefox")
    calls: list[str] = []
    for call in ("open", "close", "stat", "lstat", "fstat", "read", "write", "lseek", "urandom"):
        real = getattr(os, call)

        def noted(*arguments: Any, real: Any = real, call: str = call, **named: Any) -> Any:
            calls.append(call)
            return real(*arguments, **named)

        monkeypatch.setattr(f"os.{call}", noted)
    client.record("theme", "dark")
    monkeypatch.undo()
    assert sorted(calls) == ["fstat", "fstat", "lstat", "lstat", "lstat", "urandom", "write"]
    assert client.status().queued == 2


def test_descriptor_reused_by_the_host_is_left_alone(make: Make, folder: Path, tmp_path: Path) -> None:
    client = make(folder)
    client.record("mobile", True)
    number = number_of(folder)
    path = tmp_path / "hosts own"
    path.write_bytes(b"precious")
    foreign = os.open(path, os.O_RDWR)
    os.dup2(foreign, number)  # as a program that closes all descriptors and opens other files
    os.close(foreign)
    client.record("theme", "dark")
    client.close()
    assert client.status().queued == 2
    assert path.read_bytes() == b"precious"
    with path.open("rb") as again:
        fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert os.pread(number, 8, 0) == b"precious", "it is still open"
    os.close(number)


@pytest.mark.parametrize("name", ["lock", "journal"])
def test_file_replaced_while_another_client_waits_for_its_lock_is_reopened(folder: Path, name: str) -> None:
    """The lock of a file that was deleted while waiting protects nothing, because others lock a new file."""
    first, other = FolderState(folder), FolderState(folder)
    first.acquire()
    first.append([Corrected(1)])
    first.release()
    (folder / name).rename(folder / "before")
    (folder / name).write_bytes((folder / "before").read_bytes())
    other.acquire()
    other.append([Corrected(2)])
    with pytest.raises(BusyError):
        first.acquire()
    other.release()
    first.acquire()
    news = first.news(START)
    assert news is not None
    assert news.records[1:] == [Corrected(1), Corrected(2)]
    first.close()
    other.close()


def test_garbage_collected_client_leaves_no_file_open(make: Make, folder: Path) -> None:
    make(folder).record("mobile", True)
    before = open_files()
    for _ in range(5):
        client = dither.Client({}, "http://127.0.0.1:9", "tests", state=folder, environ={}, background=False)
        client.status()
        del client
    assert open_files() == before


def test_closed_client_leaves_no_file_open(make: Make, folder: Path) -> None:
    before = open_files()
    client = make(folder)
    client.record("mobile", True)
    assert open_files() == before + 2
    client.close()
    assert open_files() == before


def test_journal_works_where_open_files_cannot_be_replaced(
    make: Make, folder: Path, calendar: Calendar, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_on_windows(monkeypatch)
    first, other = (parts_on(FolderState(folder, keeps_open=False), today=calendar) for _ in range(2))
    first.consent("on", None)
    before = open_files()
    for _ in range(5):
        first.record("mobile", True)
        other.record("theme", "dark")
        first.journal.needs_compaction = True
        first.journal.compact()
        calendar.pass_days(1)
    with (folder / "journal").open("ab") as journal:
        journal.write(b"nonsense\n")  # so that the next client rewrites it under its lock
    for status in (other.status(), first.status()):
        assert (status.queued, status.trouble) == (10, {})
    assert b"nonsense" not in (folder / "journal").read_bytes()
    assert open_files() == before
    other.forget()
    assert sorted(path.name for path in folder.iterdir()) == ["consent", "lock", "sending"]


def test_journal_with_a_truncated_header_is_recreated(make: Make, folder: Path) -> None:
    folder.mkdir(mode=0o700)
    (folder / "journal").write_bytes(b"4415")
    client = make(folder)
    client.record("mobile", True)
    assert (client.status().queued, client.status().trouble) == (1, {})


def test_emptied_journal_is_not_recreated(make: Make, folder: Path) -> None:
    make(folder).record("mobile", True)
    (folder / "journal").write_bytes(b"")
    client = make(folder, mode=None)
    client.record("mobile", True)
    assert client.status().queued == 0
    assert (folder / "journal").read_bytes() == b""


def test_journal_truncated_between_runs_is_noticed(make: Make, folder: Path, calendar: Calendar) -> None:
    client = make(folder)
    for name in ("mobile", "theme"):
        client.record(name, "true")
    assert client.flush(60)
    client.record("browser", "firefox")
    client.close()
    journal = (folder / "journal").read_bytes()
    lines = journal.splitlines(keepends=True)
    unsent = next(place for place, line in enumerate(lines) if b" debit browser " in line)
    (folder / "journal").write_bytes(b"".join(lines[:unsent]))
    assert make(folder, mode=None).status().trouble == {}, "unsent reports may be lost, as after a power cut"
    for kept in (2, 1):
        (folder / "journal").write_bytes(b"".join(lines[:kept]))
        late = make(folder, mode=None)
        calendar.pass_days(1)
        late.record("mobile", True)
        assert (folder / "journal").read_bytes() == b"".join(lines[:kept])
        assert any("the journal has shrunk" in words for words in late.status().trouble)
    (folder / "journal").write_bytes(journal)
    again = make(folder, mode=None)
    assert (again.status().sent, again.status().queued, again.status().trouble) == (2, 1, {})
    compact(folder, calendar)
    assert make(folder, mode=None).status().sent == 2, "the rewritten journal is shorter and complete"


BODY = Batch("a" * 32, "theme", "b" * 16, b"x", "mac os/new release").encode()
QUEUED = [Queued(number * 32, "theme", 739000, 0, BODY) for number in "ab"]


def test_records_round_trip_and_any_flipped_byte_is_noticed() -> None:
    assert from_line(to_line(QUEUED[0]).rstrip(b"\n")) == QUEUED[0], "with a blank in its body"
    record = Debit("theme", "0123456789abcdef", 739938, 3, 2, 1.0986122886681098, 0.0)
    line = to_line(record)
    assert from_line(line[:-1]) == record
    for position in range(len(line) - 1):
        for mask in range(1, 256):
            assert from_line(line[:position] + bytes([line[position] ^ mask]) + line[position + 1 : -1]) is None


def test_a_torn_tail_is_no_damage() -> None:
    lines = to_line(QUEUED[0]) + to_line(QUEUED[1])
    assert from_lines(lines) == (QUEUED, 0, False)
    assert from_lines(lines[:-1]) == ([QUEUED[0]], 0, True)
    assert from_lines(b"nonsense\n" + lines) == (QUEUED, 1, False)


def test_only_the_body_of_a_record_may_hold_blanks() -> None:
    done = Done("a" * 32, "sent and more")  # type: ignore[arg-type]  # what no client writes
    assert from_line(to_line(done).rstrip(b"\n")) is None
