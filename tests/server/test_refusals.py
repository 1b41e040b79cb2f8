"""Refused batches: counted in memory, written seldom, told by metric, day and kind."""

from collections.abc import Mapping
from datetime import date, timedelta

import pytest
from flask import Flask
from flask.testing import FlaskClient

from dither_server.app import collector_of
from dither_server.refusals import Refusals
from dither_server.store import Refusal, Store, StoreError
from server.collecting import TODAY, batch

TOMORROW = TODAY + timedelta(days=1)


class Written:
    """What reached the database, which may be away."""

    def __init__(self) -> None:
        self.writes: list[dict[Refusal, int]] = []
        self.failure: Exception | None = None

    def add_refusals(self, refused: Mapping[Refusal, int], shard: bytes) -> None:
        if self.failure is not None:
            raise self.failure
        self.writes.append(dict(refused))


def test_a_flood_is_written_once_and_not_at_once() -> None:
    now, days, written = [0.0], [TODAY], Written()
    refusals = Refusals(lambda: days[-1], lambda: now[-1])
    assert refusals.pause() is None
    firsts = [refusals.add("theme", "malformed") for _ in range(500)]
    now.append(4.0)
    days.append(TOMORROW)
    firsts += [refusals.add("theme", "malformed")]
    assert firsts == [True] + [False] * 500
    assert refusals.pause() == 6.0
    now.append(11.0)
    assert refusals.pause() == 0.0
    refusals.write(written, b"")
    assert written.writes == [{Refusal("theme", TODAY, "malformed"): 500, Refusal("theme", TOMORROW, "malformed"): 1}]
    assert refusals.pause() is None
    refusals.write(written, b"")
    assert len(written.writes) == 1
    assert refusals.add("theme", "malformed")


@pytest.mark.parametrize("failure", [StoreError("database: locked"), ArithmeticError()])
def test_what_cannot_be_written_is_kept_and_tried_later(failure: Exception) -> None:
    now, written = [0.0], Written()
    refusals = Refusals(lambda: TODAY, lambda: now[-1])
    refusals.add("", "malformed")
    now.append(10.0)
    written.failure = failure
    refusals.write(written, b"")
    assert refusals.pause() == 10.0
    refusals.add("", "malformed")
    written.failure = None
    refusals.write(written, b"")
    assert written.writes == [{Refusal("", TODAY, "malformed"): 2}]


def test_counts_add_up_over_writes_shards_and_days(store: Store) -> None:
    for day, shard in ((TODAY, b"a" * 16), (TODAY, b"b" * 16), (TOMORROW, b"a" * 16), (TODAY, b"a" * 16)):
        store.add_refusals({Refusal("theme", day, "malformed"): 3, Refusal("", day, "too-large"): 1}, shard)
    store.add_refusals({Refusal("theme", TODAY, "batch-conflict"): 5}, b"a" * 16)
    assert store.refusals("theme") == {"batch-conflict": 5, "malformed": 12}
    assert store.refusals("theme", TOMORROW) == {"malformed": 3}
    assert store.refusals("theme", until=TODAY) == {"batch-conflict": 5, "malformed": 9}
    assert store.refusals("") == {"too-large": 4}
    assert store.refusals("mobile", date(2026, 1, 1), TOMORROW) == {}


def test_a_collector_counts_what_it_refuses(client: FlaskClient, app: Flask) -> None:
    good = batch()
    bodies = [good.encode(), b"{", good.encode()[:-1] + b" }", batch(rows=b"\xff").encode()]
    bodies += [batch(rows=b"\x00", name=good.batch).encode(), batch(rows=b"\x00" * 1001).encode()]
    bodies += [batch().encode().replace(b"theme", b"stranger")] * 2
    for body in bodies:
        client.post("/v1/reports", data=body, content_type="application/json")
    client.post("/v1/reports", data=bodies[0], content_type="text/plain")
    store = collector_of(app).store
    assert store.refusals("theme") == {}
    collector_of(app).close()
    assert store.refusals("theme") == {"batch-conflict": 1, "malformed": 1, "too-large": 1}
    assert store.refusals("") == {"malformed": 1, "media-type": 1, "unknown-metric": 2}
    assert store.refusals("stranger") == {}
