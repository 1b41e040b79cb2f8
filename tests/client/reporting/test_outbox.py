"""The outbox is bounded, the journal stays small, and every dropped report is counted."""

import errno
import os
import threading
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import pytest

from client.devices import METRICS, Calendar, Make, Script, parts_on
from dither.reporting.bodies import CLEAR, SEALED
from dither.reporting.outbox import Outbox
from dither.state.journal_records import Done, Queued, Record


def entry(number: int, day: int = 1, size: int = 100, local: int = 0) -> Queued:
    return Queued(f"{number:032x}", "theme", day, local, b"x" * size)


def fill(outbox: Outbox, entries: list[Queued], today: int = 1) -> list[str]:
    """Add entries one by one, as the client does; return the remaining batch ids."""
    for entry in entries:
        outbox.apply(entry)
        for done in outbox.expired(today):
            outbox.apply(done)
    return [entry.batch for entry in outbox.waiting()]


def test_outbox_drops_the_oldest_beyond_its_count_and_its_bytes() -> None:
    remaining = [entry(number).batch for number in (2, 3, 4)]
    for outbox, size in ((Outbox(max_reports=3), 100), (Outbox(max_bytes=1000), 300)):
        assert fill(outbox, [entry(number, size=size) for number in range(5)]) == remaining
        assert (len(outbox), outbox.bytes, outbox.dropped) == (3, 3 * size, 2)


def test_expired_reports_are_dropped() -> None:
    outbox = Outbox(max_days=30)
    fill(outbox, [entry(0, day=10), entry(1, day=11), entry(2, day=40)], today=40)
    assert [done.batch for done in outbox.expired(41)] == [entry(0).batch]
    assert [done.batch for done in outbox.expired(42)] == [entry(0).batch, entry(1).batch]


def test_outbox_finds_all_reports_of_the_wrong_kind() -> None:
    outbox = Outbox()
    shut = entry(9)._replace(body=b'{"pool":"x"}')
    fill(outbox, [entry(0), entry(1, local=1), shut, shut, entry(2)])
    assert outbox.sealed == 1
    assert [done.batch for done in outbox.wrong_kind(SEALED)] == [entry(0).batch, entry(2).batch]
    assert [done.batch for done in outbox.wrong_kind(CLEAR)] == [shut.batch]
    for gone in (shut, shut, entry(0), entry(1, local=1), entry(2)):
        outbox.apply(Done(gone.batch, "sent"))
    assert (outbox.sealed, outbox.wrong_kind(SEALED), outbox.wrong_kind(CLEAR)) == (0, [], [])
    fill(outbox, [shut])
    outbox.clear()
    assert outbox.sealed == 0


def test_local_reports_are_bounded_and_never_sent() -> None:
    outbox = Outbox(max_reports=2)
    fill(outbox, [entry(number, local=1) for number in range(5)])
    assert outbox.next() is None
    assert len(outbox.waiting(local=True)) == 2


def test_a_report_is_finished_once() -> None:
    outbox = Outbox()
    outbox.apply(entry(1))
    for _ in range(2):
        outbox.apply(Done(entry(1).batch, "sent"))
    assert (outbox.sent, outbox.dropped, outbox.bytes, len(outbox)) == (1, 0, 0, 0)


def test_outbox_may_grow_while_it_is_listed() -> None:
    """Another thread adds reports while a user views the waiting ones."""
    outbox, reading = Outbox(), False

    class Adding(Queued):
        @property
        def local(self) -> int:  # called during the iteration
            if reading:
                outbox.apply(entry(len(outbox)))
            return 0

    for queued in (Adding("f" * 32, "theme", 1, 0, b"{}"), entry(100), entry(101, local=1)):
        outbox.apply(queued)
    reading = True
    assert len(outbox.waiting()) == 2
    assert len(outbox) == 4


def test_old_reports_are_dropped_and_counted_on_the_device(make: Make, folder: Path, calendar: Calendar) -> None:
    sent = Script()
    make(folder).record("mobile", True)
    calendar.pass_days(31)
    client = make(folder, transport=sent)
    client.record("theme", "dark")
    assert client.flush(60)
    assert len(sent.bodies) == 1
    assert (client.status().sent, client.status().dropped) == (1, 1)


def test_counts_and_spend_outlive_the_rewriting_of_the_journal(make: Make, folder: Path, calendar: Calendar) -> None:
    client = make(folder)
    for _ in range(60):
        client.record("mobile", True)
        client.record("browser", "firefox")
        assert client.flush(60)
        calendar.pass_days(1)
    client.record("theme", "dark")
    before = client.status()
    size = (folder / "journal").stat().st_size
    again = make(folder)
    assert again.status() == before
    journal = parts_on(folder, today=calendar).journal
    journal.refresh()
    journal.compact()
    assert (folder / "journal").stat().st_size < size / 3
    assert make(folder).status() == again.status() == before


def test_no_record_waits_for_the_disk(
    make: Make, folder: Path, calendar: Calendar, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After consent, the worker does everything that waits for the disk."""
    monkeypatch.setattr("dither.reporting.journal._SLACK", 2000)
    synced: list[str] = []
    again = threading.Event()
    fsync = os.fsync

    def watch(descriptor: int) -> None:
        fsync(descriptor)
        synced.append(threading.current_thread().name)
        again.set()

    client = make(folder, background=True, transport=Script(down=True), spread=600.0)
    monkeypatch.setattr("os.fsync", watch)
    header = (folder / "journal").read_bytes()[:36]
    for _ in range(60):
        calendar.pass_days(1)
        client.record("mobile", True)
    assert threading.current_thread().name not in synced
    while (folder / "journal").read_bytes()[:36] == header:  # the worker waits for a moment to send, but not to compact
        assert again.wait(60)
        again.clear()
    assert set(synced) == {"dither"}
    assert client.status().queued == 31
    client.close()
    assert make(folder, mode=None).status().queued == 31


@pytest.mark.parametrize("by_user", [True, False])
def test_first_record_does_not_wait_for_the_disk(
    make: Make, folder: Path, monkeypatch: pytest.MonkeyPatch, by_user: bool
) -> None:
    client = make(folder, mode="on" if by_user else None, environ={} if by_user else {"DITHER": "on"}, background=True)
    client.close()
    recording = make(folder, mode=None, environ={"DITHER": "on"})
    monkeypatch.setattr("os.fsync", lambda _: pytest.fail("a record waits for the disk"))
    recording.record("browser", "firefox")
    assert recording.status().queued == 1


@pytest.mark.parametrize("event", ["forget", "damage", "full"])
def test_compaction_yields_to_forget_damage_and_a_full_disk(
    make: Make, folder: Path, monkeypatch: pytest.MonkeyPatch, event: str
) -> None:
    client, other = make(folder), make(folder)
    client.record("mobile", True)
    journal = parts_on(folder).journal
    journal.refresh()
    journal.needs_compaction = True
    fsync, first, rewritten = os.fsync, [True], list[bytes]()

    def disturb(descriptor: int) -> None:
        if not first:
            return fsync(descriptor)
        first.clear()
        if event == "full":
            raise OSError(errno.ENOSPC, "full")
        if event == "forget":
            return other.forget()
        with (folder / "journal").open("ab") as damaged:
            damaged.write(b"nonsense\n")
        other.record("theme", "dark")
        return rewritten.append((folder / "journal").read_bytes())

    monkeypatch.setattr("os.fsync", disturb)
    journal.compact()
    assert not first
    assert rewritten == [(folder / "journal").read_bytes()] * (event == "damage"), "the older draft does not replace it"
    assert not list(folder.glob("*.new"))
    after = make(folder, mode=None)
    assert after.status().queued == {"forget": 0, "damage": 1, "full": 1}[event]
    assert b"debit" not in b"".join(path.read_bytes() for path in folder.iterdir()) or event != "forget"
    assert after.status().trouble == {}


def test_records_appended_while_a_draft_is_written_are_kept(
    make: Make, folder: Path, calendar: Calendar, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(folder)  # the user consents here
    first, other = parts_on(folder, today=calendar), parts_on(folder, today=calendar)
    for number in range(5):
        for name in ("browser", "editor", "mobile"):
            first.record(name, f"value {number}" if name == "browser" else "true")
        calendar.pass_days(1)
    answers = iter([("browser", "another value"), ("mobile", True), ("theme", "dark"), ("editor", "vim")])

    def record_while_copying(records: Iterator[Record]) -> Iterator[Record]:
        for record in records:
            for name, value in islice(answers, 1):
                (other if name == "theme" else first).record(name, value)
            yield record

    monkeypatch.setattr("dither.reporting.journal.paced", record_while_copying)
    first.journal.needs_compaction = True
    first.journal.compact(courteous=True)
    assert list(answers) == []
    for reader in (first, other, parts_on(folder, today=calendar)):
        assert reader.preview() == first.preview()
        assert reader.status().metrics == first.status().metrics
        assert [*reader.journal.ledger.records()] == [*first.journal.ledger.records()]
    assert first.status().queued == 19
    calendar.pass_days(1)
    mark = first.journal.cursor.mark
    first.record("mobile", True)
    assert first.journal.cursor.mark != mark, "it is compacted again, because later draws follow a day"


@pytest.mark.parametrize("pauses", [True, False])
def test_background_compaction_waits_while_the_program_records_but_not_for_long(
    make: Make, folder: Path, calendar: Calendar, monkeypatch: pytest.MonkeyPatch, pauses: bool
) -> None:
    make(folder)
    monkeypatch.setattr("dither.reporting.journal._SMALL", 0)
    parts, now = parts_on(folder, today=calendar), [1000.0]
    monkeypatch.setattr("dither.reporting.journal.time", SimpleNamespace(monotonic=lambda: now[0]))
    journal, looks = parts.journal, [0.0]
    parts.make_report("mobile", True)
    journal.needs_compaction, before = True, (folder / "journal").stat().st_ino
    while pause := journal.compact(courteous=True):
        assert (folder / "journal").stat().st_ino == before
        looks.append(pause)
        due = [journal.due]
        now[0] += pause
        assert [*due, journal.due] == [False, True]
        if not (pauses and len(looks) == 4):
            calendar.pass_days(1)
            parts.make_report("mobile", True)
    assert (folder / "journal").stat().st_ino != before
    assert looks[1:4] == [0.02, 0.02, 0.04]
    assert len(looks) == 4 if pauses else 60 <= sum(looks) < 62
    assert journal.ledger.reports(METRICS["mobile"]) == len(looks) - pauses


def test_background_compaction_rests_ten_times_its_duration(
    make: Make, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(folder).record("mobile", True)
    journal, now = parts_on(folder).journal, [1000.0]
    journal.refresh()
    monkeypatch.setattr("dither.reporting.journal.time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(journal.state, "sync", lambda: now.__setitem__(0, now[0] + 2))

    def compacted(*, courteous: bool) -> bool:
        journal.needs_compaction, before = True, (folder / "journal").stat().st_ino
        journal.compact(courteous=courteous)
        return (folder / "journal").stat().st_ino != before

    assert compacted(courteous=True)
    now[0] += 19.9
    assert not compacted(courteous=True)
    due = [journal.due]
    now[0] += 0.2
    assert [*due, journal.due] == [False, True]
    assert compacted(courteous=True)
    assert compacted(courteous=False), "an explicit compaction does not wait"


def test_background_compaction_of_a_journal_near_its_bound_does_not_wait(
    make: Make, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(folder)
    monkeypatch.setattr("dither.reporting.journal._SMALL", 0)
    monkeypatch.setattr("dither.reporting.journal._LARGE", 100)
    parts = parts_on(folder)
    parts.make_report("mobile", True)
    parts.journal.needs_compaction = True
    assert parts.journal.compact(courteous=True) == 0
    assert not parts.journal.needs_compaction
