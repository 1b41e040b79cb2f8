"""Real clients that report to a real collector: run one on loopback, send reports to it, and ask for its estimates.

A trial with real clients needs a collector with exactly the metric version that these clients have: ``definitions``
writes the ``metrics.toml`` to start it with, and ``collector_of_its_own`` starts one.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple, Self
from urllib.parse import parse_qs, quote, urlsplit, urlunsplit

import numpy as np

import dither
from dither_shared import DitherError, Mechanism, Metric, ParameterError, parse_metrics
from dither_shared.counted import counted

from .tables import write_bytes
from .users.populations import Floats, Population

DATABASE = "demo.db"
"""A name that a collector of real reports is unlikely to use for its database."""

_PATIENCE = 20.0
"""Seconds to wait for an answer of the collector, or for its end after SIGTERM."""


class CollectorError(DitherError):
    """The collector did not start, or did not answer as it should."""


class Access(NamedTuple):
    """A collector's URL, and a token that reads from it; the token is empty if none is needed."""

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
    """Let SIGTERM unwind the stack as Ctrl-C does, so that the collector of a context is ended, too."""

    def leave(_signal: int, _frame: FrameType | None) -> None:
        sys.exit(128 + signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def running_collector(metrics: Path, folder: Path, origins: str = "") -> Iterator[Access]:
    """Run a collector while the context lasts and yield its address; its database and log are in ``folder``.

    Web pages of ``origins`` may report to it; with origins, reporting needs no token.

    It is ended by SIGTERM, as an operator would end it. Raises CollectorError if it does not start.
    """
    log = folder / "demo-collector.log"
    command = [sys.executable, "-m", "dither_server", "run", "--metrics", str(metrics)]
    command += ["--db", f"sqlite:///{folder / DATABASE}", "--port", "0"]
    command += ["--origins", origins, "--open", "report"] if origins else []  # a page could not keep a token secret
    command += ["--config", os.devnull]  # ignore a collector.toml in this folder, which belongs to another collector
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
    """Return the collector's estimate of a metric, as its API gives it. Raises CollectorError if it cannot."""
    return fetch(collector, f"/v1/metrics/{quote(metric, safe='')}/estimate?confidence={confidence}")


def fetch(collector: Access, path: str) -> dict[str, Any]:
    """Return the JSON at a path of the collector's API.

    Raises CollectorError if there is no answer, or if it is an error or not the JSON of a collector.
    """
    return _answer(collector, path, *_got(collector, path))


def _answer(collector: Access, path: str, status: int, body: bytes) -> dict[str, Any]:
    """Return the JSON of a response; raise CollectorError with what its status or its body says."""
    url = collector.url
    if status == HTTPStatus.UNAUTHORIZED and collector.token:
        raise CollectorError(f"the collector at {url} refuses this token; it is wrong, or has expired")
    if status == HTTPStatus.UNAUTHORIZED:
        raise CollectorError(f"the collector at {url} asks for a token; give its address with ?token=… instead")
    if status == HTTPStatus.NOT_FOUND and _UNKNOWN in body:
        raise CollectorError(f"the collector at {url} does not know the metric of {path}")
    if status != HTTPStatus.OK:
        raise CollectorError(f"the collector at {url} answers {status}: {body.decode('utf-8', 'replace')}")
    try:
        answer: dict[str, Any] = json.loads(body)
    except ValueError:
        raise CollectorError(f"the server at {url} is not a collector; it answers {body[:80]!r}") from None
    return answer


_UNKNOWN = b"urn:dither:problem:unknown-metric"


def _got(collector: Access, path: str) -> tuple[int, bytes]:
    """Return the status and the body of a GET request for a path."""
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
        reason = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:] or ["it printed nothing"]
        raise CollectorError(f"the collector did not start: {reason[0]}")
    _, _, page = process.stdout.readline().strip().rpartition(" ")
    return Access(url, Access.at(page).token)


def _end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()


Person = Mapping[str, object]

_DEVICE_PATIENCE = 30.0
"""Seconds for a device's reports to be acknowledged."""


def send_all(
    metrics: Mapping[str, Metric],
    url: str,
    people: Iterable[Person],
    workers: int = 32,
    step: Callable[[], object] = int,
) -> bool:
    """Give each person a device of their own, let it report every answer, and return whether all were acknowledged.

    ``step`` is called after each device. Answers travel over HTTP to ``url``, from ``workers`` devices at a time: a
    device mostly waits for a commit, and the collector commits everything that has arrived until then together.
    """

    def one(person: Person) -> bool:
        sent = _report(metrics, url, person)
        step()
        return sent

    pool = ThreadPoolExecutor(workers)
    try:
        return all(pool.map(one, people))
    finally:
        pool.shutdown(cancel_futures=True)  # do not wait for the rest after a failure or an interruption


def _report(metrics: Mapping[str, Metric], url: str, person: Person) -> bool:
    # Without the environment: a simulated device is not the user's own, who may have DO_NOT_TRACK set. It uploads only
    # when asked to, at the end, and not in the background while it still records.
    client = dither.Client(
        metrics, endpoint=url, app="dither-demo", state=dither.MemoryState(), background=False, environ={}
    )
    try:
        client.consent("on")
        for metric, value in person.items():
            client.record(metric, value)
        return client.flush(_DEVICE_PATIENCE)
    finally:
        client.close()


AskedMechanism = tuple[Mechanism, Population, float]
"""A mechanism over a population, with the requested ε."""

_DEFINITION = """\
[metrics."{name}"]
type = {kind}
{answers} = {labels}
{other}mechanism = {mechanism}
epsilon = {epsilon!r}
"""

_COLUMNS = ("frequency", "noise_low", "noise_high", "consistent")


def definitions(surveys: Iterable[AskedMechanism]) -> str:
    """Return a ``metrics.toml`` that asks for each mechanism, at its requested ε, over a population."""
    return "\n".join(dict.fromkeys(_definition(*survey) for survey in surveys))


def metric_of(mechanism: Mechanism, population: Population, epsilon: float) -> Metric:
    """Return the metric that ``definitions`` defines for a survey."""
    (metric,) = parse_metrics(_definition(mechanism, population, epsilon)).values()
    return metric


def metrics_of(surveys: Iterable[AskedMechanism]) -> list[Metric]:
    """Return the metric of each survey. Raises ParameterError if two are the same: a trial begins with no reports."""
    metrics = {}
    for survey in surveys:
        metric = metric_of(*survey)
        if metric.name in metrics:
            again = f"would ask {metric.name} twice, but a trial must begin without reports"
            raise ParameterError("--collector", f"{again}; give only one number of users, and each mechanism once")
        metrics[metric.name] = metric
    return list(metrics.values())


def require_known(address: str, metrics: Sequence[Metric]) -> None:
    """Raise CollectorError naming the metrics that the collector at ``address`` does not have, and what to do."""
    collector = Access.at(address)
    lacking = [metric for metric in metrics if not _is_known(collector, metric)]
    if not lacking:
        return
    listed = [
        f"  {metric.name}: {metric.mechanism.name}, {counted(len(metric.labels), 'value')}, version {metric.version}"
        for metric in lacking[:_NAMED]
    ]
    listed += [f"  and {len(lacking) - _NAMED:,} more"] if len(lacking) > _NAMED else []
    raise CollectorError(
        f"the collector at {collector.url} does not collect {len(lacking)} of {counted(len(metrics), 'metric')} "
        "asked for, or in another version:\n" + "\n".join(listed) + "\nRun this again with --definitions lab.toml in "
        "place of --collector, and start a collector with that file; or give --collector auto."
    )


_NAMED = 5
"""Maximum number of missing metrics that an error names."""


def _is_known(collector: Access, metric: Metric) -> bool:
    path = f"/v1/metrics/{quote(metric.name, safe='')}?limit=1"
    status, body = _got(collector, path)
    unknown = status == HTTPStatus.NOT_FOUND and _UNKNOWN in body
    return not unknown and bool(_answer(collector, path, status, body)["version"] == metric.version)


@contextmanager
def collector_of_its_own(surveys: Sequence[AskedMechanism]) -> Iterator[str]:
    """Run a collector that knows some surveys, and yield its address; it ends with the context, or by SIGTERM."""
    with ended_by_sigterm(), tempfile.TemporaryDirectory(prefix="dither-lab-") as folder:
        lab = Path(folder, "lab.toml")
        write_bytes(lab, definitions(surveys).encode("utf-8"))
        with running_collector(lab, Path(folder)) as collector:
            yield f"{collector.url}/?token={collector.token}"


def collected(
    mechanism: Mechanism, population: Population, epsilon: float, address: str, confidence: float
) -> tuple[Floats, Floats, Floats, Callable[[Floats], Floats]]:
    """Let one client for each user report to the collector at ``address``, and return its estimate.

    That is the frequencies, the low and the high ends of their intervals for noise alone, and a function that returns
    the collector's consistent shares, whatever frequencies it is given.

    Raises CollectorError if it does not collect the metric (``require_known`` says what to do), has reports of it
    already, or does not count all.
    """
    metric = metric_of(mechanism, population, epsilon)
    url = (collector := Access.at(address)).url
    before = fetch_estimate(collector, metric.name)
    if before["reports"]:
        raise CollectorError(
            f"{metric.name} at {url} has {counted(before['reports'], 'report')}; a trial must begin with none"
        )
    people = (
        {metric.name: label}
        for label, count in zip(population.labels, population.counts.tolist(), strict=True)
        for _ in range(count)
    )
    delivered = send_all({metric.name: metric}, url, people)
    answer = fetch_estimate(collector, metric.name, confidence)
    if not delivered or answer["reports"] != population.users:
        raise CollectorError(f"{counted(answer['reports'], 'report')} of {population.users:,} came to {url}")
    columns = {name: np.array([row[name] for row in answer["values"]], dtype=np.float64) for name in _COLUMNS}
    return columns["frequency"], columns["noise_low"], columns["noise_high"], lambda _: columns["consistent"]


def _definition(mechanism: Mechanism, population: Population, epsilon: float) -> str:
    listed = not mechanism.items.open
    return _DEFINITION.format(
        name=f"lab-{mechanism.name}-{len(population.labels)}-{epsilon:g}",
        kind='"choice"' if listed else '"string"',
        answers="values" if listed else "candidates",
        labels=json.dumps(population.labels, ensure_ascii=False).replace("\x7f", "\\u007f"),
        other=f"other = {json.dumps(population.labels[-1])}\n" if listed else "",
        mechanism=json.dumps(mechanism.name),
        epsilon=epsilon,
    )
