"""A year of data and readers who ask for all of it: the time of each question, and the wait of a small one."""

import http.client
import threading
import time
from contextlib import closing
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

from dither_server.store import Store
from dither_server.store.uploads import add_counts
from dither_server.tally.blocks import Blocks, no_blocks
from dither_server.tally.tally import Tally
from dither_shared import Mechanism, Metric, parse_metrics
from dither_simulations.samplers import sample_tally
from dither_simulations.users.populations import Population
from server.collecting import METRICS_TOML, TODAY, running
from server.test_process import PATIENCE

__all__ = ["DISCOVERY", "EVERYTHING", "STRINGS", "Answered", "greedy_readers"]

DISCOVERY, EVERYTHING = "/v1/metrics/typed/estimate", "/"
STRINGS = "/v1/metrics/plugin/estimate?by_day=true&top=1"
SMALL = "/v1/metrics/theme/estimate"

_TOML = """
[metrics.plugin]
type = "string"
epsilon = 2.0
candidates = [{candidates}]

[metrics.typed]
type = "string"
epsilon = 4.0
discover = {{alphabet = "a-z", length = 12}}
"""
_TYPED = ("git", "commit", "push", "pull", "status", "log", "diff", "branch", "merge", "rebase")
_GREEDY = 4


@dataclass
class Answered:
    """Seconds that answers took: of each question at first and again, and of a small one beside greedy readers."""

    first: dict[str, float] = field(default_factory=dict)
    again: dict[str, float] = field(default_factory=dict)
    small: list[float] = field(default_factory=list)
    statuses: set[int] = field(default_factory=set)


def greedy_readers(
    folder: Path, days: int, users: int = 10_000, candidates: int = 2_000, seconds: float = 10
) -> Answered:
    """Ask a collector for all its days of reports, then ask a small question beside four who ask only large ones."""
    toml = _fill(folder, days, users, candidates)
    seen, done = Answered(), threading.Event()
    with running(folder, toml=toml) as (url, process):
        _until_closed(folder, toml)
        _get(url, f"{SMALL}?confidence=0.9")  # loads modules once, which is no cost of an answer
        for path in (DISCOVERY, EVERYTHING, STRINGS):
            seen.first[path], seen.again[path] = _get(url, path)[0], min(_get(url, path)[0] for _ in range(3))
        greedy = [threading.Thread(target=_greedy, args=(url, days, number, done)) for number in range(_GREEDY)]
        for thread in greedy:
            thread.start()
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            took, status = _get(url, f"{SMALL}?confidence={0.5 + 0.4 * (time.monotonic() % 1):.9f}")
            seen.small.append(took)
            seen.statuses.add(status)
        done.set()
        for thread in greedy:
            thread.join(PATIENCE)
        process.terminate()
        process.communicate(timeout=PATIENCE)
    return seen


def _greedy(url: str, days: int, number: int, done: threading.Event) -> None:
    """Ask for another large answer each time, so that none is remembered."""
    turn = number
    while not done.is_set():
        since = TODAY - timedelta(days=days - turn % max(1, days // 2))
        path = f"{STRINGS}&" if turn % 2 else f"{DISCOVERY}?"
        _get(url, f"{path}since={since}&confidence=0.{turn:03}1")
        turn += _GREEDY


def _get(url: str, path: str) -> tuple[float, int]:
    """Return the seconds to the whole answer, and its status."""
    address, start = urlsplit(url), time.monotonic()
    with closing(http.client.HTTPConnection(str(address.hostname), address.port, timeout=PATIENCE)) as connection:
        connection.request("GET", path)
        response = connection.getresponse()
        response.read()
    return time.monotonic() - start, response.status


def _until_closed(folder: Path, toml: str) -> None:
    """Wait until the collector has closed the days that are over."""
    with closing(Store(f"sqlite:///{folder}/dither.db", create=False)) as store:
        for metric in parse_metrics(toml).values():
            while store.days.open(metric.version, TODAY - timedelta(days=8)):
                time.sleep(0.1)


def _fill(folder: Path, days: int, users: int, candidates: int) -> str:
    listed = ", ".join(f'"p{number}"' for number in range(candidates))
    toml = METRICS_TOML + _TOML.format(candidates=listed)
    metrics = parse_metrics(toml)
    rng = np.random.default_rng(20261123)
    with closing(Store(f"sqlite:///{folder}/dither.db")) as store:
        store.register(metrics.values())
        for name in ("plugin", "typed", "theme"):
            metric = metrics[name]
            labels = metric.labels or tuple(_item(metric, text) for text in _TYPED)
            for day in range(days):
                people = Population.drawn(labels, 1 / np.arange(1.0, len(labels) + 1), users, rng)
                tally = sample_tally(metric.mechanism, people, rng)
                key = {
                    "version": metric.version,
                    "day": TODAY - timedelta(days=day + 1),
                    "stratum": 0,
                    "shard": b"t" * 16,
                }
                with store._transaction(write=True) as connection:  # noqa: SLF001
                    add_counts(connection, key, _blocks(metric.mechanism, tally))
    return toml


def _item(metric: Metric, text: str) -> str:
    item = metric.item(text)
    assert isinstance(item, bytes)
    return item.decode("ascii")


def _blocks(mechanism: Mechanism, tally: Tally) -> Blocks:
    """Return the blocks of a tally in which something is counted."""
    blocks = no_blocks(mechanism)
    reports, width = -(-mechanism.cohorts // blocks.shape[1]), blocks.shape[1]
    flat = blocks.reshape(-1)
    flat[: mechanism.cohorts] = tally.reports
    flat[reports * width :][: tally.counts.size] = tally.counts.ravel()
    numbers = np.flatnonzero(blocks.any(axis=1))
    return Blocks(numbers, blocks[numbers])
