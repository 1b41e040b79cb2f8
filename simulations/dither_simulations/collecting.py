"""A real collector: its own process, on loopback, with a SQLite file."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from json import loads
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from dither_shared import DitherError

__all__ = ["DATABASE", "CollectorError", "fetch", "fetch_estimate", "running_collector"]

DATABASE = "demo.db"
"""Not the name that a collector in earnest is likely to have given its own."""

_PATIENCE = 20.0
"""Seconds for an answer, or to end after being asked to."""


class CollectorError(DitherError):
    """The collector did not start, or did not answer as it should."""


@contextmanager
def running_collector(metrics: Path, folder: Path) -> Iterator[str]:
    """Run a collector while the context lasts and yield its URL; its database and its log are in ``folder``.

    It is ended as an operator would end it, by SIGTERM. Raises CollectorError if it does not start.
    """
    log = folder / "demo-collector.log"
    command = [sys.executable, "-m", "dither_server", "run", "--metrics", str(metrics)]
    command += ["--db", f"sqlite:///{folder / DATABASE}", "--port", "0"]
    command += ["--config", os.devnull]  # and not what a collector.toml here says of another one
    # In a session of its own Ctrl-C does not reach it: it outlives the devices, which would wait for it, and ends then.
    with (
        log.open("wb") as errors,
        subprocess.Popen(  # noqa: S603 — ours
            command, stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True
        ) as process,
    ):
        try:
            yield _first_line(process, log)
        finally:
            _end(process)


def fetch_estimate(url: str, metric: str, confidence: float = 0.95) -> dict[str, Any]:
    """Return the collector's estimate of a metric, as its API tells it. Raises CollectorError if it does not."""
    return fetch(url, f"/v1/metrics/{quote(metric, safe='')}/estimate?confidence={confidence}")


def fetch(url: str, path: str) -> dict[str, Any]:
    """Return the JSON at a path of the collector's API. Raises CollectorError if there is none."""
    address = urlsplit(url)
    try:
        connection = HTTPConnection(address.hostname or "", address.port, timeout=_PATIENCE)
    except ValueError as error:
        raise CollectorError(f"{url!r} is not the URL of a collector: {error}") from None
    try:
        connection.request("GET", address.path.rstrip("/") + path)
        response = connection.getresponse()
        body = response.read()
    except OSError as error:
        raise CollectorError(f"the collector at {url} does not answer: {error}") from None
    finally:
        connection.close()
    if response.status != 200:
        raise CollectorError(f"the collector at {url} answers {response.status}: {body.decode('utf-8', 'replace')}")
    try:
        answer: dict[str, Any] = loads(body)
    except ValueError:
        raise CollectorError(f"what answers at {url} is no collector: {body[:80]!r}") from None
    return answer


def _first_line(process: subprocess.Popen[str], log: Path) -> str:
    assert process.stdout is not None  # noqa: S101 — a pipe was asked for
    url = process.stdout.readline().strip()
    if not url.startswith("http://"):
        process.wait(_PATIENCE)
        reason = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:] or ["it says nothing"]
        raise CollectorError(f"the collector did not start: {reason[0]}")
    return url


def _end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
