from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither_server.store.errors import SpoolError
from dither_server.store.spool import records
from dither_server.store.spool.records import day_of, number_of
from server.store.spool.spooling import arranged, batches, rows_in

BATCH = st.tuples(
    st.one_of(st.binary(min_size=16, max_size=16), st.sampled_from([bytes(16), bytes(15) + b"\1", b"\xff" * 16])),
    st.sampled_from([b"version1", b"version2", bytes(8)]),
    st.integers(0, 65_535),
    st.integers(0, 255),
    st.binary(max_size=40),
)


@pytest.mark.parametrize("day", [date(2000, 1, 1), date(2026, 11, 20), date(2179, 6, 6)])
def test_a_day_is_a_number_of_sixteen_bits(day: date) -> None:
    assert day_of(number_of(day)) == day
    assert 0 <= number_of(day) < 1 << 16


@pytest.mark.parametrize("day", [date(1970, 1, 1), date(1999, 12, 31), date(2179, 6, 7)])
def test_a_day_of_other_years_is_refused(day: date) -> None:
    with pytest.raises(SpoolError, match=f"{day} is not within the years"):
        number_of(day)


@given(st.lists(BATCH, max_size=30))
def test_records_are_what_was_given_by_id(given: list[tuple[bytes, bytes, int, int, bytes]]) -> None:
    found = rows_in(arranged(given))
    assert sorted(found) == sorted(given)
    assert [one[0] for one in found] == sorted(one[0] for one in given)


def test_rows_that_do_not_fit_in_one_piece_keep_their_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "_AT_ONCE", 100)
    given = [*batches(50, rows=3), *batches(20, rows=0, seed=2), *batches(7, rows=1000, seed=3)]
    assert sorted(rows_in(arranged(given))) == sorted(given)


def test_ids_that_end_in_zeros_are_in_the_order_of_their_bytes() -> None:
    ids = [b"a" + bytes(15), b"a" + bytes(14) + b"\1", b"a" * 16, bytes(16)]
    found = arranged([(one, b"version1", 1, 0, b"x") for one in ids])
    assert [one.tobytes() for one in found.ids] == sorted(ids)
    assert found.version.dtype == np.uint16
