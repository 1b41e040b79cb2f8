"""Folding rows into counts."""

import re
import tracemalloc
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither_server.tally import fold as module
from dither_server.tally.fold import parsed
from dither_server.tally.tally import Tally
from dither_shared import (
    BitFlip,
    KeyedEntropy,
    LocalHashing,
    Mechanism,
    RandomizedResponse,
    Rappor,
    Report,
    Shape,
    SubsetSelection,
    SymmetricUnary,
    WireError,
)


def test_tally_of_no_rows_is_zero_and_neutral() -> None:
    mechanism = RandomizedResponse.calibrate(300, 1.0)
    assert mechanism.row_bytes == 2
    rows = b"".join(number.to_bytes(2, "big") for number in (0, 1, 1, 299))
    folded = Tally.fold(mechanism, rows) + Tally.zero(mechanism)
    assert folded.total == 4
    assert folded.counts[0, [0, 1, 2, 299]].tolist() == [1, 2, 0, 1]
    assert Tally.fold(mechanism, b"").total == 0


def test_bits_are_little_endian_within_and_across_bytes() -> None:
    mechanism = SymmetricUnary.calibrate(12, 1.0)
    folded = Tally.fold(mechanism, bytes([0b00000001, 0b1000]) + bytes([0b10000001, 0b0000]))
    assert folded.counts[0].tolist() == [2, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1]


def test_blocks_add_up_to_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of many cohorts in a block of every size give what one block gives."""
    mechanism = Rappor.calibrate(None, 1.0, bits=20, cohorts=5)
    entropy = KeyedEntropy(b"blocks")
    rows = b""
    for _ in range(500):
        cohort = entropy.below(4)  # the last cohort stays empty
        rows += Report(cohort, mechanism.randomize(b"v", entropy, cohort)).encode(mechanism)
    whole = Tally.fold(mechanism, rows)
    assert whole.total == 500
    assert whole.reports[4] == 0
    for rows_at_once in (1, 7, 499):
        monkeypatch.setattr(module, "_BLOCK_BYTES", 3 * rows_at_once)
        parts = Tally.fold(mechanism, rows)
        np.testing.assert_array_equal(parts.counts, whole.counts)
        np.testing.assert_array_equal(parts.reports, whole.reports)


def test_batch_with_one_bad_row_counts_nothing() -> None:
    mechanism = Rappor.calibrate(None, 1.0, bits=20, cohorts=5)
    good = Report(4, bytes([255, 255, 15])).encode(mechanism)
    assert Tally.fold(mechanism, good * 3).counts[4].tolist() == [3] * 20
    for bad in (bytes([5, 0, 0, 0]), bytes([0, 0, 0, 16]), b"\0\0\0"):
        for look in (Tally.fold, Tally.check):
            with pytest.raises(WireError, match="reports: "):
                look(mechanism, good + bad + good)
    assert Tally.check(mechanism, good * 3) == 3


@pytest.mark.parametrize("size", [3, 256, 257])
def test_single_row_is_checked_like_many_rows(size: int) -> None:
    """One report a body is what devices send, so a single row has a reader of its own."""
    mechanisms = (
        RandomizedResponse.calibrate(size, 1.0),
        SymmetricUnary.calibrate(size, 1.0),
        Rappor.calibrate(None, 1.0, bits=20, cohorts=min(size, 5)),
        SubsetSelection.calibrate(size, 1.0),
    )
    random = np.random.default_rng(size)
    for mechanism in mechanisms:
        taken = set()
        rows = [random.integers(0, 256, size=mechanism.row_bytes, dtype=np.uint8).tobytes() for _ in range(200)]
        ends = [row[:-1] + bytes([number]) for row in (bytes(mechanism.row_bytes), rows[0]) for number in range(256)]
        for row in rows + ends:
            try:
                parsed(mechanism, row)
            except WireError as error:
                taken.add(False)
                with pytest.raises(WireError, match=f"^{re.escape(str(error))}$"):
                    Tally.check(mechanism, row)
            else:
                taken.add(True)
                assert Tally.check(mechanism, row) == 1
        assert True in taken or mechanism.name == "subset-selection", mechanism
        for odd in (b"", row + b"\0", row[:-1]):
            assert not mechanism.row_format.is_row(odd)


def naive(mechanism: Mechanism, rows: bytes) -> Tally:
    """Return the tally by reading each row on its own with the wire's reader."""
    tally = Tally.zero(mechanism)
    for start in range(0, len(rows), mechanism.row_bytes):
        report = Report.decode(rows[start : start + mechanism.row_bytes], mechanism)
        tally.reports[report.cohort] += 1
        tally.counts[report.cohort, list(report.cells(mechanism))] += 1
    return tally


def random_rows(mechanism: Mechanism, seed: int, count: int, favourite: int) -> Iterator[bytes]:
    """Rows of any payload; of every four, ``favourite`` are of cohort 0, so that cohorts are uneven."""
    random = np.random.default_rng(seed)
    cohorts = np.where(random.integers(0, 4, count) < favourite, 0, random.integers(0, mechanism.cohorts, count))
    for cohort in cohorts.tolist():
        if mechanism.shape is Shape.SYMBOL:
            payload = int(random.integers(0, mechanism.cells)).to_bytes(mechanism.row_format.payload_bytes, "big")
        else:
            bits = random.integers(0, 2, mechanism.cells, dtype=np.uint8)
            payload = np.packbits(bits, bitorder="little").tobytes()
        yield Report(cohort, payload).encode(mechanism)


ALL_KINDS = [
    RandomizedResponse.calibrate(3, 1.0),
    LocalHashing.calibrate(200, 2.0),
    SymmetricUnary.calibrate(64, 1.0),
    SymmetricUnary.calibrate(130, 1.0),
    Rappor.calibrate(None, 1.0, bits=128, cohorts=64),
    Rappor.calibrate(None, 1.0, bits=7, cohorts=300),
    BitFlip.calibrate(20, 1.0),
]


@settings(max_examples=40)
@given(
    mechanism=st.sampled_from(ALL_KINDS),
    seed=st.integers(0, 2**32 - 1),
    count=st.one_of(st.integers(0, 10), st.integers(40, 60), st.integers(240, 900)),
    favourite=st.integers(0, 4),
    block=st.sampled_from([64, 1000, 1 << 25]),
)
def test_a_fold_is_what_reading_row_by_row_gives(
    mechanism: Mechanism, seed: int, count: int, favourite: int, block: int
) -> None:
    rows = b"".join(random_rows(mechanism, seed, count, favourite))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BLOCK_BYTES", block)
        folded = Tally.fold(mechanism, rows)
    expected = naive(mechanism, rows)
    np.testing.assert_array_equal(folded.reports, expected.reports)
    np.testing.assert_array_equal(folded.counts, expected.counts)


def test_a_large_block_is_exact_beyond_every_narrow_counter() -> None:
    """70,000 equal rows: more than 16 bits count, and more than adders leave in their first planes."""
    mechanism = SymmetricUnary.calibrate(12, 1.0)
    folded = Tally.fold(mechanism, bytes([0b10000001, 0b1000]) * 70_001)
    assert folded.counts[0].tolist() == [70_001, 0, 0, 0, 0, 0, 0, 70_001, 0, 0, 0, 70_001]


def test_lists_are_folded_as_the_wire_reads_them_and_refused_unless_a_device_could_make_them() -> None:
    mechanism = SubsetSelection.calibrate(100, 3.0)
    assert mechanism.shape is Shape.LIST
    assert mechanism.row_bytes < 13
    entropy = KeyedEntropy(b"lists")
    rows = b"".join(mechanism.randomize(turn % 100, entropy) for turn in range(300))
    folded, by_hand = Tally.fold(mechanism, rows), naive(mechanism, rows)
    np.testing.assert_array_equal(folded.counts, by_hand.counts)
    assert folded.counts.sum() == 300 * mechanism.listed

    def packed(*cells: int) -> bytes:
        numbers = sum(cell << mechanism.row_format.cell_bits * place for place, cell in enumerate(cells))
        return numbers.to_bytes(mechanism.row_bytes, "little")

    ascending = tuple(range(mechanism.listed))
    unused = bytearray(packed(*ascending))
    unused[-1] |= 0x80
    assert Report.decode(packed(*ascending), mechanism).cells(mechanism) == ascending
    for wrong in (packed(*ascending[:-1], 100), packed(*ascending[::-1]), packed(*ascending[:-1], 0), bytes(unused)):
        for look in (lambda row: Report.decode(row, mechanism), lambda row: Tally.fold(mechanism, rows + row)):
            with pytest.raises(WireError, match="reports: a list"):
                look(wrong)


def test_many_lists_are_folded_in_the_memory_of_their_cells() -> None:
    mechanism = SubsetSelection.calibrate(1000, 4.0)
    entropy = KeyedEntropy(b"many lists")
    rows = b"".join(mechanism.randomize(turn, entropy) for turn in range(50))
    tracemalloc.start()
    try:
        folded = Tally.fold(mechanism, rows * 2000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    np.testing.assert_array_equal(folded.counts, naive(mechanism, rows).counts * 2000)
    cells = 8 * 100_000 * mechanism.listed
    assert peak < 5 * cells  # their bits as integers, all at once, are ten times the cells
