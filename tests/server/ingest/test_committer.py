"""The committer: groups under load, bounded memory, no false acknowledgement, a clean end."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from datetime import date
from pathlib import Path

import pytest

from dither_server.ingest.committer import ReportCommitter
from dither_server.store import Refusal, Store, StoreError, Upload, UploadOutcome
from dither_serving.committer import QueueFullError
from dither_serving.settings import ServerSettings
from server.collecting import COUNTED, THEME, TODAY, upload
from server.database import execute, url_of

PATIENCE = 60.0


class Gate:
    """A store whose commits wait until the test lets them through."""

    def __init__(self) -> None:
        self.groups: list[list[Upload]] = []
        self.entered = threading.Semaphore(0)
        self.open = threading.Semaphore(0)
        self.poison: bytes = b""
        self.failure: Exception | None = None
        self.refusals: list[dict[Refusal, int]] = []
        self.day = TODAY

    def commit(self, uploads: Sequence[Upload], day: date, shard: bytes) -> list[UploadOutcome]:
        assert (day, len(shard)) == (self.day, 16)
        self.groups.append(list(uploads))
        self.entered.release()
        assert self.open.acquire(timeout=PATIENCE)
        if self.failure is not None:
            raise self.failure
        if self.poison in {item.batch for item in uploads}:
            raise ArithmeticError
        return [COUNTED] * len(uploads)

    def add_refusals(self, refused: Mapping[Refusal, int], shard: bytes) -> None:
        self.refusals.append(dict(refused))

    def let(self, commits: int) -> None:
        self.open.release(commits)

    def wait(self) -> None:
        assert self.entered.acquire(timeout=PATIENCE)


def submitted(committer: ReportCommitter, item: Upload) -> "Future[UploadOutcome]":
    """Submit an upload; return the future of its outcome."""
    outcome: Future[UploadOutcome] = Future()
    committer.submit(
        item, lambda what: outcome.set_exception(what) if isinstance(what, StoreError) else outcome.set_result(what)
    )
    return outcome


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def committer(gate: Gate) -> Iterator[ReportCommitter]:
    committer = ReportCommitter(gate, lambda: TODAY, ServerSettings(queue_limit=3, group_limit=2))
    yield committer
    gate.let(100)
    committer.close()


def test_waiting_uploads_are_committed_in_groups_of_limited_size(gate: Gate, committer: ReportCommitter) -> None:
    uploads = [upload() for _ in range(4)]
    answers = [submitted(committer, uploads[0])]
    gate.wait()
    answers += [submitted(committer, item) for item in uploads[1:]]
    assert not any(answer.done() for answer in answers)  # nothing is acknowledged before its commit
    gate.let(3)
    assert all(answer.result(PATIENCE) is COUNTED for answer in answers)
    assert gate.groups == [uploads[:1], uploads[1:3], uploads[3:]]


@pytest.mark.parametrize(("limits", "most"), [({"queue_limit": 3}, 3), ({"queue_bytes": 10}, 2)])
def test_a_full_queue_refuses_and_takes_again_when_there_is_room(gate: Gate, limits: dict[str, int], most: int) -> None:
    """Uploads of 9 bytes: of the bytes that may wait, the second one takes the last."""
    committer = ReportCommitter(gate, lambda: TODAY, ServerSettings(**limits))  # type: ignore[arg-type]
    answers = [submitted(committer, upload(rows=b"\x00" * 9))]
    gate.wait()
    answers += [submitted(committer, upload(rows=b"\x00" * 9)) for _ in range(most)]
    with pytest.raises(QueueFullError):
        submitted(committer, upload(rows=b"\x00"))
    gate.let(100)
    assert all(answer.result(PATIENCE) is COUNTED for answer in answers)
    assert submitted(committer, upload()).result(PATIENCE) is COUNTED
    assert sum(map(len, gate.groups)) == most + 2
    committer.close()


def test_a_store_that_fails_refuses_the_group_is_logged_once_a_minute_and_works_again(
    gate: Gate, committer: ReportCommitter, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        outcome = submitted(committer, upload())
        gate.let(1)
        with pytest.raises(StoreError):
            outcome.result(timeout=PATIENCE)

    gate.failure = StoreError("the disk is full")
    for _ in range(3):
        fail()
    about = "not committed, logged at most once a minute: the disk is full"
    assert caplog.messages == [f"1 batch was {about}"]
    monkeypatch.setattr("dither_serving.logs._QUIET", 0.0)
    fail()
    assert caplog.messages == [f"1 batch was {about}", f"3 batches were {about}"]
    gate.failure = None
    gate.let(1)
    assert submitted(committer, upload()).result(PATIENCE) is COUNTED


def test_one_poisoned_batch_fails_alone(gate: Gate, committer: ReportCommitter) -> None:
    first, bad, good = upload(), upload(), upload()
    gate.poison = bad.batch
    before = submitted(committer, first)
    gate.wait()
    poisoned, healthy = submitted(committer, bad), submitted(committer, good)
    gate.let(100)
    assert before.result(PATIENCE) is COUNTED
    assert isinstance(poisoned.exception(PATIENCE), StoreError)
    assert healthy.result(PATIENCE) is COUNTED


def test_closing_commits_what_was_taken_and_takes_no_more(gate: Gate, committer: ReportCommitter) -> None:
    answers = [submitted(committer, upload())]
    gate.wait()
    answers += [submitted(committer, upload()) for _ in range(3)]
    closing = threading.Thread(target=committer.close)
    closing.start()
    gate.let(100)
    closing.join(PATIENCE)
    assert all(answer.done() and answer.result() is COUNTED for answer in answers)
    with pytest.raises(StoreError, match="shutting down"):
        submitted(committer, upload())
    assert "dither-committer" not in {thread.name for thread in threading.enumerate()}


def test_two_committers_on_one_store_write_two_shards(store: Store, tmp_path: Path) -> None:
    for _ in range(2):
        committer = ReportCommitter(store, lambda: TODAY, ServerSettings())
        assert submitted(committer, upload()).result(PATIENCE) is COUNTED
        committer.close()
    assert len(execute(url_of(tmp_path), "SELECT DISTINCT shard FROM tallies")) == 2
    assert store.tally(THEME).total == 6


def test_refusals_are_written_once_at_the_end_however_many(gate: Gate) -> None:
    committer = ReportCommitter(gate, lambda: TODAY, ServerSettings())
    for _ in range(1000):
        committer.refusals.add("malformed", "theme", THEME.version, is_ours=True)
    committer.refusals.add("unauthorized")
    assert gate.refusals == []  # none of them made a write
    committer.close()
    assert gate.refusals == [
        {Refusal("theme", TODAY, "malformed", THEME.version): 1000, Refusal("", TODAY, "unauthorized"): 1}
    ]
