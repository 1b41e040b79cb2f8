"""A segment: a file of batches sorted by id, from which one bucket can be read separately.

The header names the versions and locates the buckets. A bucket is the ids, then the short columns, compressed, then the
rows. Integers are little-endian. The header and each bucket have a CRC-32.

A batch takes 17.1 bytes with a report of one byte, 32.1 with one of 16. Parquet, with a row group per bucket, took 2.8
to 11 times as long to write.
"""

import re
import struct
import zlib
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from .blobs import DamagedError, SpoolError
from .records import BUCKETS, Records, as_ids, as_keys

SEGMENTS = "segments"
"""The kind of file, in a blob store, that a journal becomes."""

DAMAGED = "damaged"
"""The kind of file that keeps a damaged segment as it was found."""

_NAME = re.compile(r"[0-9a-f]{32}\.segment")

_MAGIC = b"dither\x00\x01"
"""The magic bytes of segment format 1."""

_FRONT = struct.Struct("<8sII")
"""The magic bytes, the length of the header that follows, and its checksum."""

_BUCKET = np.dtype([("start", "<u8"), ("size", "<u8"), ("count", "<u4"), ("packed", "<u4"), ("checksum", "<u4")])
"""The offset of a bucket after the header, its bytes, records, bytes of the compressed part, and checksum."""

_SHORT: tuple[np.dtype[Any], ...] = np.dtype("<u2"), np.dtype("<u2"), np.dtype("u1"), np.dtype("<u4")
"""The compressed columns: version, day, stratum, length."""


def is_segment(name: str) -> bool:
    """Return whether a file name is that of a segment; other files in the folder are not ours."""
    return _NAME.fullmatch(name) is not None


def write_segment(records: Records) -> bytes:
    """Return records, which are in the order of their ids, as the bytes of a segment."""
    table = np.zeros(BUCKETS, _BUCKET)
    ids, rows = as_ids(records.keys), records.rows()
    ends = np.concatenate(([0], np.cumsum(records.lengths)))
    edges = np.searchsorted(ids[:, 0], np.arange(BUCKETS + 1)).tolist()
    columns: list[NDArray[Any]] = [records.version, records.day, records.stratum, records.lengths]
    parts, start = [], 0
    for number in range(BUCKETS):
        within = slice(edges[number], edges[number + 1])
        short = b"".join(
            column[within].astype(kind, copy=False).tobytes() for column, kind in zip(columns, _SHORT, strict=True)
        )
        packed = zlib.compress(short, 1)
        part = b"".join((ids[within].tobytes(), packed, rows[ends[within.start] : ends[within.stop]]))
        table[number] = (start, len(part), within.stop - within.start, len(packed), zlib.crc32(part))
        parts.append(part)
        start += len(part)
    head = b"".join((struct.pack("<I", len(records.versions)), *records.versions, table.tobytes()))
    return b"".join((_FRONT.pack(_MAGIC, len(head), zlib.crc32(head)), head, *parts))


class Segment:
    """A segment in an open file, which the caller closes.

    ``versions`` are 8 bytes each; ``counts`` and ``sizes`` are the numbers of records and of bytes of each bucket, and
    ``whole`` is the number of bytes that the file had when it was written. The constructor raises DamagedError, which
    names the file, if the header is damaged, and ``bucket`` raises it if that bucket is damaged. Both raise SpoolError
    if the file cannot be read.
    """

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file = file
        self._name = name
        magic, size, checksum = _FRONT.unpack(self._read(0, _FRONT.size))
        if magic != _MAGIC:
            raise _damaged(name, "is not a segment, or has a version that this program does not know")
        head = self._read(_FRONT.size, size)
        table = 4 + 8 * int.from_bytes(head[:4], "little")
        if zlib.crc32(head) != checksum or len(head) != table + BUCKETS * _BUCKET.itemsize:
            raise _damaged(name, "has a damaged header")
        self.versions = [head[start : start + 8] for start in range(4, table, 8)]
        self._table = np.frombuffer(head, _BUCKET, BUCKETS, table)
        self._start = _FRONT.size + size
        self.counts: list[int] = self._table["count"].tolist()
        self.sizes: list[int] = self._table["size"].tolist()
        self.whole = self._start + sum(self.sizes)

    def bucket(self, number: int) -> Records:
        """Return the records of a bucket: those whose id begins with the byte ``number``."""
        start, size, count, packed, checksum = (int(self._table[name][number]) for name in _BUCKET.names or ())
        part = self._read(self._start + start, size)
        end = 16 * count + packed
        if zlib.crc32(part) != checksum or end > size or (columns := _columns(part[16 * count : end], count)) is None:
            raise _damaged(self._name, f"is damaged in bucket {number}")
        version, day, stratum, lengths = columns
        ids = np.frombuffer(part, np.uint8, 16 * count).reshape(-1, 16)
        sizes, rows = lengths.astype(np.int64), np.frombuffer(part, np.uint8, offset=end)
        possible = (ids[:, 0] == number).all() and (version < len(self.versions)).all() and sizes.sum() == len(rows)
        if not possible:
            raise _damaged(self._name, f"holds in bucket {number} data that no collector writes")
        return Records(as_keys(ids), version, day, stratum, sizes, np.cumsum(sizes) - sizes, self.versions, rows)

    def _read(self, start: int, size: int) -> bytes:
        try:
            self._file.seek(start)
            content = self._file.read(size)
        except Exception as error:  # each object store has its own errors
            raise SpoolError(f"spool: {self._name} cannot be read ({type(error).__name__})") from None
        if len(content) != size:
            raise _damaged(self._name, "ends too early")
        return content


def _damaged(name: str, why: str) -> DamagedError:
    return DamagedError(f"spool: {name} {why}; restore it from a copy, or skip the damage with fold --skip")


def _columns(packed: bytes, count: int) -> list[NDArray[Any]] | None:
    """Return the compressed columns of ``count`` records, None if the bytes are not such columns."""
    size = count * sum(kind.itemsize for kind in _SHORT)
    try:
        short = zlib.decompressobj().decompress(packed, size + 1)  # a forged bucket must not fill the memory
    except zlib.error:
        return None
    if len(short) != size:
        return None
    starts = np.cumsum([0, *(count * kind.itemsize for kind in _SHORT)]).tolist()
    return [
        np.frombuffer(short, kind, count, start).astype(kind.newbyteorder("="), copy=False)
        for kind, start in zip(_SHORT, starts, strict=False)
    ]
