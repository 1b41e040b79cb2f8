"""How a tally is laid out in the database."""

import tracemalloc

import numpy as np
import pytest

from dither_server.blocks import Blocks, from_blocks, from_bytes, no_blocks, to_blocks, to_bytes
from dither_server.fold import fold
from dither_server.tally import Counts, Tally
from dither_shared import LocalHashing, Mechanism, RandomizedResponse, Rappor, Report, Shape
from server.collecting import same

MECHANISMS = [
    RandomizedResponse.calibrate(2, 1.0),
    RandomizedResponse.calibrate(128, 1.0),
    RandomizedResponse.calibrate(129, 1.0),
    Rappor.calibrate(None, 1.0, bits=20, cohorts=3),
    Rappor.calibrate(None, 1.0, bits=128, cohorts=64),
    Rappor.calibrate(None, 1.0, bits=7, cohorts=300),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: f"{m.cohorts}x{m.cells}")
def some_rows(mechanism: Mechanism, count: int) -> bytes:
    random = np.random.default_rng(count)
    rows = b""
    for cohort in random.integers(0, mechanism.cohorts, count):
        cells = random.integers(0, 2, mechanism.cells) if mechanism.shape is Shape.BITS else None
        symbol = int(random.integers(0, mechanism.cells)).to_bytes(mechanism.payload_bytes, "big")
        payload = symbol if cells is None else np.packbits(cells.astype(np.uint8), bitorder="little").tobytes()
        rows += Report(int(cohort), payload).encode(mechanism)
    return rows


def dense(mechanism: Mechanism, blocks: Blocks) -> Counts:
    whole = no_blocks(mechanism)
    whole[blocks.numbers] = blocks.counts
    return whole


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: f"{m.cohorts}x{m.cells}")
def test_blocks_hold_every_count_in_its_place(mechanism: Mechanism) -> None:
    for count in (0, 1, 500):
        rows = some_rows(mechanism, count)
        blocks = to_blocks(mechanism, fold(mechanism, rows))
        assert same(from_blocks(mechanism, dense(mechanism, blocks)), Tally.fold(mechanism, rows))
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


def test_blocks_are_stored_little_endian() -> None:
    assert to_bytes(np.array([1, -2], dtype=np.int64)) == b"\x01" + bytes(7) + b"\xfe" + b"\xff" * 7
    assert from_bytes(b"\x01" + bytes(7)).tolist() == [1]
