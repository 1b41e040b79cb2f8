"""Folding rows into counts, and how a tally is laid out in the database."""

import re
import tracemalloc
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither_server.tally import fold as module
from dither_server.tally.arrays import Counts
from dither_server.tally.blocks import Blocks, add_blocks, from_blocks, from_bytes, no_blocks, to_blocks, to_bytes
from dither_server.tally.fold import fold, parsed
from dither_server.tally.tally import Tally
from dither_shared import (
    BitFlip,
    DitherError,
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
from server.collecting import same


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


def random_rows(mechanism: Mechanism, seed: int, count: int, favourite: int = 0) -> bytes:
    """Rows of any payload; of every four, ``favourite`` are of cohort 0, so that cohorts are uneven."""
    rows = b""
    random = np.random.default_rng(seed)
    cohorts = np.where(random.integers(0, 4, count) < favourite, 0, random.integers(0, mechanism.cohorts, count))
    for cohort in cohorts.tolist():
        if mechanism.shape is Shape.SYMBOL:
            payload = int(random.integers(0, mechanism.cells)).to_bytes(mechanism.row_format.payload_bytes, "big")
        else:
            bits = random.integers(0, 2, mechanism.cells, dtype=np.uint8)
            payload = np.packbits(bits, bitorder="little").tobytes()
        rows += Report(cohort, payload).encode(mechanism)
    return rows


ALL_KINDS = [
    *(RandomizedResponse.calibrate(size, 1.0) for size in (3, 128, 129, 300)),
    LocalHashing.calibrate(200, 2.0),
    SymmetricUnary.calibrate(64, 1.0),
    SymmetricUnary.calibrate(130, 1.0),
    *(Rappor.calibrate(None, 1.0, bits=bits, cohorts=cohorts) for bits, cohorts in ((20, 3), (128, 64), (7, 300))),
    BitFlip.calibrate(20, 1.0),
]


@settings(max_examples=40)
@given(
    mechanism=st.sampled_from(ALL_KINDS),
    seed=st.integers(0, 2**32 - 1),
    count=st.one_of(st.integers(0, 10), st.integers(40, 60), st.integers(240, 900)),
    favourite=st.integers(0, 4),
    block=st.sampled_from([1, 64, 1000, 1 << 25]),
)
def test_a_fold_is_what_reading_row_by_row_gives(
    mechanism: Mechanism, seed: int, count: int, favourite: int, block: int
) -> None:
    rows = random_rows(mechanism, seed, count, favourite)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BLOCK_BYTES", block)
        folded = Tally.fold(mechanism, rows)
    expected = naive(mechanism, rows)
    assert same(folded, expected)
    assert same(folded + Tally.zero(mechanism), expected)


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


def dense(mechanism: Mechanism, blocks: Blocks) -> Counts:
    whole = no_blocks(mechanism)
    whole[blocks.numbers] = blocks.counts
    return whole


def test_blocks_hold_every_count_in_its_place() -> None:
    for mechanism, count in product(ALL_KINDS, (0, 1, 500)):
        rows = random_rows(mechanism, count, count)
        blocks = to_blocks(mechanism, fold(mechanism, rows))
        assert same(from_blocks(mechanism, dense(mechanism, blocks)), Tally.fold(mechanism, rows)), mechanism
        assert blocks.counts.any(axis=1).all() or mechanism.shape is Shape.BITS
        assert np.all(np.diff(blocks.numbers) > 0)


def test_a_batch_of_a_huge_tally_takes_the_memory_of_what_it_touches() -> None:
    mechanism = LocalHashing.calibrate(100_000, 3.0)
    assert mechanism.cohorts * mechanism.cells > 5_000_000
    rows = random_rows(mechanism, 10, 10)
    tracemalloc.start()
    try:
        blocks = to_blocks(mechanism, fold(mechanism, rows))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(blocks.numbers) <= 20
    assert int(blocks.counts.sum()) == 20  # ten reports, and a symbol of each
    assert peak < 1_000_000  # the whole tally takes more than 40


def block(*counts: int) -> Counts:
    """A block that begins with these counts."""
    whole = np.zeros((1, 128), dtype=np.int64)
    whole[0, : len(counts)] = counts
    return whole


def test_count_takes_the_bits_that_the_largest_of_its_block_needs() -> None:
    for counts, stored in (
        ((), bytes(16)),
        ((1, 0, 1), b"\x05" + bytes(15)),
        ((1, 3), b"\x0d" + bytes(31)),
        ((1, 15), b"\xf1" + bytes(63)),
        ((1, 255), b"\x01\xff" + bytes(126)),
        ((1, 256), b"\x01\x00\x00\x01" + bytes(252)),
        ((1, 65_536), b"\x01\x00\x00\x00\x00\x00\x01\x00" + bytes(504)),
        ((1, 1 << 62), b"\x01" + bytes(14) + b"\x40" + bytes(1008)),
    ):
        assert to_bytes(block(*counts)) == [stored], counts
        assert from_bytes([stored]).tolist() == block(*counts).tolist(), counts


def test_block_of_an_impossible_length_is_reported_as_damaged() -> None:
    for length in (0, 1, 15, 17, 48, 2048):
        with pytest.raises(DitherError, match=f"a stored sum has {length} bytes, so it is damaged"):
            from_bytes([bytes(length)])


@given(st.lists(st.integers(0, 62), max_size=9), st.integers(0, 2**32))
def test_blocks_of_any_widths_come_back_as_they_were(bits: list[int], seed: int) -> None:
    random = np.random.default_rng(seed)
    counts = np.array([random.integers(0, 1 << most, 128, endpoint=True) for most in bits]).reshape(-1, 128)
    assert from_bytes(to_bytes(counts)).tolist() == counts.tolist()


def test_blocks_of_several_shards_add_up() -> None:
    blocks = np.zeros((4, 128), dtype=np.int64)
    add_blocks(blocks, np.array([2, 0, 2, 3, 2]), np.repeat(np.arange(1, 6), 128).reshape(5, 128))
    assert blocks[:, 0].tolist() == [2, 0, 9, 4]
