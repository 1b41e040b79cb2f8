"""Log lines are JSON and quote nothing that a person sent."""

import io
import json
import logging
import sys

import pytest

from dither_server.store import StoreError
from dither_serving.logs import JsonFormatter, OnceAMinute, limited_lines


def logged(name: str, message: str, error: Exception | None = None) -> dict[str, object]:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    try:
        raise error or KeyError
    except Exception:
        about = sys.exc_info() if error else None
    handler.handle(logging.LogRecord(name, logging.WARNING, __file__, 1, message, ("a",), about))
    line = stream.getvalue()
    assert line.count("\n") == 1
    entry: dict[str, object] = json.loads(line)
    return entry


def test_log_lines_are_json_without_what_other_libraries_quote() -> None:
    entry = logged("dither_server.ingest.committer", "it says\n%s")
    assert set(entry) == {"time", "level", "logger", "message"}
    assert (entry["level"], entry["logger"]) == ("warning", "dither_server.ingest.committer")
    assert entry["message"] == "it says\na"
    assert "message" not in logged("waitress", "client 192.0.2.7 sent %s")
    entry = logged("dither_server.ingest.ingest", "failed %s", ValueError("invalid: secret value"))
    assert "secret" not in json.dumps(entry)
    assert entry["error"] == "ValueError"
    assert "test_logs.py" in str(entry["at"])
    assert logged("dither_server.x", "failed %s", StoreError("database: full"))["detail"] == "database: full"


def test_first_event_is_logged_at_once_and_later_ones_once_a_minute() -> None:
    now = [0.0]
    lines = OnceAMinute(lambda: now[-1])
    assert [lines.add(), lines.add(), lines.add(3)] == [1, 0, 0]
    now.append(59.9)
    assert lines.add() == 0
    now.append(60.0)
    assert [lines.add(), lines.add()] == [6, 0]
    now.append(1e9)
    assert lines.add(2) == 3
    lines.add(4)
    assert [lines.rest(), lines.rest()] == [4, 0]


def test_limited_logger_writes_some_lines_a_minute_and_the_number_left_out(caplog: pytest.LogCaptureFixture) -> None:
    now, logger = [0.0], logging.getLogger("of.a.dependency")
    with limited_lines(logger, 2, lambda: now[0]):
        for minute in (0.0, 60.0):
            now[0] = minute
            for number in range(5):
                logger.warning("%d", number)
    logger.warning("after")
    left_out = "lines omitted from the log of of.a.dependency: %d"
    first, later = ["0", "1", left_out % 1], ["0", "1", left_out % 3]
    assert [record.getMessage() for record in caplog.records] == [*first, *later, left_out % 2, "after"]
