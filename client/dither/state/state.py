"""State: where a device keeps its consent, its secret and its journal; the seam between folder and memory.

The rest of the client asks for these things (``State``) and does not know which of the two it has.

StateError    the state cannot be read, written or trusted; whoever asked stays silent
└── BusyError      another thread or process holds it just now
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from dither_shared.errors import DitherError
from dither_shared.primitives.entropy import Entropy

from .journal_records import SECRET_BYTES, ConsentChoice, Done, Queued, Record
from .locks import Holder

Notes = Literal["delivery", "versions"]
"""What is kept in small files, whose loss does no harm (attempts.py, namesakes.py)."""


class StateError(DitherError):
    """The device's state cannot be read, written or trusted."""


class BusyError(StateError):
    """The device's state is held by another thread or process."""


class Cursor(NamedTuple):
    """How far a reader has read: in which writing of the journal (its mark), and up to where."""

    mark: bytes
    position: int


START = Cursor(b"", 0)


class News(NamedTuple):
    """The next records that a reader has not read before; ``cursor`` stands behind them, and there may be more.

    ``anew``: the journal begins with them, and what was read of another writing of it does not count.
    """

    records: list[Record]
    cursor: Cursor
    anew: bool
    damaged: int = 0
    torn: bool = False


class State(Protocol):
    """What the client needs of a state. All methods may raise OSError or StateError."""

    @property
    def folder(self) -> Path | None:
        """The folder that it is kept in, if it is on a disk."""

    def choice(self) -> ConsentChoice | None:
        """Return the user's choice, one of the mode "" if it cannot be read, None if none was made. Writes nothing."""

    def choose(self, choice: ConsentChoice) -> None:
        """Store the user's choice."""

    def exists(self) -> bool:
        """Return whether there is a journal. Writes nothing."""

    def acquire(self) -> None:
        """Hold the journal against all others, making it if need be; raise BusyError rather than wait for long.

        The six methods below are for whoever holds it.
        """

    def release(self) -> None:
        """Let go of the journal."""

    def news(self, cursor: Cursor) -> News | None:
        """Return the next records beyond ``cursor``, whoever wrote them, or None if it stands at the end."""

    def append(self, records: Sequence[Record]) -> int:
        """Write records to the end, in full or not at all, and return the position behind them."""

    def rewrite(self, records: Iterable[Record]) -> Cursor:
        """Replace all records, at once and durably, and return the cursor behind them."""

    def install(self, since: Cursor) -> Cursor:
        """Replace all records by those of the draft and those beyond ``since``; return the cursor behind them."""

    def secret(self, entropy: Entropy, may_create: bool) -> bytes:
        """Return the device's secret; draw it from ``entropy`` if there is none and ``may_create``."""

    def has_secret(self) -> bool:
        """Return whether there is a secret, readable or not. Writes nothing."""

    def lost(self) -> bool:
        """Return whether there was a secret for certain, and is none any more. Writes nothing."""

    def draft(self, records: Iterable[Record]) -> AbstractContextManager[None]:
        """Prepare records for ``install``, durably, and enter. Asked for while ``sending``, not holding the journal."""

    def sync(self) -> None:
        """Make what was appended durable. Asked for without holding the journal."""

    def sending(self) -> AbstractContextManager[bool]:
        """Enter as the one who uploads; False if another process is at it."""

    def sender(self, longer: float) -> Holder | None:
        """Return who has been sending for so many seconds or longer, and still is; None if nobody is."""

    def recall(self, notes: Notes) -> bytes:
        """Return what was remembered last, or nothing. Asked for without holding the journal."""

    def remember(self, notes: Notes, data: bytes) -> None:
        """Keep a few bytes in place of those before; they may be lost. Asked for without holding the journal."""

    def forget(self) -> None:
        """Delete the secret and the journal, and all that was written for them. The choice stays."""

    def close(self) -> None:
        """Close what is kept open between calls; it is opened again when it is wanted."""

    def after_fork(self) -> None:
        """Part with the parent process, in the child."""


class MemoryState:
    """A state that lasts as long as the object; for tests and simulations.

    A second client on the same object finds what the first left, as after a restart. It takes one client at a time.
    ``choice`` is a mode that stands from the start, for all metrics.
    """

    folder: Path | None = None

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
        """Hold the state: always granted, for nobody else has it."""

    def release(self) -> None:
        """Let go of the state."""

    def news(self, cursor: Cursor) -> News | None:
        """Return the records beyond ``cursor``, or None if there is nothing new."""
        end = self._end()
        if end == cursor:
            return None
        anew = cursor.mark != end.mark
        return News(self._records[0 if anew else cursor.position :], end, anew)

    def append(self, records: Sequence[Record]) -> int:
        """Keep records."""
        self._records.extend(records)
        return len(self._records)

    def rewrite(self, records: Iterable[Record]) -> Cursor:
        """Replace all records."""
        self._records = list(records)
        self._rewritten += 1
        return self._end()

    @contextmanager
    def draft(self, records: Iterable[Record]) -> Iterator[None]:
        """Keep a draft."""
        self._draft = list(records)
        yield

    def install(self, since: Cursor) -> Cursor:
        """Replace all records by the draft and what came after ``since``."""
        return self.rewrite(self._draft + self._records[since.position :])

    def _end(self) -> Cursor:
        return Cursor(b"%d" % self._rewritten, len(self._records))

    def secret(self, entropy: Entropy, may_create: bool) -> bytes:
        """Return the secret, drawn on first use."""
        if self._secret is None:
            self._secret = entropy.take(SECRET_BYTES)
        return self._secret

    def has_secret(self) -> bool:
        """Return whether it was drawn."""
        return self._secret is not None

    def lost(self) -> bool:
        """Return False: memory does not lose the one without the other."""
        return False

    def sync(self) -> None:
        """Do nothing: memory is not durable."""

    @contextmanager
    def sending(self) -> Iterator[bool]:
        """Enter: always granted."""
        yield True

    def sender(self, longer: float) -> Holder | None:
        """Return None: nobody else has it."""
        return None

    def recall(self, notes: Notes) -> bytes:
        """Return what was remembered last, or nothing."""
        return self._notes.get(notes, b"")

    def remember(self, notes: Notes, data: bytes) -> None:
        """Keep a few bytes."""
        self._notes[notes] = data

    def forget(self) -> None:
        """Delete everything but the choice."""
        self._secret = None
        self._notes.clear()
        self.rewrite([])

    def close(self) -> None:
        """Do nothing: nothing is open."""

    def after_fork(self) -> None:
        """Leave the queue to the parent, which will send it."""
        done = {record.batch for record in self._records if isinstance(record, Done)}
        self.rewrite([one for one in self._records if not isinstance(one, Queued) or one.batch in done])
