import threading
from collections.abc import Callable
from contextlib import ExitStack
from queue import SimpleQueue

import pytest

from dither_server.ingest.hpke import Opener
from dither_server.ingest.sealed import Opening, _Place
from dither_serving.problems import Problem

ROWS = [bytes([number]) for number in range(100)]
PATIENCE = 60.0
REFUSED = "overloaded, again in 5 s"


def doubling(sealed: bytes, _: bytes) -> bytes:
    return sealed * 2


def test_rows_open_by_any_key_in_their_order_and_the_last_that_did_is_tried_first() -> None:
    tried: list[tuple[str, int]] = []

    def of(name: str, low: int, high: int) -> Opener:
        def worker(sealed: bytes, info: bytes) -> bytes | None:
            assert info == b"info"
            tried.append((name, sealed[0]))
            return sealed * 2 if low <= sealed[0] < high else None

        return worker

    few = ROWS[:60]
    with Opening().place("peer") as place:
        opened = place.open(few, b"info", [of("new", 0, 10), of("old", 10, 50)])
        assert opened == ({row: row * 2 for row in few[:50]}, few)
        assert [(row, place.open(ROWS[:row], b"", [])[0]) for row in (0, 64, 100)] == [(0, {}), (64, {}), (100, {})]
        for number in (1, 64, 65, 128, 1_000):
            some = [one.to_bytes(2, "big") for one in range(number)]
            whole, order = place.open(some, b"", [doubling])
            assert list(whole.items()) == [(row, row * 2) for row in some]
            assert list(order) == some
    assert [name for name, row in tried if row < 10] == ["new"] * 10
    assert [name for name, row in tried if row == 10] == ["new", "old"]
    assert [name for name, row in tried if 10 < row < 50] == ["old"] * 39
    assert len([name for name, row in tried if row >= 50]) == 20


def test_if_none_of_64_rows_drawn_at_random_opens_no_other_row_is_tried() -> None:
    """At random, and not the first ones: a device chooses how its garbage is sorted among the reports of others."""
    tried: list[bytes] = []

    def closed(sealed: bytes, _: bytes) -> None:
        tried.append(sealed)

    def late(sealed: bytes, _: bytes) -> bytes | None:
        return None if sealed < b"\x03\x00" else sealed

    some = [number.to_bytes(2, "big") for number in range(12_000)]
    with Opening().place("peer") as place:
        assert place.open(some, b"", [closed])[0] == {}
        assert len(set(tried)) == len(tried) == 64
        assert min(tried) != max(tried)
        assert tried[:64] != some[:64]  # it is, with probability below 1e-200
        opened, _ = place.open(some, b"", [late])  # none of the first 768 opens: 0.064 ** 64 < 1e-76 that all are drawn
        assert list(opened) == some[768:]


class Worker:
    """A thread with a body of a peer that takes turns, each until ``go`` is released; ``log`` has the order of all."""

    def __init__(self, opening: Opening, peer: str, turns: int, log: list[str]) -> None:
        self.place: _Place | None = None
        self.go = threading.Semaphore(0)
        self.outcome: SimpleQueue[str] = SimpleQueue()

        def work() -> None:
            try:
                with opening.place(peer) as self.place:
                    self.outcome.put("placed")
                    for _ in range(turns):
                        with self.place.turn():
                            log.append(peer)
                            assert self.go.acquire(timeout=PATIENCE)
                self.outcome.put("done")
            except Problem as problem:
                self.outcome.put(f"{problem.kind.slug}, again in {problem.retry_after} s")

        self.thread = threading.Thread(target=work, daemon=True)
        self.thread.start()

    @property
    def waits(self) -> bool:
        """Return whether the thread waits for its turn or has ended."""
        return not self.thread.is_alive() or (self.place is not None and self.place.waits)

    def said(self) -> str:
        """Return the next event that the thread logged."""
        return self.outcome.get(timeout=PATIENCE)


def until(condition: Callable[[], bool]) -> None:
    """Wait for a step of another thread that sets no event."""
    pause = threading.Event()
    for _ in range(60_000):
        if condition():
            return
        pause.wait(0.001)
    raise AssertionError("it never came")


def test_peers_take_turns_however_many_bodies_one_of_them_brings() -> None:
    opening, log = Opening(), list[str]()
    with opening.place("first") as first:
        with first.turn():
            workers = [
                Worker(opening, peer, turns, log) for peer, turns in [("many", 4)] * 5 + [("one", 6), ("two", 3)]
            ]
            until(lambda: all(worker.waits for worker in workers))
        for number in range(5 * 4 + 6 + 3):
            until(lambda: len(log) == number + 1 and sum(not worker.waits for worker in workers) == 1)  # noqa: B023
            next(worker for worker in workers if not worker.waits).go.release()
    assert [worker.said() for worker in workers] == ["placed"] * 7
    assert [worker.said() for worker in workers] == ["done"] * 7
    assert sorted(log[:3]) == sorted(log[3:6]) == sorted(log[6:9]) == ["many", "one", "two"]
    assert sorted(log[9:11]) == sorted(log[11:13]) == sorted(log[13:15]) == ["many", "one"]
    assert log[15:] == ["many"] * 14


def test_a_peer_with_many_places_gives_one_to_a_peer_with_fewer() -> None:
    opening, log = Opening(places=4), list[str]()
    with ExitStack() as held:
        first = held.enter_context(opening.place("many"))
        with first.turn():
            workers = []
            for peer, becomes in (("many", "placed"), ("many", "placed"), ("many", "placed"), ("many", REFUSED)):
                workers.append(Worker(opening, peer, 1, log))
                assert workers[-1].said() == becomes
            until(lambda: all(worker.waits for worker in workers))
            held.enter_context(opening.place("other"))
            assert workers[2].said() == REFUSED  # the newest of those that have a place
            held.enter_context(opening.place("other"))
            assert workers[1].said() == REFUSED
            for peer in ("other", "many"):
                with pytest.raises(Problem, match="too many batches are being opened"), opening.place(peer):
                    pass  # two each: to hand one over would only turn that round
            held.enter_context(opening.place("third"))
        workers[0].go.release()
        outcomes = {workers[0].said(), REFUSED}
        assert outcomes <= {"done", REFUSED}
    with opening.place("many") as again, again.turn():
        pass


def test_body_that_has_given_way_ends_at_its_next_turn() -> None:
    opening = Opening(places=2)
    with opening.place("many"), opening.place("many") as second:
        with second.turn(), opening.place("other"):
            pass
        with pytest.raises(Problem, match="too many batches are being opened"), second.turn():
            raise AssertionError
    with opening.place("a"), opening.place("b") as last:
        assert last.open(ROWS[:3], b"", [doubling])[0] == {row: row * 2 for row in ROWS[:3]}


def test_a_place_and_a_turn_are_given_back_when_opening_fails() -> None:
    opening = Opening(places=1)

    def broken(*_: object) -> bytes:
        raise MemoryError

    for _ in range(3):
        with pytest.raises(MemoryError), opening.place("peer") as place:
            place.open(ROWS, b"", [broken])
