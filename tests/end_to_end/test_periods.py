"""Fifty clients with clocks right and wrong, a relay and a collector, over five weeks: one report in each batch."""

import threading
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from werkzeug.serving import make_server

import dither
from dither_relay.relay import Relay
from dither_server.access.tokens import Role
from dither_server.app import collector_of, create_app
from dither_server.store import Sealed
from dither_shared import Metric, parse_metrics
from dither_shared.sealed import SealedBatch, SealedReport
from relay.relaying import config as relay_config
from server.collecting import config as collector_config
from server.ingest.sealed.sealing import drawn, keep

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

pytest.importorskip("cryptography.hazmat.primitives.hpke")

CLIENTS, LEAST, WEEKS = 50, 20, 5
MONDAY = date(2026, 11, 16)
TOML = """
[metrics.theme]
type = "choice"
values = ["light", "dark"]
epsilon = 1.0
period = "week"
mixed = {{epsilon = 0.6, least = 20, delta = 0.01}}

[seal]
key = "{key}"
"""


class Time:
    """A clock that shows noon, moved by hand."""

    def __init__(self) -> None:
        self.day = MONDAY

    def now(self) -> datetime:
        return datetime.combine(self.day, datetime.min.time(), UTC) + timedelta(hours=12)


class ToRelay:
    """A transport to a relay in this process, which records the device of each sealed row. Some answers are lost."""

    def __init__(self, relay: Relay, owner: dict[bytes, int], device: int) -> None:
        self.relay, self.owner, self.device, self.lost = relay, owner, device, device % 5 == 0

    def send(self, body: bytes) -> dither.Answer:
        self.owner[SealedReport.decode(body).sealed] = self.device
        environ = {"REQUEST_METHOD": "POST", "CONTENT_TYPE": "application/json", "CONTENT_LENGTH": str(len(body))}
        status, *_ = self.relay.endpoint.respond(environ | {"wsgi.input": BytesIO(body), "REMOTE_ADDR": "127.0.0.1"})
        if self.lost and status == 202:
            self.lost = False
            raise OSError("the answer is lost")
        return dither.Answer(status)


class Moved:
    """A device's calendar: right, ahead or behind by some days, and for some devices set right in the third week."""

    def __init__(self, time: Time, device: int) -> None:
        self.time = time
        self.ahead = {1: 3, 2: -3, 3: 400, 4: -400}.get(device % 10, 0)
        self.until = MONDAY + timedelta(days=16) if device >= CLIENTS // 2 else date.max

    def __call__(self) -> date:
        return self.time.day + timedelta(days=self.ahead if self.time.day < self.until else 0)


@contextmanager
def collecting(app: Any, seen: list[SealedBatch]) -> Iterator[str]:
    """A collector that listens, and records the bodies that relays post."""

    def watched(environ: "WSGIEnvironment", start: "StartResponse") -> Any:
        if environ["REQUEST_METHOD"] == "POST":
            body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
            seen.append(SealedBatch.decode(body))
            environ["wsgi.input"] = BytesIO(body)
        return app(environ, start)

    server = make_server("127.0.0.1", 0, watched)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def live(time: Time, relay: Relay, metrics: dict[str, Metric], owner: dict[bytes, int], folder: Path) -> list[int]:
    """Let all devices answer each day, and the relay forward; return how many reports each device has drawn."""
    clients = [
        dither.Client(
            metrics,
            "http://127.0.0.1:9",
            f"app{device}",
            folder / str(device),
            transport=ToRelay(relay, owner, device),
            today=Moved(time, device),
            background=False,
            environ={},
        )
        for device in range(CLIENTS)
    ]
    for client in clients:
        client.consent("on")
    for _ in range(7 * WEEKS + 3):
        for device, client in enumerate(clients):
            if time.day < MONDAY + timedelta(days=7 * WEEKS) and (time.day.toordinal() + device) % 3 == 0:
                client.record("theme", "dark")
                client.flush(60)
        relay.forwarder.beat()
        time.day += timedelta(days=1)
    for client in clients:
        client.close()
    return [sum(1 for one in set(owner.values()) if one == device) for device in range(CLIENTS)]


def test_no_batch_has_two_reports_of_a_device_whatever_clocks_show(tmp_path: Path) -> None:
    key, time, seen = drawn(), Time(), list[SealedBatch]()
    owner: dict[bytes, int] = {}
    keep(tmp_path / "seal-keys.json", key)
    metrics = parse_metrics(TOML.format(key=key.public))
    theme = metrics["theme"]
    app = create_app(collector_config(tmp_path, metrics=metrics, today=lambda: time.day, open=frozenset({Role.REPORT})))
    with (
        collecting(app, seen) as url,
        Relay(relay_config(tmp_path, url, batch=2, now=time.now)) as relay,
    ):
        relay.pools.refresh()
        relay.forwarder.beat()
        live(time, relay, metrics, owner, tmp_path)
        (held,) = (pool for pool in relay.store.held() if pool.is_named)
        refused = relay.numbers.text([]).decode()
    collector_of(app).close()
    assert 'reason="pool-closed"' in refused  # devices that live a year ago
    assert 'reason="unknown-pool"' in refused  # and those of next year
    whole: dict[str, list[bytes]] = defaultdict(list)
    for batch in seen:
        rows = batch.split(theme.mechanism.row_bytes)
        assert batch.total == len(rows) >= LEAST
        assert max(Counter(owner[row] for row in rows).values()) == 1
        whole[batch.pool.period] += rows
    weeks = [f"week-{MONDAY + timedelta(days=7 * number)}" for number in range(WEEKS)]
    assert [*whole] == weeks
    store = collector_of(app).store
    for number, week in enumerate(weeks):
        assert len(whole[week]) >= 0.6 * CLIENTS
        until = MONDAY + timedelta(days=7 * number)
        assert store.tally(theme, since=until, until=until).total == len(whole[week])
    assert store.sealed(theme) == Sealed(WEEKS, held.forwarded, min(map(len, whole.values())), 0)
