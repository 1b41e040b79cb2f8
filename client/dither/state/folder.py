"""The state in a folder: one for each app, for its owner only; and where it lies.

    consent     the user's choice, and what was accepted  replaced atomically, with fsync
    secret      the device's secret, drawn once           likewise, and never replaced
    journal     debits, reports (journal_records.py)      appended to; sometimes replaced by a compact one
    lock        held by the process that reads or writes the journal
    sending     held by the process that uploads, which signs it
    extent      how far the journal went when last made   overwritten; its loss does no harm
                durable
    delivery    the last attempts and what is put off     likewise
    versions    of each metric, as programs started       likewise
    events      of the current period, or reports drawn   overwritten; its loss is that of one report of each metric
                of them (reporting/events.py)
    definitions compiled (reporting/definitions.py)       likewise

The journal and its lock stay open between calls (journal.py). One write appends a debit and its report behind it, so
whatever is lost of the end, no report is left without its debit.

**Trust.** A journal without a secret, a secret without a journal, a header of an unknown format, a journal that
shrinks, a symbolic link: each is a StateError, and nothing is replaced, because that would redraw permanent answers. A
lost secret is replaced only when the user is asked again, and says yes again.
"""

from __future__ import annotations

import os
import sys
import time

from dither_shared.errors import ParameterError
from dither_shared.light import contextmanager, suppress

from ..settings import path
from .files import delete, overwrite, read_small, replace
from .folder_journal import KEEPS_OPEN, FolderJournal
from .journal_records import SECRET_BYTES, Accepted, Chosen, ConsentChoice, Secret, from_lines, to_line, to_lines
from .locks import FileLock, holder_of, sign
from .state import MemoryState, StateError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dither_shared.primitives.entropy import Entropy

    from .journal_records import Record
    from .locks import Holder
    from .state import Notes

_FILES = ("consent", "secret", "journal", "sending", "delivery", "events", "versions")

_DEVICES = frozenset(
    {"aux", "con", "nul", "prn", *(f"{port}{number}" for port in ("com", "lpt") for number in range(10))}
)
"""Names of devices on Windows, which no file can have, with or without an extension."""

_MOST_NOTES = 1 << 17
"""Maximum bytes of ``delivery`` and ``versions``; a client writes at most some 50,000."""


class FolderState(FolderJournal):
    """A state in ``folder``, which is made by the first write."""

    def __init__(self, folder: str | os.PathLike[str], *, keeps_open: bool = KEEPS_OPEN) -> None:
        super().__init__(os.fspath(folder), keeps_open=keeps_open)
        self._paths = {name: os.path.join(self.folder, name) for name in _FILES}
        self._seen: tuple[int, int, int] | None = None
        self._choice: ConsentChoice | None = None
        self._secret_seen = False  # since the choice was made
        self._sendings: set[FileLock] = set()

    def __repr__(self) -> str:
        return f"FolderState({self.folder!r})"

    def choice(self) -> ConsentChoice | None:
        """Return the user's stored choice, one of the mode "" if it cannot be read, None if none was made."""
        try:
            status = os.lstat(self._paths["consent"])
        except FileNotFoundError:
            return None
        seen = (status.st_ino, status.st_mtime_ns, status.st_size)
        if seen != self._seen:  # another process may have changed it, and off must hold at once
            self._choice = _choice_of(_records_of(self._paths["consent"]))
            self._seen, self._secret_seen = seen, False
        if not self._secret_seen and self._choice is not None and self._choice.mode in {"local", "on"}:
            self._secret_seen = self.has_secret()  # drawn just after the choice is stored, maybe by another process
            self._choice = self._choice._replace(lost=not self._secret_seen)
        return self._choice

    def lost(self) -> bool:
        """Return whether there is no secret although the user has said yes, which draws one."""
        self._secret_seen = False
        choice = self.choice()
        return choice is not None and choice.lost

    def choose(self, choice: ConsentChoice) -> None:
        """Store the user's choice."""
        self.make_folder()
        records: list[Record] = [Chosen(choice.mode), *(choice.accepted or {}).values()]
        try:
            replace(self._paths["consent"], to_lines(records))
        except OSError:
            if choice.mode == "off":  # for example on a full disk; then at least no yes remains
                delete(self._paths["consent"])
            raise

    def exists(self) -> bool:
        """Return whether there is a journal, or was one."""
        return os.path.exists(self._paths["journal"]) or os.path.exists(self._secret_path)

    def secret(self, entropy: Entropy, may_create: bool) -> bytes:
        """Return the device's secret; draw it if there is none and ``may_create``.

        Raises StateError if the folder is not this user's, whatever lies in it.
        """
        self.make_folder()
        if may_create and not self.has_secret():
            replace(self._secret_path, to_line(Secret(entropy.take(SECRET_BYTES).hex())))
            self._known_secret = None
        if self._known_secret is None:
            self._known_secret = _key_of(_records_of(self._secret_path) if self.has_secret() else [])
        return self._known_secret

    @contextmanager
    def sending(self) -> Iterator[bool]:
        """Enter as the only uploader; False if another process, or another thread, is uploading."""
        lock = FileLock(self._paths["sending"], 1)
        self._sendings.add(lock)
        try:
            try:
                if ours := lock.acquire():
                    sign(self._paths["sending"])
                    self.discard_draft()
                yield ours
            finally:
                lock.release()
        finally:
            lock.release()
            self._sendings.discard(lock)

    def sender(self, longer: float) -> Holder | None:
        """Return the process that has been sending for at least ``longer`` seconds, and still is, or None."""
        holder = holder_of(self._paths["sending"])
        if holder is None or 0 <= time.time() - holder.since < longer:
            return None
        lock = FileLock(self._paths["sending"], 1)
        if lock.acquire():  # only a test: released at once
            lock.release()
            return None
        return holder

    def recall(self, notes: Notes) -> bytes:
        """Return the last notes, or nothing."""
        try:
            return read_small(self._paths[notes], _MOST_NOTES).partition(b"\n")[0]
        except FileNotFoundError:
            return b""

    def remember(self, notes: Notes, data: bytes) -> None:
        """Replace the notes; they may be lost."""
        try:
            overwrite(self._paths[notes], data + b"\n")
            if notes == "events":  # the time of the last writing would tell that something happened in the period
                os.utime(self._paths[notes], (0, 0))
        except OSError as error:
            error.filename = self._paths[notes]
            raise

    def forget(self) -> None:
        """Delete all but the choice and the locks. If interrupted, the client stays silent until this is repeated."""
        if not os.path.exists(self.folder):
            return
        try:
            self.acquire_lock()
            self._close_file()  # Windows deletes no file that is open
            names = ("journal", "secret", "extent", "delivery", "events", "versions", "definitions")
            for name in (*names, *(name for name in os.listdir(self.folder) if name.endswith(".new"))):
                delete(os.path.join(self.folder, name))
            self._known_secret = None
        finally:
            self.close()

    def after_fork(self) -> None:
        """Close the child's copies of the parent's open files."""
        for close in (self.close, *(lock.close for lock in self._sendings)):
            with suppress(OSError):
                close()
        self._sendings.clear()


State = FolderState | MemoryState
"""What the rest of the client uses, without knowing which of the two it has.

All methods may raise OSError or StateError. ``choice``, ``exists``, ``has_secret`` and ``lost`` write nothing.
``news``, ``append``, ``rewrite``, ``install`` and ``secret`` are for the holder, between ``acquire`` and ``release``;
``draft``, ``sync``, ``recall`` and ``remember`` (but of the events) are called without holding the journal.
"""


def _records_of(path: str) -> list[Record]:
    """Return the records of a small file, or none at all if any is damaged."""
    records, damaged, torn = from_lines(read_small(path))
    return [] if damaged or torn else records


def _choice_of(records: list[Record]) -> ConsentChoice:
    """Return the choice that the file ``consent`` holds, one of the mode "" if it cannot be read."""
    chosen, others = next(iter(records), None), records[1:]
    accepted = {record.terms: record for record in others if isinstance(record, Accepted)}
    if not isinstance(chosen, Chosen) or len(accepted) != len(others):
        return ConsentChoice("", {})
    return ConsentChoice(chosen.mode, accepted)


def _key_of(records: list[Record]) -> bytes:
    """Return the key that the file ``secret`` holds; raise StateError if there is none."""
    if len(records) == 1 and isinstance(records[0], Secret) and len(records[0].key) == 2 * SECRET_BYTES:
        return bytes.fromhex(records[0].key)
    raise StateError("the secret is lost or damaged; no new one is drawn")


def state_of(state: object, app: str) -> State:
    """Return the state that an app gives: itself, one in the folder of that path, or, for None, in the app's own.

    Raises ParameterError if it is not a path, StateError for a user who has no home.
    """
    if isinstance(state, MemoryState):
        return state
    return FolderState(default_folder(app) if state is None else folder_of(path("state", state)))


def default_folder(app: str) -> str:
    """Return the folder where this system keeps the state of an app."""
    return folder_of(os.path.join(apps_folder(), app))


def apps_folder() -> str:
    """Return the folder that holds a state folder for each app of this user.

    A relative ``XDG_STATE_HOME`` is ignored, as the XDG Base Directory Specification says.
    Raises StateError for a user who has no home.
    """
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Application Support"
    else:
        configured = os.environ.get("XDG_STATE_HOME", "")
        base = configured if os.path.isabs(configured) else "~/.local/state"
    home = os.path.expanduser(base)
    if home.startswith("~"):
        names = "LOCALAPPDATA" if sys.platform == "win32" else "HOME or XDG_STATE_HOME"
        raise StateError(f"this user has no home; set {names} to say where the state is to be kept")
    folder = os.path.join(home, "dither")
    if not os.path.isabs(folder):  # it would be another one in each working directory
        name = "LOCALAPPDATA" if sys.platform == "win32" else "HOME"
        raise StateError(f"this user's home, {name}, is not an absolute path")
    return folder


def folder_of(folder: str | os.PathLike[str]) -> str:
    """Return the path of a state folder, which stays the same wherever the program goes later.

    Raises ParameterError for one that no file of this system can have.
    """
    try:
        name = os.fsencode(folder)
    except UnicodeError:
        raise ParameterError("state", "contains letters that this system's encoding of file names lacks") from None
    if b"\0" in name:
        raise ParameterError("state", "contains a null character, which no file name can")
    with suppress(OSError):  # the working directory is gone, and the code that needs the folder will report it
        return os.path.join(os.getcwd(), folder)
    return os.fspath(folder)


def check_app_name(app: object) -> str:
    """Return an app's name; raise ParameterError unless a folder can have it and stays inside its parent."""
    if not isinstance(app, str) or not app.strip(" .") or not app.isprintable() or {*app} & {*'/\\:*?"<>|'}:
        quoted = repr(app) if isinstance(app, str) and "@" not in app else "this"  # perhaps the endpoint
        raise ParameterError("app", f"{quoted} cannot be an app's name; use letters, digits, '-', '_', '.' and spaces")
    if app.partition(".")[0].rstrip(" ").lower() in _DEVICES:
        raise ParameterError("app", f"{app!r} cannot be an app's name, because Windows reserves it for a device")
    if app.endswith((" ", ".")):
        raise ParameterError("app", f"{app!r} cannot be an app's name, because it ends with a space or a dot")
    return app
