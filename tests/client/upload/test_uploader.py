"""The uploader: what each answer does to a report, and the thread that makes the attempts."""

import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

import dither
from client.devices import Make, Script, Stuck, join_uploads, parts_on, uploader_of
from dither.state.folder import FolderState
from dither.upload.schedule import UploadSchedule
from dither.upload.worker import Worker


@pytest.mark.parametrize("failure", [503, OSError("network")])
def test_every_retry_sends_identical_bytes(make: Make, failure: int | OSError) -> None:
    sent = Script([failure])
    client = make(transport=sent)
    client.record("browser", "firefox")
    (body,) = client.preview()
    while not client.flush(0.05):  # each flush cuts the wait between two tries short
        assert client.status().dropped == 0
    assert sent.bodies == [body, body]
    assert client.status().sent == 1


def test_permanently_refused_report_is_dropped_and_the_others_leave(make: Make) -> None:
    sent = Script([422])
    client = make(transport=sent)
    client.record("mobile", True)
    client.record("theme", "dark")
    assert not client.flush(60), "not every report has arrived"
    assert client.flush(60), "no other report is left to send"
    assert len(sent.bodies) == 2
    assert (client.status().sent, client.status().dropped) == (1, 1)


def test_a_metric_that_the_collector_does_not_know_holds_up_no_other(make: Make) -> None:
    sent = Script([404])
    client = make(transport=sent)
    client.record("mobile", True)
    client.record("theme", "dark")
    assert not client.flush(60)
    assert (client.status().sent, client.status().dropped, client.status().queued) == (1, 0, 1)
    assert client.flush(60), "until it is upgraded"
    assert client.status().sent == 2
    assert sent.bodies[0] == sent.bodies[2]


def test_a_flush_asks_once_for_reports_that_were_refused_before(make: Make) -> None:
    sent = Script([404] * 5)
    client = make(transport=sent)
    for name in ("mobile", "theme", "survey", "browser"):
        client.record(name, True)
    assert not client.flush(60)
    assert len(sent.bodies) == 4
    assert not client.flush(60)
    assert len(sent.bodies) == 5, "the first was refused again, so the others would be, too"
    assert client.flush(60)


@pytest.mark.parametrize("wish", [0.5, 60.0, 900.0])
def test_not_even_a_flush_overrides_retry_after(wish: float) -> None:
    sent = Script([dither.Answer(503, wish)])
    parts = parts_on(dither.MemoryState("on"))
    parts.record("mobile", True)
    parts.record("theme", "dark")
    now = [1000.0]
    uploader = uploader_of(parts, sent, UploadSchedule(0.0, uniform=lambda: 0.0, clock=lambda: now[0]))
    uploader.begin_flush()
    assert (uploader.step(), uploader.flushing) == (0, False)
    now[0] += 899
    for _ in range(3):  # the other is sent, and this one is not
        uploader.begin_flush()
        while uploader.flushing:
            uploader.step()
    assert len(sent.bodies) == 2
    now[0] += 1
    assert uploader.step() == 0
    assert uploader.step() is None
    assert sent.bodies[2] == sent.bodies[0]


def test_recording_rereads_waiting_reports_only_when_one_is_due(monkeypatch: pytest.MonkeyPatch) -> None:
    sent, now = Script(), [1000.0]
    looks: list[float] = []

    def permitted() -> bool:
        looks.append(now[0])
        return True

    parts = parts_on(dither.MemoryState("on"))
    parts.record("mobile", True)
    monkeypatch.setattr("dither.upload.uploader.time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(parts.journal, "compact", lambda **_: 0.5)
    schedule = UploadSchedule(9.0, uniform=lambda: 0.25, clock=lambda: now[0])
    uploader = uploader_of(parts, sent, schedule, permitted)
    for pause in (0.5, 0.5, 0.5, 0.5, 0.25, 0.0):
        assert uploader.step() == pause
        now[0] += pause
    assert set(looks) == {1000.0, 1002.25}
    assert len(sent.bodies) == 1
    assert uploader.step() == 0.5, "nothing is left, but the compaction is still to come"


def test_only_one_of_two_processes_sends(make: Make, folder: Path) -> None:
    sent = Script()
    client = make(folder)
    client.record("mobile", True)
    with FolderState(folder).sending() as ours:
        assert ours
        assert uploader_of(parts_on(folder), sent).step() == 1
    assert sent.bodies == []
    assert uploader_of(parts_on(folder), sent).step() == 0
    assert client.status().sent == 1
    assert client.flush(0)


def test_report_whose_result_cannot_be_stored_is_sent_once(
    make: Make, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError("no space left")

    sent = Script()
    client = make(folder, transport=sent)
    client.record("mobile", True)
    monkeypatch.setattr("os.write", full)
    assert client.flush(60)
    assert client.flush(60)
    assert len(sent.bodies) == 1


def test_close_does_not_wait_for_an_upload(make: Make, folder: Path) -> None:
    stuck = Stuck()
    client = make(folder, transport=stuck, background=True)
    client.record("mobile", True)
    client.record("theme", "dark")
    assert stuck.started.wait(60)
    client.close()
    assert not stuck.release.is_set()
    client.record("survey", True)  # ignored from now on
    stuck.release.set()
    join_uploads()
    assert make(folder).status().queued == 1


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
    assert client.flush(60)


def test_a_flush_ends_if_the_disk_fails(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    sent, state = Script(), dither.MemoryState()
    client = make(state, transport=sent, spread=1e6)
    client.record("mobile", True)

    def fail() -> None:
        raise OSError("no disk")

    monkeypatch.setattr(state, "sync", fail)
    uploader = uploader_of(parts_on(state), sent, UploadSchedule(1e6, uniform=lambda: 0.5))
    uploader.begin_flush()
    with pytest.raises(OSError, match="no disk"):
        uploader.step()
    assert not client.flush(60)
    assert client.status().trouble == {"upload failed: OSError": 1}
    monkeypatch.undo()
    assert not uploader.flushing
    assert uploader.step() == 60, "it leaves at its own moment"
    assert sent.bodies == []


def test_consent_withdrawn_during_the_sync_stops_the_upload(
    make: Make, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Script()
    client = make(folder, transport=script)
    other = make(folder, mode=None)
    client.record("mobile", True)
    sync = FolderState.sync

    def slow(state: FolderState) -> None:
        sync(state)
        other.consent("off")

    monkeypatch.setattr(FolderState, "sync", slow)
    client.flush(60)
    assert script.bodies == []
    assert client.preview() == []


def test_a_wake_while_the_worker_ends_starts_it_again() -> None:
    waiting = [0]

    def step() -> float | None:
        if not waiting[0]:
            return None
        waiting[0] -= 1
        return 0.0

    worker = Worker(step, lambda _: None)
    for number in range(1, 500):
        waiting[0] += 1
        worker.wake()
        if number % 7 == 0:
            assert worker.flush(60)
    assert worker.flush(60)
    assert waiting[0] == 0


def test_a_wake_during_the_last_step_gets_another_step() -> None:
    steps: list[int] = []

    def step() -> None:
        steps.append(1)
        if len(steps) == 1:
            worker.wake()

    worker = Worker(step, lambda _: None)
    worker.wake()
    worker.join(60)
    assert len(steps) == 2


def test_a_closed_worker_takes_no_step_until_it_is_opened() -> None:
    """As when one thread closes the client while another makes a report."""
    steps: list[int] = []

    def step() -> None:
        steps.append(1)

    worker = Worker(step, lambda _: None)
    worker.close()
    worker.wake()
    worker.join(60)
    assert steps == []
    worker.open()
    worker.wake()
    worker.join(60)
    assert steps == [1]
