"""Keep the ids of batches that were counted, so that each counts once however often it comes within the horizon.

A file holds those of one bucket, day and run, ascending: ``ids/BUCKET/DAY-RUN.ids`` of a place, the bucket in two
hexadecimal digits, the day in five decimal ones. If ids of a later day stood there already, one of two clocks was
wrong, and only a later clock can tell which: the name then has both days, ``LATER-DAY-RUN.ids``. A file begins with a
head of 20 bytes: ``dtherid1``, the number of ids (u64) and the CRC-32 of what comes after (u32), little-endian.

One fold at a time uses these files. An id that is in two of them does no harm, so that a command which is killed
between writing some and deleting others may begin again.
"""

import hashlib
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from itertools import pairwise
from struct import Struct
from typing import BinaryIO, NamedTuple

import numpy as np

from ...store.errors import SpoolError
from ...store.spool.places import Place
from ...store.spool.records import BUCKETS
from .table import Ids, Keys, are_first, as_ids, as_keys

__all__ = ["forget", "merge", "newest", "read", "write"]

_HEAD = Struct("<8sQI")
_MAGIC = b"dtherid1"
_NAME = re.compile(r"(\d{5})-(?:(\d{5})-)?(.+)\.ids")

_GAP = 7
"""Days: the horizon leaves twice as many beyond the 30 for which devices retry, and few fold more rarely."""

_AT_ONCE = 1 << 18
"""Ids that are read at a time: 4 MiB."""


class _File(NamedTuple):
    """A file of ids: its day, the later day that it found there (else its own), and the run that wrote it."""

    day: int
    later: int
    run: str

    @property
    def name(self) -> str:
        days = f"{self.day:05}" if self.later == self.day else f"{self.later:05}-{self.day:05}"
        return f"{days}-{self.run}.ids"

    def age_from(self, today: int) -> int:
        """Return the day from which these grow old: the later one, unless it is yet to come."""
        return self.later if self.later <= today else self.day


def read(place: Place, bucket: int, run: str = "") -> Iterator[Ids]:
    """Yield the ids of a bucket that were counted in other runs than this one, some at a time, each part ascending.

    So a run that begins again finds what it found at first. All days are read that ``forget`` has left: a clock that
    jumps makes no id unknown. Raises SpoolError for a file that is damaged, before or after its ids are yielded.
    """
    for file in _files(place, bucket):
        if file.run != run:
            yield from _ids(place, bucket, file)


def newest(place: Place) -> int:
    """Return the last day of any ids; 0 if there are none. Raises SpoolError."""
    return max((file.later for bucket in range(BUCKETS) for file in _files(place, bucket)), default=0)


def write(place: Place, bucket: int, run: str, ids: Mapping[int, Ids], today: int = 0, latest: int = 0) -> None:
    """Write the ids that a run of ``today`` has counted in a bucket, ascending, by day; durable on return.

    Those of an earlier day are kept as if they had come today, for the clock of their collector may be behind, and they
    would be forgotten too soon; and as if they had come on the ``latest`` day, that of ids which were there before, for
    our own clock may be. What this run has written already stays: it was counted. Raises SpoolError.
    """
    there = _files(place, bucket)
    kept: dict[int, list[Keys]] = {}
    for day, of_day in ids.items():
        kept.setdefault(max(day, today), []).append(as_keys(of_day))
    for day, parts in kept.items():
        file = _File(day, max(day, latest), run)
        if file not in there:
            _put(place, bucket, file, as_ids(np.sort(np.concatenate(parts), kind="stable")))


def merge(place: Place, bucket: int, most: int = 16) -> None:
    """Make one file of those of each day; on the newest, when there are more than so many. A run opens every file.

    This is for when no run has begun: afterwards nothing tells who wrote which ids. Memory is three times the ids of a
    day. Raises SpoolError.
    """
    days: dict[tuple[int, int], list[_File]] = {}
    for file in _files(place, bucket):
        days.setdefault((file.day, file.later), []).append(file)
    for (day, later), files in days.items():
        if len(files) > (most if (day, later) == max(days) else 1):
            _put(place, bucket, _File(day, later, _together(files)), _distinct(place, bucket, files))
            for file in files:
                place.delete(_kind(bucket), file.name)


def forget(place: Place, horizon: int, today: int) -> int:
    """Delete the ids that are older than so many days, and return the number of files.

    A batch whose id is forgotten would be counted again: the horizon must be farther back than any device retries.
    Between one day of ids and the next no more than ``_GAP`` days count: a clock that jumped by years would make all
    ids look old. Raises SpoolError.
    """
    files = [(bucket, file) for bucket in range(BUCKETS) for file in _files(place, bucket)]
    ages = _ages({file.age_from(today) for _, file in files}, today)
    old = [(bucket, file) for bucket, file in files if ages.get(file.age_from(today), 0) > horizon]
    for bucket, file in old:
        place.delete(_kind(bucket), file.name)
    return len(old)


def _ages(days: Iterable[int], today: int) -> dict[int, int]:
    """Return how old each of these days is that has come."""
    ages, age = dict[int, int](), 0
    for later, day in pairwise(sorted({today, *(day for day in days if day <= today)}, reverse=True)):
        age += min(later - day, _GAP)
        ages[day] = age
    return ages


def _kind(bucket: int) -> str:
    return f"ids/{bucket:02x}"


def _files(place: Place, bucket: int) -> list[_File]:
    matches = map(_NAME.fullmatch, place.names(_kind(bucket)))
    return [_File(int(match[2] or match[1]), int(match[1]), match[3]) for match in matches if match]


def _together(files: Iterable[_File]) -> str:
    """Return a name for these runs together; the same for the same ones, and that of no other."""
    return hashlib.blake2b(" ".join(file.run for file in files).encode(), digest_size=16).hexdigest()


def _distinct(place: Place, bucket: int, files: Iterable[_File]) -> Ids:
    """Return the ids in all these files, ascending."""
    parts = [as_keys(part) for file in files for part in _ids(place, bucket, file)]
    keys = np.concatenate([np.empty(0, dtype="S16"), *parts])
    keys.sort(kind="stable")  # quick where ascending parts follow each other
    return as_ids(keys[are_first(keys)])


def _put(place: Place, bucket: int, file: _File, ids: Ids) -> None:
    content = ids.tobytes()
    place.put(_kind(bucket), file.name, _HEAD.pack(_MAGIC, len(ids), zlib.crc32(content)) + content)


def _ids(place: Place, bucket: int, file: _File) -> Iterator[Ids]:
    """Yield the ids of a file, some at a time; raise SpoolError unless it is whole."""
    name = f"{place}/{_kind(bucket)}/{file.name}"
    try:
        opened = place.open(_kind(bucket), file.name)
    except FileNotFoundError:
        raise SpoolError(f"spool: {name} is gone; does another command fold at this time?") from None
    with closing(opened):
        yield from _checked(opened, name)


def _checked(opened: BinaryIO, name: str) -> Iterator[Ids]:
    head = _read(opened, _HEAD.size, name)
    magic, count, checksum = _HEAD.unpack(head) if len(head) == _HEAD.size else (b"", 0, 0)
    if magic != _MAGIC:
        raise _damaged(name, "is no file of ids")
    size, found = 0, 0
    while content := _read(opened, 16 * _AT_ONCE, name):
        size, found = size + len(content), zlib.crc32(content, found)
        if size % 16:
            raise _damaged(name, "ends within an id")
        yield np.frombuffer(content, dtype=np.uint8).reshape(-1, 16)
    if size != 16 * count:
        raise _damaged(name, f"has {size} bytes of ids where {16 * count} are right")
    if found != checksum:
        raise _damaged(name, "is not as it was written")


def _read(opened: BinaryIO, size: int, name: str) -> bytes:
    try:
        return opened.read(size)
    except Exception as error:  # each object store has its own errors
        raise SpoolError(f"spool: {name} cannot be read ({type(error).__name__})") from None


def _damaged(name: str, why: str) -> SpoolError:
    return SpoolError(
        f"spool: {name} {why}; restore it from a copy, or delete it, and batches that are sent again count again"
    )
