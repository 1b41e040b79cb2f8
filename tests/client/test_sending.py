"""Retries, and the thread that makes them."""

import threading
from pathlib import Path

import pytest

import dither
from client.devices import Make, Script, Stuck
from dither.departures import Departures
from dither.retry import Backoff, fate_of
from dither.sender import Sender
from dither.worker import Worker

NOW = Departures(0.0)


@pytest.mark.parametrize("failure", [429, 502, 503, 504, OSError("network")])
def test_every_retry_sends_identical_bytes(make: Make, failure: int | OSError) -> None:
    sent = Script([failure])
    client = make(transport=sent)
    client.record("browser", "firefox")
    (body,) = client.preview()
    while not client.flush(0.05):  # each flush cuts the wait between two tries short
        assert client.status().dropped == 0
    assert sent.bodies == [body, body]
    assert client.status().sent == 1


@pytest.mark.parametrize("status", [200, 202])
def test_an_accepted_report_is_gone(make: Make, status: int) -> None:
    client = make(transport=Script([status]))
    client.record("mobile", True)
    assert client.flush(5)
    assert (client.status().sent, client.status().dropped, client.status().queued) == (1, 0, 0)


@pytest.mark.parametrize("status", [301, 307, 400, 401, 403, 404, 409, 413, 415, 500, 501])
def test_what_would_be_refused_again_is_dropped_and_the_rest_goes_on(make: Make, status: int) -> None:
    sent = Script([status])
    client = make(transport=sent)
    client.record("mobile", True)
    client.record("theme", "dark")
    assert client.flush(5)
    assert len(sent.bodies) == 2
    assert (client.status().sent, client.status().dropped) == (1, 1)


def test_fates() -> None:
    assert fate_of(None) is None
    assert {status for status in range(100, 600) if fate_of(dither.Answer(status)) is None} == {429, 502, 503, 504}
    assert {status for status in range(100, 600) if fate_of(dither.Answer(status)) == "sent"} == {200, 202}


def test_delays_have_full_jitter_and_a_cap() -> None:
    longest = Backoff(lambda: 1.0)
    assert [longest.delay() for _ in range(5)] == [120, 240, 480, 600, 600]
    longest.reset()
    assert longest.delay() == 120
    assert [Backoff(lambda: 0.0).delay() for _ in range(3)] == [0, 0, 0]
    backoff = Backoff()
    for _ in range(10_000):
        backoff.delay()
    drawn = [backoff.delay() for _ in range(2000)]
    assert max(drawn) <= 600
    assert 270 < sum(drawn) / len(drawn) < 330  # mean 300, standard error 3.9


def test_a_wish_of_the_server_is_heeded_up_to_a_cap() -> None:
    backoff = Backoff(lambda: 0.5)
    assert backoff.delay(30) == 90
    assert backoff.delay(1e9) == 3720
    assert backoff.delay(-5) == 240


def test_not_even_a_flush_overrides_retry_after(make: Make) -> None:
    sent = Script([dither.Answer(503, 60.0)])
    client = make()
    client.record("mobile", True)
    now = [1000.0]
    sender = Sender(
        client._journal, sent, lambda: True, departures=NOW, backoff=Backoff(lambda: 0.0), clock=lambda: now[0]
    )
    assert sender.step() == 60
    now[0] += 59
    assert sender.step() == 1
    assert len(sent.bodies) == 1
    now[0] += 1
    assert sender.step() == 0
    assert sender.step() is None
    assert sent.bodies == sent.bodies[:1] * 2


def test_nothing_is_sent_while_it_is_not_permitted(make: Make) -> None:
    sent = Script()
    client = make()
    client.record("mobile", True)
    assert Sender(client._journal, sent, lambda: False).step() is None
    assert sent.bodies == []


def test_only_one_of_two_processes_sends(make: Make, folder: Path) -> None:
    sent = Script()
    one, other = make(folder), make(folder)
    one.record("mobile", True)
    with one._journal.state.sending() as ours:
        assert ours
        assert Sender(other._journal, sent, lambda: True, departures=NOW).step() == 1
    assert sent.bodies == []
    assert Sender(other._journal, sent, lambda: True, departures=NOW).step() == 0
    assert one.status().sent == 1
    assert one.flush(0)


def test_a_report_that_cannot_be_crossed_off_is_not_sent_over_and_over(
    make: Make, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError("no space left")

    sent = Script()
    client = make(folder, transport=sent)
    client.record("mobile", True)
    monkeypatch.setattr("os.write", full)
    assert client.flush(5)
    assert client.flush(5)
    assert len(sent.bodies) == 1


def test_a_report_is_sent_in_the_background_and_the_thread_ends(make: Make) -> None:
    arrived = threading.Event()

    class Waiting(Script):
        def send(self, body: bytes) -> dither.Answer:
            arrived.set()
            return super().send(body)

    client = make(transport=Waiting(), background=True)
    assert client._worker._thread is None
    client.record("mobile", True)
    assert arrived.wait(10)
    client._worker.join(10)
    assert client._worker._thread is None
    assert client.status().sent == 1


def test_what_an_earlier_run_left_is_sent_by_the_next(make: Make, folder: Path) -> None:
    make(folder).record("mobile", True)
    sent = Script()
    client = make(folder, mode=None, transport=sent, background=True)
    client._worker.join(10)
    assert len(sent.bodies) == 1
    assert client.status().sent == 1


def test_close_does_not_wait_for_an_upload(make: Make, folder: Path) -> None:
    stuck = Stuck()
    client = make(folder, transport=stuck, background=True)
    client.record("mobile", True)
    client.record("theme", "dark")
    assert stuck.started.wait(10)
    client.close()
    assert not stuck.release.is_set()
    client.record("survey", True)  # ignored from now on
    stuck.release.set()
    client._worker.join(10)
    assert make(folder).status().queued == 1


def test_a_transport_with_a_mistake_does_not_reach_the_host(make: Make) -> None:
    class Broken:
        def send(self, body: bytes) -> dither.Answer:
            raise ZeroDivisionError

    client = make(transport=Broken())
    client.record("mobile", True)
    assert not client.flush(10)
    assert client.status().trouble == {"upload failed: ZeroDivisionError": 1}
    assert client.status().queued == 1


def test_a_worker_misses_no_call_that_comes_while_it_ends() -> None:
    taken: list[int] = []
    waiting = [0]

    def step() -> float | None:
        if not waiting[0]:
            return None
        waiting[0] -= 1
        taken.append(1)
        return 0.0

    worker = Worker(step, lambda _: None)
    for number in range(1, 500):
        waiting[0] += 1
        worker.wake()
        if number % 7 == 0:
            assert worker.flush(10)
    assert worker.flush(10)
    assert waiting[0] == 0


def test_a_call_that_comes_during_the_last_step_gets_another_step() -> None:
    steps: list[int] = []

    def step() -> None:
        steps.append(1)
        if len(steps) == 1:
            worker.wake()

    worker = Worker(step, lambda _: None)
    worker.wake()
    worker.join(10)
    assert len(steps) == 2


def test_a_thread_that_cannot_start_leaves_the_report_in_the_outbox(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_thread(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    client = make(background=True)
    monkeypatch.setattr(threading.Thread, "start", no_thread)
    client.record("mobile", True)
    monkeypatch.undo()
    assert client.status().queued == 1
    assert client.flush(10)
