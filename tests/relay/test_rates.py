import gc
import tracemalloc

import pytest

from dither_relay.endpoint import Rates
from dither_serving.addresses import Proxies, group_of, is_loopback


def test_each_address_has_its_own_limit() -> None:
    rates = Rates(3)
    assert [rates.admits("192.0.2.1") for _ in range(5)] == [True] * 3 + [False] * 2
    assert [rates.admits("192.0.2.2") for _ in range(4)] == [True] * 3 + [False]
    rates.turn()
    assert rates.admits("192.0.2.1")


def test_many_addresses_take_no_more_memory_than_one() -> None:
    rates = Rates(600)
    tracemalloc.start()
    try:
        for number in range(20_000):
            rates.admits(f"2001:db8::{number:x}")
        gc.collect()
        assert tracemalloc.get_traced_memory()[1] < 200_000
    finally:
        tracemalloc.stop()
    assert rates.admits("192.0.2.1")


def test_flood_from_many_addresses_hardly_touches_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """12,500 addresses fill a tenth of the cells at most: of 2,500 others, 1% meet two of these, 25 ± 5."""
    monkeypatch.setattr("dither_relay.endpoint._CELLS", 1 << 18)
    rates = Rates(1)
    for number in range(12_500):
        rates.admits(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}")
    shut_out = sum(not rates.admits(f"192.168.{number >> 8}.{number & 255}") for number in range(2_500))
    assert shut_out < 60


def test_limit_above_the_range_of_a_cell_is_capped() -> None:
    rates = Rates(10**9)
    assert all(rates.admits("192.0.2.1") for _ in range(70_000)) is False
    rates.turn()
    assert all(rates.admits("192.0.2.1") for _ in range(65_535))


def test_no_address_is_kept_beyond_the_window_of_the_limiter() -> None:
    proxies = Proxies("10.0.0.0/8")
    calls = [1]
    rates = Rates(1, lambda: calls.append(1))
    for address in ("198.51.100.77", "2001:db8:77::1"):
        assert address not in proxies
        is_loopback(address)
        rates.admits(group_of(address))
    assert group_of.cache_info().currsize
    rates.turn()
    assert len(calls) == 3
    proxies.forget_addresses()
    assert group_of.cache_info().currsize == is_loopback.cache_info().currsize == 0
    for held in (vars(rates).values(), vars(proxies).values()):
        assert "198.51.100.77" not in repr(list(held))
