"""The fold of a bucket equals a slow model with dictionaries, and the counts of a database."""

import tracemalloc
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither_shared import RandomizedResponse
from dither_spool.bucket import FoldedBucket, fold_bucket
from dither_spool.records import Ids, Records, as_keys, number_of
from server.collecting import TODAY, rows_of, same
from spool.deliveries import (
    FOLDED,
    MECHANISMS,
    NOTHING,
    Delivery,
    expected,
    ids_of,
    numbers_of,
    tally_of,
    version_of,
)
from spool.spooling import arranged

DAY = number_of(TODAY)
THEME = version_of(FOLDED["theme"])
LAYOUT = version_of(FOLDED["layout"])
UNKNOWN = b"\x80unknown"
IDS = [
    bytes(16),
    bytes(15) + b"\1",
    b"\0" * 8 + b"\1" + bytes(7),
    b"\1" + bytes(15),
    b"a" * 16,
    b"a" * 15 + b"\0",
    b"a" * 8 + bytes(8),
    b"\xff" * 16,
]
"""Ids that have much in common: halves, and zeros at their ends."""


def some_rows() -> dict[bytes, list[bytes]]:
    """Return for each version sound and damaged batches: with no, one, several and invalid rows."""
    answers: dict[str, object] = {"layout": "tabs", "speed": 3, "mobile": True, "listed": "v7", "many": "v299"}
    found: dict[bytes, list[bytes]] = {UNKNOWN: [b"", b"any"]}
    for name, metric in FOLDED.items():
        rows = [rows_of(metric, count, b"%d" % count, answers.get(name, "light")) for count in (1, 2, 5, 6)]
        wrong = [rows[0] + b"\0", b"\xff" * metric.mechanism.row_bytes, rows[1] + b"\xff" * metric.mechanism.row_bytes]
        found[version_of(metric)] = [b"", *rows[:3], rows[3][metric.mechanism.row_bytes :], *wrong]
    return found


ROWS = some_rows()


@st.composite
def deliveries(draw: st.DrawFn) -> Delivery:
    version = draw(st.sampled_from(sorted(ROWS)))
    rows = draw(st.sampled_from(ROWS[version]))
    return Delivery(draw(st.sampled_from(IDS)), version, DAY + draw(st.integers(0, 2)), draw(st.integers(0, 2)), rows)


SEGMENTS = st.lists(st.lists(deliveries(), max_size=12), max_size=5)


def folded(segments: Sequence[Sequence[Delivery]], seen: Sequence[Ids] = ()) -> FoldedBucket:
    return fold_bucket([arranged(records) for records in segments], seen, MECHANISMS)


def check(found: FoldedBucket, segments: Sequence[Sequence[Delivery]], seen: set[bytes]) -> None:
    right = expected([delivery for part in segments for delivery in part], seen, MECHANISMS)
    assert numbers_of(found) == right.numbers
    assert found.ids.tobytes() == b"".join(right.ids)
    assert found.conflicts == right.conflicts
    assert found.tallies.keys() == right.tallies.keys()
    for key, blocks in found.tallies.items():
        assert same(tally_of(MECHANISMS[key[0]], blocks), right.tallies[key])


@settings(max_examples=150)
@given(SEGMENTS, st.lists(st.sets(st.sampled_from(IDS)), max_size=3))
def test_fold_of_a_bucket_equals_the_definition(segments: list[list[Delivery]], seen: list[set[bytes]]) -> None:
    result = folded(segments, [ids_of(part) for part in seen])
    check(result, segments, set().union(*seen))
    records = sum(len(part) for part in segments)
    assert records == sum(count for name, count in numbers_of(result).items() if name != "rows")


@pytest.mark.parametrize("size", [10, 300, 3000])
def test_seen_ids_are_found_whether_they_are_fewer_or_more_than_the_records(size: int) -> None:
    random = np.random.default_rng(size)
    batches = [bytes([7, place % 3]) + random.bytes(14) for place in range(300)]
    every = [Delivery(batch, THEME, DAY, 0, b"\0") for batch in batches for _ in range(1 + (batch[15] < 99))]
    for known in (0, 1, min(size, 299)):
        seen = {*batches[:known], *(random.bytes(16) for _ in range(size - known))}
        check(folded([every[::2], every[1::2]], [ids_of(seen), ids_of(batches[-1:])]), [every], seen | {batches[-1]})


def test_the_first_of_two_contents_counts_by_version_then_day_then_stratum_then_rows() -> None:
    """Each pair differs in one field, and in the opposite direction in all later ones."""
    low, high = sorted([THEME, LAYOUT])
    pairs = [
        (Delivery(IDS[0], low, DAY + 1, 1, b"\1"), Delivery(IDS[0], high, DAY, 0, b"\0")),
        (Delivery(IDS[0], LAYOUT, DAY, 1, b"\1"), Delivery(IDS[0], LAYOUT, DAY + 1, 0, b"\0")),
        (Delivery(IDS[0], LAYOUT, DAY, 0, b"\1"), Delivery(IDS[0], LAYOUT, DAY, 1, b"\0")),
        (Delivery(IDS[0], LAYOUT, DAY, 0, b"\1"), Delivery(IDS[0], LAYOUT, DAY, 0, b"\0\0")),
        (Delivery(IDS[0], LAYOUT, DAY, 0, b"\0\1"), Delivery(IDS[0], LAYOUT, DAY, 0, b"\1\0")),
    ]
    for first, other in pairs:
        for segments in ([[first, other]], [[other, first]], [[other], [first]]):
            result = folded(segments)
            conflicts = {(other.version, other.day): 1}
            assert (result.sums.batches, result.sums.repeated, result.conflicts) == (1, 0, conflicts)
            assert list(result.tallies) == [(first.version, first.day, first.stratum)]
            assert result.sums.rows == len(first.rows)


@pytest.mark.slow  # ten times the usual size
def test_a_million_records_twice_take_little_memory() -> None:
    mechanism = RandomizedResponse.calibrate(5, 1.0)
    random = np.random.default_rng(17)
    ids = random.integers(0, 256, (1_000_000, 16), dtype=np.uint8)
    order = np.argsort(ids.view("S16").reshape(-1))
    answers, days = random.integers(0, 5, len(ids), dtype=np.uint8), random.integers(0, 2, len(ids)).astype(np.uint16)
    zeros = np.zeros(len(ids), dtype=np.uint8)
    places = np.arange(len(ids))
    lengths = np.ones(len(ids), dtype=np.int64)
    one = Records(as_keys(ids[order]), zeros.astype("u2"), days, zeros, lengths, places, [THEME], answers)
    late = replace(one, day=days + 1)
    tracemalloc.start()
    try:
        result = fold_bucket([late, one], [ids[order[::2]]], {THEME: mechanism})
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert numbers_of(result) == {**NOTHING, "batches": 500_000, "rows": 500_000, "repeated": 1_500_000}
    for day in (0, 1):
        right = np.bincount(answers[1::2][days[1::2] == day], minlength=5)
        assert tally_of(mechanism, result.tallies[THEME, day, 0]).counts[0].tolist() == right.tolist()
    assert result.ids.tobytes() == ids[order][1::2].tobytes()
    assert peak < 200 * 2_000_000
