"""Readings of the database, the spool and folds: how often they are made, and the value that replaces a failed one."""

import logging
import threading

import pytest

from dither_serving.problems import StoreError
from dither_serving.prometheus import CachedReading

PATIENCE = 60.0


class Clock:
    """A clock that stands still between readings, and a reading that takes its time by it and may fail."""

    def __init__(self) -> None:
        self.now = 0.0
        self.takes = 0.0
        self.reads = 0
        self.failure: Exception | None = None
        self.kept = CachedReading("thing", self.read, lambda: self.now)

    def read(self) -> int:
        self.reads += 1
        self.now += self.takes
        if self.failure is not None:
            raise self.failure
        return self.reads

    def at(self, second: float) -> int | None:
        self.now = second
        return self.kept.value()


def test_reading_is_reused_for_ten_seconds_or_200_times_its_duration() -> None:
    quick, slow = Clock(), Clock()
    assert [quick.at(second) for second in (0, 0, 9.9, 10.0)] == [1, 1, 1, 2]
    slow.takes = 1.0
    assert [slow.at(second) for second in (0, 200.9, 201.0)] == [1, 1, 2]


@pytest.mark.parametrize("failure", [StoreError("database: gone"), OSError(5, "Input/output error")])
def test_failed_reading_is_unknown_and_logged_once(failure: Exception, caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    assert clock.at(0) == 1
    clock.failure = failure
    with caplog.at_level(logging.WARNING):
        assert [clock.at(second) for second in (10, 11, 20, 30)] == [None] * 4
        assert clock.reads == 4, "the failure at 10 s stands for 11 s, too"
        assert [record.getMessage() for record in caplog.records] == [
            f"the state of the thing could not be read: {failure}"
        ]
        clock.failure = None
        assert clock.at(40) == 5
        clock.failure = failure
        assert clock.at(50) is None
    assert len(caplog.records) == 2


def test_reading_that_failed_after_long_is_tried_again_in_a_minute_and_an_internal_error_is_raised() -> None:
    clock = Clock()
    clock.takes, clock.failure = 10.0, StoreError("database: timeout")
    assert clock.at(0) is None
    clock.takes, clock.failure = 0.0, ZeroDivisionError()
    assert clock.at(69.9) is None
    with pytest.raises(ZeroDivisionError):
        clock.at(70.0)
    clock.failure = None
    assert clock.at(80.0) == 3


def test_while_one_thread_reads_others_get_the_last_value_for_30_seconds() -> None:
    begun, may_end = threading.Event(), threading.Event()
    now = [0.0]

    def read() -> str:
        if now[0]:
            begun.set()
            assert may_end.wait(PATIENCE)
            return "later"
        return "first"

    thing = CachedReading("thing", read, lambda: now[0])
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
