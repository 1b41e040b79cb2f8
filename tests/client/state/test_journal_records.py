"""A journal record is read back as it was written, whatever its body holds."""

from dither.state.journal_records import Debit, Done, Queued, from_line, from_lines, to_line
from dither_shared import Batch

BODY = Batch("a" * 32, "theme", "b" * 16, b"x", "mac os/new release").encode()
QUEUED = [Queued(number * 32, "theme", 739000, 0, BODY) for number in "ab"]


def test_records_round_trip_and_any_flipped_byte_is_noticed() -> None:
    assert from_line(to_line(QUEUED[0]).rstrip(b"\n")) == QUEUED[0], "with a blank in its body"
    record = Debit("theme", "0123456789abcdef", 739938, 3, 2, 1.0986122886681098, 0.0)
    line = to_line(record)
    assert from_line(line[:-1]) == record
    for position in range(len(line) - 1):
        for mask in range(1, 256):
            assert from_line(line[:position] + bytes([line[position] ^ mask]) + line[position + 1 : -1]) is None


def test_a_torn_tail_is_no_damage() -> None:
    lines = to_line(QUEUED[0]) + to_line(QUEUED[1])
    assert from_lines(lines) == (QUEUED, 0, False)
    assert from_lines(lines[:-1]) == ([QUEUED[0]], 0, True)
    assert from_lines(b"nonsense\n" + lines) == (QUEUED, 1, False)


def test_only_the_body_of_a_record_may_hold_blanks() -> None:
    done = Done("a" * 32, "sent and more")  # type: ignore[arg-type]  # what no client writes
    assert from_line(to_line(done).rstrip(b"\n")) is None
