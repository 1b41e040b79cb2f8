"""Records as columns."""

from itertools import product

import numpy as np

from dither_server.ingest.folding.table import Table, as_ids, as_keys, grouped
from server.ingest.folding.deliveries import Delivery, segment


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


def test_groups_are_of_every_value_in_order() -> None:
    assert list(grouped(np.zeros(0, dtype=np.uint16))) == []
    found = {value: places.tolist() for value, places in grouped(np.array([7, 0, 65_535, 7, 0], dtype=np.uint16))}
    assert list(found.items()) == [(0, [1, 4]), (7, [0, 3]), (65_535, [2])]


def test_ranks_tell_rows_apart_by_length_and_then_by_bytes() -> None:
    rows = [b"\0\0", b"", b"\0", b"b", b"\0", b"a\0", b"a", b"", b"a\0\0", b"\xff", b"a\0", b"\0b"]
    table = Table.of([segment([Delivery(b"%016d" % place, b"v", 1, 0, one) for place, one in enumerate(rows)])])
    ranks = table.ranks().tolist()
    for one, other in product(range(len(rows)), repeat=2):
        right = (len(rows[one]), rows[one]), (len(rows[other]), rows[other])
        assert (ranks[one] < ranks[other], ranks[one] == ranks[other]) == (right[0] < right[1], right[0] == right[1])


def test_rows_follow_their_records_through_every_choice() -> None:
    """Records of none, one and several rows, of two segments whose versions are listed in another order."""
    random = np.random.default_rng(3)
    versions = [b"zz", b"aa", b"mm"]
    every = [
        Delivery(random.bytes(16), versions[place % 3], place, place % 7, random.bytes(3 * (place % 4)))
        for place in range(60)
    ]
    table = Table.of([segment(every[:25], versions), segment([]), segment(every[25:], versions[::-1])])
    assert table.versions == sorted(versions)
    assert len(table) == 60
    right = sorted(every)
    assert [table.versions[place] for place in table.version] == [one.version for one in right]
    assert table.day.tolist() == [one.day for one in right]
    assert table.stratum.tolist() == [one.stratum for one in right]
    for places in (np.arange(60), np.arange(0), np.array([59, 3, 3]), np.flatnonzero(random.integers(0, 2, 60))):
        assert table.take(places).rows(3) == b"".join(right[place].rows for place in places)
