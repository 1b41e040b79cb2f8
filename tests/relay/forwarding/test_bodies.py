"""How a batch is cut into bodies."""

from itertools import product

from dither_relay.forwarding import body_of, reports_per_body
from dither_relay.store import Frozen, SealedPool
from dither_shared.seal_key import SUITES
from dither_shared.sealed import Pool, SealedBatch
from relay.relaying import SEALED, rows

WIDE = SealedPool(Pool("theme", "0" * 16, "é" * 40), SUITES["xwing"], 5000)


def test_no_body_is_above_the_limits() -> None:
    for pool, total, limit in product([*SEALED, WIDE], [1, 5, 99, 100, 101, 12_345], [8_000, 20_000, 100_001]):
        share = reports_per_body(pool, total, 100, limit)
        assert share is not None
        body = body_of(Frozen(1, pool.pool, pool.suite, total, share), rows(share, length=pool.length))
        assert (share <= 100, len(body) <= limit) == (True, True), (pool, total, limit)
        assert SealedBatch.decode(body).total == total
        bodies = -(-total // share)
        assert bodies * share - total < bodies, (pool, total, limit)  # none is much smaller than the others


def test_bodies_fill_the_limits_of_the_collector() -> None:
    share = reports_per_body(SEALED[0], 10**9, 10**9, 100_000)
    assert share is not None
    batch = Frozen(1, SEALED[0].pool, SEALED[0].suite, 10**9, share)
    assert len(body_of(batch, rows(share))) > 100_000 - 4 * 51


def test_no_share_if_not_one_report_fits() -> None:
    assert reports_per_body(WIDE, 10, 100, 6_000) is None


def test_a_body_is_the_same_in_any_order() -> None:
    some = rows(20)
    batch = Frozen(1, SEALED[0].pool, SEALED[0].suite, 20, 20)
    assert body_of(batch, some) == body_of(batch, some[::-1])
    assert SealedBatch.decode(body_of(batch, some)).split(3) == sorted(some)
