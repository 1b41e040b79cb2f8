"""How a batch is cut into bodies."""

from itertools import product

from dither_relay.forwarding import body_of, reports_per_body
from dither_relay.store import PoolBatch
from dither_shared.seal_key import SUITES
from dither_shared.sealed import Pool, SealedBatch
from relay.relaying import LAYOUT, LENGTH, THEME, rows

NARROW = PoolBatch(1, THEME, SUITES["x25519"], LENGTH, 0, 0)
WIDE = PoolBatch(1, Pool("theme", "0" * 16, "é" * 40), SUITES["xwing"], 5000, 0, 0)
KINDS = [NARROW, NARROW._replace(pool=LAYOUT), NARROW._replace(suite=SUITES["xwing"], length=1139), WIDE]


def test_no_body_is_above_the_limits() -> None:
    for kind, total, limit in product(KINDS, [1, 5, 99, 100, 101, 12_345], [8_000, 20_000, 100_001]):
        batch = kind._replace(total=total)
        share = reports_per_body(batch, 100, limit)
        assert share is not None
        body = body_of(batch, rows(share, length=batch.length))
        assert (share <= 100, len(body) <= limit) == (True, True), (batch, limit)
        assert SealedBatch.decode(body).total == total
        bodies = -(-total // share)
        assert bodies * share - total < bodies, (batch, limit)  # none is much smaller than the others


def test_bodies_fill_the_limits_of_the_collector() -> None:
    batch = NARROW._replace(total=10**9)
    share = reports_per_body(batch, 10**9, 100_000)
    assert share is not None
    assert len(body_of(batch, rows(share))) > 100_000 - 4 * 51


def test_reports_per_body_is_none_if_the_limit_is_below_one_report() -> None:
    assert reports_per_body(WIDE._replace(total=10), 100, 6_000) is None


def test_a_body_is_the_same_in_any_order() -> None:
    some, batch = rows(20), NARROW._replace(total=20)
    assert body_of(batch, some) == body_of(batch, some[::-1])
    assert SealedBatch.decode(body_of(batch, some)).split(3) == sorted(some)
