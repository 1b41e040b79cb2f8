"""Diagnostics: count what went wrong, and log each kind once; nothing is raised into the host.

The log names the kind and type of an exception, the system's message for a system error, and the path within the state
folder. It does not contain the exception's message, which may quote a value, except that of a ``StateError``, which is
ours.
"""

from __future__ import annotations

import errno
import os
import sys

from dither_shared.errors import ParameterError
from dither_shared.light import is_of_signal_handler

from .forks import importing
from .state.state import BusyError, StateError

_OF_A_DISK = frozenset({errno.ENOSPC, errno.EROFS, errno.EIO, errno.EDQUOT, errno.ENOLCK})
"""Errors of a file that is already open; they have no path."""

_LONGEST_PATH = 500


class Diagnostics:
    """Counts problems by kind, and logs to the logger "dither". ``folder`` is the state folder, if there is one.

    If ``strict``, mistakes of the app's developer are raised; everything else is kept from the host.
    """

    _MISTAKE = ParameterError  # kept here, like the next: at shutdown the names of this module may be None
    _is_of_signal_handler = staticmethod(is_of_signal_handler)

    def __init__(self, folder: str | os.PathLike[str] | None = None, *, strict: bool = False) -> None:
        self.folder = folder
        self.counts: dict[str, int] = {}
        self._strict = strict

    def note(self, kind: str, advice: str = "", *, new: bool = False) -> None:
        """Count a mistake of ``kind``; log it with ``advice``, at WARNING, if it is the first or ``new``."""
        if self._count(kind) == 1 or new:
            self._log(kind, advice)

    def failed(self, place: str, error: Exception) -> None:
        """Count an exception that was caught at ``place``; raise it if a signal handler of the host has raised it."""
        if self._is_of_signal_handler(error):
            raise error
        self.trouble(f"{place} failed: {described(error, self.folder)}")

    def trouble(self, kind: str, advice: str = "") -> None:
        """Count a problem of the device, not of the app's code; log it as ``warn`` does if it is the first."""
        if self._count(kind) == 1:
            self.warn(kind, advice)

    def caught(self, place: str, error: Exception, mistake: str = "") -> bool:
        """Handle what the public method ``place`` caught; return whether it is a mistake of the app's developer.

        A mistake is raised if ``strict``; what a signal handler of the host has raised always is, because it is not
        ours to swallow. Everything else is counted and logged. At the interpreter's shutdown, when the names of all
        modules may be None, nothing is logged or raised.
        """
        wrong = isinstance(error, self._MISTAKE)
        if (wrong and self._strict) or self._is_of_signal_handler(error):
            raise error
        try:
            if wrong:
                self.note(mistake or f"{place} was called incorrectly", str(error))
            else:
                self.failed(place, error)
        except Exception:  # noqa: S110 - the interpreter shuts down
            pass
        return wrong

    def warn(self, message: str, advice: str = "") -> bool:
        """Log a warning if logging is set up; return whether it is.

        Otherwise Python would write it to the terminal of a user, each time that a tool runs: that a collector is down,
        a disk full, or another version of the tool installed.
        """
        logging = sys.modules.get("logging")
        if logging is None or not logging.getLogger("dither").hasHandlers():
            return False
        self._log(message, advice)
        return True

    def _count(self, kind: str) -> int:
        count = self.counts[kind] = self.counts.get(kind, 0) + 1
        return count

    def _log(self, kind: str, advice: str) -> None:
        if sys.is_finalizing():  # a frozen thread may hold the lock of a handler
            return
        try:
            with importing():
                import logging  # noqa: PLC0415 - a third of the import time, and seldom needed

            logging.getLogger("dither").warning("%s%s", kind, f"; {advice}" if advice else "")
        except Exception:  # noqa: S110 - the host's handler failed, or the interpreter shuts down
            pass


def described(error: BaseException, folder: str | os.PathLike[str] | None = None) -> str:
    """Return an exception in words without any value: its type, the system's or our message, a path in ``folder``."""
    name, path = type(error).__name__, _path(error, folder)[-_LONGEST_PATH:]
    if isinstance(error, StateError) and not isinstance(error, BusyError):
        said = f"{name}, {error}"
    else:
        number = error.errno if isinstance(error, OSError) else None
        said = f"{name}, {os.strerror(number)}" if isinstance(number, int) else name
    return f"{said}: {path!r}" if path else said


def _path(error: BaseException, folder: str | os.PathLike[str] | None) -> str:
    """Return the path that an error is about if that is ``folder``, within it or above it; otherwise ""."""
    if folder is None or isinstance(error, BusyError):
        return ""
    if isinstance(error, StateError):
        return os.fspath(folder)
    if not isinstance(error, OSError):
        return ""
    if isinstance(error.filename, str):
        path, state = (os.path.join(one, "") for one in (error.filename, os.fspath(folder)))
        return error.filename if path.startswith(state) or state.startswith(path) else ""
    return os.fspath(folder) if error.errno in _OF_A_DISK else ""
