"""The bytes of a journal: one group for each commit, and how groups are found again after a power cut or damage.

A group begins with a mark of eight random bytes, which nobody who sends rows knows: so no row is ever taken for a
group. Integers are little-endian.
"""

import struct
import zlib
from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

import numpy as np

from ..counting.uploads import Upload
from .records import Records, number_of

__all__ = ["Found", "group_of", "read_groups"]

_GROUP = struct.Struct("<8sII")
"""The mark, the bytes of the body, and the CRC-32 of their number and the body."""

_SIZE = struct.Struct("<I")

_BODY = struct.Struct("<IH")
"""Records and their day. Ids, versions, strata and lengths of all follow, then their rows."""

_WIDTHS = (16, 8, 1, 4)
"""Bytes of an id, a version, a stratum and a length."""


class Found(NamedTuple):
    """What the bytes of a journal hold.

    ``end`` is where the last whole group ends. What follows it was torn by a power cut, and nobody was told that it
    is kept. ``damaged`` are the bytes before it that cannot be read, and all that follows it if that is more than a
    group that was torn: these were acknowledged.
    """

    records: Records
    end: int
    damaged: int


def group_of(mark: bytes, uploads: Sequence[Upload], day: date) -> bytes:
    """Return uploads that came on a day as a group."""
    body = b"".join(
        (
            _BODY.pack(len(uploads), number_of(day)),
            b"".join([one.batch for one in uploads]),
            bytes.fromhex("".join([one.metric.version for one in uploads])),
            bytes([one.stratum for one in uploads]),
            struct.pack(f"<{len(uploads)}I", *[len(one.rows) for one in uploads]),
            *[one.rows for one in uploads],
        )
    )
    return _GROUP.pack(mark, len(body), _checksum(body)) + body


def read_groups(mark: bytes, content: bytes) -> Found:
    """Return all that can be read of a journal."""
    bodies: list[memoryview] = []
    start, damaged = 0, 0
    while (found := _next(mark, content, start)) is not None:
        begin, end = found
        damaged += begin - start
        bodies.append(memoryview(content)[begin + _GROUP.size : end])
        start = end
    if _is_more_than_torn(mark, content[start:]):
        damaged += len(content) - start
    return Found(_records(bodies), start, damaged)


def _next(mark: bytes, content: bytes, start: int) -> tuple[int, int] | None:
    """Return where the first whole group at or behind a place begins and ends."""
    while (start := content.find(mark, start)) >= 0:
        if start + _GROUP.size <= len(content):
            _, size, checksum = _GROUP.unpack_from(content, start)
            end = start + _GROUP.size + size
            body = memoryview(content)[start + _GROUP.size : end]
            if len(body) == size and _checksum(body) == checksum and _is_possible(body):
                return start, end
        start += 1
    return None


def _is_possible(body: memoryview) -> bool:
    """Return whether the bytes of a body are those that its number of records and their lengths ask for."""
    if len(body) < _BODY.size:
        return False
    (count, _), width = _BODY.unpack_from(body), _WIDTHS[-1]
    end = _BODY.size + sum(_WIDTHS) * int(count)
    if end > len(body):
        return False
    lengths = np.frombuffer(body[end - width * int(count) : end], "<u4")
    return end + int(lengths.sum(dtype=np.int64)) == len(body)


def _is_more_than_torn(mark: bytes, rest: bytes) -> bool:
    """Return whether a power cut alone cannot have left this of one group.

    It leaves bytes or zeros of a group that begins here. The next group is begun when this one is durable.
    """
    return rest.find(mark, 1) >= 0 or any(byte not in (0, right) for byte, right in zip(rest, mark, strict=False))


def _checksum(body: bytes | memoryview) -> int:
    return zlib.crc32(body, zlib.crc32(_SIZE.pack(len(body))))


def _records(bodies: Sequence[memoryview]) -> Records:
    """Return the records of groups."""
    columns: list[list[memoryview]] = [[], [], [], [], []]
    days, counts = [], []
    for body in bodies:
        count, day = _BODY.unpack_from(body)
        days.append(day)
        counts.append(count)
        start = _BODY.size
        for column, width in zip(columns, _WIDTHS, strict=False):
            column.append(body[start : start + width * count])
            start += width * count
        columns[-1].append(body[start:])
    ids, versions, strata, lengths, rows = map(b"".join, columns)
    of_days = np.repeat(np.array(days, np.uint16), np.array(counts, np.int64))
    return Records.arranged(ids, versions, of_days, strata, np.frombuffer(lengths, "<u4").astype(np.uint32), rows)
