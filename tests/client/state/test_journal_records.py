"""A record reads back as it was written, whatever a body holds."""

import pytest

from dither.state.journal_records import Debit, Done, Queued, Record, from_line, to_line
from dither_shared import Batch

BODY = Batch("a" * 32, "theme", "b" * 16, b"x", "mac os/new release").encode()
RECORDS = [
    Queued("a" * 32, "theme", 739000, 0, BODY),
    Debit("theme", "b" * 16, 739000, 1, 1, 1.0, 0.0),
    Done("a" * 32, "sent"),
]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_a_record_reads_back(record: Record) -> None:
    assert from_line(to_line(record).rstrip(b"\n")) == record


def test_only_a_body_may_hold_blanks() -> None:
    done = Done("a" * 32, "sent and more")  # type: ignore[arg-type]  # what no client writes
    assert from_line(to_line(done).rstrip(b"\n")) is None
