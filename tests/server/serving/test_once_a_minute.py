import logging

import pytest

from dither_serving.once_a_minute import OnceAMinute, limited_lines


def test_first_event_is_logged_at_once_and_later_ones_once_a_minute() -> None:
    now = [0.0]
    lines = OnceAMinute(lambda: now[-1])
    assert [lines.add(), lines.add(), lines.add(3)] == [1, 0, 0]
    now.append(59.9)
    assert lines.add() == 0
    now.append(60.0)
    assert [lines.add(), lines.add()] == [6, 0]
    now.append(1e9)
    assert lines.add(2) == 3
    lines.add(4)
    assert [lines.rest(), lines.rest()] == [4, 0]


def test_limited_logger_writes_some_lines_a_minute_and_the_number_left_out(caplog: pytest.LogCaptureFixture) -> None:
    now, logger = [0.0], logging.getLogger("of.a.dependency")
    with limited_lines(logger, 2, lambda: now[0]):
        for minute in (0.0, 60.0):
            now[0] = minute
            for number in range(5):
                logger.warning("%d", number)
    logger.warning("after")
    left_out = "lines omitted from the log of of.a.dependency: %d"
    first, later = ["0", "1", left_out % 1], ["0", "1", left_out % 3]
    assert [record.getMessage() for record in caplog.records] == [*first, *later, left_out % 2, "after"]
