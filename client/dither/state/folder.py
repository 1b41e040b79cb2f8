"""The state in a folder: one for each app, for its owner only.

    consent     the user's choice, and what was accepted  replaced atomically, with fsync
    secret      the device's secret, drawn once           likewise, and never again
    journal     debits, reports (journal_records.py)      appended to; now and then replaced by a tidy one
    lock        held by whoever has the journal open, against programs of earlier versions
    sending     held by the process that uploads, which signs it
    extent      how far the journal went when last made   replaced atomically; its loss does no harm
                durable
    delivery    the last attempts and what is put off     likewise
    versions    of each metric, as programs started       likewise

The journal stays open between calls, as it says in journal_file.py; what is not used any more closes it.

**Durability.** An append is one ``write``, not followed by ``fsync``: it survives a killed process, and what a power
cut takes away was never sent, for ``sync`` comes before the first byte of an upload. A debit stands before its report
in the same file, so that a report that is left has a debit that is left.

**Shrinking.** How far the journal goes is noted in ``extent`` whenever it was made durable, as before each upload. So
one that was cut short while no program ran, or replaced by an older copy, is noticed if what is missing paid for a
report that has left. What was never sent it may forget.

**Trust.** A journal without a secret, a secret without a journal, a header of an unknown format, a journal that
shrinks, a symbolic link: StateError, and nothing is made anew, for that would redraw permanent answers. A secret that
is lost is drawn anew only when the user, asked again, says yes again.
"""

import errno
import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path

from dither_shared.primitives.entropy import Entropy

from .contents import (
    HEADER_BYTES,
    check_header,
    choice_of,
    extent,
    is_cut_short,
    key_of,
    new_header,
    slices,
)
from .filelock import FileLock
from .files import delete, open_private, read, read_small, records_of, replace, swap, sync, sync_folder, write
from .holder import Holder, holder_of, sign
from .journal_file import KEEPS_OPEN, JournalFile
from .journal_records import SECRET_BYTES, Chosen, ConsentChoice, Record, Secret, from_lines, to_line
from .state import Cursor, News, Notes, StateError

__all__ = ["FolderState"]

_FILES = ("consent", "secret", "journal", "journal.new", "lock", "sending", "extent", "delivery", "versions")
_LARGEST = 1 << 25
"""Bytes of the largest journal. Outbox and reports that were sent last take 12 MB, and it is compacted at double."""

_EXTENT, _NOTES = 64, 1 << 17
"""Bytes that ``extent`` may have, and ``delivery`` and ``versions``, of which a client writes at most some 50,000."""

_PIECE = 1 << 16
_LONGEST_LINE = 1 << 20
"""Bytes that are read of the journal at a time, and of a line that does not end within them: of 2^20 bits at most."""


class FolderState:
    """A state in ``folder``, which is made when there is something to write.

    ``keeps_open`` says whether the journal stays open between calls, as everywhere but on Windows (journal_file.py).
    """

    def __init__(self, folder: Path, *, keeps_open: bool = KEEPS_OPEN) -> None:
        self.folder = folder
        self._paths = {name: str(folder / name) for name in _FILES}
        self._made = False
        self._seen: tuple[int, int, int] | None = None
        self._choice: ConsentChoice | None = None
        self._secret_seen = False  # since the choice was made
        self._key: bytes | None = None
        self._file = JournalFile(self._paths["journal"], self._paths["lock"], self._has_drawn, keeps=keeps_open)
        self._sendings: set[FileLock] = set()

    def __repr__(self) -> str:
        return f"FolderState({str(self.folder)!r})"

    def choice(self) -> ConsentChoice | None:
        """Return the user's stored choice, one of the mode "" if it cannot be read, None if none was made."""
        try:
            found = os.lstat(self._paths["consent"])
        except FileNotFoundError:
            return None
        seen = (found.st_ino, found.st_mtime_ns, found.st_size)
        if seen != self._seen:  # another process may have changed it: off must hold at once
            self._choice = choice_of(records_of(self._paths["consent"]))
            self._seen, self._secret_seen = seen, False
        if not self._secret_seen and self._choice is not None and self._choice.mode in {"local", "on"}:
            self._secret_seen = self.has_secret()  # it is drawn just after the choice is stored, maybe by another
            self._choice = self._choice._replace(lost=not self._secret_seen)
        return self._choice

    def lost(self) -> bool:
        """Return whether there is no secret, although the user has said yes, upon which one is drawn."""
        self._secret_seen = False
        choice = self.choice()
        return choice is not None and choice.lost

    def has_secret(self) -> bool:
        """Return whether there is a secret, readable or not."""
        return os.path.lexists(self._paths["secret"])

    def choose(self, choice: ConsentChoice) -> None:
        """Store the user's choice."""
        self._make_folder()
        records: list[Record] = [Chosen(choice.mode), *(choice.accepted or {}).values()]
        try:
            replace(self._paths["consent"], b"".join(map(to_line, records)))
        except OSError:
            if choice.mode == "off":  # the disk is full, maybe; then there is no yes either
                delete(self._paths["consent"])
            raise

    def exists(self) -> bool:
        """Return whether there is a journal, or was one."""
        return Path(self._paths["journal"]).exists() or Path(self._paths["secret"]).exists()

    def acquire(self) -> None:
        """Hold the journal against all other processes."""
        self._make_folder()
        self._file.acquire()

    def release(self) -> None:
        """Let go of the journal."""
        self._file.release()

    def news(self, cursor: Cursor) -> News | None:
        """Return the next records beyond ``cursor``, at most a megabyte, or None if it stands at the end."""
        file = self._file
        size = file.size  # nobody else can move it while we hold the journal
        if size == cursor.position and file.mark == cursor.mark:
            return None
        anew = file.mark != cursor.mark
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
            check_header(records, damaged)
            if is_cut_short(file.mark, size, self._extent()):
                raise StateError("the journal has shrunk since its reports were sent")
            self._key = None  # after a "forget" the secret, too, is another one
        return News(records, Cursor(file.mark, position), anew, damaged, torn)

    def _piece(self, position: int, size: int) -> bytes:
        """Return whole lines, or all that is left of ``size`` bytes, or as much as a line may have of a longer one."""
        data = b""
        for most in (_PIECE, _LONGEST_LINE):
            data = self._file.read(position, max(0, min(most, size - position)))
            whole = data.rfind(b"\n") + 1
            if whole or position + len(data) == size:
                break
        return data if position + len(data) == size else data[:whole] or data

    def append(self, records: Iterable[Record]) -> int:
        """Write records to the end, in full or not at all."""
        lines = b"".join([to_line(record) for record in records])
        if self._file.size + len(lines) > _LARGEST:
            raise StateError("the journal is full, and could not be compacted")
        self._file.append(lines)
        return self._file.size

    def rewrite(self, records: Iterable[Record]) -> Cursor:
        """Replace all records, at once and durably."""
        draft = Path(f"{self._paths['journal']}.{os.getpid()}.new")
        try:
            write(str(draft), (b"".join((new_header(), *map(to_line, records))),))
            self._file.replace(str(draft))
        finally:
            draft.unlink(missing_ok=True)
        sync_folder(str(self.folder))
        return Cursor(self._file.mark, self._file.size)

    @contextmanager
    def draft(self, records: Iterable[Record]) -> Iterator[None]:
        """Write records to a journal that does not count yet, durably; at the end it is gone unless installed."""
        try:
            write(self._paths["journal.new"], chain((new_header(),), slices(records)))
            yield
        finally:
            Path(self._paths["journal.new"]).unlink(missing_ok=True)

    def install(self, since: Cursor) -> Cursor:
        """Let the draft take the journal's place, with what was appended to the journal beyond ``since``."""
        late = self._file.read(since.position, self._file.size - since.position)
        self._file.replace(self._paths["journal.new"], late)
        return Cursor(self._file.mark, self._file.size)

    def secret(self, entropy: Entropy, may_create: bool) -> bytes:
        """Return the device's secret; draw it if there is none and ``may_create``."""
        if may_create and not self.has_secret():
            replace(self._paths["secret"], to_line(Secret(entropy.take(SECRET_BYTES).hex())))
            self._key = None
        if self._key is None:
            self._key = key_of(records_of(self._paths["secret"]) if self.has_secret() else [])
        return self._key

    def sync(self) -> None:
        """Make what was appended durable, and that it is in the file of this name."""
        descriptor = self._open("journal", os.O_RDWR)
        try:
            size = os.fstat(descriptor).st_size
            mark = read(descriptor, 0, HEADER_BYTES)
            sync(descriptor)
        finally:
            os.close(descriptor)
        sync_folder(str(self.folder))
        with suppress(OSError):  # then less is noticed
            swap(self._paths["extent"], extent(mark, size))

    @contextmanager
    def sending(self) -> Iterator[bool]:
        """Enter as the one who uploads; False if another process, or another thread, is at it."""
        lock = FileLock(self._paths["sending"], 1)
        self._sendings.add(lock)
        try:
            try:
                if ours := lock.acquire():
                    sign(self._paths["sending"])
                yield ours
            finally:
                lock.release()
        finally:
            lock.release()
            self._sendings.discard(lock)

    def sender(self, longer: float) -> Holder | None:
        """Return who has been sending for so many seconds or longer, and still is; None if nobody is."""
        holder = holder_of(self._paths["sending"])
        if holder is None or 0 <= time.time() - holder.since < longer:
            return None
        lock = FileLock(self._paths["sending"], 1)
        if lock.acquire():  # for a moment
            lock.release()
            return None
        return holder

    def recall(self, notes: Notes) -> bytes:
        """Return what was remembered last, or nothing."""
        try:
            return read_small(self._paths[notes], _NOTES)
        except FileNotFoundError:
            return b""

    def remember(self, notes: Notes, data: bytes) -> None:
        """Keep a few bytes in place of those before; they may be lost."""
        try:
            swap(self._paths[notes], data)
        except OSError as error:  # about a file whose name is never the same
            raise OSError(error.errno, error.strerror, self._paths[notes]) from error

    def forget(self) -> None:
        """Delete all but the choice and the locks. If it is cut short, the client is silent until it is repeated."""
        if not self.folder.exists():
            return
        self._file.acquire_to_delete()
        try:
            named = [Path(self._paths[name]) for name in ("journal", "secret", "extent", "delivery", "versions")]
            for path in (*named, *self.folder.glob("*.new")):
                delete(str(path))
            self._key = None
        finally:
            self._file.close()

    def close(self) -> None:
        """Close what is kept open; it is opened again when it is wanted."""
        self._file.close()

    def after_fork(self) -> None:
        """Close the child's copies of what the parent has open."""
        for close in (self._file.close, *(lock.after_fork for lock in self._sendings)):
            with suppress(OSError):
                close()
        self._sendings.clear()

    def _make_folder(self) -> None:
        if self._made:
            return
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = self.folder.lstat()
        if not stat.S_ISDIR(found.st_mode):
            raise StateError("the state folder is a symbolic link")
        if hasattr(os, "geteuid") and found.st_uid != os.geteuid():
            raise StateError("the state folder belongs to another user")
        if found.st_mode & 0o077:
            self.folder.chmod(0o700)
        self._made = True

    def _open(self, name: str, flags: int) -> int:
        return open_private(self._paths[name], flags)

    def _extent(self) -> bytes:
        """Return how far the journal went when it was last made durable, or nothing."""
        try:
            return read_small(self._paths["extent"], _EXTENT)
        except FileNotFoundError:
            return b""
        except OSError as error:
            if error.errno == errno.EFBIG:  # it is none of ours, and says nothing
                return b""
            raise

    def _has_drawn(self) -> bool:
        """Return whether there was a journal: the secret is drawn when there is one."""
        return self._key is not None or self.has_secret()
