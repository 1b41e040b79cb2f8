"""Large analyses run a few at a time beside ingest; small ones pass them; none runs for a peer that is gone."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask

from dither_server.app import collector_of
from dither_server.prometheus import Prometheus
from dither_server.reading.analysis_limiter import Analysis, AnalysisLimiter, PeerGoneError, effort
from dither_server.store import Snapshot, StoreError
from dither_serving.problems import Problem
from server.collecting import TODAY, problem, rows_of, upload
from server.reading.wide import DAYS, ESTIMATE, TABLE, TREND, WIDE, ended, filled, rows


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Flask]:
    """A collector for which even one estimate of 300 values is large."""
    monkeypatch.setattr("dither_server.reading.analysis_limiter._SMALL", 100)
    app = filled(tmp_path, analyses=1, analysis_wait=0.01)
    yield app
    collector_of(app).close()


def test_table_is_computed_while_it_is_read_and_keeps_its_slot_until_it_is_closed(app: Flask, read: list[str]) -> None:
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


def test_answer_that_nobody_reads_frees_its_slot(app: Flask) -> None:
    for _ in range(3):
        app.test_client().head(TABLE).close()
    assert app.test_client().get(ESTIMATE).status_code == 200


@pytest.mark.parametrize(
    ("path", "variable"),
    [
        *((path, "dither.peer_gone") for path in (TABLE, TREND, f"{TREND}?top=2", ESTIMATE, "/m/wide", "/")),
        (TABLE, "waitress.client_disconnected"),
    ],
)
def test_analysis_ends_when_its_peer_has_hung_up(path: str, variable: str, app: Flask, read: list[str]) -> None:
    asked: list[bool] = []

    def gone() -> bool:
        asked.append(True)
        return len(asked) > 2

    app.test_client().get(path, environ_overrides={variable: gone})
    assert len(asked) == 3 or path == ESTIMATE
    assert len(read) <= 4
    assert ended(app) == {"abandoned": 1}
    assert app.test_client().get(ESTIMATE).status_code == 200


def test_failure_in_the_middle_cuts_the_answer(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = app.test_client().get(TABLE, buffered=False)
    pieces = stream.iter_encoded()
    next(pieces)

    def fail(*_: object) -> None:
        raise StoreError("database: gone")

    monkeypatch.setattr(Snapshot, "tally", fail)
    with pytest.raises(StoreError):
        list(pieces)
    stream.close()
    assert ended(app) == {"failed": 1}
    assert problem(app.test_client().get(f"{TABLE}&confidence=0.9")) == (503, "unavailable")
    assert ended(app) == {"failed": 2}


def test_peer_that_closes_its_side_in_the_middle_gets_no_end_of_the_answer(app: Flask) -> None:
    gone: list[bool] = []
    stream = app.test_client().get(TABLE, buffered=False, environ_overrides={"dither.peer_gone": lambda: any(gone)})
    pieces = stream.iter_encoded()
    next(pieces)
    gone.append(True)
    with pytest.raises(ConnectionError):
        list(pieces)
    stream.close()
    assert ended(app) == {"abandoned": 1}


def test_table_with_one_new_day_costs_that_day_and_is_refused_before_it_begins(
    app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = app.test_client()
    assert client.get(TABLE).text.count("\r\n") == 1 + 300 * DAYS
    collector_of(app).store.commit([upload(WIDE, rows_of(WIDE, 20, value="v,1"))], TODAY, b"s" * 16)
    large = client.get(f"{TABLE}&confidence=0.9", buffered=False)
    next(large.iter_encoded())
    assert problem(client.get(TABLE)) == (503, "busy"), "even though all days but one are cached"
    monkeypatch.setattr("dither_server.reading.analysis_limiter._SMALL", 2 * (300 + effort(WIDE)))
    assert client.get(TABLE).text.count("\r\n") == 1 + 300 * DAYS
    large.close()


def large(limiter: AnalysisLimiter) -> Analysis:
    """A large analysis that has its slot."""
    work = limiter.begin(lambda: False)
    with work.computing():
        limiter.demand(10**6)
    assert work.is_large
    return work


def test_one_large_analysis_computes_at_a_time_and_a_slow_reader_holds_nobody_up() -> None:
    limiter = AnalysisLimiter(2, Prometheus())
    one, other = large(limiter), large(limiter)
    inside: list[int] = []

    def steps(name: int) -> Iterator[bytes]:
        for _ in range(50):
            inside.append(name)
            assert len(inside) == 1
            inside.pop()
            yield b"x" * 70_000

    first, second = one.pieces(lambda: steps(1)), other.pieces(lambda: steps(2))
    next(first)  # and then it is not read on
    reading = threading.Thread(target=lambda: sum(map(len, second)))
    reading.start()
    reading.join(60)
    assert not reading.is_alive()
    assert len(list(first)) == 49


def test_small_analyses_pass_any_number_of_large_ones() -> None:
    """Four large analyses hold every slot, and one of them never ends."""
    limiter = AnalysisLimiter(4, Prometheus(), patience=0.01)
    greedy = [large(limiter) for _ in range(4)]
    with greedy[0].computing():
        for _ in range(20):
            with limiter.begin(lambda: False) as small, small.computing():
                limiter.demand(500)
                assert not small.is_large
        with (
            pytest.raises(Problem, match="maximum number of large analyses"),
            limiter.begin(lambda: False) as fifth,
            fifth.computing(),
        ):
            limiter.demand(10**6)
        with limiter.begin(lambda: False) as small, small.computing():  # the refused one does not block it
            limiter.demand(500)
    for work in greedy:
        work.end()
    large(limiter).end()


def test_analysis_becomes_large_when_its_costs_add_up() -> None:
    limiter = AnalysisLimiter(1, Prometheus())
    with limiter.begin(lambda: False) as work:
        for step in range(100):
            with work.computing():
                limiter.demand(1_000)
            assert work.is_large == (step >= 10)
    limiter.demand(10**9)  # outside of an analysis it is nobody's


def test_slot_of_an_analysis_is_released_once() -> None:
    limiter = AnalysisLimiter(1, Prometheus(), patience=0.01)
    with pytest.raises(PeerGoneError), limiter.begin(lambda: True) as work, work.computing():
        raise AssertionError("computed for nobody")
    work = large(limiter)
    work.end()
    work.end()
    again = large(limiter)
    with pytest.raises(Problem):
        large(limiter)
    again.end(PeerGoneError("gone"))
    large(limiter).end()
