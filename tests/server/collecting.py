"""What the collector's tests share: metrics, uploads, and a process to send them to."""

import json
import os
import secrets
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flask import Flask
from werkzeug.test import TestResponse

from dither_server.access.tokens import Role
from dither_server.app import collector_of, create_app
from dither_server.config.settings import Config
from dither_server.store import Sealing, Store, Upload, UploadOutcome
from dither_server.tally.tally import Tally
from dither_shared import Batch, Entropy, KeyedEntropy, Metric, Report, parse_metrics
from serving import serving

if TYPE_CHECKING:
    import subprocess

TODAY = date(2026, 11, 20)
SHARD = b"s" * 16
COUNTED, DISABLED, EMPTY = UploadOutcome

METRICS_TOML = """
[metrics.theme]
description = "Which theme do people use?"
type = "choice"
mechanism = "randomized-response"
values = ["dark", "light", "=1+1"]
epsilon = 1.0

[metrics.mobile]
type = "boolean"
truth = 0.75

[metrics.version]
type = "string"
epsilon = 2.0
bits = 20
cohorts = 3
candidates = ["1.0", "2.0"]

[metrics.open]
type = "string"
epsilon = 2.0
"""
METRICS = parse_metrics(METRICS_TOML)
THEME, MOBILE, VERSION, OPEN = METRICS.values()

STRATA_TOML = """
[metrics.layout]
type = "choice"
mechanism = "randomized-response"
values = ["tabs", "list"]
epsilon = 2.0
strata = {platform = ["linux", "windows"], channel = ["stable"]}

[metrics.speed]
type = "number"
low = 0
high = 10
unit = "s"
epsilon = 2.0
strata = {platform = ["linux", "windows"]}
"""
STRATA = parse_metrics(STRATA_TOML)
LAYOUT, SPEED = STRATA.values()
"""Metrics of strata: of two attributes with 3 x 2 cells, "other" included, and of one with 3."""

KEPT = parse_metrics("""
[metrics.kept]
description = "How many weeks ago was the app used for the first time?"
type = "choice"
values = ["0", "1", "4"]
of = "weeks-since-first-use"
period = "week"
epsilon = 4.0
""")["kept"]
"""A metric that has retention."""


def ago(days: int) -> date:
    """The day that was so many days before today."""
    return TODAY - timedelta(days=days)


def at_once(work: Callable[..., object], *parts: Any) -> None:
    """Call ``work`` on each of some parts at the same time, in threads, and wait until all have ended."""
    threads = [threading.Thread(target=work, args=(part,)) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def by_kind(store: Store, metric: str) -> Counter[str]:
    """Return how many batches of a metric were refused, by kind; those of no metric of ours have the name ""."""
    kinds: Counter[str] = Counter()
    for refusal, batches in store.refusals.read(metric).items():
        kinds[refusal.kind] += batches
    return kinds


def config(folder: Path, **changed: object) -> Config:
    """A configuration with a database in ``folder`` and a clock that stands still.

    Anyone may read, and Flask's test client is local: it may report.
    """
    settings: dict[str, object] = {"metrics": METRICS, "db": f"sqlite:///{folder}/dither.db", "today": lambda: TODAY}
    access = {"open": frozenset({Role.READ}), "local_address": "127.0.0.1:80"}
    return Config(**settings | access | changed)  # type: ignore[arg-type]  # a test names only what it changes


def rows_of(metric: Metric, count: int, seed: bytes = b"rows", value: object = "light") -> bytes:
    """Rows that devices with the answer ``value`` could send."""
    entropy: Entropy = KeyedEntropy(seed)
    rows = b""
    for _ in range(count):
        item = metric.answers.encode(value).rounded(entropy)
        cohort = metric.mechanism.draw_cohort(entropy)
        payload = metric.mechanism.randomize(item, entropy, cohort)
        rows += Report(cohort, payload).encode(metric.mechanism)
    return rows


def batch(
    metric: Metric = THEME, rows: bytes | None = None, name: str | None = None, stratum: str | None = None
) -> Batch:
    """A batch with a fresh random id, unless it is given one."""
    return Batch(name or secrets.token_hex(16), metric.name, metric.version, rows or rows_of(metric, 3), stratum)


def upload(metric: Metric = THEME, rows: bytes | None = None, name: bytes | None = None, stratum: int = 0) -> Upload:
    """The same, as the store takes it."""
    return Upload(name or secrets.token_bytes(16), metric, rows or rows_of(metric, 3), stratum)


def sealed_upload(
    metric: Metric = THEME, total: int = 500, refused: int = 0, rows: bytes | None = None, stratum: int = 0
) -> Upload:
    """The same of a batch that came sealed; the ids of its rows are random ones."""
    content = rows_of(metric, 3) if rows is None else rows
    ids = tuple(secrets.token_bytes(16) for _ in range(len(content) // metric.mechanism.row_bytes))
    sealing = Sealing(ids, total, refused)
    return Upload(secrets.token_bytes(16), metric, content, stratum, sealing)


def collect(
    store: Store,
    metric: Metric,
    count: int,
    value: object = "light",
    *,
    day: date = TODAY,
    stratum: int = 0,
    seed: bytes = b"rows",
) -> None:
    """Commit reports of devices that all have the answer ``value``."""
    store.commit([upload(metric, rows_of(metric, count, seed, value), stratum=stratum)], day, b"s" * 16)


@contextmanager
def collector(folder: Path, **changed: object) -> Iterator[Flask]:
    """Yield the app of a collector with a database in ``folder``, and close it."""
    app = create_app(config(folder, **changed))
    with closing(collector_of(app)):
        yield app


def same(one: Tally, other: Tally) -> bool:
    """Whether two tallies are equal, bit for bit."""
    return one.reports.tobytes() == other.reports.tobytes() and one.counts.tobytes() == other.counts.tobytes()


def problem(response: TestResponse) -> tuple[int, str]:
    """The status of an error and the end of its type, having checked its form."""
    assert response.headers.getlist("Content-Type") == ["application/problem+json"], response.data
    answer = json.loads(response.data)
    assert set(answer) == {"type", "title", "status", "detail"}
    assert answer["status"] == response.status_code
    return response.status_code, answer["type"].removeprefix("urn:dither:problem:")


@contextmanager
def running(folder: Path, *options: str, toml: str = METRICS_TOML) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """A collector process on ``folder``, open to anyone: its URL, and itself.

    It is killed at the end unless it has ended.
    """
    metrics = folder / "metrics.toml"
    metrics.write_text(toml, encoding="utf-8")
    with serving("dither_server", "--open", "report,read", *options, environment=environment(folder)) as place:
        yield place


def environment(folder: Path) -> Mapping[str, str]:
    """The environment that names the metrics and the database of ``folder``."""
    return {**os.environ, "DITHER_METRICS": f"{folder}/metrics.toml", "DITHER_DB": f"sqlite:///{folder}/dither.db"}
