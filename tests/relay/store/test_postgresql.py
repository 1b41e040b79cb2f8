"""The relay's store on PostgreSQL: the same promises."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing

import pytest

from dither_relay.store import RelayStore
from dither_server.store import StoreError
from relay.fake_collector import collecting
from relay.relaying import LIMITS, LISTED, PATIENCE, POOLS, TODAY, arrivals, hold, rounds, rows, waiting


@pytest.fixture
def pg(postgresql_url: str) -> Iterator[RelayStore]:
    with closing(RelayStore(postgresql_url)) as store:
        store.list_pools(LISTED, LIMITS | {"batch_limit": 10})
        yield store


def test_from_arrival_to_the_collector(pg: RelayStore) -> None:
    some = rows(32)
    hold(pg, some)
    hold(pg, some[:9])
    with collecting(POOLS, batch_limit=10) as collector:
        one = rounds(pg, collector.url)
        one.freeze()
        hold(pg, some[:9])
        assert one.post({}).reports == 32
        one.tidy()
        hold(pg, some)
        assert waiting(pg) == [(0, 0, 32, 0)]
        assert collector.rows() == Counter(some)


def test_second_relay_on_one_postgresql_database_is_refused(pg: RelayStore, postgresql_url: str) -> None:
    with closing(RelayStore(postgresql_url)) as other:
        with (
            pg.exclusive_lock("relay", "taken"),
            pytest.raises(StoreError, match="database: taken"),
            other.exclusive_lock("relay", "taken"),
        ):
            pass
        with other.exclusive_lock("relay", "taken"):
            pass


def test_a_freeze_amid_arrivals_changes_nothing_that_is_frozen(pg: RelayStore, postgresql_url: str) -> None:
    some = rows(200)
    with closing(RelayStore(postgresql_url)) as other:

        def arrive() -> None:
            for row in some:
                other.commit(arrivals([row]), TODAY, b"")

        device = threading.Thread(target=arrive)
        device.start()
        while device.is_alive():
            pg.freeze(TODAY, lambda *_: 1000, None)
            device.join(0.01)
        device.join(PATIENCE)
        pg.freeze(TODAY, lambda *_: 1000, None)
        frozen = pg.frozen()
        assert len(frozen) > 2
        assert [len(pg.body(one)) for one in frozen] == [one.total for one in frozen]
        assert sum(one.total for one in frozen) == 200
