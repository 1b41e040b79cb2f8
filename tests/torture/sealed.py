"""Sealed reports through a relay and a collector, one of which is killed in each round: each is counted once.

The relay is killed amid arrivals, within its hour, or within ``dither-relay forward``: at any call or return of Python
from freezing to when the last body has left. The collector is killed some moments after a body is on its way to it.
"""

import http.client
import random
import signal
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import sqlalchemy as sa

from dither_relay.store import RelayStore
from dither_server.store import Store
from dither_server.tally.tally import Tally
from dither_shared import Metric
from dither_shared.sealed import SealedReport
from end_to_end.searching import Needles, disk
from ports import kept_port
from relay.relaying import ask, until_ready
from server.collecting import LAYOUT, THEME, same
from server.database import connected
from server.ingest.sealed.sealing import drawn
from server.test_process import PATIENCE
from torture.relays import BATCH, Collecting, Forwarding, Place, Relaying, no_hour, sealed_report, write_keys

_POOLS: Sequence[tuple[Metric, str, str | None, str]] = [
    (THEME, "x25519", None, "light"),
    (THEME, "xwing", None, "light"),
    (LAYOUT, "x25519", "linux/stable", "list"),
]
"""Of each pool the metric, the suite, the stratum, and the answer of all devices."""

_FRESH = 30
"""Fresh reports of each pool in a round."""

_DEVICES = 4
_MOMENTS = 0.2
"""Seconds, at most, from a body on its way to the collector's death. All bodies of a round take about as long."""

_TRIES = 30

_WAYS = ("relay amid arrivals", "collector", "relay in its hour", "collector", "forward", "collector")
"""The process to kill, round by round."""


class Seen(NamedTuple):
    """Totals: reports, acknowledged deliveries, kills by what was killed and when."""

    reports: int
    deliveries: int
    kills: Counter[str]


class _Torture:
    """Rounds on one relay and one collector."""

    def __init__(self, collecting: Place, relaying: Place, seed: int, port: int) -> None:
        self.chance = random.Random(seed)
        self.collecting, self.relaying = collecting, relaying
        self.keys = {suite: drawn(suite) for suite in ("x25519", "xwing")}
        for place in (collecting, relaying):
            place.folder.mkdir()
        write_keys(collecting, list(self.keys.values()), self.keys["x25519"])
        self.at = no_hour()
        self.rows: dict[Metric, list[bytes]] = {THEME: [], LAYOUT: []}
        self.sealed: list[bytes] = []
        self.again: list[bytes] = []
        self.kills: Counter[str] = Counter()
        self.deliveries = 0
        self.places = 1
        self.port = port
        self.collector = Collecting(self.collecting, self.port)
        self.relay = self._relay()
        until_ready(self.relay.url)

    def round(self, number: int) -> None:
        """Kill one of the processes in its way, and deliver and forward what it had not done."""
        way = _WAYS[number % len(_WAYS)]
        bodies = self._fresh()
        if way == "relay amid arrivals":
            bodies = self._kill_amid_arrivals(bodies)
        elif way == "relay in its hour":
            bodies = self._kill_in_its_hour(bodies)
        else:
            bodies = self._deliver(bodies)
            self._kill_amid_forwarding(way)
        self._finish(bodies)

    def _kill_amid_arrivals(self, bodies: Sequence[bytes]) -> list[bytes]:
        acknowledgements = threading.Semaphore(0)
        with self._sending(bodies, acknowledgements) as left:
            for _ in range(self.chance.randrange(1, len(bodies))):
                assert acknowledgements.acquire(timeout=PATIENCE)
            self._kill("relay amid arrivals")
        self.relay = self._relay()
        return left

    def _kill_in_its_hour(self, bodies: Sequence[bytes]) -> list[bytes]:
        """Let devices send, and others while the relay makes up for an hour that it has missed."""
        left = self._deliver(bodies)
        self._kill("relay at rest")
        self.relay = self._relay(missed=True, dies=self._place())
        with self._sending(self._fresh(), threading.Semaphore(0)) as more:
            if not self.relay.round_ends():
                assert self.relay.ended() == -signal.SIGKILL
                self.kills[f"relay in its hour, {self.relay.how_far}"] += 1
        if self.relay.process.poll() is not None:
            self.relay = self._relay()
        return left + more

    def _kill_amid_forwarding(self, way: str) -> None:
        if way == "forward":
            forward = Forwarding(self.relaying, self.collector.url, self._place())
            if forward.result() == -signal.SIGKILL:
                self.kills[f"forward, {forward.how_far}"] += 1
            return
        forward = self._begun_posting()
        threading.Event().wait(self.chance.uniform(0, _MOMENTS))
        self.collector.end(signal.SIGKILL)
        self.kills["collector, all bodies taken" if forward.result() == 0 else "collector amid bodies"] += 1
        self.collector = Collecting(self.collecting, self.port)

    def _begun_posting(self) -> Forwarding:
        for _ in range(_TRIES):
            forward = Forwarding(self.relaying, self.collector.url)
            if forward.line() == "posting":
                return forward
            forward.result()  # the relay was at it; there is always more
        raise AssertionError((self.relaying.folder / "relay.log").read_text("utf-8"))

    def _place(self) -> int:
        """Draw one of as many places as the longest round had that nobody killed."""
        return self.chance.randint(1, self.places)

    def _finish(self, bodies: Sequence[bytes]) -> None:
        for _ in range(_TRIES):
            if not (bodies := self._deliver(bodies)):
                break
        assert not bodies
        for _ in range(_TRIES):
            forward = Forwarding(self.relaying, self.collector.url)
            if forward.result() == 0:  # else the relay itself forwards now
                self.places = max(self.places, forward.places)
                return
        raise AssertionError((self.relaying.folder / "relay.log").read_text("utf-8"))

    def _fresh(self) -> list[bytes]:
        """Draw and seal reports; a third of them comes twice, at once or in the next round."""
        fresh = []
        for metric, suite, stratum, answer in _POOLS:
            for _ in range(_FRESH):
                row, body = sealed_report(self.chance, metric, self.keys[suite], stratum, answer)
                self.rows[metric].append(row)
                self.sealed.append(SealedReport.decode(body).sealed)
                fresh.append(body)
        twice = self.chance.sample(fresh, len(fresh) // 3)
        half = len(twice) // 2
        bodies = [*fresh, *twice[:half], *self.again]
        self.again = twice[half:]
        return self.chance.sample(bodies, len(bodies))

    def _deliver(self, bodies: Sequence[bytes]) -> list[bytes]:
        with self._sending(bodies, threading.Semaphore(0)) as left:
            pass
        return left

    @contextmanager
    def _sending(self, bodies: Sequence[bytes], acknowledgements: threading.Semaphore) -> Iterator[list[bytes]]:
        """Let devices send these; at the end the list has the unacknowledged ones."""
        left: list[bytes] = []
        url = self.relay.url

        def device(some: Sequence[bytes]) -> None:
            for body in some:
                if _status(url, body) == 202:
                    acknowledgements.release()
                else:
                    left.append(body)

        devices = [threading.Thread(target=device, args=(bodies[place::_DEVICES],)) for place in range(_DEVICES)]
        for one in devices:
            one.start()
        try:
            yield left
        finally:
            for one in devices:
                one.join(10 * PATIENCE)
        self.deliveries += len(bodies) - len(left)

    def _kill(self, what: str) -> None:
        assert self.relay.end(signal.SIGKILL) == -signal.SIGKILL
        self.kills[what] += 1

    def _relay(self, *, missed: bool = False, dies: int = 0) -> Relaying:
        return Relaying(self.relaying, self.collector.url, self.at, missed=missed, dies=dies)

    def compare(self) -> None:
        """End both, and assert that each report was counted once and that the relay keeps no more than its digest."""
        self._finish(self._fresh() + self.again)
        assert self.relay.end(signal.SIGTERM) == 0
        assert self.collector.end(signal.SIGTERM) == 0
        with closing(Store(self.collecting.url, create=False)) as store:
            for metric, rows in self.rows.items():
                assert same(store.tally(metric), Tally.fold(metric.mechanism, b"".join(rows))), metric.name
                totals = store.sealed(metric)
                assert totals is not None
                assert (totals.reports, totals.refused) == (len(rows), 0)
                assert totals.least_total >= BATCH
        with closing(RelayStore(self.relaying.url, create=False)) as held:
            counts = [(pool.waiting, pool.frozen, pool.unread, pool.dropped) for pool in held.held()]
            assert set(counts) == {(0, 0, 0, 0)}, counts
            assert sum(pool.forwarded for pool in held.held()) == len(self.sealed)
        with connected(self.relaying.url) as database:
            assert database.scalar(sa.text("SELECT count(*) FROM relay_forwarded")) == len(self.sealed)
        assert Needles(self.sealed).found(disk(self.relaying.folder)) == set()

    def close(self) -> None:
        for process in (self.relay, self.collector):
            process.end(signal.SIGKILL)


def _status(url: str, body: bytes) -> int:
    try:
        return ask(url, "POST", "/v1/sealed", body)[0]
    except (OSError, http.client.HTTPException):
        return 0


def sealed_rounds(folder: Path, rounds: int, seed: int = 1, urls: tuple[str | None, str | None] = (None, None)) -> Seen:
    """Run ``rounds`` rounds and return the totals. Raises AssertionError unless each report is counted once.

    ``urls`` are of databases for collector and relay; without them each has one in its own folder, which is searched.
    """
    collecting, relaying = Place.collector(folder / "collector", urls[0]), Place.relay(folder / "relay", urls[1])
    with kept_port() as port, closing(_Torture(collecting, relaying, seed, port)) as torture:
        for number in range(rounds):
            torture.round(number)
        torture.compare()
        return Seen(len(torture.sealed), torture.deliveries, torture.kills)
