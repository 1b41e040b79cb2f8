import logging
import threading

import pytest

from dither_server.store import StoreError
from dither_serving.kept import Kept

PATIENCE = 60.0


class Clock:
    """A clock that stands still between readings, and a reading that takes its time by it and may fail."""

    def __init__(self) -> None:
        self.now = 0.0
        self.takes = 0.0
        self.reads = 0
        self.failure: Exception | None = None

    def read(self) -> int:
        self.reads += 1
        self.now += self.takes
        if self.failure is not None:
            raise self.failure
        return self.reads


def kept(clock: Clock) -> Kept[int]:
    return Kept("thing", clock.read, lambda: clock.now)


def test_what_was_read_is_told_for_ten_seconds() -> None:
    clock = Clock()
    thing = kept(clock)
    assert [thing.value(), thing.value()] == [1, 1]
    clock.now = 9.9
    assert thing.value() == 1
    clock.now = 10.0
    assert thing.value() == 2


def test_what_took_long_is_told_for_longer() -> None:
    clock = Clock()
    clock.takes = 1.0
    thing = kept(clock)
    assert thing.value() == 1
    clock.now = 200.9
    assert thing.value() == 1
    clock.now = 201.0
    assert thing.value() == 2


@pytest.mark.parametrize("failure", [StoreError("database: gone"), OSError(5, "Input/output error")])
def test_what_cannot_be_read_is_unknown_and_told_once(failure: Exception, caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    thing = kept(clock)
    assert thing.value() == 1

    def at(second: float) -> int | None:
        clock.now = second
        return thing.value()

    clock.failure = failure
    with caplog.at_level(logging.WARNING):
        assert [at(10), at(11), at(20), at(30)] == [None] * 4
        assert clock.reads == 4  # at 11 it was known already
        assert [one.getMessage() for one in caplog.records] == [f"the state of the thing could not be read: {failure}"]
        clock.failure = None
        assert at(40) == 5
        clock.failure = failure
        assert at(50) is None
    assert len(caplog.records) == 2


def test_a_fault_of_ours_is_raised_and_the_next_reads_again() -> None:
    clock = Clock()
    thing = kept(clock)
    clock.failure = ZeroDivisionError()
    with pytest.raises(ZeroDivisionError):
        thing.value()
    clock.failure, clock.now = None, 10.0
    assert thing.value() == 2


def test_while_one_reads_others_are_told_what_was_known_but_not_for_ever() -> None:
    begun, may_end = threading.Event(), threading.Event()
    now = [0.0]

    def read() -> str:
        if now[0]:
            begun.set()
            assert may_end.wait(PATIENCE)
            return "later"
        return "first"

    thing = Kept("thing", read, lambda: now[0])
    assert thing.value() == "first"
    now[0] = 10.0
    reader = threading.Thread(target=thing.value)
    reader.start()
    assert begun.wait(PATIENCE)
    now[0] = 39.9
    assert thing.value() == "first"
    now[0] = 40.0
    assert thing.value() is None
    may_end.set()
    reader.join(PATIENCE)
    assert thing.value() == "later"


def test_what_failed_after_long_is_tried_again_in_a_minute() -> None:
    clock = Clock()
    thing = kept(clock)
    clock.takes, clock.failure = 10.0, StoreError("database: timeout")
    assert thing.value() is None
    clock.failure, clock.takes = None, 0.0
    clock.now = 69.9
    assert thing.value() is None
    clock.now = 70.0
    assert thing.value() == 2
