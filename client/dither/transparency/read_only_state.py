"""A state folder that is only read. Nothing is made or mended, and no file is waited for.

No lock is taken either, but for a moment that of the sender, to see whether whoever took it long ago still has it.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..state.folder import FolderState
from ..state.journal_records import ConsentChoice, Record
from ..state.state import Cursor, News, Notes, StateError

__all__ = ["ReadOnlyState"]


class ReadOnlyState(FolderState):
    """Reads what a client wrote to ``folder``; what is not a plain file there is not opened."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.damaged = 0
        """How many records of the journal could not be read."""

    def choice(self) -> ConsentChoice | None:
        """Return the user's choice, one of the mode "" if it cannot be read, None if none was made."""
        try:
            found = os.lstat(self._paths["consent"])
        except FileNotFoundError:
            return None
        _check("consent", found)
        return super().choice()

    def exists(self) -> bool:
        """Return whether there is a journal, of whatever kind, or was one."""
        for name in ("journal", "secret"):
            with suppress(FileNotFoundError):
                os.lstat(self._paths[name])
                return True
        return False

    def acquire(self) -> None:
        """Open the journal, to read it; another process may go on writing, and at worst its last record is missed."""
        path = self._paths["journal"]
        _check("journal", os.lstat(path))
        self.acquire_to_read()

    def release(self) -> None:
        """Close it."""
        self._close_file()

    def news(self, cursor: Cursor) -> News | None:
        """Return the next records beyond ``cursor``."""
        found = super().news(cursor)
        if found is not None:
            self.damaged = found.damaged + (0 if found.anew else self.damaged)
        return found

    def recall(self, notes: Notes) -> bytes:
        """Return what was remembered last, or nothing."""
        with suppress(FileNotFoundError):
            _check(notes, os.lstat(self._paths[notes]))
        return super().recall(notes)

    @contextmanager
    def sending(self) -> Iterator[bool]:
        """Enter, though others may be sending, too: nothing is sent from here."""
        yield True

    def remember(self, notes: Notes, data: bytes) -> None:
        """Leave what was remembered as it is."""
        raise StateError("the state is only looked at")

    def append(self, records: Iterable[Record]) -> int:
        """Leave what a clock that was ahead has spoilt as it is."""
        return self.size

    def rewrite(self, records: Iterable[Record]) -> Cursor:
        """Leave what is damaged as it is."""
        return Cursor(b"", self.size)


def _check(name: str, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise StateError(f"the {name} is not a plain file")
