"""Write structured logs: one JSON object a line, in which no address, no value and no token can stand.

An exception is logged by its type and the places it passed through. Its message is left out unless it is one of ours:
a message from elsewhere may quote what a person sent.
"""

import json
import logging
import sys
import traceback
from datetime import UTC, datetime

from dither_shared import DitherError

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
