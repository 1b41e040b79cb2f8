"""The prefix lengths of a discovery, and the shares of users per level."""

from itertools import pairwise
from statistics import NormalDist

import pytest

from dither_shared import ParameterError
from dither_shared.mechanisms.prefix_levels import KEPT, LONGEST, WEIGHT, level_weights, prefix_lengths


def ways(characters: int, symbols: int) -> int:
    """Return the number of texts of at most ``symbols`` characters."""
    return sum(characters**more for more in range(symbols + 1))


@pytest.mark.parametrize(
    ("characters", "length", "lengths"),
    [
        (10, 12, (5, 7, 9, 11, 12)),
        (16, 4, (4,)),
        (254, 33, tuple(range(2, 34))),
        (2, 64, (16, 24, 32, 40, 48, 56, 64)),
        (1, 64, (64,)),
    ],
)
def test_levels_add_about_eight_bits(characters: int, length: int, lengths: tuple[int, ...]) -> None:
    assert prefix_lengths(characters, length) == lengths


@pytest.mark.parametrize("length", [1, 12, 33, LONGEST])
def test_every_alphabet_has_levels_and_no_level_too_many_candidates(length: int) -> None:
    for characters in (*range(1, 40), *range(40, 255 if length <= 33 else 90, 7), 254 if length <= 33 else 89):
        lengths = prefix_lengths(characters, length)
        assert lengths[-1] == length
        assert len(lengths) <= 32
        assert ways(characters, lengths[0]) <= 1 << 17
        steps = [longer - shorter for shorter, longer in pairwise(lengths)]
        assert all(step > 0 and KEPT * ways(characters, step) <= 1 << 22 for step in steps)


@pytest.mark.parametrize(("characters", "length"), [(39, 12), (254, 33), (2, 64)])
def test_shares_follow_the_quantiles_of_the_normal_law(characters: int, length: int) -> None:
    """Compare to a relative error of a thousandth and a unit of rounding."""
    lengths = prefix_lengths(characters, length)
    kept = [KEPT / ways(characters, lengths[0])]
    kept += [1 / ways(characters, longer - shorter) for shorter, longer in pairwise(lengths)]
    margins = [(1 - NormalDist().inv_cdf(share)) ** 2 for share in kept] + [4.1**2]
    weights = level_weights(characters, lengths)
    assert sum(weights) == WEIGHT
    assert weights == pytest.approx([WEIGHT * margin / sum(margins) for margin in margins], rel=1e-3, abs=1.01)


def test_discovery_of_too_many_levels_names_the_longest_length() -> None:
    with pytest.raises(ParameterError, match=r"length: 64 is too long for 254 characters; 33 at most"):
        prefix_lengths(254, 64)
    assert prefix_lengths(254, 33)
