"""Rows of bits and the numbers of their lanes."""

import pytest

from dither_shared.primitives.entropy import lanes_of


@pytest.mark.parametrize("lanes", [(), (0,), (1,), (0, 1), (3, 64, 65), (1023,), tuple(range(100))])
def test_lanes_of_set_bits_ascend(lanes: tuple[int, ...]) -> None:
    assert lanes_of(sum(1 << lane for lane in lanes)) == lanes
