"""The state in a folder: one for each app, for its owner only.

    consent     the user's choice, and what was accepted  replaced atomically, with fsync
    secret      the device's secret, drawn once           likewise, and never again
    journal     debits and reports (records.py)          appended to; now and then replaced by a tidy one
    lock        held while the journal is read or written
    sending     held by the process that uploads, which signs it
    delivery    the last attempts and what is put off     replaced atomically; its loss does no harm
    versions    of each metric, as programs started       likewise

No file stays open between calls. So a program that closes all its descriptors, or forks, cannot make dither write
into a file of its own, and nothing leaks from a client that is never closed. It costs about ten microseconds a record.

**Durability.** An append is one ``write``, not followed by ``fsync``: it survives a killed process, and what a power
cut takes away was never sent, for ``sync`` comes before the first byte of an upload. A debit stands before its report
in the same file, so that a report that is left has a debit that is left.

**Trust.** A journal without a secret, a secret without a journal, a header of an unknown format, a journal that
shrinks, a symbolic link: StateError, and nothing is made anew, for that would redraw permanent answers. A secret that
is lost is drawn anew only when the user, asked again, says yes again.
"""

import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path

from dither_shared.entropy import Entropy

from .consent import Choice
from .contents import check_header, choice_of, is_former, key_of, new_header, slices
from .filelock import FileLock
from .files import open_private, read, read_small, records_of, replace, swap, sync_folder, write
from .holder import Holder, holder_of, sign
from .keys import SECRET_BYTES
from .records import Chosen, Record, Secret, from_lines, to_line
from .state import BusyError, Cursor, News, Notes, StateError

__all__ = ["FolderState"]

_FILES = ("consent", "secret", "journal", "journal.new", "lock", "sending", "delivery", "versions")
_HEADER_BYTES = 36
_LARGEST = 1 << 26
"""Bytes of a journal that may be one; a client keeps its own far below."""

_TRIES = 22
"""For the journal: the first report of a device, which others wait for, may have to be made durable."""


class FolderState:
    """A state in ``folder``, which is made when there is something to write."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._paths = {name: str(folder / name) for name in _FILES}
        self._made = False
        self._seen: tuple[int, int, int] | None = None
        self._choice: Choice | None = None
        self._secret_seen = False  # since the choice was made
        self._key: bytes | None = None
        self._journal = -1  # descriptors, while they are open
        self._end = 0
        self._header = b""  # of the draft
        self._lock = FileLock(self._paths["lock"], _TRIES)
        self._sending = FileLock(self._paths["sending"], 1)

    def __repr__(self) -> str:
        return f"FolderState({str(self.folder)!r})"

    def choice(self) -> Choice | None:
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

    def choose(self, choice: Choice) -> None:
        """Store the user's choice."""
        self._make_folder()
        records: list[Record] = [Chosen(choice.mode), *(choice.accepted or {}).values()]
        try:
            replace(self._paths["consent"], b"".join(map(to_line, records)))
        except OSError:
            if choice.mode == "off":  # the disk is full, maybe; then there is no yes either
                Path(self._paths["consent"]).unlink(missing_ok=True)
            raise

    def exists(self) -> bool:
        """Return whether there is a journal, or was one."""
        return Path(self._paths["journal"]).exists() or Path(self._paths["secret"]).exists()

    def acquire(self) -> None:
        """Hold the journal against all other processes."""
        self._make_folder()
        self._lock_or_fail()
        try:
            self._journal = self._open_journal()
        except BaseException:
            self._lock.release()
            raise

    def release(self) -> None:
        """Let go of the journal."""
        try:
            self._close_journal()
        finally:
            self._lock.release()

    def news(self, cursor: Cursor) -> News | None:
        """Return the records beyond ``cursor``, or None if there is nothing new."""
        size = self._end = os.fstat(self._journal).st_size  # nobody else can move it while we hold the journal
        mark = os.read(self._journal, _HEADER_BYTES)  # it has just been opened
        if (mark, size) == cursor:
            return None
        anew = mark != cursor.mark
        position = 0 if anew else cursor.position
        if size < position:
            raise StateError("the journal has shrunk")
        if size - position > _LARGEST:
            raise StateError("the journal is too large to be one of ours")
        records, damaged, torn = from_lines(read(self._journal, position, size - position))
        if anew:
            check_header(records, damaged)
            self._key = None  # after a "forget" the secret, too, is another one
        return News(records, Cursor(mark, size), anew, damaged, torn, any(map(is_former, records)))

    def append(self, records: Iterable[Record]) -> int:
        """Write records to the end, in full or not at all."""
        lines = b"".join(map(to_line, records))
        if os.write(self._journal, lines) != len(lines):
            os.ftruncate(self._journal, self._end)  # leave no fragment to which the next record would be glued
            raise StateError("the disk is full")
        self._end += len(lines)
        return self._end

    def rewrite(self, records: Iterable[Record]) -> Cursor:
        """Replace all records, at once and durably."""
        self._close_journal()
        header = new_header()
        replace(self._paths["journal"], b"".join((header, *map(to_line, records))))
        return self._begun_anew(header)

    @contextmanager
    def draft(self, records: Iterable[Record]) -> Iterator[None]:
        """Write records to a journal that does not count yet, durably; at the end it is gone unless installed."""
        self._header = new_header()
        try:
            write(self._paths["journal.new"], chain((self._header,), slices(records)))
            yield
        finally:
            Path(self._paths["journal.new"]).unlink(missing_ok=True)

    def install(self, since: Cursor) -> Cursor:
        """Let the draft take the journal's place, with what was appended to the journal beyond ``since``."""
        late = read(self._journal, since.position, self._end - since.position)
        self._close_journal()
        draft = self._open("journal.new", os.O_WRONLY | os.O_APPEND)
        try:
            if os.write(draft, late) != len(late):
                raise StateError("the disk is full")
        finally:
            os.close(draft)
        Path(self._paths["journal.new"]).replace(self._paths["journal"])
        return self._begun_anew(self._header)

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
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        sync_folder(str(self.folder))

    @contextmanager
    def sending(self) -> Iterator[bool]:
        """Enter as the one who uploads; False if another process is at it."""
        ours = self._sending.acquire()
        try:
            if ours:
                sign(self._paths["sending"])
            yield ours
        finally:
            if ours:
                self._sending.release()

    def sender(self, longer: float) -> Holder | None:
        """Return who has been sending for so many seconds or longer, and still is; None if nobody is."""
        holder = holder_of(self._paths["sending"])
        if holder is None or 0 <= time.time() - holder.since < longer:
            return None
        if self._sending.acquire():  # for a moment
            self._sending.release()
            return None
        return holder

    def recall(self, notes: Notes) -> bytes:
        """Return what was remembered last, or nothing."""
        try:
            return read_small(self._paths[notes])
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
        self._lock_or_fail()
        try:
            named = [Path(self._paths[name]) for name in ("journal", "secret", "delivery", "versions")]
            for path in (*named, *self.folder.glob("*.new")):
                path.unlink(missing_ok=True)
            self._key = None
        finally:
            self._lock.release()

    def after_fork(self) -> None:
        """Close the child's copies of descriptors that another thread of the parent had open."""
        for close in (self._close_journal, self._lock.after_fork, self._sending.after_fork):
            with suppress(OSError):
                close()

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

    def _lock_or_fail(self) -> None:
        if not self._lock.acquire():
            raise BusyError("the journal is held by another process")

    def _open_journal(self) -> int:
        try:
            return self._open("journal", os.O_RDWR | os.O_APPEND)
        except FileNotFoundError:
            if self._key is not None or os.path.lexists(self._paths["secret"]):
                raise StateError("the journal is lost") from None
        replace(self._paths["journal"], new_header())
        return self._open("journal", os.O_RDWR | os.O_APPEND)

    def _begun_anew(self, header: bytes) -> Cursor:
        self._journal = self._open("journal", os.O_RDWR | os.O_APPEND)
        self._end = os.fstat(self._journal).st_size
        return Cursor(header, self._end)

    def _close_journal(self) -> None:
        descriptor, self._journal = self._journal, -1
        if descriptor >= 0:
            os.close(descriptor)
