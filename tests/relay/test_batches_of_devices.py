"""Whatever devices, relays and their crashes do, no batch has two reports of a device.

Devices report as the client's ledger lets them: at most once in each period that their clock shows, never for an
earlier one; a report that waits is sent again, byte for byte, to any relay. The collector here keeps all
bodies of relays, and knows the device of each row, as no real collector does.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from hashlib import shake_128
from pathlib import Path

import pytest

from dither_relay.collector import CollectorClient, TroubleError
from dither_relay.config import RelayConfig
from dither_relay.forwarding import Rounds
from dither_relay.store import Arrival, ListedPool, RelayStore
from dither_serving.problems import Problem
from dither_shared.sealed import Pool, SealedBatch, pool_period
from relay.relaying import LENGTH, LIMITS, LISTED, THEME, config, url_of

START = date(2026, 11, 16).toordinal()
DEVICES, RELAYS, LEAST = 8, 2, 2


class Watcher(CollectorClient):
    """A collector that takes everything, but whose answer may be lost."""

    def __init__(self) -> None:
        super().__init__("http://localhost", "", 1)
        self.batches: list[SealedBatch] = []
        self.losses: list[bool] = []

    def listing(self) -> tuple[list[ListedPool], dict[str, int]]:
        return LISTED, {"batch_limit": 5, "body_limit": 1 << 20}

    def post(self, body: bytes, reports: int) -> int:
        self.batches.append(SealedBatch.decode(body))
        if self.losses and self.losses.pop():
            raise TroubleError("lost")
        assert reports == len(self.batches[-1].split(LENGTH - 48))
        return 0


@dataclass
class Device:
    """A device that draws reports as the ledger allows, and keeps them all: it may send each again at any time."""

    number: int
    last: int = 0
    reports: list[Arrival] = field(default_factory=list)

    def report(self, period: str, today: int) -> None:
        pool = THEME._replace(period=pool_period(period, today))
        if pool.days is None and any(report.pool == pool for report in self.reports):
            return
        if pool.days is not None and pool.days.start <= self.last:
            return
        self.last = max(self.last, today)
        row = shake_128(f"{self.number} {len(self.reports)}".encode()).digest(LENGTH)
        self.reports.append(Arrival(1, pool, row))


@contextmanager
def relay_at(folder: Path) -> Iterator[RelayStore]:
    with closing(RelayStore(url_of(folder))) as store:
        store.list_pools(LISTED, LIMITS | {"batch_limit": 3})
        yield store


class World:
    """Relays, devices and a collector, each of whose moves is drawn by a seed."""

    def __init__(self, folder: Path, seed: int, stack: ExitStack) -> None:
        self.chance = random.Random(seed)
        self.watcher = Watcher()
        self.devices = [Device(number) for number in range(DEVICES)]
        self.today = START
        self.ahead = [0] * RELAYS  # days by which the clock of each relay is wrong
        self.folders = [folder / str(number) for number in range(RELAYS)]
        self._stack = stack
        for one in self.folders:
            one.mkdir()
        self.stores = [stack.enter_context(relay_at(folder)) for folder in self.folders]

    def config(self, relay: int) -> RelayConfig:
        day = datetime.fromordinal(self.today + self.ahead[relay]).replace(tzinfo=UTC)
        return config(self.folders[relay], "http://collector", batch=LEAST, now=lambda: day)

    def send(self, device: Device, relay: int) -> None:
        """Send one of the last reports, or one that was sent long ago."""
        one = self.chance.choice(device.reports[-3:] if self.chance.random() < 0.8 else device.reports)
        with suppress(Problem):
            self.config(relay).require_open(one.pool)
            self.stores[relay].commit([one], self.config(relay).today(), b"")

    def forward(self, relay: int) -> None:
        self.watcher.losses = [self.chance.random() < 0.2 for _ in range(3)]
        rounds = Rounds(self.config(relay), self.stores[relay], self.watcher)
        rounds.freeze()
        rounds.post({})
        rounds.tidy()

    def crash(self, relay: int) -> None:
        self.stores[relay].close()
        self.stores[relay] = self._stack.enter_context(relay_at(self.folders[relay]))

    def day(self) -> None:
        for device in self.devices:
            if self.chance.random() < 0.7:
                device.report(self.chance.choice(["day", "week", "once"]), self.today)
            for _ in range(self.chance.randrange(3)):
                if device.reports:
                    self.send(device, self.chance.randrange(RELAYS))
        for relay in range(RELAYS):
            if self.chance.random() < 0.1:
                self.ahead[relay] = self.chance.choice([0, 0, -20, -1, 1, 20])
            if self.chance.random() < 0.1:
                self.crash(relay)
            if self.chance.random() < 0.5:
                self.forward(relay)
        self.today += self.chance.choice([0, 1, 1, 2])


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 6))])
def test_no_schedule_of_uploads_retries_and_relays_puts_two_reports_of_a_device_into_a_batch(
    seed: int, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        world = World(tmp_path, seed, stack)
        for _ in range(60):
            world.day()
    owner = {report.rows: device.number for device in world.devices for report in device.reports}
    assert len(world.watcher.batches) > 10
    assert len({batch.pool for batch in world.watcher.batches}) > 5
    check(world.watcher, owner)


def check(watcher: Watcher, owner: dict[bytes, int]) -> None:
    """Assert the promise on all that the collector received: for each body, and for all bodies of a pool together."""
    bodies = {batch.batch: batch for batch in watcher.batches}  # a retry has the same bytes
    whole: dict[Pool, list[bytes]] = defaultdict(list)
    for body in bodies.values():
        rows = body.split(LENGTH - 48)
        assert body.total >= LEAST
        assert set(Counter(owner[row] for row in rows).values()) == {1}
        whole[body.pool].extend(rows)
    for rows in whole.values():  # even all batches of a pool together, by whichever relay
        assert set(Counter(owner[row] for row in set(rows)).values()) == {1}
