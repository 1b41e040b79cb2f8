"""Analyses beside ingest: so many at a time, in turns, and none for a peer that is gone."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask

from dither_server.app import collector_of
from dither_server.observability.prometheus import Prometheus
from dither_server.reading.costs import effort
from dither_server.reading.limiter import AnalysisLimiter, PeerGoneError, Turns, Work
from dither_server.store import Store, StoreError
from dither_serving.problems import Problem
from server.collecting import TODAY, problem, rows_of, upload
from server.reading.wide import DAYS, ESTIMATE, TABLE, TREND, WIDE, ended, filled, rows


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Flask]:
    """A collector for which even one estimate of 300 values is large."""
    monkeypatch.setattr("dither_server.reading.limiter._SMALL", 100)
    app = filled(tmp_path, analyses=1, analysis_wait=0.01)
    yield app
    collector_of(app).close()


def test_a_table_by_day_is_made_while_it_is_read(app: Flask, read: list[str]) -> None:
    """And a second one waits for its place, which is free when the first is closed."""
    client = app.test_client()
    stream = client.get(TABLE, buffered=False)
    pieces = stream.iter_encoded()
    next(pieces)
    assert 0 < len(read) < 8  # a hundred kilobytes are some days
    busy = client.get(ESTIMATE)
    assert problem(busy) == (503, "busy")
    assert int(busy.headers["Retry-After"]) > 0
    stream.close()
    assert len(rows(client, ESTIMATE)) == 300
    assert ended(app) == {"busy": 1, "abandoned": 1, "answered": 1}
    assert client.get(TABLE).text.count("\r\n") == 1 + 300 * DAYS
    assert len(read) == 1 + DAYS  # the days that the first had made are remembered


def test_an_answer_that_nobody_reads_frees_its_place(app: Flask) -> None:
    for _ in range(3):
        app.test_client().head(TABLE).close()
    assert app.test_client().get(ESTIMATE).status_code == 200


@pytest.mark.parametrize(
    ("path", "told_by"),
    [
        *((path, "dither.peer_gone") for path in (TABLE, TREND, f"{TREND}?top=2", ESTIMATE, "/m/wide", "/")),
        (TABLE, "waitress.client_disconnected"),
    ],
)
def test_work_ends_when_the_peer_is_gone(path: str, told_by: str, app: Flask, read: list[str]) -> None:
    asked: list[bool] = []

    def gone() -> bool:
        asked.append(True)
        return len(asked) > 2

    app.test_client().get(path, environ_overrides={told_by: gone})
    assert len(asked) == 3 or path == ESTIMATE
    assert len(read) <= 4
    assert ended(app) == {"abandoned": 1}
    assert app.test_client().get(ESTIMATE).status_code == 200


def test_a_failure_in_the_middle_cuts_the_answer(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    """A whole table would be taken for all there is."""
    stream = app.test_client().get(TABLE, buffered=False)
    pieces = stream.iter_encoded()
    next(pieces)

    def fail(*_: object) -> None:
        raise StoreError("database: gone")

    monkeypatch.setattr(Store, "tally", fail)
    with pytest.raises(StoreError):
        list(pieces)
    stream.close()
    assert ended(app) == {"failed": 1}
    assert problem(app.test_client().get(f"{TABLE}&confidence=0.9")) == (503, "unavailable")
    assert ended(app) == {"failed": 2}


def test_a_table_of_which_a_day_is_new_is_refused_at_its_beginning_if_at_all(app: Flask) -> None:
    """The days before it are remembered: they were sent at once, and then the connection was cut."""
    client = app.test_client()
    assert client.get(TABLE).text.count("\r\n") == 1 + 300 * DAYS
    collector_of(app).store.commit([upload(WIDE, rows_of(WIDE, 20, value="v,1"))], TODAY, b"s" * 16)
    large = client.get(f"{TABLE}&confidence=0.9", buffered=False)
    next(large.iter_encoded())
    assert problem(client.get(TABLE)) == (503, "busy")
    large.close()
    assert client.get(TABLE).text.count("\r\n") == 1 + 300 * DAYS


def test_a_table_costs_what_is_not_remembered(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    client = app.test_client()
    assert client.get(TABLE).text.count("\r\n") == 1 + 300 * DAYS
    collector_of(app).store.commit([upload(WIDE, rows_of(WIDE, 20, value="v,1"))], TODAY, b"s" * 16)
    monkeypatch.setattr("dither_server.reading.limiter._SMALL", 2 * (300 + effort(WIDE)))
    large = client.get(f"{TABLE}&confidence=0.9", buffered=False)
    next(large.iter_encoded())
    assert client.get(TABLE).text.count("\r\n") == 1 + 300 * DAYS
    large.close()


def test_turns_are_taken_in_order() -> None:
    turns, order, waiting = Turns(), list[int](), list[threading.Thread]()
    assert turns.acquire(0)
    assert not turns.acquire(0.001)

    def wait(number: int) -> None:
        assert turns.acquire(10)
        order.append(number)
        turns.release()

    for number in range(5):
        waiting.append(threading.Thread(target=wait, args=(number,)))
        waiting[-1].start()
        while turns.waiting <= number:
            pass
    turns.release()
    for thread in waiting:
        thread.join()
    assert order == [0, 1, 2, 3, 4]
    assert turns.acquire(0)


def large(limiter: AnalysisLimiter) -> Work:
    """A large analysis that has its slot."""
    work = limiter.begin(lambda: False)
    with work.step():
        limiter.demand(10**6)
    assert work.is_large
    return work


def test_only_one_large_computes_and_a_slow_reader_holds_nobody_up() -> None:
    limiter = AnalysisLimiter(2, Prometheus())
    one, other = large(limiter), large(limiter)
    inside: list[int] = []

    def steps(name: int) -> Iterator[bytes]:
        for _ in range(50):
            inside.append(name)
            assert len(inside) == 1
            inside.pop()
            yield b"x" * 70_000

    first, second = one.pieces(steps(1)), other.pieces(steps(2))
    next(first)  # and then it is not read on
    reading = threading.Thread(target=lambda: sum(map(len, second)))
    reading.start()
    reading.join(60)
    assert not reading.is_alive()
    assert len(list(first)) == 49


def test_small_analyses_pass_large_ones_in_whatever_number() -> None:
    """Four that are large hold every slot, and one of them computes for ever."""
    limiter = AnalysisLimiter(4, Prometheus(), patience=0.01)
    greedy = [large(limiter) for _ in range(4)]
    with greedy[0].step():
        for _ in range(20):
            with limiter.begin(lambda: False) as small, small.step():
                limiter.demand(500)
                assert not small.is_large
        with (
            pytest.raises(Problem, match="as many large analyses"),
            limiter.begin(lambda: False) as fifth,
            fifth.step(),
        ):
            limiter.demand(10**6)
        with limiter.begin(lambda: False) as small, small.step():  # the refused one has left its turn
            limiter.demand(500)
    for work in greedy:
        work.end()
    large(limiter).end()


def test_what_adds_up_to_much_is_large() -> None:
    limiter = AnalysisLimiter(1, Prometheus())
    with limiter.begin(lambda: False) as work:
        for turn in range(100):
            with work.step():
                limiter.demand(1_000)
            assert work.is_large == (turn >= 10)
    limiter.demand(10**9)  # outside of a step it is nobody's


def test_a_slot_is_given_back_once() -> None:
    limiter = AnalysisLimiter(1, Prometheus(), patience=0.01)
    with pytest.raises(PeerGoneError), limiter.begin(lambda: True) as work, work.step():
        raise AssertionError("a step for nobody")
    work = large(limiter)
    work.end()
    work.end()
    again = large(limiter)
    with pytest.raises(Problem):
        large(limiter)
    again.end(PeerGoneError("gone"))
    large(limiter).end()
