"""The committer: groups under load, bounded memory, no false acknowledgement, a clean end."""

import threading
from collections.abc import Iterator, Sequence
from datetime import date

import pytest

from dither_server.committer import ClosedError, Committer, QueueFullError
from dither_server.store import Store, StoreError, Upload
from dither_server.tally import Tally
from server.collecting import THEME, TODAY, same, upload

PATIENCE = 20.0


class Gate:
    """A store whose commits wait until the test lets them through."""

    def __init__(self) -> None:
        self.groups: list[list[Upload]] = []
        self.entered = threading.Semaphore(0)
        self.open = threading.Semaphore(0)
        self.poison: bytes = b""
        self.failure: Exception | None = None

    def commit(self, uploads: Sequence[Upload], day: date, shard: bytes) -> list[bool]:
        assert (day, len(shard)) == (TODAY, 16)
        self.groups.append(list(uploads))
        self.entered.release()
        assert self.open.acquire(timeout=PATIENCE)
        if self.failure is not None:
            raise self.failure
        if self.poison in {one.batch for one in uploads}:
            raise ArithmeticError
        return [True] * len(uploads)

    def let(self, commits: int) -> None:
        self.open.release(commits)

    def wait(self) -> None:
        assert self.entered.acquire(timeout=PATIENCE)


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def committer(gate: Gate) -> Iterator[Committer]:
    committer = Committer(gate, lambda: TODAY, queue_limit=3, group_limit=2)
    yield committer
    gate.let(100)
    committer.close()


def test_whatever_waits_is_one_group_up_to_its_limit(gate: Gate, committer: Committer) -> None:
    uploads = [upload() for _ in range(4)]
    answers = [committer.submit(uploads[0])]
    gate.wait()
    answers += [committer.submit(one) for one in uploads[1:]]
    assert not any(answer.done() for answer in answers)  # nothing is acknowledged before its commit
    gate.let(3)
    assert all(answer.result(PATIENCE) for answer in answers)
    assert gate.groups == [uploads[:1], uploads[1:3], uploads[3:]]


def test_a_full_queue_refuses_and_takes_again_when_there_is_room(gate: Gate, committer: Committer) -> None:
    first = committer.submit(upload())
    gate.wait()
    waiting = [committer.submit(upload()) for _ in range(3)]
    with pytest.raises(QueueFullError):
        committer.submit(upload())
    gate.let(100)
    assert all(answer.result(PATIENCE) for answer in (first, *waiting))
    assert committer.submit(upload()).result(PATIENCE)
    assert sum(map(len, gate.groups)) == 5


def test_a_failing_store_refuses_the_group_and_the_next_one_goes_through(gate: Gate, committer: Committer) -> None:
    gate.failure = StoreError("database: full")
    answers = [committer.submit(upload())]
    gate.wait()
    answers += [committer.submit(upload()) for _ in range(2)]
    gate.let(2)
    for answer in answers:
        assert isinstance(answer.exception(PATIENCE), StoreError)
    gate.failure = None
    gate.let(1)
    assert committer.submit(upload()).result(PATIENCE)


def test_one_poisoned_batch_fails_alone(gate: Gate, committer: Committer) -> None:
    first, bad, good = upload(), upload(), upload()
    gate.poison = bad.batch
    before = committer.submit(first)
    gate.wait()
    poisoned, healthy = committer.submit(bad), committer.submit(good)
    gate.let(100)
    assert before.result(PATIENCE)
    assert isinstance(poisoned.exception(PATIENCE), StoreError)
    assert healthy.result(PATIENCE)


def test_closing_commits_what_was_taken_and_takes_no_more(gate: Gate, committer: Committer) -> None:
    answers = [committer.submit(upload())]
    gate.wait()
    answers += [committer.submit(upload()) for _ in range(3)]
    closing = threading.Thread(target=committer.close)
    closing.start()
    gate.let(100)
    closing.join(PATIENCE)
    assert all(answer.done() and answer.result() for answer in answers)
    with pytest.raises(ClosedError):
        committer.submit(upload())
    assert "dither-committer" not in {thread.name for thread in threading.enumerate()}


def test_closing_what_never_started_is_immediate() -> None:
    Committer(Gate(), lambda: TODAY, 1, 1).close()


def test_concurrent_duplicates_are_counted_once(store: Store) -> None:
    committer = Committer(store, lambda: TODAY, queue_limit=1000, group_limit=7)
    uploads = [upload() for _ in range(5)]
    answers = [[committer.submit(one) for one in uploads] for _ in range(20)]
    conflict = committer.submit(upload(rows=b"\x00", name=uploads[0].batch))
    assert all(answer.result(PATIENCE) for row in answers for answer in row)
    assert conflict.result(PATIENCE) is False
    committer.close()
    assert same(store.tally(THEME), Tally.fold(THEME.mechanism, b"".join(one.rows for one in uploads)))


def test_two_committers_on_one_store_write_two_shards(store: Store) -> None:
    for _ in range(2):
        committer = Committer(store, lambda: TODAY, 10, 10)
        assert committer.submit(upload()).result(PATIENCE)
        committer.close()
    with store._transaction() as connection:
        shards = connection.exec_driver_sql("SELECT DISTINCT shard FROM tallies").all()
    assert len(shards) == 2
    assert store.tally(THEME).total == 6
