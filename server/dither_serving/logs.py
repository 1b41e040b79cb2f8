"""Write structured logs: one JSON object per line, without any address, value or token.

An exception is logged by its type and the places it passed through. Its message is left out unless it is one of ours:
a message from elsewhere may quote what a person sent. Lines are limited per minute, so that no peer can fill a log.
"""

import json
import logging
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from dither_shared import DitherError

_log = logging.getLogger(__name__)

_QUIET = 60.0

_LINES = 10
"""Lines of another library's logger that are let through per minute."""

_OURS = ("dither_server", "dither_relay", "dither_spool", "dither_serving")


class JsonFormatter(logging.Formatter):
    """Formats a record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line. A record of another library has no message here, because it may quote what was sent."""
        fields: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="seconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
        }
        if record.name.partition(".")[0] in _OURS:
            fields["message"] = record.getMessage()
        if record.exc_info and record.exc_info[1] is not None:
            fields |= _of_exception(record.exc_info[1])
        return json.dumps(fields)


def log_json(level: str) -> None:
    """Log as JSON on stderr from now on: our own loggers from ``level``, all others from warnings."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    for name in _OURS:
        logging.getLogger(name).setLevel(level.upper())


def _of_exception(error: BaseException) -> dict[str, object]:
    frames = traceback.extract_tb(error.__traceback__)
    fields: dict[str, object] = {
        "error": type(error).__name__,
        "at": [f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}" for frame in frames],
    }
    if isinstance(error, DitherError):
        fields["detail"] = str(error)
    return fields


class OnceAMinute:
    """Counts events, and allows one log line about them per minute. Safe to use from many threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._logged = float("-inf")
        self._unlogged = 0
        self._lock = threading.Lock()

    def add(self, events: int = 1) -> int:
        """Count some events; return the number since the last line if one may be logged now, else 0."""
        with self._lock:
            self._unlogged += events
            now = self._clock()
            if now < self._logged + _QUIET:
                return 0
            self._logged = now
            return self._take()

    def rest(self) -> int:
        """Return the number of events since the last line, for a final line."""
        with self._lock:
            return self._take()

    def _take(self) -> int:
        unlogged, self._unlogged = self._unlogged, 0
        return unlogged


@contextmanager
def limited_lines(
    logger: logging.Logger, lines: int = _LINES, clock: Callable[[], float] = time.monotonic
) -> Iterator[None]:
    """Let a logger write only some lines per minute, and log how many were left out, at the latest at the end."""
    left_out, lock = OnceAMinute(clock), threading.Lock()
    begun, written = float("-inf"), 0

    def passes(_record: logging.LogRecord) -> bool:
        nonlocal begun, written
        with lock:
            now = clock()
            if now >= begun + _QUIET:
                begun, written = now, 0
            written += 1
            is_allowed = written <= lines
        if not is_allowed and (count := left_out.add()):
            _log.warning("lines omitted from the log of %s: %d", logger.name, count)
        return is_allowed

    logger.addFilter(passes)
    try:
        yield
    finally:
        logger.removeFilter(passes)
        if count := left_out.rest():
            _log.warning("lines omitted from the log of %s: %d", logger.name, count)
