"""Points of projective spaces, and draws from hyperplanes."""

from fractions import Fraction

import pytest

from contract.exact_law import exact_law
from dither_shared.primitives.probability import ONE
from dither_shared.primitives.projective import Points, point_count, point_length

SPACES = pytest.mark.parametrize(("order", "length"), [(2, 2), (2, 4), (3, 3), (4, 2), (4, 3), (5, 2), (8, 2), (9, 2)])


@SPACES
def test_all_points_own_equally_many_points_and_all_pairs_share_equally_many(order: int, length: int) -> None:
    points = Points(order, length)
    hyperplanes = [set(points.hyperplane(point)) for point in range(points.count)]
    assert len(set(map(frozenset, hyperplanes))) == points.count
    assert {len(each) for each in hyperplanes} == {points.owned}
    assert {len(hyperplanes[0] & each) for each in hyperplanes[1:]} == {points.shared}


@SPACES
def test_projective_draw_is_uniform_on_the_hyperplane_and_off_it(order: int, length: int) -> None:
    points, threshold = Points(order, length), ONE // 3
    for point in (0, 1, points.count // 2, points.count - 1):
        law = exact_law(lambda entropy, point=point: points.draw(point, threshold, entropy))  # type: ignore[misc]
        owned = set(points.hyperplane(point))
        inside = Fraction(threshold, ONE)
        for drawn in range(points.count):
            share = inside / len(owned) if drawn in owned else (1 - inside) / (points.count - len(owned))
            assert law[drawn] == share


@pytest.mark.parametrize("size", [2, 3, 4, 16384, 65536])
@pytest.mark.parametrize("order", [2, 3, 4, 53, 256])
def test_point_length_is_the_least_sufficient_one(order: int, size: int) -> None:
    length = point_length(order, size)
    assert point_count(order, length) >= size
    assert length == 2 or point_count(order, length - 1) < size
