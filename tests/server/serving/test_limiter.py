"""Limits of connections: how many, how many per address, how long each waits, and how many bytes are held."""

import asyncio
import itertools
import sys

from dither_server.prometheus import Prometheus
from dither_serving.connection_limiter import ConnectionLimiter

MEMORY = 1000


class Waiter:
    def __init__(self) -> None:
        self.ends: list[str] = []
        self.held = 0
        self.is_in_work = False

    def expire(self) -> None:
        self.ends.append("late")

    def close(self) -> None:
        self.ends.append("closed")

    def abort(self) -> None:
        self.ends.append("cut")


def limiter_at(now: list[float], limit: int = 2, per_address: int = 2) -> tuple[ConnectionLimiter, Prometheus]:
    prometheus = Prometheus()
    return ConnectionLimiter(limit, per_address, 30.0, MEMORY, prometheus, lambda: now[0]), prometheus


def test_the_connection_that_has_waited_longest_gives_way_but_not_one_in_work_or_just_come() -> None:
    now = [0.0]
    limiter, prometheus = limiter_at(now)
    idle, served, fresh = Waiter(), Waiter(), Waiter()
    for connection in (idle, served):
        limiter.add()
        limiter.start_waiting(connection)
    limiter.stop_waiting(served)
    assert not limiter.evict()
    now[0] = 1.0
    limiter.start_waiting(fresh)
    assert limiter.evict()
    assert (idle.ends, served.ends, fresh.ends) == (["cut"], [], [])
    assert not limiter.evict()
    assert b'dither_connections_closed_total{reason="gave way"} 1.0' in prometheus.text()


def test_a_peer_that_does_not_read_an_answer_in_work_gives_way_before_one_that_waits_longer() -> None:
    now = [0.0]
    limiter, _ = limiter_at(now)
    idle, stalled, fresh = Waiter(), Waiter(), Waiter()
    stalled.is_in_work = fresh.is_in_work = True
    for connection in (idle, stalled):
        limiter.start_waiting(connection)
    assert not limiter.evict_stalled()
    now[0] = 1.0
    limiter.start_waiting(fresh)
    assert limiter.evict_stalled()
    assert not limiter.evict_stalled()
    assert (idle.ends, stalled.ends, fresh.ends) == ([], ["cut"], [])


def test_a_wait_has_a_limit_and_starts_again_with_each_request() -> None:
    now = [0.0]
    limiter, _ = limiter_at(now)
    slow, busy = Waiter(), Waiter()
    for connection in (slow, busy):
        limiter.start_waiting(connection)
    now[0] = 29.0
    limiter.start_waiting(busy)
    limiter.expire()
    assert slow.ends == []
    now[0] = 30.0
    limiter.expire()
    limiter.expire()
    assert (slow.ends, busy.ends) == (["late"], [])


def test_connections_per_address_are_limited_except_for_loopback() -> None:
    limiter, prometheus = limiter_at([0.0])
    assert [limiter.acquire("192.0.2.7") for _ in range(3)] == ["192.0.2.7", "192.0.2.7", None]
    assert limiter.acquire("::ffff:192.0.2.7") is None
    assert limiter.acquire("192.0.2.8") == "192.0.2.8"
    of_one_network = [limiter.acquire(f"2001:db8::{host}") for host in ("1", "2", "ffff")]
    assert of_one_network == ["2001:db8::/64", "2001:db8::/64", None]
    assert limiter.acquire("2001:db8:0:1::1") == "2001:db8:0:1::/64"
    assert {limiter.acquire(address) for address in ["127.0.0.1", "::1", "127.8.8.8"] * 5} == {""}
    limiter.release("192.0.2.7")
    assert limiter.acquire("192.0.2.7") == "192.0.2.7"
    assert b'dither_connections_closed_total{reason="address"} 3.0' in prometheus.text()
    last = limiter.acquire("2001:db8:0:2::1")
    references = sys.getrefcount(last)
    limiter.release(last)
    assert sys.getrefcount(last) == references - 1, "an address without a slot is forgotten"


def test_the_oldest_connection_that_holds_bytes_gives_way_when_all_hold_too_many() -> None:
    now = [0.0]
    limiter, prometheus = limiter_at(now)
    _, first, second, served, last = peers = [Waiter() for _ in range(5)]
    for peer in peers:
        limiter.add()
        limiter.start_waiting(peer)
        now[0] += 0.01
    assert limiter.hold(served, 300)
    limiter.stop_waiting(served)
    assert limiter.hold(first, 300)
    assert limiter.hold(second, 300)
    assert not limiter.hold(last, 300)  # the others have just come
    now[0] = 1.0
    limiter.hold(last, 0)
    assert limiter.hold(last, 100)
    assert limiter.held == MEMORY
    assert [peer.ends for peer in peers] == [[], [], [], [], []]
    assert limiter.hold(last, 401)
    assert [peer.ends for peer in peers] == [[], ["cut"], ["cut"], [], []]
    assert limiter.held == 300 + 401
    assert not limiter.hold(last, 701)  # neither the connection in work nor the one that asks gives way
    assert limiter.hold(last, 700)
    for peer in peers:
        limiter.remove(peer)
    assert (limiter.held, len(limiter)) == (0, 0)
    assert b'dither_connections_closed_total{reason="gave way"} 2.0' in prometheus.text()


def test_at_the_end_peers_that_do_not_read_are_cut_when_their_time_is_over() -> None:
    seconds = itertools.count()
    limiter = ConnectionLimiter(2, 2, 30.0, MEMORY, Prometheus(), lambda: float(next(seconds)))
    idle, served = Waiter(), Waiter()
    for connection in (idle, served):
        limiter.add()
        limiter.start_waiting(connection)
    limiter.stop_waiting(served)
    asyncio.run(limiter.drain(3.0))  # of a clock that goes on by a second at each look
    assert idle.ends == ["closed", "closed", "cut"]
    assert (served.ends, limiter.is_ending) == ([], True)
