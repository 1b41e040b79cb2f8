"""Finite fields and projective points: the axioms, and the numbering that the wire format depends on."""

from itertools import product

import pytest

from dither_shared import ParameterError
from dither_shared.primitives.galois import Field, field_integers, prime_power, prime_powers

SMALL = prime_powers(32)


def test_prime_powers_and_no_other_numbers_are_recognized() -> None:
    assert SMALL == (2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19, 23, 25, 27, 29, 31, 32)
    assert [prime_power(order) for order in (1, 6, 8, 97, 121)] == [None, None, (2, 3), (97, 1), (11, 2)]
    with pytest.raises(ParameterError, match="field: 6 is not a prime power"):
        Field(6)


@pytest.mark.parametrize("order", SMALL)
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


@pytest.mark.parametrize("order", SMALL)
def test_x_is_a_root_of_the_stated_polynomial(order: int) -> None:
    space = Field(order)
    if space.degree == 1:
        assert space.lower is None
        return
    assert space.lower is not None
    power = 1
    for _ in range(space.degree):
        power = space.multiply(power, space.characteristic)  # which is x
    assert space.add(power, space.lower) == 0
    assert {4: 3, 8: 3, 9: 5}.get(order, space.lower) == space.lower
    assert field_integers(order, 7) == {"order": order, "lower": space.lower, "length": 7}


def test_field_polynomials_never_change() -> None:
    """x·x in GF(4) is x + 1, x²·x in GF(8) is x + 1, x·x in GF(9) is 2x + 1; likewise the higher powers of x."""
    assert Field(4).multiply(2, 2) == 3
    assert Field(8).multiply(4, 2) == 3
    assert Field(9).multiply(3, 3) == 7
    assert [Field(16).multiply(8, 2), Field(25).multiply(5, 5), Field(27).multiply(9, 3)] == [3, 23, 5]


@pytest.mark.parametrize(("order", "length"), [(2, 4), (3, 3), (4, 3), (5, 2), (9, 2)])
def test_points_are_numbered_without_gaps_and_whatever_the_scale(order: int, length: int) -> None:
    space = Field(order)
    points = [space.point(index, length) for index in range((order**length - 1) // (order - 1))]
    assert points == sorted(points)
    assert all(next(entry for entry in point if entry) == 1 for point in points)
    for index, point in enumerate(points):
        for scale in range(1, order):
            assert space.point_index([space.multiply(scale, entry) for entry in point]) == index
