"""Whatever devices, relays and their crashes do, no batch has two reports of a device.

Devices report as the client's ledger lets them: at most once in each period that their clock shows, never for an
earlier one; a report that waits is sent again, byte for byte, to whichever relay. The collector here keeps all that
relays send; it knows whose row is whose, as no collector does.
"""

import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from datetime import date
from hashlib import shake_128
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from dither_relay.calendar import Calendar
from dither_relay.collector import CollectorClient, PoolList, Receipt, TroubleError
from dither_relay.forwarding.rounds import Rounds, Rules
from dither_relay.store import Arrival, RelayStore
from dither_serving.problems import Problem
from dither_shared.sealed import Pool, SealedBatch, pool_period
from relay.relaying import LENGTH, LIMITS, LISTED, THEME, url_of

START = date(2026, 11, 16).toordinal()
DEVICES, RELAYS, LEAST = 4, 2, 2


class Watcher(CollectorClient):
    """Takes everything, but its answer may be lost."""

    def __init__(self) -> None:
        super().__init__("http://localhost", "", 1)
        self.batches: list[SealedBatch] = []
        self.losses: list[bool] = []

    def listing(self) -> PoolList:
        return PoolList(LISTED, 5, 1 << 20)

    def post(self, body: bytes) -> Receipt:
        self.batches.append(SealedBatch.decode(body))
        if self.losses and self.losses.pop():
            raise TroubleError("lost")
        return Receipt(len(self.batches[-1].split(LENGTH - 48)), 0)


@dataclass
class Device:
    """Draws reports as the ledger says, and keeps them all: it may send each again at any time."""

    number: int
    last: int = 0
    reports: list[Arrival] = field(default_factory=list)

    def report(self, period: str, today: int) -> None:
        pool = THEME._replace(period=pool_period(period, today))
        if pool.days is None and any(one.pool == pool for one in self.reports):
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


REPORT = st.tuples(st.just("report"), st.integers(0, DEVICES - 1), st.sampled_from(["day", "week", "once"]))
SEND = st.tuples(st.just("send"), st.integers(0, DEVICES - 1), st.integers(0, 30), st.integers(0, RELAYS - 1))
HOUR = st.tuples(st.just("hour"), st.integers(0, RELAYS - 1), st.lists(st.booleans(), max_size=2))
PASS = st.tuples(st.just("pass"), st.integers(1, 9))
JUMP = st.tuples(st.just("jump"), st.integers(0, RELAYS - 1), st.integers(-40, 40))
CRASH = st.tuples(st.just("crash"), st.integers(0, RELAYS - 1))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(REPORT, REPORT, SEND, SEND, SEND, HOUR, PASS, JUMP, CRASH), min_size=20, max_size=80))
def test_no_schedule_of_uploads_retries_and_relays_puts_two_reports_of_a_device_into_a_batch(
    events: list[tuple[object, ...]],
) -> None:
    devices, watcher, today = [Device(number) for number in range(DEVICES)], Watcher(), START
    clocks = [0] * RELAYS  # how far each relay's clock is ahead
    with ExitStack() as stack, tempfile.TemporaryDirectory() as temporary:
        folders = [Path(temporary, str(number)) for number in range(RELAYS)]
        stores = []
        for folder in folders:
            folder.mkdir()
            stores.append(stack.enter_context(relay_at(folder)))

        def calendar(relay: int) -> Calendar:
            return Calendar(lambda: date.fromordinal(today + clocks[relay]), 1, 14)

        def forward(relay: int) -> None:
            day = calendar(relay).today()
            rounds = Rounds(stores[relay], watcher, Rules(LEAST, 14, 45), calendar(relay), lambda: day)
            rounds.freeze()
            rounds.post({})
            rounds.tidy()

        for name, *rest in events + [("pass", 9)] + [("hour", relay, []) for relay in range(RELAYS)]:
            match name, rest:
                case "report", [int(device), str(period)]:
                    devices[device].report(period, today)
                case "send", [int(device), int(place), int(relay)] if devices[device].reports:
                    held = devices[device].reports
                    one = held[place % len(held)]
                    try:
                        calendar(relay).require_open(one.pool)
                    except Problem:
                        continue
                    stores[relay].commit([one], calendar(relay).today(), b"")
                case "hour", [int(relay), list(losses)]:
                    watcher.losses = list(losses)
                    forward(relay)
                case "pass", [int(days)]:
                    today += days
                case "jump", [int(relay), int(days)]:
                    clocks[relay] = days
                case "crash", [int(relay)]:
                    stores[relay].close()
                    stores[relay] = stack.enter_context(relay_at(folders[relay]))
    owner = {one.rows: device.number for device in devices for one in device.reports}
    check(watcher, owner)


def check(watcher: Watcher, owner: dict[bytes, int]) -> None:
    """Hold what the collector has seen to the promise: no body, and not even all bodies of a pool, break it."""
    bodies = {batch.batch: batch for batch in watcher.batches}  # a retry has the same bytes
    whole: dict[Pool, list[bytes]] = defaultdict(list)
    for body in bodies.values():
        rows = body.split(LENGTH - 48)
        assert body.total >= LEAST
        assert set(Counter(owner[row] for row in rows).values()) == {1}
        whole[body.pool].extend(rows)
    for rows in whole.values():  # even all batches of a pool together, by whichever relay
        assert set(Counter(owner[row] for row in set(rows)).values()) == {1}
