"""What is logged: JSON, and nothing that a person sent."""

import io
import json
import logging
import sys

from dither_server.store import StoreError
from dither_serving.logs import JsonFormatter


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
    told: dict[str, object] = json.loads(line)
    return told


def test_log_lines_are_json_without_what_other_libraries_quote() -> None:
    told = logged("dither_server.ingest.committer", "it says\n%s")
    assert set(told) == {"time", "level", "logger", "message"}
    assert (told["level"], told["logger"]) == ("warning", "dither_server.ingest.committer")
    assert told["message"] == "it says\na"
    assert "message" not in logged("waitress", "client 192.0.2.7 sent %s")
    told = logged("dither_server.ingest.ingest", "failed %s", ValueError("invalid: secret value"))
    assert "secret" not in json.dumps(told)
    assert told["error"] == "ValueError"
    assert "test_logs.py" in str(told["at"])
    assert logged("dither_server.x", "failed %s", StoreError("database: full"))["detail"] == "database: full"
