"""Journals: their groups, the processes that hold them, and the segments that they become."""

import fcntl
import os
import struct
import threading
import zlib
from datetime import timedelta
from pathlib import Path

import pytest

from dither_server.store import Upload
from dither_spool.blobs import Folder, SpoolError
from dither_spool.journal import SpoolJournal, abandoned, decode_groups, encode_group
from dither_spool.records import number_of
from server.collecting import LAYOUT, METRICS, THEME, TODAY, VERSION, rows_of, upload
from spool.spooling import Row, ids_in, in_place, rows_in

MARK = b"12345678"


def row_of(one: Upload) -> Row:
    return one.batch, bytes.fromhex(one.metric.version), number_of(TODAY), one.stratum, one.rows


def groups_of_uploads(groups: int, size: int) -> list[list[Upload]]:
    metrics = [*METRICS.values()][:3]
    return [[upload(metrics[number % 3]) for number in range(size)] for _ in range(groups)]


def found_in(content: bytes) -> list[Row]:
    return rows_in(decode_groups(MARK, content).records)


def test_groups_keep_strata_large_batches_and_days() -> None:
    many = upload(VERSION, rows_of(VERSION, 10_000))
    strata = [upload(LAYOUT, rows_of(LAYOUT, 2, value="list"), stratum=place) for place in range(6)]
    day = TODAY.replace(day=21)
    content = encode_group(MARK, [many, *strata], TODAY) + encode_group(MARK, [strata[0]], day)
    one = row_of(strata[0])
    assert found_in(content) == sorted([*map(row_of, [many, *strata]), (*one[:2], number_of(day), *one[3:])])


def test_group_torn_at_any_byte_is_dropped_without_a_notice_of_damage() -> None:
    first, second = (encode_group(MARK, group, TODAY) for group in groups_of_uploads(2, 2))
    for end in range(len(second)):
        for left in (second[:end], second[:end] + bytes(len(second) - end), bytes(end) + second[end:]):
            decoded = decode_groups(MARK, first + left)
            whole = left == second
            assert (len(decoded.records), decoded.damaged) == (4 if whole else 2, 0)
            assert decoded.end == len(first) + len(second) * whole
            assert decode_groups(MARK, left).damaged == 0


def test_damage_before_a_whole_group_costs_that_group_alone() -> None:
    uploads = groups_of_uploads(3, 1)
    first, second, third = (encode_group(MARK, group, TODAY) for group in uploads)
    for place in range(len(second)):
        changed = bytearray(second)
        changed[place] ^= 1 + place % 255
        decoded = decode_groups(MARK, first + changed + third)
        assert rows_in(decoded.records) == sorted(row_of(group[0]) for group in (uploads[0], uploads[2]))
        assert decoded.damaged == len(second)
        assert decoded.end == len(first + second + third)


def test_damage_to_the_last_two_groups_is_noticed() -> None:
    """The last but one was durable before the last began. A last group without a valid beginning is damage, too."""
    first, second, third = (encode_group(MARK, group, TODAY) for group in groups_of_uploads(3, 1))
    decoded = decode_groups(MARK, first + flipped(second, 30) + flipped(third, 30))
    assert (len(decoded.records), decoded.end, decoded.damaged) == (1, len(first), len(second + third))
    assert decode_groups(MARK, first + flipped(second, 3)).damaged
    assert decode_groups(MARK, first + second + b"another file").damaged
    assert decode_groups(b"another!", first + second + third).damaged  # a journal that was renamed to another
    assert not decode_groups(MARK, first + flipped(second, 30)).damaged  # or was it torn?


def flipped(group: bytes, place: int) -> bytes:
    return group[:place] + bytes([group[place] ^ 1]) + group[place + 1 :]


@pytest.mark.parametrize(
    "body", [b"", bytes(5), b"\xff" * 6, struct.pack("<IH", 1, 0), struct.pack("<IH25xI", 1, 0, 9)]
)
def test_a_body_that_no_collector_writes_is_damage_though_its_checksum_is_right(body: bytes) -> None:
    checksum = zlib.crc32(body, zlib.crc32(struct.pack("<I", len(body))))
    (group,) = groups_of_uploads(1, 1)
    decoded = decode_groups(
        MARK, struct.pack("<8sII", MARK, len(body), checksum) + body + encode_group(MARK, group, TODAY)
    )
    assert rows_in(decoded.records) == [row_of(group[0])]
    assert decoded.damaged


def test_rows_that_look_like_a_group_are_not_read_as_one() -> None:
    """A sender of rows does not know the mark of the journal, so a forged group has another mark."""
    hidden = encode_group(b"87654321", groups_of_uploads(1, 1)[0], TODAY)
    bearing = encode_group(MARK, [Upload(bytes(16), METRICS["theme"], hidden, 0)], TODAY)
    assert len(found_in(bearing)) == 1
    torn = decode_groups(MARK, bearing[:-1])
    assert (len(torn.records), torn.damaged) == (0, 0)


def opened(tmp_path: Path) -> tuple[SpoolJournal, Folder]:
    return SpoolJournal.create(tmp_path / "open"), Folder(tmp_path)


def test_a_journal_becomes_a_segment_of_its_name(tmp_path: Path) -> None:
    journal, place = opened(tmp_path)
    uploads = [upload() for _ in range(5)]
    journal.append(uploads[:3], TODAY)
    journal.append(uploads[3:], TODAY + timedelta(days=1))
    assert journal.path.stat().st_size == journal.size
    assert journal.path.stat().st_mode & 0o77 == 0
    assert journal.seal(place) == 5
    version = bytes.fromhex(THEME.version)
    first = number_of(TODAY)
    assert dict(in_place(place)) == {
        (one.batch, version, first + (number >= 3), 0, one.rows): 1 for number, one in enumerate(uploads)
    }
    assert place.names("segments") == [f"{journal.path.stem}.segment"]
    assert list((tmp_path / "open").glob("*.journal")) == []


def test_empty_journal_makes_no_segment(tmp_path: Path) -> None:
    journal, place = opened(tmp_path)
    assert journal.seal(place) == 0
    assert place.names("segments") == []
    assert place.names("open") == ["lock"]


def test_search_for_abandoned_journals_skips_one_that_is_closed_during_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, place = opened(tmp_path)
    journal.append([upload()], TODAY)

    def opening(path: Path, flags: int, mode: int = 0o777) -> int:
        descriptor = open_file(path, flags, mode)
        if path == journal.path:
            journal.seal(place)
        return descriptor

    open_file = os.open
    monkeypatch.setattr("os.open", opening)
    assert list(abandoned(tmp_path / "open")) == []
    assert len(in_place(place)) == 1


def test_new_journal_is_never_taken_for_an_abandoned_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[SpoolJournal] = []
    looking: list[threading.Thread] = []

    def opening(path: Path, flags: int, mode: int = 0o777) -> int:
        descriptor = open_file(path, flags, mode)
        if flags & os.O_EXCL:  # it is there, and not held yet
            looking.append(threading.Thread(target=lambda: found.extend(abandoned(tmp_path))))
            looking[0].start()
            looking[0].join(0.2)  # the search must wait
        return descriptor

    open_file = os.open
    monkeypatch.setattr("os.open", opening)
    journal = SpoolJournal.create(tmp_path)
    looking[0].join()
    assert found == []
    journal.release()


def test_files_that_are_no_journals_are_left_alone(tmp_path: Path) -> None:
    for name in ("notes.journal", "a" * 32 + ".damaged", "lock"):
        (tmp_path / name).write_text("content")
    assert list(abandoned(tmp_path)) == []


def test_a_journal_that_was_closed_twice_is_one_segment(tmp_path: Path) -> None:
    """This happens after a crash between writing the segment and deleting the journal."""
    journal, place = opened(tmp_path)
    journal.append([upload() for _ in range(3)], TODAY)
    content = journal.path.read_bytes()
    journal.seal(place)
    journal.path.write_bytes(content)
    (again,) = abandoned(tmp_path / "open")
    assert again.seal(place) == 3
    assert set(in_place(place).values()) == {1}


def test_damaged_journal_leaves_a_notice_and_no_batch(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    journal, place = opened(tmp_path)
    uploads = [upload() for _ in range(3)]
    for one in uploads:
        journal.append([one], TODAY)
    content = bytearray(journal.path.read_bytes())
    content[journal.size // 2] ^= 1
    journal.path.write_bytes(content)
    assert journal.seal(place) == 2
    assert ids_in(in_place(place)) == {uploads[0].batch, uploads[2].batch}
    message = f"2 batches of this journal were taken, and {journal.size // 3} bytes could not be read"
    assert f"damaged: {message}" in caplog.text
    left = {path.name: path.read_bytes() for path in (tmp_path / "open").iterdir() if path.name != "lock"}
    assert left.keys() == {f"{journal.path.stem}.damaged"}
    (notice,) = left.values()
    assert notice.decode().startswith(message)
    assert not any(part in notice for one in uploads for part in (one.batch, one.rows, one.batch.hex().encode()))


def test_journal_stays_until_the_notice_of_its_damage_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, place = opened(tmp_path)
    journal.append([upload()], TODAY)
    os.truncate(journal.path, journal.size - 1)

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("dither_spool.journal.write_file", fail)
        with pytest.raises(SpoolError, match="No space left"):
            journal.seal(place)
        assert journal.path.exists()
    journal.seal(place)
    assert not journal.path.exists()
    assert journal.path.with_suffix(".damaged").exists()


@pytest.mark.parametrize("written", [0, 10])
def test_append_to_a_full_disk_leaves_nothing_and_the_next_succeeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: int
) -> None:
    journal, place = opened(tmp_path)
    uploads = [upload() for _ in range(3)]
    journal.append(uploads[:1], TODAY)
    write, left = os.pwrite, [written]

    def filling(descriptor: int, content: bytes, offset: int) -> int:
        if not left[0]:
            raise OSError(28, "No space left on device")
        left[0] -= (done := write(descriptor, content[: left[0]], offset))
        return done

    with monkeypatch.context() as patch:
        patch.setattr("os.pwrite", filling)
        with pytest.raises(SpoolError, match="No space left"):
            journal.append(uploads[1:2], TODAY)
    assert journal.usable
    assert journal.path.stat().st_size == journal.size
    journal.append(uploads[2:], TODAY)
    journal.seal(place)
    assert ids_in(in_place(place)) == {uploads[0].batch, uploads[2].batch}


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "open").write_text("")
    with pytest.raises(SpoolError, match=r"open/[0-9a-f]{32}\.journal cannot be created"):
        opened(tmp_path)


def test_a_journal_is_held_by_its_file_alone(tmp_path: Path) -> None:
    """A lock of the process would be lost as soon as any part of it closes the same file."""
    journal, _ = opened(tmp_path)
    with journal.path.open("rb+") as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert list(abandoned(tmp_path / "open")) == []
    journal.release()
