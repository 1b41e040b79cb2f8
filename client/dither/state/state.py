"""State: what a device keeps, its consent, its secret and its journal; here in memory, in folder.py in a folder.

StateError    the state cannot be read, written or trusted, so the caller stays silent
└── BusyError      another thread or process holds it at the moment
"""

from __future__ import annotations

from dither_shared.errors import DitherError
from dither_shared.light import Literal, NamedTuple, contextmanager

from .journal_records import SECRET_BYTES, ConsentChoice, Done, Queued

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dither_shared.primitives.entropy import Entropy

    from .journal_records import Record
    from .locks import Holder

Notes = Literal["delivery", "events", "versions"]
"""Small files whose loss does no harm (attempts.py, app_name_clash.py) or loses the events of a period (events.py)."""


class StateError(DitherError):
    """The device's state cannot be read, written or trusted."""


class BusyError(StateError):
    """The device's state is held by another thread or process."""


class Cursor(NamedTuple):
    """How far a reader has read: the mark of the journal, which each rewriting changes, and a position in it."""

    mark: bytes
    position: int


START = Cursor(b"", 0)


class News(NamedTuple):
    """The next records that a reader has not read; ``cursor`` is the position after them, and there may be more.

    ``rewritten``: the journal begins with them; what was read before belongs to an earlier file, and does not count.
    """

    records: list[Record]
    cursor: Cursor
    rewritten: bool
    damaged: int = 0
    torn: bool = False


class MemoryState:
    """A state that lasts as long as the object; for tests and simulations. Its methods are those of ``FolderState``.

    A second client on the same object finds what the first left, as after a restart. Only one client may use it at a
    time. ``choice`` is a mode that holds from the start, for all metrics.
    """

    folder: str | None = None

    def __init__(self, choice: str | None = None) -> None:
        self._choice = None if choice is None else ConsentChoice(choice)
        self._secret: bytes | None = None
        self._records: list[Record] = []
        self._draft: list[Record] = []
        self._rewritten = 0
        self._notes: dict[Notes, bytes] = {}

    def __repr__(self) -> str:
        return f"MemoryState({self._choice.mode!r})" if self._choice else "MemoryState()"

    def choice(self) -> ConsentChoice | None:
        """Return the user's stored choice, or None."""
        return self._choice

    def choose(self, choice: ConsentChoice) -> None:
        """Store the user's choice."""
        self._choice = choice

    def exists(self) -> bool:
        """Return whether anything was recorded."""
        return bool(self._records)

    def acquire(self) -> None:
        """Hold the state: always granted, because nobody else has it."""

    def release(self) -> None:
        """Release the state."""

    def news(self, cursor: Cursor) -> News | None:
        """Return the records after ``cursor``, or None if there are none."""
        end = self._end()
        if end == cursor:
            return None
        rewritten = cursor.mark != end.mark
        return News(self._records[0 if rewritten else cursor.position :], end, rewritten)

    def append(self, records: Sequence[Record]) -> int:
        """Append records to the journal."""
        self._records.extend(records)
        return len(self._records)

    def rewrite(self, records: Iterable[Record]) -> Cursor:
        """Replace all records."""
        self._records = list(records)
        self._rewritten += 1
        return self._end()

    @contextmanager
    def draft(self, records: Iterable[Record]) -> Iterator[None]:
        """Keep ``records`` as the draft that ``install`` puts in place."""
        self._draft = list(records)
        yield

    def install(self, since: Cursor) -> Cursor:
        """Replace all records by the draft and those after ``since``."""
        return self.rewrite(self._draft + self._records[since.position :])

    def _end(self) -> Cursor:
        return Cursor(b"%d" % self._rewritten, len(self._records))

    def secret(self, entropy: Entropy, may_create: bool) -> bytes:
        """Return the secret, drawn on first use."""
        if self._secret is None:
            self._secret = entropy.take(SECRET_BYTES)
        return self._secret

    def has_secret(self) -> bool:
        """Return whether the secret was drawn."""
        return self._secret is not None

    def lost(self) -> bool:
        """Return False: the secret in memory cannot be lost separately from the rest."""
        return False

    def sync(self) -> None:
        """Do nothing: memory is not durable."""

    @contextmanager
    def sending(self) -> Iterator[bool]:
        """Enter: always granted."""
        yield True

    def sender(self, longer: float) -> Holder | None:
        """Return None: no other process can be sending."""
        return None

    def recall(self, notes: Notes) -> bytes:
        """Return the last notes, or nothing."""
        return self._notes.get(notes, b"")

    def remember(self, notes: Notes, data: bytes) -> None:
        """Replace the notes."""
        self._notes[notes] = data

    def forget(self) -> None:
        """Delete everything but the choice."""
        self._secret = None
        self._notes.clear()
        self.rewrite([])

    def close(self) -> None:
        """Do nothing: nothing is open."""

    def after_fork(self) -> None:
        """Drop the queue, which the parent will send."""
        finished = {record.batch for record in self._records if isinstance(record, Done)}
        self.rewrite(record for record in self._records if not isinstance(record, Queued) or record.batch in finished)
