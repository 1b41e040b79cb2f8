"""The ids of batches that were counted, so that each batch counts once however often it comes within the horizon.

A file holds the ids that the runs of one day have counted in one bucket, ascending: ``ids/BUCKET/LATER-DAY-RUN.ids``,
with the bucket in two hexadecimal digits, the days in five decimal ones, and the run that wrote it last. LATER is the
latest day that the bucket knew; if it is after DAY, one of two clocks was wrong, and only a later clock can decide
which. A file begins with a head of 20 bytes: ``dtherid1``, the number of ids (u64) and the CRC-32 of what follows
(u32), little-endian.

Each run rewrites the file of its day in the buckets that it counts, as one sorted run: that is at most a 45th of the
ids that it has read. Only one fold at a time uses these files. An id that is in two of them does no harm, so a fold
that is killed between writing one and deleting the other may begin again.
"""

import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import pairwise
from struct import Struct
from typing import BinaryIO, NamedTuple

import numpy as np

from .blobs import BlobStore, SpoolError
from .records import BUCKETS, Ids, are_first, as_ids, as_keys

_HEAD = Struct("<8sQI")
_MAGIC = b"dtherid1"
_NAME = re.compile(r"(\d{5})-(\d{5})-(.+)\.ids")

_GAP = 7
"""Maximum days counted between two folds: the horizon exceeds the 30 days of retries by twice that."""

_CHUNK = 1 << 18
"""Ids that are read at a time: 4 MiB."""


class _File(NamedTuple):
    later: int
    day: int
    run: str

    @property
    def name(self) -> str:
        return f"{self.later:05}-{self.day:05}-{self.run}.ids"

    def age_from(self, today: int) -> int:
        """Return the day from which these ids age: the later one, unless it lies in the future."""
        return self.later if self.later <= today else self.day


def read(blobs: BlobStore, bucket: int) -> Iterator[Ids]:
    """Yield all ids of a bucket in parts, each ascending.

    It reads all days that ``forget`` has left, so a clock that jumps makes no id unknown. Raises SpoolError for a
    damaged file, before or after its ids are yielded.
    """
    for file in _files(blobs, bucket):
        yield from _ids(blobs, bucket, file)


def add(blobs: BlobStore, bucket: int, run: str, ids: Ids, today: int) -> None:
    """Add the ids, ascending, that a run of ``today`` has counted in a bucket; durable on return. Raises SpoolError.

    They are kept as of today, not as of the days on which batches came, because a collector's clock may be behind and
    they would be forgotten too soon.
    """
    if not len(ids):
        return
    files = _files(blobs, bucket)
    former = [file for file in files if file.day == today]
    keys = np.concatenate([as_keys(ids), *(as_keys(part) for file in former for part in _ids(blobs, bucket, file))])
    keys.sort(kind="stable")  # fast if ascending parts follow each other
    written = _File(max([today, *(file.later for file in files)]), today, run)
    content = as_ids(keys[are_first(keys)]).tobytes()
    blobs.put(_kind(bucket), written.name, _HEAD.pack(_MAGIC, len(content) // 16, zlib.crc32(content)) + content)
    for file in former:
        if file.name != written.name:
            blobs.delete(_kind(bucket), file.name)


def forget(blobs: BlobStore, horizon: int, today: int, folded: Iterable[int] = ()) -> int:
    """Delete the ids older than ``horizon`` days, and return the number of deleted files. Raises SpoolError.

    A batch whose id is forgotten would be counted again: the horizon must exceed the time for which devices retry.
    Between one day of ids, or of a fold (``folded``), and the next at most ``_GAP`` days count, or a clock that jumped
    by years would make all ids look old.
    """
    files = [(bucket, file) for bucket in range(BUCKETS) for file in _files(blobs, bucket)]
    ages = _ages({*folded, *(file.age_from(today) for _, file in files)}, today)
    old = [(bucket, file) for bucket, file in files if ages.get(file.age_from(today), 0) > horizon]
    for bucket, file in old:
        blobs.delete(_kind(bucket), file.name)
    return len(old)


def _ages(days: Iterable[int], today: int) -> dict[int, int]:
    """Return the age of each of these days that is not in the future."""
    ages, age = dict[int, int](), 0
    for later, day in pairwise(sorted({today, *(day for day in days if day <= today)}, reverse=True)):
        age += min(later - day, _GAP)
        ages[day] = age
    return ages


def _kind(bucket: int) -> str:
    return f"ids/{bucket:02x}"


def _files(blobs: BlobStore, bucket: int) -> list[_File]:
    matches = map(_NAME.fullmatch, blobs.names(_kind(bucket)))
    return [_File(int(match[1]), int(match[2]), match[3]) for match in matches if match]


def _ids(blobs: BlobStore, bucket: int, file: _File) -> Iterator[Ids]:
    """Yield the ids of a file in parts; raise SpoolError unless the file is complete."""
    name = f"{blobs}/{_kind(bucket)}/{file.name}"
    try:
        opened = blobs.open(_kind(bucket), file.name)
    except FileNotFoundError:
        raise SpoolError(f"spool: {name} is gone; is another fold running?") from None
    with closing(opened):
        yield from _checked(opened, name)


def _checked(opened: BinaryIO, name: str) -> Iterator[Ids]:
    head = _read(opened, _HEAD.size, name)
    magic, count, checksum = _HEAD.unpack(head) if len(head) == _HEAD.size else (b"", 0, 0)
    if magic != _MAGIC:
        raise _damaged(name, "is not a file of ids")
    size, crc = 0, 0
    while content := _read(opened, 16 * _CHUNK, name):
        size, crc = size + len(content), zlib.crc32(content, crc)
        if size % 16:
            raise _damaged(name, "ends within an id")
        yield np.frombuffer(content, dtype=np.uint8).reshape(-1, 16)
    if size != 16 * count:
        raise _damaged(name, f"has {size} bytes of ids, not {16 * count}")
    if crc != checksum:
        raise _damaged(name, "does not match its checksum")


def _read(opened: BinaryIO, size: int, name: str) -> bytes:
    try:
        return opened.read(size)
    except Exception as error:  # each object store has its own errors
        raise SpoolError(f"spool: {name} cannot be read ({type(error).__name__})") from None


def _damaged(name: str, why: str) -> SpoolError:
    return SpoolError(
        f"spool: {name} {why}; restore it from a copy, or delete it (batches that are sent again will then count again)"
    )
