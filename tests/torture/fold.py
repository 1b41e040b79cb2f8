"""Collectors that spool to one place, clients that retry at another, folds: all killed, again and again.

An acknowledged batch is counted once, whichever collectors got it, and however often its fold was killed.
"""

import os
import random
import signal
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from dither_server.store import Store
from dither_shared import Batch, Metric
from dither_spool.fold import FoldStep
from dither_spool.layout import SpoolLayout
from forkserver import start
from server.collecting import (
    COUNTED,
    LAYOUT,
    METRICS_TOML,
    SPEED,
    STRATA_TOML,
    THEME,
    TODAY,
    VERSION,
    batch,
    environment,
    rows_of,
    same,
    upload,
)
from server.database import url_of
from server.test_process import PATIENCE
from spool.spooling import FILLED
from torture.devices import post
from torture.folding import WRITE, Cluster, Command

__all__ = ["Seen", "fold_rounds"]

_ANSWERS = {THEME: "light", VERSION: "1.0", LAYOUT: "list", SPEED: 3.0}

_COLLECTORS = 3
_CLIENTS = 4

_PLACES = [*(step.name for step in FoldStep), WRITE]
"""Where the command is killed, in turn."""

_OFTEN = {
    FoldStep.FOLDED.name: 12,
    FoldStep.ADDED.name: 12,
    FoldStep.REMEMBERED.name: 12,
    FoldStep.DELETED.name: 4,
    WRITE: 40,
}
"""How often a fold comes there, about; elsewhere once."""

_BATCHES = 15
"""Fresh batches of each metric that are sent at a time."""

_TOGETHER = 5
"""Rounds between two comparisons."""

_WAYS: Sequence[Sequence[str]] = ((), ("--jobs", "2"), ("--scheduler",))
_PROCESSES, _CLUSTER = 1, 2
"""Ways to share the work of a fold; the first is not to."""

_AT_WORK = [FoldStep.FOLDED.name, FoldStep.ADDED.name, FoldStep.REMEMBERED.name]
"""Where others are killed: a fold then wants more of them."""


class Seen(NamedTuple):
    """Totals: reports sent, deliveries of their batches, kills by what was killed, tallies compared."""

    reports: int
    deliveries: int
    kills: Counter[str]
    tallies: int


class _Collector:
    """A collector process, which is killed and begun again; it keeps its place among the others."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.begin()

    def begin(self) -> None:
        command = ["-m", "dither_server", "run", "--port", "0", "--open", "report,read"]
        command += ["--spool", str(self.folder / "spool"), "--spool-bytes", "1500"]
        with (self.folder / "collectors.log").open("a", encoding="utf-8") as log:
            self.process = start(*command, stdout=subprocess.PIPE, stderr=log, env=environment(self.folder))
        self.url = ""

    def wait(self) -> None:
        """Wait until it listens."""
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()
        assert self.url.startswith("http"), (self.folder / "collectors.log").read_text("utf-8")

    def end(self, *, kill: bool) -> None:
        """Kill it, or ask it to end, and wait for that."""
        (self.process.kill if kill else self.process.terminate)()
        self.process.communicate(timeout=PATIENCE)


class _Client(threading.Thread):
    """Sends batches, each to a collector and a third of them to another too; without an answer it tries the next."""

    def __init__(
        self,
        batches: Sequence[Batch],
        collectors: Sequence[_Collector],
        seed: float,
        acks: threading.Semaphore,
    ) -> None:
        super().__init__()
        self.batches = batches
        self.collectors = collectors
        self.chance = random.Random(seed)
        self.acks = acks
        self.deliveries = 0
        self.failed: Exception | None = None

    def run(self) -> None:
        try:
            for one in self.batches:
                turns = self.chance.sample(range(_COLLECTORS), _COLLECTORS)
                self._deliver(one.encode(), turns, 2 if self.chance.random() < 1 / 3 else 1)
        except Exception as error:
            self.failed = error  # raised where this thread is joined

    def _deliver(self, body: bytes, turns: Sequence[int], times: int) -> None:
        for turn in [*turns, *turns]:
            response = post(url, body) if (url := self.collectors[turn].url) else None
            if response is None:
                continue
            assert response.status == 202, response.status
            self.deliveries += 1
            self.acks.release()
            times -= 1
            if not times:
                return
        raise AssertionError("no collector answers")


class _Torture:
    """Rounds on one spool and one database, beside a database that gets the same uploads, once."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.chance = random.Random(seed)
        (folder / "metrics.toml").write_text(METRICS_TOML + STRATA_TOML, encoding="utf-8")
        (folder / "once").mkdir()
        self.once = Store(url_of(folder / "once"))
        self.once.register(list(_ANSWERS))
        self.cluster = Cluster(folder / "cluster.log")
        self.sent: list[Batch] = []
        self.kills: Counter[str] = Counter()
        self.reports = self.deliveries = self.tallies = 0

    def rounds(self, numbers: Sequence[int], *, kill: bool) -> None:
        """Run some rounds; then kill all collectors, or ask them to end, fold the rest, and compare."""
        collectors = [_Collector(self.folder) for _ in range(_COLLECTORS)]
        try:
            for collector in collectors:
                collector.wait()
            for number in numbers:
                self._round(number, collectors)
        finally:
            for collector in collectors:
                collector.end(kill=kill)
        self.kills["collector"] += kill * _COLLECTORS
        assert Command(self.folder).go_on()
        self._compare()

    def _round(self, number: int, collectors: Sequence[_Collector]) -> None:
        """Send, and kill a collector; fold, and kill the command; fold, and kill a process that shares its work."""
        first, second = self.chance.sample(collectors, 2)
        with self._sending(collectors) as acks:
            self._kill_collector(first, acks)
        where = _PLACES[number % len(_PLACES)]
        command = self._fold(where, number % len(_WAYS))
        first.wait()
        with self._sending(collectors) as acks:
            self._kill_collector(second, acks)
        if command.stopped:
            command.kill()
            self.kills[f"command at {where}"] += 1
        else:
            command.go_on()
        self._kill_helper(number % 3)
        second.wait()

    def close(self) -> None:
        self.cluster.close()
        self.once.close()

    @contextmanager
    def _sending(self, collectors: Sequence[_Collector]) -> Iterator[threading.Semaphore]:
        """Let clients send fresh batches, and some that were counted long ago; end when they have."""
        fresh = [self._fresh(metric) for metric in _ANSWERS for _ in range(_BATCHES)]
        again = self.chance.sample(self.sent, min(len(self.sent), _BATCHES))
        self.sent += fresh
        batches = self.chance.sample([*fresh, *again], len(fresh) + len(again))
        acks = threading.Semaphore(0)
        clients = [
            _Client(batches[place::_CLIENTS], collectors, self.chance.random(), acks) for place in range(_CLIENTS)
        ]
        for client in clients:
            client.start()
        failed: list[Exception] = []
        try:
            yield acks
        except AssertionError as error:
            failed.append(error)
        for client in clients:
            client.join(10 * PATIENCE)
            failed += [] if client.failed is None else [client.failed]
            self.deliveries += client.deliveries
        if failed:
            raise ExceptionGroup("not all was sent", failed)

    def _fresh(self, metric: Metric) -> Batch:
        """Draw a batch, and count it in the database of expected counts."""
        rows = rows_of(metric, self.chance.choice((1, 1, 1, 9)), self.chance.randbytes(16), _ANSWERS[metric])
        place = self.chance.randrange(len(metric.strata.labels)) if metric.strata else 0
        one = upload(metric, rows, bytes([self.chance.choice(FILLED)]) + self.chance.randbytes(15), place)
        assert self.once.commit([one], TODAY, bytes(16)) == [COUNTED]
        self.reports += len(rows) // metric.mechanism.row_bytes
        return batch(metric, rows, one.batch.hex(), metric.strata.labels[place] if metric.strata else None)

    def _kill_collector(self, one: _Collector, acks: threading.Semaphore) -> None:
        """Kill a collector when some batches are acknowledged, and begin it again."""
        for _ in range(self.chance.randrange(1, 2 * _BATCHES)):
            assert acks.acquire(timeout=10 * PATIENCE)
        one.end(kill=True)
        self.kills["collector"] += 1
        one.begin()

    def _kill_helper(self, turn: int) -> None:
        """Stop a fold at work; kill a worker of the cluster, the scheduler or a process of its own; let it go on."""
        command = self._fold(self.chance.choice(_AT_WORK), (_CLUSTER, _CLUSTER, _PROCESSES)[turn])
        if command.stopped:
            kinds = {
                "worker of the cluster": [worker.pid for worker in self.cluster.workers],
                "scheduler": [one.pid for one in self.cluster.scheduler],
                "process of a fold": command.processes(),
            }
            name, processes = list(kinds.items())[turn]
            os.kill(self.chance.choice(processes), signal.SIGKILL)
            self.kills[name] += 1
        command.go_on()

    def _fold(self, where: str, way: int) -> Command:
        """Begin a fold that stops at a place."""
        options = _WAYS[way]
        if way == _CLUSTER:
            self.cluster.start()
            options = (*options, self.cluster.address)
        return Command(self.folder, where, self.chance.randint(1, _OFTEN.get(where, 1)), options)

    def _compare(self) -> None:
        """Assert that nothing is left to fold, and that each tally is that of the database that got all once."""
        backlog = SpoolLayout.at(str(self.folder / "spool")).backlog()
        assert backlog[:3] == (0, 0, 0), backlog
        with closing(Store(url_of(self.folder), create=False)) as store:
            for metric in _ANSWERS:
                places = self.once.history(metric).strata()
                assert store.history(metric).strata() == places, metric.name
                for place in places:
                    found, right = (one.tally(metric, places=(place,)) for one in (store, self.once))
                    assert same(found, right), (metric.name, place)
                    self.tallies += 1


def fold_rounds(folder: Path, rounds: int, seed: int = 1) -> Seen:
    """Run ``rounds`` rounds and return the totals. Raises AssertionError for the first tally that is wrong."""
    with closing(_Torture(folder, seed)) as torture:
        for begun in range(0, rounds, _TOGETHER):
            torture.rounds(range(begun, min(begun + _TOGETHER, rounds)), kill=begun // _TOGETHER % 2 == 0)
        return Seen(torture.reports, torture.deliveries, torture.kills, torture.tallies)
