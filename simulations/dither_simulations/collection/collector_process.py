"""Run a real collector for a simulation: a process of its own, on loopback, with a SQLite file; and ask it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.client import HTTPConnection
from json import loads
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple, Self
from urllib.parse import parse_qs, quote, urlsplit, urlunsplit

from dither_shared import DitherError

DATABASE = "demo.db"
"""A name that a collector of real reports is unlikely to have given its own database."""

_PATIENCE = 20.0
"""Seconds for an answer, or to end after being asked to."""


class CollectorError(DitherError):
    """The collector did not start, or did not answer as it should."""


class UnknownThereError(CollectorError):
    """The collector has no metric of the name that was asked for."""


class Access(NamedTuple):
    """A collector's URL, and a token that reads from it; the token is empty where none is needed."""

    url: str
    token: str = ""

    @classmethod
    def at(cls, address: str) -> Self:
        """Parse an address: a URL alone, or with the ``?token=`` that a collector prints."""
        parts = urlsplit(address)
        (token,) = parse_qs(parts.query).get("token", [""])[:1]
        return cls(urlunsplit(parts._replace(query="", fragment="")).rstrip("/"), token)


@contextmanager
def ended_by_sigterm() -> Iterator[None]:
    """Let SIGTERM unwind the stack as Ctrl-C does, so that it ends a collector, too."""

    def leave(_signal: int, _frame: FrameType | None) -> None:
        sys.exit(128 + signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def running_collector(metrics: Path, folder: Path, origins: str = "") -> Iterator[Access]:
    """Run a collector while the context lasts and yield how it is reached; its database and log are in ``folder``.

    Web pages of ``origins`` may report to it, and then so may anyone here.

    It is ended as an operator would end it, by SIGTERM. Raises CollectorError if it does not start.
    """
    log = folder / "demo-collector.log"
    command = [sys.executable, "-m", "dither_server", "run", "--metrics", str(metrics)]
    command += ["--db", f"sqlite:///{folder / DATABASE}", "--port", "0"]
    command += ["--origins", origins, "--open", "report"] if origins else []  # a page has no token that it could hide
    command += ["--config", os.devnull]  # and not what a collector.toml here says of another one
    # In a session of its own Ctrl-C does not reach it: it outlives the devices, which would wait for it, and ends then.
    with (
        log.open("wb") as errors,
        subprocess.Popen(  # noqa: S603 — ours
            command, stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True
        ) as process,
    ):
        try:
            yield _reached(process, log)
        finally:
            _end(process)


def fetch_estimate(collector: Access, metric: str, confidence: float = 0.95) -> dict[str, Any]:
    """Return the collector's estimate of a metric, as its API gives it. Raises CollectorError if it does not."""
    return fetch(collector, f"/v1/metrics/{quote(metric, safe='')}/estimate?confidence={confidence}")


def fetch(collector: Access, path: str) -> dict[str, Any]:
    """Return the JSON at a path of the collector's API.

    Raises UnknownThereError if it says that it has no such metric, CollectorError if there is no answer otherwise.
    """
    url, (status, body) = collector.url, _got(collector, path)
    if status == HTTPStatus.UNAUTHORIZED and collector.token:
        raise CollectorError(f"the collector at {url} refuses this token; it is wrong, or has expired")
    if status == HTTPStatus.UNAUTHORIZED:
        raise CollectorError(f"the collector at {url} asks for a token; give its address with ?token=… instead")
    if status == HTTPStatus.NOT_FOUND and _UNKNOWN in body:
        raise UnknownThereError(f"the collector at {url} does not know the metric of {path}")
    if status != HTTPStatus.OK:
        raise CollectorError(f"the collector at {url} answers {status}: {body.decode('utf-8', 'replace')}")
    try:
        answer: dict[str, Any] = loads(body)
    except ValueError:
        raise CollectorError(f"the server at {url} is not a collector; it answers {body[:80]!r}") from None
    return answer


_UNKNOWN = b"urn:dither:problem:unknown-metric"


def _got(collector: Access, path: str) -> tuple[int, bytes]:
    """Return the status and the body of what is at a path."""
    url = collector.url
    address = urlsplit(url)
    headers = {"Authorization": f"Bearer {collector.token}"} if collector.token else {}
    try:
        connection = HTTPConnection(address.hostname or "", address.port, timeout=_PATIENCE)
    except ValueError as error:
        raise CollectorError(f"{url!r} is not the URL of a collector: {error}") from None
    try:
        connection.request("GET", address.path.rstrip("/") + path, headers=headers)
        response = connection.getresponse()
        return response.status, response.read()
    except OSError as error:
        raise CollectorError(f"the collector at {url} does not answer: {error}") from None
    finally:
        connection.close()


def _reached(process: subprocess.Popen[str], log: Path) -> Access:
    assert process.stdout is not None  # noqa: S101 — a pipe was asked for
    url = process.stdout.readline().strip()
    if not url.startswith("http://"):
        process.wait(_PATIENCE)
        reason = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:] or ["it says nothing"]
        raise CollectorError(f"the collector did not start: {reason[0]}")
    _, _, page = process.stdout.readline().strip().rpartition(" ")
    return Access(url, Access.at(page).token)


def _end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
