"""The relay's store on PostgreSQL: the same promises."""

from collections import Counter
from collections.abc import Iterator
from contextlib import closing

import pytest

from dither_relay.store import RelayStore
from relay.fake_collector import collecting
from relay.relaying import LIMITS, LISTED, POOLS, hold, rounds, rows, waiting


@pytest.fixture
def pg(postgresql_url: str) -> Iterator[RelayStore]:
    with closing(RelayStore(postgresql_url)) as store:
        store.list_pools(LISTED, LIMITS | {"batch_limit": 10})
        yield store


def test_relay_on_postgresql_forwards_what_arrived(pg: RelayStore) -> None:
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
