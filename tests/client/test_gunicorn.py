"""A web app under gunicorn with --preload: the client is made once, before the workers are forked."""

import os
import re
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from client.devices import Make

pytest.importorskip("gunicorn", reason="gunicorn is not installed")

_APP = """
import os
import dither

telemetry = dither.Client({metrics!r}, "http://127.0.0.1:9", "app", {state!r}, environ={{"DITHER": "on"}})
telemetry.record("first", True)  # so that the parent also has a running thread

def app(environ, start_response):
    telemetry.record("second", True)
    start_response("200 OK", [])
    return [str(os.getpid()).encode()]
"""


def test_preloaded_workers_report_once_between_them(definitions: str, tmp_path: Path, folder: Path, make: Make) -> None:
    (tmp_path / "web.py").write_text(_APP.format(metrics=definitions, state=str(folder)))
    command = [sys.executable, "-m", "gunicorn", "--preload", "-w", "2", "-b", "127.0.0.1:0", "web:app"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, env=os.environ) as server:
        assert server.stderr is not None
        address = next(urls[0] for line in server.stderr if (urls := re.findall(r"http://[\d.:]+", line)))
        workers: set[bytes] = set()
        end = time.monotonic() + 30
        while len(workers) < 2 and time.monotonic() < end:
            with urllib.request.urlopen(address, timeout=20) as answer:  # noqa: S310 - loopback
                workers.add(answer.read())
        server.terminate()
        errors = server.stderr.read()
        assert server.wait(60) == 0
    assert len(workers) == 2, "each worker has recorded"
    assert "failed" not in errors
    client = make(folder, metrics=definitions, mode=None, today=None)
    assert client.status().queued == 2
    assert {metric.name for metric in client.status().metrics if metric.reports == 1} == {"first", "second"}
