"""Folding rows into counts."""

import numpy as np
import pytest

from dither_server import tally as module
from dither_server.tally import Tally
from dither_shared import KeyedEntropy, RandomizedResponse, Rappor, Report, SymmetricUnary, WireError


def test_a_tally_of_nothing_is_zero_and_neutral() -> None:
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
        monkeypatch.setattr(module, "_BLOCK_BITS", 24 * rows_at_once)
        parts = Tally.fold(mechanism, rows)
        np.testing.assert_array_equal(parts.counts, whole.counts)
        np.testing.assert_array_equal(parts.reports, whole.reports)


def test_one_bad_row_among_good_ones_counts_nothing() -> None:
    mechanism = Rappor.calibrate(None, 1.0, bits=20, cohorts=5)
    good = Report(4, bytes([255, 255, 15])).encode(mechanism)
    assert Tally.fold(mechanism, good * 3).counts[4].tolist() == [3] * 20
    for bad in (bytes([5, 0, 0, 0]), bytes([0, 0, 0, 16]), b"\0\0\0"):
        for look in (Tally.fold, Tally.check):
            with pytest.raises(WireError, match="reports: "):
                look(mechanism, good + bad + good)
    assert Tally.check(mechanism, good * 3) == 3
