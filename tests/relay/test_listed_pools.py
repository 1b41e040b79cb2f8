from collections.abc import Iterator
from pathlib import Path

import pytest

from dither_relay.collector import CollectorClient, Pools, RejectedError, TroubleError
from dither_relay.store import RelayStore
from dither_serving.problems import Kind, Problem
from dither_shared.sealed import Pool
from relay.fake_collector import FakeCollector, collecting
from relay.relaying import LAYOUT, POOLS, THEME, url_of


@pytest.fixture
def collector() -> Iterator[FakeCollector]:
    with collecting(POOLS[:1]) as collector:
        yield collector


@pytest.fixture
def store(tmp_path: Path) -> Iterator[RelayStore]:
    store = RelayStore(url_of(tmp_path))
    yield store
    store.close()


def kind(pools: Pools, pool: Pool, length: int) -> Kind:
    with pytest.raises(Problem) as caught:
        pools.number(pool, length)
    return caught.value.kind


@pytest.fixture
def pools(store: RelayStore, collector: FakeCollector) -> Pools:
    return Pools(store, CollectorClient(collector.url, "secret", 5))


def test_relay_knows_the_pools_that_the_collector_lists(pools: Pools, collector: FakeCollector) -> None:
    assert kind(pools, THEME, 51) is Kind.UNAVAILABLE  # none was ever seen
    pools.refresh()
    assert pools.number(THEME, 51) == 1
    assert kind(pools, THEME, 50) is Kind.MALFORMED
    assert kind(pools, THEME, 1138) is Kind.MALFORMED
    assert kind(pools, THEME, 1139) is Kind.UNKNOWN_POOL  # X-Wing; devices drop malformed reports
    assert kind(pools, LAYOUT, 51) is Kind.UNKNOWN_POOL
    collector.pools = POOLS
    pools.refresh()
    assert pools.number(LAYOUT, 51) == 2
    assert pools.number(THEME, 1139) == 3
    collector.pools = POOLS[2:]
    pools.refresh()
    assert kind(pools, THEME, 51) is Kind.UNKNOWN_POOL


def test_empty_list_of_pools_is_reported_as_trouble(pools: Pools, collector: FakeCollector) -> None:
    """Otherwise it would stay silent: its key file may be elsewhere than the operator thinks."""
    collector.pools = []
    with pytest.raises(RejectedError, match="lists no pool"):
        pools.refresh()
    assert kind(pools, THEME, 51) is Kind.UNAVAILABLE
    collector.pools = POOLS
    pools.refresh()
    assert pools.number(LAYOUT, 51)


def test_pools_survive_a_restart_while_the_collector_is_gone(store: RelayStore, collector: FakeCollector) -> None:
    Pools(store, CollectorClient(collector.url, "", 5)).refresh()
    pools = Pools(store, CollectorClient("http://127.0.0.1:1", "", 5))
    with pytest.raises(TroubleError):
        pools.refresh()
    assert pools.number(THEME, 51) == 1
    pools.trouble = "it is gone"
    assert kind(pools, LAYOUT, 51) is Kind.UNAVAILABLE  # nobody can tell


def test_reports_for_unknown_pools_add_no_pool_and_cause_no_request(
    pools: Pools, store: RelayStore, collector: FakeCollector
) -> None:
    pools.start()
    while not pools.is_known:
        pass
    for number in range(1000):
        assert kind(pools, Pool("theme", f"{number:016x}"), 51) is Kind.UNKNOWN_POOL
    pools.close()
    assert collector.asked == 1
    assert len(store.held()) == 1


def listing(**changed: object) -> dict[str, object]:
    return {"pools": [], "batch_limit": 1, "body_limit": 1} | changed


def pool(**changed: object) -> dict[str, object]:
    return {"pool": THEME.digest, "suite": "x25519", "length": 51} | changed


def test_answer_that_is_no_list_of_pools_is_rejected(pools: Pools, store: RelayStore, collector: FakeCollector) -> None:
    for wrong in (
        *([0], "<html>", {"pools": []}, listing(pools=["theme"])),
        *(listing(batch_limit=limit) for limit in (0, True, "1")),
        *(listing(pools=[pool(length=length)]) for length in (48, 10**6, None)),
        *(listing(pools=[pool(pool=digest)]) for digest in ("theme", THEME.digest.upper())),
    ):
        collector.listing = wrong
        with pytest.raises(RejectedError, match="cannot be read"):
            pools.refresh()
        assert store.held() == [], wrong


def test_a_suite_of_the_future_is_left_out(pools: Pools, store: RelayStore, collector: FakeCollector) -> None:
    collector.pools = [*POOLS, (THEME.series, "future", 99)]
    pools.refresh()
    assert len(store.held()) == 3
    assert collector.tokens == {"Bearer secret"}


def test_fault_while_refreshing_pools_is_a_trouble(pools: Pools, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        pools.close()  # so that the thread ends after its first turn
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(pools, "refresh", fail)
    pools.start()
    while not pools.trouble:
        pass
    assert kind(pools, THEME, 51) is Kind.UNAVAILABLE
