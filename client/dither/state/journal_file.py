"""The file ``journal``: held by one process at a time, and kept open in between.

To open two files and close them again for each report took a tenth of it. What is kept open is never trusted:

- A program that becomes a daemon closes all descriptors, and ours may be the number of a file of its own by now. So
  before anything is locked, read or written the number must be that of the file that was opened. What is somebody
  else's is let be, and the journal opened anew.
- The lock is on the journal itself. Who writes it anew puts another file in its place, and has that one locked before.
  So who got the lock must find this file under the journal's name, or open the new one.
- A child process shares the lock of its parent. It closes its copy (forks.py), and opens the file anew.

**Programs of earlier versions** lock the file ``lock`` instead, each time. As long as the journal is kept open, that
one is locked, too, shared by all that keep it so: an earlier version finds the state busy, and writes nothing.

Windows locks a file against its own replacement. There the file ``lock`` is locked for each report, and nothing is
kept open.
"""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from .contents import HEADER_BYTES, new_header
from .filelock import lock, unlock
from .files import open_private, read, rename, sync, sync_folder
from .state import BusyError, StateError
from .waiting import TRIES

__all__ = ["KEEPS_OPEN", "JournalFile"]

KEEPS_OPEN = sys.platform != "win32"

_APPEND = os.O_RDWR | os.O_APPEND
_HELD = "the journal is held by another process"
_REPLACED = "the journal is written anew again and again"
_MOST_REPLACED = 10
"""How often in a row the journal may be another one when its lock is ours at last."""


class JournalFile:
    """The journal at ``path``. ``lost`` returns whether there must be one; ``keeps`` says whether it is kept open.

    ``size`` and ``mark``, its first bytes, are known while it is held.
    """

    def __init__(self, path: str, lock_path: str, lost: Callable[[], bool], *, keeps: bool = KEEPS_OPEN) -> None:
        self.size = 0
        self.mark = b""
        self._path = path
        self._lock_path = lock_path
        self._lost = lost
        self._keeps = keeps
        self._gate: _Opened | None = None
        self._file: _Opened | None = None

    def __del__(self) -> None:
        with suppress(Exception):  # at the end of the interpreter anything may be missing
            self.close()

    @property
    def descriptor(self) -> int:
        """The open file, while it is held."""
        if self._file is None:
            raise StateError("the journal is not held")
        return self._file.number

    def acquire(self) -> None:
        """Hold the journal against all other processes, making it if need be.

        Raises BusyError, StateError or OSError; ``release`` is to be called nevertheless.
        """
        for _ in range(_MOST_REPLACED):
            file = self._file
            if file is None or not file.is_ours():
                file = self._opened()
            if self._keeps and not lock(file.number, TRIES):
                raise BusyError(_HELD)
            if self._stands(file):
                if not self.mark:
                    self._begin(file)
                    self.mark = read(file.number, 0, HEADER_BYTES)
                return
            self.close()
        raise BusyError(_REPLACED)

    def acquire_to_delete(self) -> None:
        """Hold the journal if there is one, whatever it is; raises BusyError or OSError."""
        for _ in range(_MOST_REPLACED):
            self._enter_gate()
            if not self._keeps:  # the gate keeps all others out, and no open file can be deleted
                return
            try:
                file = self._file = _Opened(open_private(self._path, _APPEND))
            except OSError:  # nobody can hold what cannot be opened
                return
            if not lock(file.number, TRIES):
                raise BusyError(_HELD)
            if self._stands(file):
                return
        raise BusyError(_REPLACED)

    def look(self) -> None:
        """Open the journal to read it, whoever holds it."""
        file = self._file = _Opened(open_private(self._path, os.O_RDONLY))
        self.size = os.fstat(file.number).st_size
        self.mark = read(file.number, 0, HEADER_BYTES)

    def release(self) -> None:
        """Let go of the journal; harmless if it is not held."""
        if not self._keeps:
            self.close()
        elif self._file is not None:
            try:
                unlock(self._file.number)
            except OSError:  # somebody has closed it meanwhile, and so unlocked it
                self.close()

    def read(self, position: int, count: int) -> bytes:
        """Return ``count`` bytes from ``position``."""
        return read(self.descriptor, position, count)

    def append(self, data: bytes) -> None:
        """Write to the end, in full or not at all."""
        descriptor = self.descriptor
        try:
            written = os.write(descriptor, data)
        except OSError as error:
            error.filename = self._path
            raise
        if written != len(data):
            os.ftruncate(descriptor, self.size)  # leave no fragment to which the next record would be glued
            raise StateError("the disk is full")
        self.size += len(data)

    def replace(self, draft: str, late: bytes = b"") -> None:
        """Let the file at ``draft``, with ``late`` behind it, take the journal's place; it is held as this one is."""
        file = _Opened(open_private(draft, _APPEND))
        try:
            if late and os.write(file.number, late) != len(late):
                raise StateError("the disk is full")
            if self._keeps:
                lock(file.number, 1)
            else:  # for no open file can be renamed, or replaced
                file.close()
                self._close_file()
            rename(draft, self._path)
            if not self._keeps:
                file = _Opened(open_private(self._path, _APPEND))
            self._close_file()
            self._file = file
        finally:
            if self._file is not file:
                file.close()
        self._stands(file)
        self.mark = read(file.number, 0, HEADER_BYTES)

    def close(self) -> None:
        """Close what is kept open, and so let go of it."""
        self._close_file()
        gate, self._gate = self._gate, None
        if gate is not None:
            gate.close()

    def _close_file(self) -> None:
        file, self._file, self.mark = self._file, None, b""
        if file is not None:
            file.close()

    def _enter_gate(self) -> None:
        """Take the lock of earlier versions: for as long as anything is kept open, or, where nothing is, alone."""
        self.close()
        self._gate = _Opened(open_private(self._lock_path, os.O_RDWR | os.O_CREAT))
        if not lock(self._gate.number, TRIES, shared=self._keeps):
            self.close()
            raise BusyError(_HELD)

    def _opened(self) -> "_Opened":
        """Open the journal."""
        self._enter_gate()
        try:
            number = open_private(self._path, _APPEND)
        except FileNotFoundError:
            if self._lost():
                raise StateError("the journal is lost") from None
            number = open_private(self._path, _APPEND | os.O_CREAT)
        self._file = _Opened(number)
        return self._file

    def _stands(self, file: "_Opened") -> bool:
        """Return whether this file, which is locked, is the journal still; note its size."""
        try:
            found = os.lstat(self._path)
        except FileNotFoundError:
            return False
        self.size = found.st_size
        return (found.st_dev, found.st_ino) == file.identity

    def _begin(self, file: "_Opened") -> None:
        """Write the header, durably, if this journal was just made."""
        if self.size < HEADER_BYTES:
            if self._lost():
                raise StateError("the journal has lost its beginning")
            os.ftruncate(file.number, 0)
            header = new_header()
            if os.write(file.number, header) != len(header):
                raise StateError("the disk is full")
            sync(file.number)
            sync_folder(str(Path(self._path).parent))
            self.size = len(header)


class _Opened:
    """A descriptor that stays open until somebody closes it, not necessarily we."""

    __slots__ = ("identity", "number")

    def __init__(self, number: int) -> None:
        self.number = number
        try:
            found = os.fstat(number)
        except BaseException:
            os.close(number)
            raise
        self.identity = found.st_dev, found.st_ino

    def is_ours(self) -> bool:
        """Return whether this number is still that of the file that was opened."""
        try:
            found = os.fstat(self.number)
        except OSError:
            return False
        return (found.st_dev, found.st_ino) == self.identity

    def close(self) -> None:
        """Close it, or a child's copy of it, unless the number is another file's by now."""
        number, self.number = self.number, -1
        if number < 0:
            return
        with suppress(OSError):
            found = os.fstat(number)
            if (found.st_dev, found.st_ino) != self.identity:
                return
        with suppress(OSError):
            os.close(number)
