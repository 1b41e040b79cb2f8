import threading
from queue import SimpleQueue

import pytest

from dither_server.ingest.sealed.hpke import Opener
from dither_server.ingest.sealed.opening import Opening
from dither_server.protocol.problems import Problem

ROWS = [bytes([one]) for one in range(100)]


def test_rows_open_by_any_key_in_their_order_and_the_last_that_did_is_tried_first() -> None:
    tried: list[tuple[str, int]] = []

    def of(name: str, low: int, high: int) -> Opener:
        def one(sealed: bytes, info: bytes) -> bytes | None:
            assert info == b"info"
            tried.append((name, sealed[0]))
            return sealed * 2 if low <= sealed[0] < high else None

        return one

    opened = Opening().open(ROWS, b"info", [of("new", 0, 10), of("old", 10, 90)])
    assert opened == [one * 2 for one in ROWS[:90]]
    assert [name for name, row in tried if row < 10] == ["new"] * 10
    assert [name for name, row in tried if row == 10] == ["new", "old"]
    assert [name for name, row in tried if 10 < row < 90] == ["old"] * 79
    assert len([name for name, row in tried if row >= 90]) == 20


def test_without_a_key_there_is_nothing_to_do() -> None:
    assert Opening().open(ROWS, b"", []) == []


def test_one_batch_is_opened_at_a_time_and_few_wait() -> None:
    opening, begun, go = Opening(places=2), threading.Event(), threading.Event()
    working: list[int] = []
    most: list[int] = []
    outcomes: SimpleQueue[list[bytes] | Problem] = SimpleQueue()

    def slow(sealed: bytes, _: bytes) -> bytes:
        working.append(1)
        most.append(len(working))
        begun.set()
        go.wait()
        working.pop()
        return sealed

    def bring() -> None:
        try:
            outcomes.put(opening.open(ROWS[:3], b"", [slow]))
        except Problem as problem:
            outcomes.put(problem)

    threads = [threading.Thread(target=bring) for _ in range(3)]
    threads[0].start()
    begun.wait()
    threads[1].start()
    threads[2].start()
    refused = outcomes.get()  # of the two that come later, one waits and one is told to come again
    assert isinstance(refused, Problem)
    assert (refused.kind.slug, refused.retry_after) == ("overloaded", 5)
    go.set()
    for thread in threads:
        thread.join()
    assert [outcomes.get() for _ in range(2)] == [ROWS[:3]] * 2
    assert set(most) == {1}
    assert opening.open(ROWS[:1], b"", [slow]) == ROWS[:1]  # the places are free again


def test_a_place_is_given_back_when_opening_fails() -> None:
    opening = Opening(places=1)

    def broken(*_: object) -> bytes:
        raise MemoryError

    for _ in range(3):
        with pytest.raises(MemoryError):
            opening.open(ROWS, b"", [broken])
