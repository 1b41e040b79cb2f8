"""The journal of a state folder: a lock, a tail, an append.

The holder of the file ``lock`` reads what others have appended (``news``), and appends. Sometimes it replaces the
journal by a compact one. The first line is a header: the format, and a random mark that each replacement changes.

Both files stay open between calls, because opening them for each report took a tenth of its time. An open descriptor is
never trusted: the host may have closed it, and another process may have replaced the file. So the holder compares
device and inode of descriptor and path, and opens the file again if they differ. A child process shares its parent's
lock; it closes its copies (forks.py), and opens the files again. Windows cannot replace a file that any process has
open, so there both are closed after each call.

**Durability.** An append is one ``write`` without ``fsync``: it survives a killed process. What a power cut removes was
never sent, because ``sync`` comes before the first byte of an upload.

**Shrinking.** Each ``sync``, and so each upload, stores the length of the journal in ``extent``. So a journal that was
cut short while no program ran, or replaced by an older copy, is detected if what is missing paid for a report that has
left. Losing what was never sent is allowed.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from binascii import crc32
from itertools import chain, islice

from dither_shared.light import contextmanager, suppress

from .files import (
    TRIES,
    OpenFile,
    delete,
    is_own,
    open_private,
    overwrite,
    read,
    read_small,
    rename,
    sync,
    sync_folder,
    write,
)
from .journal_records import Header, from_lines, to_line, to_lines
from .locks import FileLock
from .state import BusyError, Cursor, News, StateError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .journal_records import Record

KEEPS_OPEN = sys.platform != "win32"

FORMAT = 2
_HEADER_BYTES = 36

_LARGEST = 1 << 25
"""Maximum bytes of a journal. Outbox and last sent reports take 12 MB, and it is compacted at double that size."""

_PIECE = 1 << 16
_LONGEST_LINE = 1 << 20
"""Bytes that are read at a time, which is also the longest line; a report has at most 2^20 bits."""

_LONGEST_DRAFT = 60.0
"""Seconds after which a draft is considered to be that of a program that was killed."""

_EXTENT = 64
"""Maximum bytes of ``extent``."""

_SLICE, _COURTESY = 64, 0.005
"""Records written to a draft per slice (some 150 microseconds), and seconds of pause between slices. Each
may hold up one call of ``record``, so there are few."""

_APPEND = os.O_RDWR | os.O_APPEND


class FolderJournal:
    """The journal in ``folder``; ``keeps_open`` says whether its files stay open between calls.

    ``size``, in bytes, and ``mark``, which is the first line, are known while it is held. ``made`` is whether the
    folder is known to be there.
    """

    def __init__(self, folder: str, *, keeps_open: bool = KEEPS_OPEN) -> None:
        self.size = 0
        self.mark = b""
        self.made = False
        self.folder = folder
        self._path, self._extent_path = os.path.join(folder, "journal"), os.path.join(folder, "extent")
        self._draft_path = f"{self._path}.new"
        self._secret_path = os.path.join(folder, "secret")
        self._known_secret: bytes | None = None
        self._keeps_open = keeps_open
        self._lock = FileLock(os.path.join(folder, "lock"), TRIES, keeps_open=keeps_open)
        self._file: OpenFile | None = None

    def __del__(self) -> None:
        with suppress(Exception):  # at the end of the interpreter anything may be missing
            self.close()

    def has_secret(self) -> bool:
        """Return whether there is a secret, readable or not."""
        return os.path.lexists(self._secret_path)

    def _was_begun(self) -> bool:
        """Return whether there was a journal: the secret is only drawn when there is one."""
        return self._known_secret is not None or self.has_secret()

    def acquire(self) -> None:
        """Hold the journal against all other processes, and make it if there is none.

        Raises BusyError, StateError or OSError; ``release`` must be called even then.
        """
        if not self.made:
            self.make_folder()
        self.acquire_lock()
        file = self._file
        status = None if file is None else file.status_at(self._path)
        if file is None or status is None:
            file = self._open()
            status = os.fstat(file.number)
        self.size = status.st_size
        if not self.mark:
            self._begin(file.number)
            self.mark = read(file.number, 0, _HEADER_BYTES)

    def make_folder(self) -> None:
        """Make the folder, or refuse one that is not this user's."""
        if self.made:
            return
        if not os.path.isdir(self.folder):
            os.makedirs(self.folder, 0o700, exist_ok=True)
        status = os.lstat(self.folder)
        if not stat.S_ISDIR(status.st_mode):
            raise StateError("the state folder is a symbolic link")
        if not is_own(status):
            raise StateError("the state folder belongs to another user")
        if status.st_mode & 0o077:
            os.chmod(self.folder, 0o700)
        self._discard_drafts()
        self.made = True

    def _discard_drafts(self) -> None:
        """Delete the drafts that killed programs left; ``journal.new`` belongs to the uploader."""
        now = time.time()
        with suppress(OSError), os.scandir(self.folder) as entries:
            for entry in entries:
                is_draft = entry.name.endswith(".new") and entry.name != "journal.new"
                if is_draft and abs(now - entry.stat(follow_symlinks=False).st_mtime) > _LONGEST_DRAFT:
                    delete(entry.path)

    def acquire_lock(self) -> None:
        """Take only the lock, whatever the journal is; raise BusyError or OSError."""
        if not self._lock.acquire():
            raise BusyError("the journal is held by another process")

    def acquire_to_read(self) -> None:
        """Open the journal to read it, without the lock."""
        self._close_file()
        file = self._file = OpenFile(self._path, os.O_RDONLY)
        self.size = os.fstat(file.number).st_size
        self.mark = read(file.number, 0, _HEADER_BYTES)

    def release(self) -> None:
        """Release the journal; does nothing if it is not held."""
        if not self._keeps_open:
            self._close_file()
        self._lock.release()

    def close(self) -> None:
        """Close the files, which releases the lock."""
        self._close_file()
        self._lock.close()

    def news(self, cursor: Cursor) -> News | None:
        """Return the next records after ``cursor``, at most a megabyte, or None if there are none."""
        size = self.size  # nobody else changes it while the journal is held
        if size == cursor.position and self.mark == cursor.mark:
            return None
        rewritten = self.mark != cursor.mark
        position = 0 if rewritten else cursor.position
        if size > _LARGEST:
            raise StateError("the journal is larger than dither ever makes it")
        data = self._piece(position, size)
        if not data:
            raise StateError("the journal has shrunk")
        position += len(data)
        records, damaged, torn = from_lines(data)
        if torn and position < size:  # a line without an end
            damaged, torn = damaged + 1, False
        if rewritten:
            _check_header(records, damaged)
            if _is_cut_short(self.mark, size, self._extent()):
                raise StateError("the journal has shrunk since its reports were sent")
            self._known_secret = None  # after "forget" a new one is drawn
        return News(records, Cursor(self.mark, position), rewritten, damaged, torn)

    def append(self, records: Iterable[Record]) -> int:
        """Append records, all or none, and return the position after them."""
        data = to_lines(records)
        if self.size + len(data) > _LARGEST:
            raise StateError("the journal is full, and could not be compacted")
        descriptor = self._descriptor()
        try:
            written = os.write(descriptor, data)
        except OSError as error:
            error.filename = self._path
            raise
        if written != len(data):
            os.ftruncate(descriptor, self.size)  # leave no fragment that would spoil the next record
            raise StateError("the disk is full")
        self.size += len(data)
        return self.size

    def rewrite(self, records: Iterable[Record]) -> Cursor:
        """Replace all records atomically and durably."""
        draft = f"{self._path}.{os.getpid()}.new"
        try:
            write(draft, (_new_header(), to_lines(records)))
            self._replace(draft)
        finally:
            delete(draft)
        sync_folder(self.folder)
        return Cursor(self.mark, self.size)

    @contextmanager
    def draft(self, records: Iterable[Record]) -> Iterator[None]:
        """Write a durable draft of a journal, and enter; at the end it is deleted unless it was installed."""
        try:
            write(self._draft_path, chain((_new_header(),), _slices(records)))
            yield
        finally:
            self.discard_draft()

    def discard_draft(self) -> None:
        """Delete the draft, which may be that of a program that ended; for the only uploader."""
        delete(self._draft_path)

    def install(self, since: Cursor) -> Cursor:
        """Replace the journal by the draft and the records after ``since``."""
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
        """Make the appended records and the file's name durable; needs no lock."""
        descriptor = open_private(self._path, os.O_RDWR)
        try:
            size = os.fstat(descriptor).st_size
            mark = read(descriptor, 0, _HEADER_BYTES)
            sync(descriptor)
        finally:
            os.close(descriptor)
        sync_folder(self.folder)
        with suppress(OSError):  # then a shorter journal may go undetected
            overwrite(self._extent_path, _extent_of(mark, size))

    def _descriptor(self) -> int:
        """Return the descriptor of the journal; raise StateError if it is not held."""
        if self._file is None:
            raise StateError("the journal is not held")
        return self._file.number

    def _close_file(self) -> None:
        file, self._file, self.mark = self._file, None, b""
        if file is not None:
            file.close()

    def _open(self) -> OpenFile:
        """Open the journal, or make it if there was none before."""
        self._close_file()
        try:
            self._file = OpenFile(self._path, _APPEND)
        except FileNotFoundError:
            if self._was_begun():
                raise StateError("the journal is lost") from None
            self._file = OpenFile(self._path, _APPEND | os.O_CREAT)
        return self._file

    def _begin(self, descriptor: int) -> None:
        """Write the header durably if this journal was just made."""
        if self.size < _HEADER_BYTES:
            if self._was_begun():
                raise StateError("the journal has lost its beginning")
            os.ftruncate(descriptor, 0)
            header = _new_header()
            if os.write(descriptor, header) != len(header):
                raise StateError("the disk is full")
            sync(descriptor)
            sync_folder(self.folder)
            self.size = len(header)

    def _replace(self, draft: str) -> None:
        """Replace the journal by the file at ``draft``."""
        self._close_file()  # Windows cannot replace an open file
        rename(draft, self._path)
        file = self._open()
        self.size = os.fstat(file.number).st_size
        self.mark = read(file.number, 0, _HEADER_BYTES)

    def _piece(self, position: int, size: int) -> bytes:
        """Return whole lines, or the rest up to ``size``, or a piece of a line that is longer than any of ours."""
        data = b""
        for most in (_PIECE, _LONGEST_LINE):
            data = read(self._descriptor(), position, max(0, min(most, size - position)))
            whole = data.rfind(b"\n") + 1
            if whole or position + len(data) == size:
                break
        return data if position + len(data) == size else data[:whole] or data

    def _extent(self) -> bytes:
        """Return the line of ``extent``, or nothing."""
        try:
            return read_small(self._extent_path, _EXTENT)
        except FileNotFoundError:
            return b""
        except OSError as error:
            if error.errno == errno.EFBIG:  # it is not ours
                return b""
            raise


def paced(records: Iterable[Record]) -> Iterator[Record]:
    """Yield records, and let the program's threads run in between.

    A computing thread releases the interpreter lock only every 5 ms, and a call of ``record`` needs it several times.
    """
    rest = iter(records)
    while some := list(islice(rest, _SLICE)):
        yield from some
        time.sleep(_COURTESY)


def _slices(records: Iterable[Record]) -> Iterator[bytes]:
    """Yield the lines of records, a few at a time."""
    rest = iter(records)
    while lines := to_lines(islice(rest, _SLICE)):
        yield lines


def _new_header() -> bytes:
    """Return the first line of a new journal."""
    return to_line(Header(FORMAT, os.urandom(8).hex()))


def _check_header(records: list[Record], damaged: int) -> None:
    """Raise StateError unless the first record is a header of our format, or may be among the damaged ones."""
    if records and isinstance(records[0], Header):
        if records[0].format != FORMAT:
            raise StateError("the journal has a format that this version does not know")
    elif not damaged:
        raise StateError("the journal has lost its beginning")


def _extent_of(mark: bytes, size: int) -> bytes:
    """Return the line of ``extent``: the journal's random mark, its bytes, and a checksum of the two."""
    extent = b"%b %d" % (mark.strip().rpartition(b" ")[2], size)
    return b"%b %08x\n" % (extent, crc32(extent))


def _is_cut_short(mark: bytes, size: int, before: bytes) -> bool:
    """Return whether the journal is shorter than the extent ``before`` says; False if that is of another mark."""
    before = before.partition(b"\n")[0]
    bytes_before = before.split(b" ")[1:2]
    if not (bytes_before and bytes_before[0].isdigit()):
        return False
    known = int(bytes_before[0])
    return size < known and _extent_of(mark, known) == before + b"\n"
