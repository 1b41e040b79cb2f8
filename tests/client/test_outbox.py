"""The outbox is bounded, the journal stays small, and every bound is counted."""

from pathlib import Path

import pytest

import dither
from client.devices import Calendar, Make, Script
from dither.journal import Journal
from dither.outbox import Outbox
from dither.records import Debit, Done, Queued, from_line, from_lines, to_line
from dither_shared import SystemEntropy


def entry(number: int, day: int = 1, size: int = 100, local: int = 0) -> Queued:
    return Queued(f"{number:032x}", "theme", day, local, b"x" * size)


def fill(outbox: Outbox, entries: list[Queued], today: int = 1) -> list[str]:
    """Put entries in one by one, as the client does; return the batch ids that are left."""
    for one in entries:
        outbox.apply(one)
        for done in outbox.excess(today):
            outbox.apply(done)
    return [one.batch for one in outbox.waiting()]


def test_the_oldest_give_way_when_there_are_too_many() -> None:
    outbox = Outbox(max_reports=3)
    assert fill(outbox, [entry(number) for number in range(5)]) == [entry(number).batch for number in (2, 3, 4)]
    assert outbox.dropped == 2


def test_the_oldest_give_way_when_they_are_too_large() -> None:
    outbox = Outbox(max_bytes=1000)
    fill(outbox, [entry(number, size=300) for number in range(5)])
    assert (len(outbox), outbox.bytes, outbox.dropped) == (3, 900, 2)


def test_what_is_too_old_gives_way() -> None:
    outbox = Outbox(max_days=30)
    fill(outbox, [entry(0, day=10), entry(1, day=11), entry(2, day=40)], today=40)
    assert [done.batch for done in outbox.excess(41)] == [entry(0).batch]
    assert [done.batch for done in outbox.excess(42)] == [entry(0).batch, entry(1).batch]


def test_what_is_only_shown_is_bounded_but_never_next() -> None:
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


def test_old_reports_are_dropped_and_counted_on_the_device(make: Make, folder: Path, calendar: Calendar) -> None:
    sent = Script()
    make(folder).record("mobile", True)
    calendar.pass_days(31)
    client = make(folder, transport=sent)
    client.record("theme", "dark")
    assert client.flush(5)
    assert len(sent.bodies) == 1
    assert (client.status().sent, client.status().dropped) == (1, 1)


def test_counts_and_spend_outlive_the_rewriting_of_the_journal(make: Make, folder: Path, calendar: Calendar) -> None:
    client = make(folder)
    for _ in range(60):
        client.record("mobile", True)
        client.record("browser", "firefox")
        assert client.flush(5)
        calendar.pass_days(1)
    client.record("theme", "dark")
    before = client.status()
    size = (folder / "journal").stat().st_size
    after = make(folder).status()
    assert (folder / "journal").stat().st_size < size / 3
    assert (before.sent, before.queued) == (120, 1)
    assert after == before


def test_a_running_client_rewrites_its_journal_as_it_doubles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dither.journal._SLACK", 50)
    state = dither.MemoryState()
    journal = Journal(state, SystemEntropy(), lambda: 1)
    for number in range(1000):
        with journal.transaction():
            journal.write(entry(number))
            journal.write(Done(entry(number).batch, "sent"))
    assert len(state._records) < 200
    assert journal.outbox.sent == 1000


def test_two_clients_of_one_folder_follow_each_other_through_rewrites(
    make: Make, folder: Path, calendar: Calendar, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dither.journal._SLACK", 200)
    one, other = make(folder), make(folder)
    for day in range(30):
        for client, name in ((one, "mobile"), (other, "theme"), (other, "mobile"), (one, "theme")):
            client.record(name, "dark")
        assert one.status().queued == other.status().queued == 2 * day + 2
        calendar.pass_days(1)
    assert one.preview() == other.preview()
    assert one.status().metrics == other.status().metrics


def test_records_round_trip_and_any_flipped_byte_is_noticed() -> None:
    record = Debit("theme", "0123456789abcdef", 739938, 3, 2, 1.0986122886681098, 0.0, "f" * 32)
    line = to_line(record)
    assert from_line(line[:-1]) == record
    for position in range(len(line) - 1):
        for mask in range(1, 256):
            assert from_line(line[:position] + bytes([line[position] ^ mask]) + line[position + 1 : -1]) is None


def test_a_torn_tail_is_no_damage() -> None:
    lines = to_line(entry(1)) + to_line(entry(2))
    assert from_lines(lines) == ([entry(1), entry(2)], 0, False)
    assert from_lines(lines[:-1]) == ([entry(1)], 0, True)
    assert from_lines(b"nonsense\n" + lines) == ([entry(1), entry(2)], 1, False)
