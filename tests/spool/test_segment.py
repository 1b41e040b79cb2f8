import io
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither_spool.blobs import SpoolError
from dither_spool.records import BUCKETS
from dither_spool.segment import Segment, write_segment
from spool.spooling import arranged, batches, in_segment, rows_in
from spool.test_records import BATCH


class Narrow(io.BytesIO):
    """A file that counts the bytes read."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.seen = 0

    def read(self, size: int | None = -1, /) -> bytes:
        content = super().read(size)
        self.seen += len(content)
        return content


@given(st.lists(BATCH, max_size=30))
def test_segment_returns_the_batches_that_were_written(written: list[tuple[bytes, bytes, int, int, bytes]]) -> None:
    records = arranged(written)
    assert in_segment(write_segment(records)) == rows_in(records)


@pytest.mark.parametrize(("count", "rows"), [(0, 1), (1, 0), (1, 1), (20_000, 1), (3, 160_000)])
def test_segment_holds_few_batches_many_batches_and_large_ones(count: int, rows: int) -> None:
    records = arranged(batches(count, rows=rows))
    content = write_segment(records)
    assert in_segment(content) == rows_in(records)
    assert Segment(io.BytesIO(content), "a segment").versions == records.versions


def test_a_report_of_one_byte_takes_19_and_the_head_7_kilobytes() -> None:
    content = write_segment(arranged(batches(10_000)))
    assert len(content) < 20 * 10_000 + 10_000


def test_reading_a_bucket_reads_no_other_bytes_of_the_segment() -> None:
    written = batches(20_000)
    content = write_segment(arranged(written))
    file = Narrow(content)
    rows = rows_in(Segment(file, "a segment").bucket(7))
    assert sorted(rows) == sorted(row for row in written if row[0][0] == 7)
    assert file.seen < 8_000 + len(content) / 100


def test_segment_with_a_changed_or_missing_byte_is_damaged() -> None:
    content = write_segment(arranged(batches(40)))
    for place in [*range(300), *range(300, len(content), 97)]:
        changed = bytearray(content)
        changed[place] ^= 1 + place % 255
        with pytest.raises(SpoolError, match="name-of-it"):
            read_whole(bytes(changed))
        with pytest.raises(SpoolError, match="name-of-it"):
            read_whole(content[:place])
    with pytest.raises(SpoolError, match="ends too early"):
        read_whole(content[:-1])


FRONT = struct.Struct("<8sII")
TABLE = np.dtype([("start", "<u8"), ("size", "<u8"), ("count", "<u4"), ("packed", "<u4"), ("checksum", "<u4")])


def forged(count: int | None = None, column: tuple[int, int] = (0, 0), short: bytes | None = None) -> bytes:
    """A segment of one record in bucket 7 whose checksums are right, with another count, column or packed part."""
    content = write_segment(arranged([(b"\7" * 16, b"8 bytes!", 1, 0, b"row")]))
    magic, size, _ = FRONT.unpack_from(content)
    head = bytearray(content[FRONT.size : FRONT.size + size])
    part = content[FRONT.size + size :]
    table = np.frombuffer(head[12:], TABLE).copy()
    start, length, ids, packed = (int(table[7][name]) for name in ("start", "size", "count", "packed"))
    column_bytes = bytearray(zlib.decompress(part[start + 16 : start + 16 + packed]))
    column_bytes[column[0]] += column[1]
    new = zlib.compress(bytes(column_bytes) if short is None else short)
    whole = part[start : start + 16] + new + part[start + 16 + packed : start + length]
    table[7] = (len(part), len(whole), ids if count is None else count, len(new), zlib.crc32(whole))
    head[12:] = table.tobytes()
    return FRONT.pack(magic, len(head), zlib.crc32(head)) + bytes(head) + part + whole


@pytest.mark.parametrize(
    "content",
    [
        forged(count=2),
        forged(count=(1 << 32) - 1),
        forged(column=(0, 1)),  # a version that is not named
        forged(column=(5, 1)),  # more rows than there are
        forged(column=(8, 255)),
        forged(short=b""),
        forged(short=bytes(1 << 20)),
    ],
)
def test_forged_bucket_with_a_right_checksum_is_damaged(content: bytes) -> None:
    with pytest.raises(SpoolError, match="name-of-it"):
        read_whole(content)


def test_an_id_of_another_bucket_is_refused() -> None:
    content = forged()
    assert [len(Segment(io.BytesIO(content), "a segment").bucket(number)) for number in (6, 7)] == [0, 1]
    _, size, _ = FRONT.unpack_from(content)
    head = content[FRONT.size : FRONT.size + size]
    moved = head[:12] + np.roll(np.frombuffer(head[12:], TABLE), 1).tobytes()
    with pytest.raises(SpoolError, match="name-of-it holds in bucket 8 data that no collector writes"):
        read_whole(FRONT.pack(content[:8], size, zlib.crc32(moved)) + moved + content[FRONT.size + size :])


@pytest.mark.parametrize("head", [b"", b"\xff" * 4, b"\xff" * 8, bytes(4)])
def test_forged_number_of_versions_is_a_damaged_head(head: bytes) -> None:
    with pytest.raises(SpoolError, match="name-of-it has a damaged header"):
        read_whole(FRONT.pack(b"dither\x00\x01", len(head), zlib.crc32(head)) + head)


def test_a_file_that_cannot_be_read_is_named() -> None:
    file = io.BytesIO(write_segment(arranged(batches(2))))
    segment = Segment(file, "name-of-it")
    file.close()
    with pytest.raises(SpoolError, match="name-of-it cannot be read"):
        segment.bucket(0)


def read_whole(content: bytes) -> None:
    segment = Segment(io.BytesIO(content), "name-of-it")
    for bucket in range(BUCKETS):
        segment.bucket(bucket)
