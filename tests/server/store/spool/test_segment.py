import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither_server.store.errors import SpoolError
from dither_server.store.spool.records import BUCKETS
from dither_server.store.spool.segment import Segment, write_segment
from server.store.spool.spooling import arranged, batches, in_segment, rows_in
from server.store.spool.test_records import BATCH


class Narrow(io.BytesIO):
    """A file that knows which bytes were read."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.seen = 0

    def read(self, size: int | None = -1, /) -> bytes:
        content = super().read(size)
        self.seen += len(content)
        return content


@given(st.lists(BATCH, max_size=30))
def test_a_segment_holds_what_was_written(given: list[tuple[bytes, bytes, int, int, bytes]]) -> None:
    records = arranged(given)
    assert in_segment(write_segment(records)) == rows_in(records)


@pytest.mark.parametrize(("count", "rows"), [(0, 1), (1, 0), (1, 1), (20_000, 1), (3, 160_000)])
def test_a_segment_holds_few_and_many_and_those_of_a_gateway(count: int, rows: int) -> None:
    records = arranged(batches(count, rows=rows))
    content = write_segment(records)
    assert in_segment(content) == rows_in(records)
    assert Segment(io.BytesIO(content), "a segment").versions == records.versions


def test_a_report_of_one_byte_takes_19_and_the_head_7_kilobytes() -> None:
    content = write_segment(arranged(batches(50_000)))
    assert len(content) < 20 * 50_000 + 10_000


def test_a_bucket_is_read_alone() -> None:
    given = batches(20_000)
    content = write_segment(arranged(given))
    file = Narrow(content)
    found = rows_in(Segment(file, "a segment").bucket(7))
    assert sorted(found) == sorted(one for one in given if one[0][0] == 7)
    assert file.seen < 8_000 + len(content) / 100


def test_no_byte_may_change_and_none_may_lack() -> None:
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
