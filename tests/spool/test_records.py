"""Records as columns, in the order of their ids."""

from datetime import date
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither_spool import records
from dither_spool.blobs import SpoolError
from dither_spool.records import Records, as_ids, as_keys, day_of, grouped, number_of
from spool.deliveries import Delivery
from spool.spooling import arranged, batches, rows_in

BATCH = st.tuples(
    st.one_of(st.binary(min_size=16, max_size=16), st.sampled_from([bytes(16), bytes(15) + b"\1", b"\xff" * 16])),
    st.sampled_from([b"version1", b"version2", bytes(8)]),
    st.integers(0, 65_535),
    st.integers(0, 255),
    st.binary(max_size=40),
)


@pytest.mark.parametrize("day", [date(2000, 1, 1), date(2026, 11, 20), date(2179, 6, 6)])
def test_day_numbers_have_sixteen_bits(day: date) -> None:
    assert day_of(number_of(day)) == day
    assert 0 <= number_of(day) < 1 << 16


@pytest.mark.parametrize("day", [date(1970, 1, 1), date(1999, 12, 31), date(2179, 6, 7)])
def test_a_day_of_other_years_is_refused(day: date) -> None:
    with pytest.raises(SpoolError, match=f"{day} is not within the years"):
        number_of(day)


@given(st.lists(BATCH, max_size=30))
def test_records_are_sorted_by_id_and_keep_their_columns(written: list[tuple[bytes, bytes, int, int, bytes]]) -> None:
    rows = rows_in(arranged(written))
    assert sorted(rows) == sorted(written)
    assert [row[0] for row in rows] == sorted(row[0] for row in written)


def test_rows_that_do_not_fit_in_one_piece_keep_their_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "_CHUNK", 100)
    written = [*batches(50, rows=3), *batches(20, rows=0, seed=2), *batches(7, rows=1000, seed=3)]
    assert sorted(rows_in(arranged(written))) == sorted(written)


def test_keys_are_ids_in_the_same_order_with_all_their_zeros() -> None:
    batches = [
        bytes(head) + bytes(12) + bytes(tail) for head, tail in product(product((0, 1, 255), repeat=2), repeat=2)
    ]
    ids = np.frombuffer(b"".join(sorted(batches)), dtype=np.uint8).reshape(-1, 16)
    keys = as_keys(ids)
    assert np.argsort(keys, kind="stable").tolist() == list(range(81))
    assert len(np.unique(keys)) == 81
    assert as_ids(keys).tobytes() == ids.tobytes()
    assert as_ids(as_keys(ids[::3])).tobytes() == ids[::3].tobytes()


def test_groups_cover_every_value_in_order() -> None:
    assert list(grouped(np.zeros(0, dtype=np.uint16))) == []
    found = {value: places.tolist() for value, places in grouped(np.array([7, 0, 65_535, 7, 0], dtype=np.uint16))}
    assert list(found.items()) == [(0, [1, 4]), (7, [0, 3]), (65_535, [2])]


def test_ranks_order_rows_by_length_and_then_by_bytes() -> None:
    rows = [b"\0\0", b"", b"\0", b"b", b"\0", b"a\0", b"a", b"", b"a\0\0", b"\xff", b"a\0", b"\0b"]
    table = Records.merged(
        [arranged([Delivery(b"%016d" % place, b"version1", 1, 0, one) for place, one in enumerate(rows)])]
    )
    ranks = table.ranks().tolist()
    for one, other in product(range(len(rows)), repeat=2):
        right = (len(rows[one]), rows[one]), (len(rows[other]), rows[other])
        assert (ranks[one] < ranks[other], ranks[one] == ranks[other]) == (right[0] < right[1], right[0] == right[1])


def test_rows_stay_with_their_records_in_every_selection() -> None:
    """Records of none, one and several rows, of segments with two versions and with three."""
    random = np.random.default_rng(3)
    versions = [b"versions", b"version1", b"version2"]
    every = [
        Delivery(random.bytes(16), versions[place % 3], place, place % 7, random.bytes(3 * (place % 4)))
        for place in range(60)
    ]
    table = Records.merged([arranged(every[1:25:3] + every[2:25:3]), arranged([]), arranged(every[:25:3] + every[25:])])
    assert table.versions == sorted(versions)
    assert len(table) == 60
    right = sorted(every)
    assert [table.versions[place] for place in table.version] == [delivery.version for delivery in right]
    assert table.day.tolist() == [delivery.day for delivery in right]
    assert table.stratum.tolist() == [delivery.stratum for delivery in right]
    for places in (np.arange(60), np.arange(0), np.array([59, 3, 3]), np.flatnonzero(random.integers(0, 2, 60))):
        assert table.take(places).rows() == b"".join(right[place].rows for place in places)
