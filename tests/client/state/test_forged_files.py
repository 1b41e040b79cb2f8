"""Forged files of the state folder cost a few megabytes, stop no host and enable no metric."""

import os
import socket
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import dither
from client.devices import Calendar, Make, Script, parts_on
from client.test_processes import needs_posix
from dither import __main__ as program
from dither.consent.permission import Policy
from dither.reporting.outbox import MAX_BYTES, MAX_REPORTS
from dither.state.files import read_small
from dither.state.journal_records import Charged, Corrected, Debit, Disabled, Done, Permanent, Queued, Totals, to_line

if TYPE_CHECKING:
    from dither.state.journal_records import Record

MEGABYTE = 1 << 20
FORGED, BOUND = 12 * MEGABYTE, 14 * MEGABYTE
"""Bytes of a forged journal, and the most that a client may have allocated while reading one."""

DAY = Calendar().day.toordinal()
LEDGER: "dict[str, Callable[[int], Record]]" = {
    "debits": lambda number: Debit(f"n{number}", f"v{number}", DAY, 1, 1, 1.0, 0.0),
    "names of one version": lambda number: Debit(f"n{number}", "v", DAY, 1, 1, 1.0, 0.0),
    "charged values": lambda number: Charged("v", f"{number:032x}"),
    "permanent draws": lambda number: Permanent(f"v{number}", f"{number:032x}", "0" * 300_000),
    "corrections": Corrected,
    "disabled versions": lambda number: Disabled(f"v{number}", DAY),
}
OUTBOX: "dict[str, Callable[[int], Record]]" = {
    "reports": lambda number: Queued(f"{number:032x}", "theme", DAY, 0, b"{}"),
    "long reports": lambda number: Queued(f"{number:032x}", "theme", DAY, 0, b"x" * 900_000),
    "sent reports": lambda number: Done(f"{number:032x}", "sent"),
}
DAMAGE: dict[str, Callable[[int], bytes]] = {
    "short lines": lambda _: 100 * b"these are words\n",
    "a line without an end": lambda _: b"x" * 1000,
    "long names": lambda number: to_line(Debit(f"n{number}", f"{number}" * 9000, DAY, 1, 1, 1.0, 0.0)),
    "long numbers": lambda number: to_line(Debit(f"n{number}", f"v{number}", DAY, 10**4000, 1, 1.0, 0.0)),
    "numbers that Python does not read": lambda _: b"totals " + b"9" * 100_000 + b" 1\n",
}


def but_few_slow(kinds: Mapping[str, object], *quick: str) -> list[object]:
    """Return the kinds as parameters; all but the ``quick`` ones are slow (1 to 3 s of processor time each)."""
    return [pytest.param(kind, marks=[] if kind in quick else [pytest.mark.slow]) for kind in kinds]


@contextmanager
def allocating_less_than(most: int) -> Iterator[None]:
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        yield
        assert tracemalloc.get_traced_memory()[1] - before < most
    finally:
        tracemalloc.stop()


@contextmanager
def reading_less_than(most: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    total, read = 0, os.read

    def counted(descriptor: int, wanted: int) -> bytes:
        nonlocal total
        data = read(descriptor, wanted)
        total += len(data)
        assert total < most
        return data

    with monkeypatch.context() as patch:
        patch.setattr("os.read", counted)
        yield


def forge(path: Path, line: Callable[[int], bytes]) -> None:
    """Append lines to a journal until it is as long as a forged one, or has more than twice as many as any of ours."""
    with path.open("ab") as file:
        for number in range(2 * MAX_REPORTS + 1000):
            if file.tell() >= FORGED:
                break
            file.write(line(number))


def use(client: dither.Client) -> None:
    """Make the calls of programs and settings pages, none of which may raise."""
    client.record("mobile", True)
    client.record("browser", "firefox")
    client.status()
    client.preview()
    client.sent()
    client.pending()


@pytest.fixture
def used(make: Make, folder: Path, calendar: Calendar) -> Path:
    """Return a folder whose metric reported the day before."""
    make(folder).record("mobile", True)
    calendar.pass_days(1)
    return folder


@pytest.mark.parametrize("kind", but_few_slow(LEDGER, "debits"))
def test_a_journal_with_more_accounts_than_a_device_has_is_refused(kind: str, make: Make, used: Path) -> None:
    forge(used / "journal", lambda number: to_line(LEDGER[kind](number)))
    forged = (used / "journal").stat().st_size
    client = make(used, mode=None, strict=False)
    with allocating_less_than(BOUND):
        use(client)
    assert any("the journal holds more accounts than dither writes" in kind for kind in client.status().trouble)
    assert (used / "journal").stat().st_size == forged, "nothing is recorded or repaired"
    client.forget()
    client.consent("on")
    client.record("mobile", True)
    assert len(client.preview()) == 1, "the user can start over"


@pytest.mark.parametrize("kind", but_few_slow(OUTBOX, "reports"))
def test_a_journal_with_more_reports_than_a_device_has_keeps_the_newest(kind: str, make: Make, used: Path) -> None:
    forge(used / "journal", lambda number: to_line(OUTBOX[kind](number)))
    client = make(used, mode=None, strict=False)
    with allocating_less_than(BOUND):
        use(client)
    bodies = client.preview()
    assert len(bodies) <= MAX_REPORTS
    assert sum(map(len, bodies)) <= MAX_BYTES
    assert client.status().trouble == {}
    assert [status.reported for status in client.status().metrics if status.name == "mobile"] == [True]


@pytest.mark.parametrize("kind", but_few_slow(DAMAGE, "a line without an end"))
def test_a_journal_of_damaged_lines_holds_every_metric(kind: str, make: Make, used: Path) -> None:
    forge(used / "journal", DAMAGE[kind])
    with (used / "journal").open("ab") as file:
        file.write(b"\n")
    client = make(used, mode=None, strict=False)
    with allocating_less_than(BOUND):
        use(client)
    assert len(client.preview()) == 1, "only the report of the day before"
    assert all(status.reported for status in client.status().metrics)
    assert (used / "journal").stat().st_size < 10_000, "the journal is repaired"


@pytest.mark.parametrize("piece", [1, 40])
def test_journal_reads_the_same_in_pieces_of_any_size(
    piece: int, make: Make, folder: Path, calendar: Calendar, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = make(folder)
    for _ in range(20):
        for name, value in {"mobile": True, "theme": "dark", "browser": "firefox"}.items():
            client.record(name, value)
        calendar.pass_days(1)
    client.flush(60)
    client.record("mobile", True)
    with (folder / "journal").open("ab") as file:
        file.write(b"damaged\n" + to_line(Totals(5, 5)) + b"torn")
    whole, other = parts_on(folder, today=calendar), folder.with_name("other")
    other.mkdir(mode=0o700)
    for name in ("consent", "secret", "journal"):
        (other / name).write_bytes((folder / name).read_bytes())
    whole.journal.refresh()
    monkeypatch.setattr("dither.state.folder_journal._PIECE", piece)
    pieces = parts_on(other, today=calendar)
    pieces.journal.refresh()
    for journal in (whole.journal, pieces.journal):
        journal.close()
    assert [*pieces.journal.ledger.records()] == [*whole.journal.ledger.records()]
    assert [*pieces.journal.outbox.records()] == [*whole.journal.outbox.records()]


@needs_posix
@pytest.mark.parametrize("name", ["journal", "consent", "secret", "extent", "delivery", "versions", "sending"])
def test_a_file_of_a_terabyte_is_not_read(name: str, make: Make, used: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = Script()
    make(used, mode=None).flush(60)
    (used / name).touch()
    os.truncate(used / name, 1 << 40)
    client = make(used, mode=None, strict=False, transport=script)
    with reading_less_than(10_000, monkeypatch):
        use(client)
        client.flush(60)
    status = client.status()
    if name in {"journal", "consent", "secret"}:
        assert any(
            ("too large" in kind or "larger than dither" in kind) and str(used) in kind for kind in status.trouble
        )
        assert script.bodies == []
    else:
        assert status.trouble == {}
        assert len(script.bodies) == 2
    assert status.mode == ("off" if name == "consent" else "on")


def test_a_file_that_grows_while_it_is_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, read = tmp_path / "consent", os.read
    path.write_bytes(b"consent on\n")

    def growing(descriptor: int, wanted: int) -> bytes:
        data = read(descriptor, min(wanted, 1000))
        os.truncate(path, path.stat().st_size + 2 * len(data))
        return data

    monkeypatch.setattr("os.read", growing)
    with pytest.raises(OSError, match="too large"):
        read_small(str(path))


@needs_posix
def test_policy_behind_a_link_holds_if_it_is_a_plain_file(tmp_path: Path) -> None:
    (tmp_path / "real.toml").write_text('mode = "local"\n')
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(tmp_path / "socket"))
    policy = tmp_path / "policy.toml"
    for target, mode in ((tmp_path / "real.toml", "local"), (tmp_path / "pipe", ""), (tmp_path / "socket", "")):
        policy.unlink(missing_ok=True)
        policy.symlink_to(target)
        assert Policy(policy, "tests").mode() == mode, target
    policy.unlink()
    policy.symlink_to("/dev/zero")
    assert Policy(policy, "tests").mode() == ""


@needs_posix
def test_definitions_without_an_end_disable_the_client(make: Make, folder: Path) -> None:
    with allocating_less_than(64 * MEGABYTE):
        client = make(folder, metrics="/dev/zero", mode=None, strict=False)
    assert any("longer than 16777216 bytes" in kind for kind in client.status().trouble)


def test_client_writes_no_journal_that_it_would_refuse(
    make: Make, folder: Path, calendar: Calendar, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dither.state.folder_journal._LARGEST", 4000)
    client = make(folder, strict=False, transport=Script(down=True))
    for _ in range(100):
        client.record("mobile", True)
        client.record("theme", "dark")
        calendar.pass_days(1)
    full = f"record failed: StateError, the journal is full, and could not be compacted: {str(folder)!r}"
    status = client.status()
    assert status.trouble == {full: 200 - status.metrics[0].reports - status.metrics[1].reports}
    assert (folder / "journal").stat().st_size <= 4000
    assert make(folder, mode=None, strict=False).status().trouble == {}


@needs_posix
@pytest.mark.parametrize("name", ["consent", "secret", "journal", "delivery", "versions"])
def test_pipe_in_place_of_a_file_does_not_block(name: str, make: Make, folder: Path) -> None:
    make(folder).record("mobile", True)
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    client = make(folder, mode=None, strict=False)
    client.record("mobile", True)  # reading any of these would never return
    client.status()
    client.close()


def test_status_command_changes_nothing_after_the_clock_was_ahead(
    make: Make, folder: Path, calendar: Calendar, capsys: pytest.CaptureFixture[str]
) -> None:
    calendar.pass_days(40_000)
    make(folder).record("mobile", True)
    before = (folder / "journal").read_bytes()
    assert program.main(["status", "--app", "tests", "--state", str(folder)], environ={}) == 0
    output = capsys.readouterr()
    assert "Bad file descriptor" not in output.out + output.err
    assert (folder / "journal").read_bytes() == before
