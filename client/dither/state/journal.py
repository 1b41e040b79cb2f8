"""The journal of a state folder: a lock, a tail, an append.

Whoever holds the file ``lock`` reads what others have appended since (``news``), and appends. Now and then the journal
is replaced by a tidy one. Its first line is a header: the format, and a random mark by which one writing of the file is
told from the next.

Both files stay open between calls, because opening them for each report took a tenth of its time. What is kept open is
never trusted: the host may have closed it, and another process may have put a tidy journal in its place. So the holder
compares device and inode of descriptor and path, and opens anew what differs. A child process shares the lock of its
parent; it closes its copies (forks.py), and opens the files anew. Windows replaces no file that anybody has open, so
there both are closed after each call.

**Durability.** An append is one ``write``, not followed by ``fsync``: it survives a killed process, and what a power
cut takes away was never sent, for ``sync`` comes before the first byte of an upload.

**Shrinking.** How far the journal goes is noted in ``extent`` whenever it was made durable, as before each upload. So
one that was cut short while no program ran, or replaced by an older copy, is noticed if what is missing paid for a
report that has left. What was never sent it may forget.
"""

import errno
import os
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain, islice
from pathlib import Path

from .files import TRIES, OpenFile, open_private, read, read_small, rename, swap, sync, sync_folder, write
from .journal_records import Header, Record, from_lines, to_line
from .locks import FileLock
from .state import BusyError, Cursor, News, StateError

KEEPS_OPEN = sys.platform != "win32"

FORMAT = 2
HEADER_BYTES = 36

_LARGEST = 1 << 25
"""Bytes of the largest journal. Outbox and reports that were sent last take 12 MB, and it is compacted at double."""

_PIECE = 1 << 16
_LONGEST_LINE = 1 << 20
"""Bytes that are read of the journal at a time, and of a line that does not end within them: of 2^20 bits at most."""

_EXTENT = 64
"""Bytes that ``extent`` may have."""

_SLICE, _COURTESY = 8, 0.0005
"""Records that are written at a time to a draft, which takes some 20 microseconds, and the seconds in between."""

_APPEND = os.O_RDWR | os.O_APPEND


class FolderJournal:
    """The journal in ``folder``; ``keeps_open`` says whether its files stay open between calls.

    ``size``, in bytes, and ``mark``, which is the first line, are known while it is held.
    """

    def __init__(self, folder: Path, *, keeps_open: bool = KEEPS_OPEN) -> None:
        self.size = 0
        self.mark = b""
        self._folder = str(folder)
        self._path, self._extent_path = str(folder / "journal"), str(folder / "extent")
        self._draft_path = f"{self._path}.new"
        self._keeps_open = keeps_open
        self._lock = FileLock(str(folder / "lock"), TRIES, keeps_open=keeps_open)
        self._file: OpenFile | None = None

    def __del__(self) -> None:
        with suppress(Exception):  # at the end of the interpreter anything may be missing
            self.close()

    def was_begun(self) -> bool:
        """Return whether there must be a journal, because something was drawn that only a journal tells of."""
        raise NotImplementedError

    def acquire(self) -> None:
        """Hold the journal against all other processes, making it if need be.

        Raises BusyError, StateError or OSError; ``release`` is to be called nevertheless.
        """
        self.acquire_lock()
        file = self._file
        found = self._found() if file is not None and file.is_ours() else None
        if file is None or found is None or not file.is_that(found):
            file = self._open()
            found = os.fstat(file.number)
        self.size = found.st_size
        if not self.mark:
            self._begin(file.number)
            self.mark = read(file.number, 0, HEADER_BYTES)

    def acquire_lock(self) -> None:
        """Keep all other processes from the journal, whatever there is; raise BusyError or OSError."""
        if not self._lock.acquire():
            raise BusyError("the journal is held by another process")

    def acquire_to_read(self) -> None:
        """Open the journal to read it, whoever holds it."""
        self._close_file()
        file = self._file = OpenFile(self._path, os.O_RDONLY)
        self.size = os.fstat(file.number).st_size
        self.mark = read(file.number, 0, HEADER_BYTES)

    def release(self) -> None:
        """Let go of the journal; harmless if it is not held."""
        if not self._keeps_open:
            self._close_file()
        self._lock.release()

    def close(self) -> None:
        """Close what is kept open, and so let go of it."""
        self._close_file()
        self._lock.close()

    def news(self, cursor: Cursor) -> News | None:
        """Return the next records beyond ``cursor``, at most a megabyte, or None if it stands at the end."""
        size = self.size  # nobody else can move it while we hold the journal
        if size == cursor.position and self.mark == cursor.mark:
            return None
        anew = self.mark != cursor.mark
        position = 0 if anew else cursor.position
        if size > _LARGEST:
            raise StateError("the journal is too large to be one of ours")
        data = self._piece(position, size)
        if not data:
            raise StateError("the journal has shrunk")
        position += len(data)
        records, damaged, torn = from_lines(data)
        if torn and position < size:  # a line without an end
            damaged, torn = damaged + 1, False
        if anew:
            _check_header(records, damaged)
            if _is_cut_short(self.mark, size, self._extent()):
                raise StateError("the journal has shrunk since its reports were sent")
        return News(records, Cursor(self.mark, position), anew, damaged, torn)

    def append(self, records: Iterable[Record]) -> int:
        """Write records to the end, in full or not at all, and return the position behind them."""
        data = b"".join([to_line(record) for record in records])
        if self.size + len(data) > _LARGEST:
            raise StateError("the journal is full, and could not be compacted")
        descriptor = self._descriptor()
        try:
            written = os.write(descriptor, data)
        except OSError as error:
            error.filename = self._path
            raise
        if written != len(data):
            os.ftruncate(descriptor, self.size)  # leave no fragment to which the next record would be glued
            raise StateError("the disk is full")
        self.size += len(data)
        return self.size

    def rewrite(self, records: Iterable[Record]) -> Cursor:
        """Replace all records, at once and durably."""
        draft = Path(f"{self._path}.{os.getpid()}.new")
        try:
            write(str(draft), (b"".join((_new_header(), *map(to_line, records))),))
            self._replace(str(draft))
        finally:
            draft.unlink(missing_ok=True)
        sync_folder(self._folder)
        return Cursor(self.mark, self.size)

    @contextmanager
    def draft(self, records: Iterable[Record]) -> Iterator[None]:
        """Write records to a journal that does not count yet, durably; at the end it is gone unless installed."""
        try:
            write(self._draft_path, chain((_new_header(),), _slices(records)))
            yield
        finally:
            Path(self._draft_path).unlink(missing_ok=True)

    def install(self, since: Cursor) -> Cursor:
        """Let the draft take the journal's place, with what was appended to the journal beyond ``since``."""
        late = read(self._descriptor(), since.position, self.size - since.position)
        draft = open_private(self._draft_path, _APPEND)
        try:
            if late and os.write(draft, late) != len(late):
                raise StateError("the disk is full")
        finally:
            os.close(draft)
        self._replace(self._draft_path)
        return Cursor(self.mark, self.size)

    def sync(self) -> None:
        """Make what was appended durable, and that it is in the file of this name; for anyone, at any time."""
        descriptor = open_private(self._path, os.O_RDWR)
        try:
            size = os.fstat(descriptor).st_size
            mark = read(descriptor, 0, HEADER_BYTES)
            sync(descriptor)
        finally:
            os.close(descriptor)
        sync_folder(self._folder)
        with suppress(OSError):  # then less is noticed
            swap(self._extent_path, _extent_of(mark, size))

    def _descriptor(self) -> int:
        """Return the open file of the journal, which is held."""
        if self._file is None:
            raise StateError("the journal is not held")
        return self._file.number

    def _close_file(self) -> None:
        file, self._file, self.mark = self._file, None, b""
        if file is not None:
            file.close()

    def _found(self) -> os.stat_result | None:
        """Return what stands under the journal's name."""
        try:
            return os.lstat(self._path)
        except FileNotFoundError:
            return None

    def _open(self) -> OpenFile:
        """Open the journal, or make it if there never was one."""
        self._close_file()
        try:
            self._file = OpenFile(self._path, _APPEND)
        except FileNotFoundError:
            if self.was_begun():
                raise StateError("the journal is lost") from None
            self._file = OpenFile(self._path, _APPEND | os.O_CREAT)
        return self._file

    def _begin(self, descriptor: int) -> None:
        """Write the header, durably, if this journal was just made."""
        if self.size < HEADER_BYTES:
            if self.was_begun():
                raise StateError("the journal has lost its beginning")
            os.ftruncate(descriptor, 0)
            header = _new_header()
            if os.write(descriptor, header) != len(header):
                raise StateError("the disk is full")
            sync(descriptor)
            sync_folder(self._folder)
            self.size = len(header)

    def _replace(self, draft: str) -> None:
        """Let the file at ``draft`` take the journal's place."""
        self._close_file()  # Windows replaces no file that is open
        rename(draft, self._path)
        file = self._open()
        self.size = os.fstat(file.number).st_size
        self.mark = read(file.number, 0, HEADER_BYTES)

    def _piece(self, position: int, size: int) -> bytes:
        """Return whole lines, or all that is left of ``size`` bytes, or as much as a line may have of a longer one."""
        data = b""
        for most in (_PIECE, _LONGEST_LINE):
            data = read(self._descriptor(), position, max(0, min(most, size - position)))
            whole = data.rfind(b"\n") + 1
            if whole or position + len(data) == size:
                break
        return data if position + len(data) == size else data[:whole] or data

    def _extent(self) -> bytes:
        """Return how far the journal went when it was last made durable, or nothing."""
        try:
            return read_small(self._extent_path, _EXTENT)
        except FileNotFoundError:
            return b""
        except OSError as error:
            if error.errno == errno.EFBIG:  # it is none of ours, and says nothing
                return b""
            raise


def paced(records: Iterable[Record]) -> Iterator[Record]:
    """Yield records, and let the program's own threads run in between.

    A thread that computes lets go of the interpreter every 5 ms, and a call to ``record`` asks for it several times.
    """
    rest = iter(records)
    while some := list(islice(rest, _SLICE)):
        yield from some
        time.sleep(_COURTESY)


def _slices(records: Iterable[Record]) -> Iterator[bytes]:
    """Yield the lines of records, some at a time."""
    rest = iter(records)
    while lines := b"".join(map(to_line, islice(rest, _SLICE))):
        yield lines


def _new_header() -> bytes:
    """Return the first line of a new journal."""
    return to_line(Header(FORMAT, os.urandom(8).hex()))


def _check_header(records: list[Record], damaged: int) -> None:
    """Raise StateError unless the journal begins like one, or its beginning is among what is damaged."""
    if records and isinstance(records[0], Header):
        if records[0].format != FORMAT:
            raise StateError("the journal has a format that this version does not know")
    elif not damaged:
        raise StateError("the journal has lost its beginning")


def _extent_of(mark: bytes, size: int) -> bytes:
    """Return in a line how far a journal goes: the writing of it, by its header, and its bytes."""
    return b"%b %d" % (mark.strip().rpartition(b" ")[2], size)


def _is_cut_short(mark: bytes, size: int, before: bytes) -> bool:
    """Return whether a journal went further ``before``; False for another writing of it, or if that is not known."""
    writing, _, bytes_before = before.partition(b" ")
    return _extent_of(mark, 0).partition(b" ")[0] == writing and bytes_before.isdigit() and size < int(bytes_before)
