"""How a tally is laid out in the database."""

import numpy as np
import pytest

from dither_server.blocks import from_blocks, from_bytes, no_blocks, to_blocks, to_bytes
from dither_server.tally import Tally
from dither_shared import Mechanism, RandomizedResponse, Rappor
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
def test_blocks_hold_every_count_in_its_place(mechanism: Mechanism) -> None:
    cells = mechanism.cohorts * mechanism.cells
    tally = Tally(
        np.arange(1, mechanism.cohorts + 1, dtype=np.int64),
        -np.arange(1, cells + 1, dtype=np.int64).reshape(mechanism.cohorts, mechanism.cells),
    )
    blocks = to_blocks(tally)
    assert blocks.shape == no_blocks(mechanism).shape
    assert same(from_blocks(mechanism, blocks), tally)


def test_one_rappor_report_touches_two_of_65_blocks() -> None:
    mechanism = Rappor.calibrate(None, 1.0, bits=128, cohorts=64)
    blocks = to_blocks(Tally.fold(mechanism, bytes([63]) + b"\xff" * 16))
    assert np.flatnonzero(blocks.any(axis=1)).tolist() == [0, 64]


def test_blocks_are_stored_little_endian() -> None:
    assert to_bytes(np.array([1, -2], dtype=np.int64)) == b"\x01" + bytes(7) + b"\xfe" + b"\xff" * 7
    assert from_bytes(b"\x01" + bytes(7)).tolist() == [1]
