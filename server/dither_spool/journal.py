"""A journal: the file to which a process of the collector appends the batches of each commit.

A journal holds one group per commit. A group begins with a mark of eight random bytes that nobody who sends rows knows,
so rows are never mistaken for a group, and groups can be found again after a power cut or damage. Integers are
little-endian.

A journal belongs to one process while that lives: it holds a lock on the file. When the journal is closed, it becomes a
segment of the same random name, so a journal that is closed twice, because of a crash, is still one segment.
"""

import logging
import os
import secrets
import struct
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from datetime import date
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dither_server.store import Upload
from dither_server.store.lock import ProcessLock
from dither_shared.counted import counted

from .blobs import BlobStore, SpoolError, make_folder, sync_folder, write_file
from .records import Records, number_of
from .segment import SEGMENTS, write_segment

if sys.platform != "win32":
    import fcntl

_log = logging.getLogger(__name__)

JOURNAL = ".journal"
NOTICE = ".damaged"
"""The suffix of a notice that a journal was damaged; it contains no batches."""

_NAMES = "[0-9a-f]" * 32 + JOURNAL

_PATIENCE = 10.0
"""Seconds to wait while another process makes a journal, or looks for abandoned ones."""

_make_durable = getattr(os, "fdatasync", os.fsync)
"""Makes content and size durable; the file's times need not be."""

_GROUP = struct.Struct("<8sII")
"""The mark, the bytes of the body, and the CRC-32 of their number and the body."""

_SIZE = struct.Struct("<I")

_BODY = struct.Struct("<IH")
"""Number of records and their day. Then come all ids, versions, strata and lengths, and finally the rows."""

_WIDTHS = (16, 8, 1, 4)
"""Bytes of an id, a version, a stratum and a length."""


class SpoolJournal:
    """An open journal, locked by this process. Each method raises SpoolError, which names the file, if it fails."""

    def __init__(self, path: Path, descriptor: int) -> None:
        """Wrap a file that is open and locked; see ``create`` and ``abandoned``."""
        self.path = path
        self.size = 0
        self.usable = True
        self._mark = bytes.fromhex(path.stem[:16])
        self._descriptor = descriptor

    @classmethod
    def create(cls, folder: Path) -> "SpoolJournal":
        """Create a journal in a folder, durably, and lock it."""
        path = folder / f"{secrets.token_hex(16)}{JOURNAL}"
        try:
            make_folder(folder)
            with _locked(folder):  # otherwise another process might consider it abandoned
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            sync_folder(folder)
        except OSError as error:
            raise SpoolError(f"spool: {path} cannot be created ({error.strerror})") from None
        return cls(path, descriptor)

    def append(self, uploads: Sequence[Upload], day: date) -> None:
        """Write batches durably. If that fails, either none is written, or ``usable`` is False and some may be."""
        group = encode_group(self._mark, uploads, day)
        try:
            written = 0
            while written < len(group):
                written += os.pwrite(self._descriptor, group[written:], self.size + written)
        except OSError as error:
            self._truncate()
            raise SpoolError(f"spool: {self.path} cannot be written ({error.strerror})") from None
        try:
            _make_durable(self._descriptor)
        except OSError as error:
            self.usable = False  # nobody knows what is on the disk now, and another fsync would not show it
            raise SpoolError(f"spool: {self.path} cannot be made durable ({error.strerror})") from None
        self.size += len(group)

    def seal(self, blobs: BlobStore) -> int:
        """Make a segment of the journal, delete and release it; return the number of records.

        If that fails, the journal is unchanged, and the call may be repeated. Of a damaged journal the readable part is
        taken, and a notice says how much was not. The journal itself is deleted even then, because it contains the
        order in which batches came, which must be forgotten.
        """
        try:
            decoded = decode_groups(self._mark, _content(self._descriptor))
        except OSError as error:
            raise SpoolError(f"spool: {self.path} cannot be read ({error.strerror})") from None
        if count := len(decoded.records):
            blobs.put(SEGMENTS, f"{self.path.stem}.segment", write_segment(decoded.records))
        try:
            if lost := decoded.damaged or max(0, self.size - decoded.end):
                self._give_notice(count, lost)
            self.path.unlink(missing_ok=True)
        except OSError as error:
            raise SpoolError(f"spool: {self.path} cannot be closed ({error.strerror})") from None
        self.release()
        return count

    def release(self) -> None:
        """Release the file, so that a search for abandoned journals may take it."""
        with suppress(OSError):
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)  # otherwise a child forked since would keep it
        os.close(self._descriptor)

    def _give_notice(self, count: int, lost: int) -> None:
        taken = counted(count, "batch of this journal was taken", "batches of this journal were taken")
        message = f"{taken}, and {counted(lost, 'byte')} could not be read"
        notice = self.path.with_suffix(NOTICE)
        write_file(notice, f"{message}. Check the disk, then delete this file.\n".encode())
        _log.error("a journal was damaged: %s; see %s", message, notice)

    def _truncate(self) -> None:
        """Truncate the file to the last complete group, after a batch could not be written."""
        try:
            os.ftruncate(self._descriptor, self.size)
        except OSError:
            self.usable = False


def abandoned(folder: Path) -> Iterator[SpoolJournal]:
    """Yield each journal in a folder whose process is gone; this process now holds it. Raises SpoolError."""
    for path in sorted(folder.glob(_NAMES)):
        try:
            with _locked(folder):
                descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            if _try_to_hold(descriptor, path):
                yield SpoolJournal(path, descriptor)
            else:
                os.close(descriptor)
        except FileNotFoundError:  # another process has closed it
            continue
        except OSError as error:
            raise SpoolError(f"spool: {path} cannot be opened ({error.strerror})") from None


def _locked(folder: Path) -> AbstractContextManager[None]:
    """Hold the lock of a folder, so that a journal is made and held in one step."""
    return ProcessLock(folder / "lock", "spool").held(_PATIENCE)


def _try_to_hold(descriptor: int, path: Path) -> bool:
    """Lock an open file; return False if another process holds it, or has made a segment of it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except (BlockingIOError, FileNotFoundError):
        return False


def _content(descriptor: int) -> bytes:
    """Return the content of a file, which may be deleted already."""
    size, content = os.fstat(descriptor).st_size, bytearray()
    while len(content) < size and (part := os.pread(descriptor, size - len(content), len(content))):
        content += part
    return bytes(content)


class _Decoded(NamedTuple):
    """The readable part of a journal.

    ``end`` is where the last complete group ends. What follows was torn by a power cut, and was never acknowledged.
    ``damaged`` are the unreadable bytes before it, and also those after it if they are more than one torn group: these
    were acknowledged.
    """

    records: Records
    end: int
    damaged: int


def encode_group(mark: bytes, uploads: Sequence[Upload], day: date) -> bytes:
    """Return the group that encodes the uploads of one day."""
    body = b"".join(
        (
            _BODY.pack(len(uploads), number_of(day)),
            b"".join([upload.batch for upload in uploads]),
            bytes.fromhex("".join([upload.metric.version for upload in uploads])),
            bytes([upload.stratum for upload in uploads]),
            struct.pack(f"<{len(uploads)}I", *[len(upload.rows) for upload in uploads]),
            *[upload.rows for upload in uploads],
        )
    )
    return _GROUP.pack(mark, len(body), _checksum(body)) + body


def decode_groups(mark: bytes, content: bytes) -> _Decoded:
    """Return the readable part of a journal."""
    bodies: list[memoryview] = []
    start, damaged = 0, 0
    while (group := _next_group(mark, content, start)) is not None:
        begin, end = group
        damaged += begin - start
        bodies.append(memoryview(content)[begin + _GROUP.size : end])
        start = end
    if _is_more_than_torn(mark, content[start:]):
        damaged += len(content) - start
    return _Decoded(_records(bodies), start, damaged)


def _next_group(mark: bytes, content: bytes, start: int) -> tuple[int, int] | None:
    """Return where the first whole group at or after ``start`` begins and ends."""
    while (start := content.find(mark, start)) >= 0:
        if start + _GROUP.size <= len(content):
            _, size, checksum = _GROUP.unpack_from(content, start)
            end = start + _GROUP.size + size
            body = memoryview(content)[start + _GROUP.size : end]
            if len(body) == size and _checksum(body) == checksum and _is_consistent(body):
                return start, end
        start += 1
    return None


def _is_consistent(body: memoryview) -> bool:
    """Return whether a body is as long as its number of records and their lengths say."""
    if len(body) < _BODY.size:
        return False
    (count, _), width = _BODY.unpack_from(body), _WIDTHS[-1]
    end = _BODY.size + sum(_WIDTHS) * int(count)
    if end > len(body):
        return False
    lengths = np.frombuffer(body[end - width * int(count) : end], "<u4")
    return end + int(lengths.sum(dtype=np.int64)) == len(body)


def _is_more_than_torn(mark: bytes, rest: bytes) -> bool:
    """Return whether these bytes of one group cannot be explained by a power cut alone.

    A power cut leaves bytes or zeros of a group that begins here. The next group is begun only when this one is
    durable.
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
    day_of_each = np.repeat(np.array(days, np.uint16), np.array(counts, np.int64))
    return Records.by_id(ids, versions, day_of_each, strata, np.frombuffer(lengths, "<u4").astype(np.uint32), rows)
