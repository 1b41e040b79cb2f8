"""Power cuts on a relay: an acknowledged report waits or has left, and only whole batches are on their way.

Writes are recorded and replayed as ``power`` does it. Reports come in, a batch is frozen, bodies of it leave.
"""

import random
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from torture.power import cut, put, record

__all__ = ["relay_power_cuts"]

_NAME = "relay.db"

_WORK = """
import os, sys
import sqlalchemy
from dither_relay.store import Arrival, ListedPool, RelayStore
from dither_shared.sealed import Pool
from dither_shared.seal_key import SUITES
from server.collecting import TODAY

folder, commits, synchronous = sys.argv[1], int(sys.argv[2]), sys.argv[3]
store = RelayStore(f"sqlite:///{folder}/relay.db")
pool = Pool("theme", "0" * 16)
store.list_pools([ListedPool(pool.digest, SUITES["x25519"], 49)], {"batch_limit": 5, "body_limit": 1 << 20})
store.close()

@sqlalchemy.event.listens_for(store._engine, "connect")
def connected(connection, _):
    connection.execute(f"PRAGMA synchronous={synchronous}")
    connection.execute("PRAGMA wal_autocheckpoint=20")  # the delicate moments, often

((number_of_pool,),) = (by_length.values() for by_length in store.pools().values())
with open(f"{folder}/acknowledged", "wb", buffering=0) as acknowledged:
    for number in range(commits):
        one = Arrival(number_of_pool, pool, number.to_bytes(49, "big"))
        store.commit([one], TODAY, b"")
        acknowledged.write(one.digest)
        if number % 20 == 19:
            store.freeze(TODAY, lambda _: 7, None)
        if number % 3 == 2:
            for batch in store.frozen()[:1]:
                store.leave(batch, store.body(batch), TODAY, 0)
                store.checkpoint()
store._engine.dispose(close=False)
os._exit(0)  # as a power cut would have it, without a last checkpoint
"""


def relay_power_cuts(
    folder: Path, points: int, commits: int = 150, *, durable: bool = True, seed: int = 1
) -> list[str]:
    """Cut the power at random points of one run; return the failures."""
    steps = record(folder, commits, "FULL" if durable else "OFF", _WORK, _NAME)
    assert sum(step.file == "acknowledged" for step in steps) == commits
    chance = random.Random(seed)
    replay = folder / "replay"
    replay.mkdir()
    failures = (_survives(replay, *cut(steps, chance, _NAME)) for _ in range(points))
    return [wrong for wrong in failures if wrong is not None]


def _survives(folder: Path, files: dict[str, bytearray], acknowledged: Sequence[bytes]) -> str | None:
    """Open the remaining files and compare; return the difference, or None."""
    put(folder, files)
    try:
        with closing(sqlite3.connect(folder / _NAME)) as connection:
            checked = connection.execute("PRAGMA integrity_check").fetchone()[0]
            waiting = [row[0] for row in connection.execute("SELECT digest FROM relay_sealed")]
            left = [row[0] for row in connection.execute("SELECT digest FROM relay_forwarded")]
            frozen = connection.execute(
                "SELECT total, share, (SELECT count(*) FROM relay_sealed s WHERE s.batch = b.number)"
                " FROM relay_batches b WHERE frozen IS NOT NULL"
            ).fetchall()
    except sqlite3.DatabaseError as error:
        return f"corrupt: {error}"
    if checked != "ok":
        return f"corrupt: {checked}"
    if lost := set(acknowledged) - {*waiting, *left}:
        return f"{len(lost)} acknowledged reports are lost"
    if set(waiting) & set(left):
        return "a report that has left waits, too"
    if any((total - count) % share for total, share, count in frozen):
        return "half a body has left"
    return None
