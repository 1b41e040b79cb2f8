"""Analyses beside ingest: so many at a time, in turns, and none for a peer that is gone."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask

from dither_server.app import collector_of
from dither_server.observability.prometheus import Prometheus
from dither_server.protocol.problems import Problem
from dither_server.reading.places import Analyses, PeerGoneError, Turns
from dither_server.store import Store, StoreError
from server.collecting import problem
from server.reading.wide import DAYS, ESTIMATE, TABLE, TREND, ended, filled, rows


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Flask]:
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


def test_only_one_computes_and_a_slow_reader_holds_nobody_up() -> None:
    analyses = Analyses(2, Prometheus())
    one, other = analyses.begin(lambda: False), analyses.begin(lambda: False)
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


def test_a_place_is_given_back_once() -> None:
    analyses = Analyses(1, Prometheus(), patience=0.01)
    with pytest.raises(PeerGoneError), analyses.begin(lambda: True) as work, work.step():
        raise AssertionError("a step for nobody")
    with analyses.begin(lambda: False) as work:
        work.end()
        with analyses.begin(lambda: False), pytest.raises(Problem):
            analyses.begin(lambda: False)
    analyses.begin(lambda: False).end()
