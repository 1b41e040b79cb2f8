"""Finite fields and projective points: the axioms; tests/vectors fix their numbering."""

from itertools import product

import pytest

from dither_shared import ParameterError
from dither_shared.primitives.galois import Field, prime_power, prime_powers


def test_prime_powers_and_no_other_numbers_are_recognized() -> None:
    assert prime_powers(32) == (2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19, 23, 25, 27, 29, 31, 32)
    assert [prime_power(order) for order in (1, 6, 8, 97, 121)] == [None, None, (2, 3), (97, 1), (11, 2)]
    with pytest.raises(ParameterError, match="field: 6 is not a prime power"):
        Field(6)


@pytest.mark.parametrize("order", [2, 3, 4, 7, 8, 9, 16, 27, 32])
def test_finite_field_satisfies_the_field_axioms(order: int) -> None:
    space, elements = Field(order), range(order)
    for a, b, c in product(elements, elements, range(min(order, 5))):
        assert space.add(a, b) == space.add(b, a)
        assert space.multiply(a, b) == space.multiply(b, a)
        left = space.multiply(a, space.add(b, c))
        assert left == space.add(space.multiply(a, b), space.multiply(a, c))
        assert space.multiply(space.multiply(a, b), c) == space.multiply(a, space.multiply(b, c))
    for element in elements:
        assert space.add(element, space.negative(element)) == 0
        assert space.add(element, 0) == space.multiply(element, 1) == element
        assert sorted(space.add(element, other) for other in elements) == list(elements)
        if element:
            assert space.multiply(element, space.inverse(element)) == 1


@pytest.mark.parametrize(("order", "length"), [(2, 4), (3, 3), (4, 3), (5, 2), (9, 2)])
def test_points_are_numbered_without_gaps_and_whatever_the_scale(order: int, length: int) -> None:
    space = Field(order)
    points = [space.point(index, length) for index in range((order**length - 1) // (order - 1))]
    assert points == sorted(points)
    assert all(next(entry for entry in point if entry) == 1 for point in points)
    for index, point in enumerate(points):
        for scale in range(1, order):
            assert space.point_index([space.multiply(scale, entry) for entry in point]) == index
