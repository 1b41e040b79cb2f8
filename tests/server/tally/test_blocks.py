"""How a tally is laid out in the database."""

import tracemalloc
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither_server.tally.arrays import Counts
from dither_server.tally.blocks import Blocks, add_blocks, from_blocks, from_bytes, no_blocks, to_blocks, to_bytes
from dither_server.tally.fold import fold
from dither_server.tally.tally import Tally
from dither_shared import DitherError, LocalHashing, Mechanism, RandomizedResponse, Rappor, Report, Shape
from server.collecting import same

MECHANISMS = [
    RandomizedResponse.calibrate(2, 1.0),
    RandomizedResponse.calibrate(128, 1.0),
    RandomizedResponse.calibrate(129, 1.0),
    Rappor.calibrate(None, 1.0, bits=20, cohorts=3),
    Rappor.calibrate(None, 1.0, bits=128, cohorts=64),
    Rappor.calibrate(None, 1.0, bits=7, cohorts=300),
]


def some_rows(mechanism: Mechanism, count: int) -> bytes:
    random = np.random.default_rng(count)
    rows = b""
    for cohort in random.integers(0, mechanism.cohorts, count):
        cells = random.integers(0, 2, mechanism.cells) if mechanism.shape is Shape.BITS else None
        symbol = int(random.integers(0, mechanism.cells)).to_bytes(mechanism.row_format.payload_bytes, "big")
        payload = symbol if cells is None else np.packbits(cells.astype(np.uint8), bitorder="little").tobytes()
        rows += Report(int(cohort), payload).encode(mechanism)
    return rows


def dense(mechanism: Mechanism, blocks: Blocks) -> Counts:
    whole = no_blocks(mechanism)
    whole[blocks.numbers] = blocks.counts
    return whole


def test_blocks_hold_every_count_in_its_place() -> None:
    for mechanism, count in product(MECHANISMS, (0, 1, 500)):
        rows = some_rows(mechanism, count)
        blocks = to_blocks(mechanism, fold(mechanism, rows))
        assert same(from_blocks(mechanism, dense(mechanism, blocks)), Tally.fold(mechanism, rows)), mechanism
        assert blocks.counts.any(axis=1).all() or mechanism.shape is Shape.BITS
        assert np.all(np.diff(blocks.numbers) > 0)


def test_one_rappor_report_touches_two_of_65_blocks() -> None:
    mechanism = Rappor.calibrate(None, 1.0, bits=128, cohorts=64)
    blocks = to_blocks(mechanism, fold(mechanism, bytes([63]) + b"\xff" * 16))
    assert blocks.numbers.tolist() == [0, 64]


def test_a_batch_of_a_huge_tally_takes_the_memory_of_what_it_touches() -> None:
    mechanism = LocalHashing.calibrate(100_000, 3.0)
    assert mechanism.cohorts * mechanism.cells > 5_000_000
    rows = some_rows(mechanism, 10)
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
