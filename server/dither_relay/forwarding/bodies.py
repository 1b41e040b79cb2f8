"""Cut a batch into bodies that the collector takes.

A batch is cut in the order of digests, and each body is sorted: both are functions of the ciphertexts, which are
random, so neither tells anything of who came when.
"""

from collections.abc import Sequence

from dither_shared.sealed import SealedBatch

from ..store import Frozen, SealedPool

_MOST = 1 << 24
"""Bytes of a body, whatever the collector would take: it is held in memory."""


def share_of(pool: SealedPool, total: int, batch_limit: int, body_limit: int) -> int | None:
    """Return of how many reports each body is, so that all are about equal; None if not even one report fits."""
    bare = SealedBatch("0" * 32, pool.pool, pool.suite, total, b"").encode()
    most = min(batch_limit, (min(body_limit, _MOST) - len(bare)) // 4 * 3 // pool.length)
    if most < 1:
        return None
    bodies = -(-total // most)
    return -(-total // bodies)


def body_of(batch: Frozen, sealed: Sequence[bytes]) -> bytes:
    """Return the body of some of a batch's reports: the same bytes for the same reports, in whatever order."""
    return SealedBatch.of(batch.pool, batch.suite, batch.total, sealed).encode()
