"""Points of hyperplanes, drawn for many users at once in two ways."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from dither_shared.primitives.projective import Points
from dither_simulations.samplers.projective import owned_points, points_by_user

USERS = 3_000


@pytest.mark.parametrize("draw", [owned_points, points_by_user])
@pytest.mark.parametrize(("order", "length"), [(2, 2), (2, 5), (3, 3), (4, 3), (5, 2), (8, 2), (9, 2), (9, 3), (27, 2)])
def test_a_value_draws_the_points_of_its_hyperplane_alike(
    draw: Callable[[Points, np.ndarray, np.random.Generator], np.ndarray], order: int, length: int
) -> None:
    """Chi-square at 1e-10 for each of at most 91 hyperplanes: wrong together below 1e-6 over all cases."""
    points = Points(order, length)
    users = USERS * np.eye(points.count, dtype=np.int64)  # a lane for each value
    for value, counts in enumerate(draw(points, users, np.random.default_rng(order))):
        owned = list(points.hyperplane(value))
        assert counts.sum() == USERS == counts[owned].sum()
        assert len(owned) == 1 or stats.chisquare(counts[owned]).pvalue > 1e-10


def test_more_users_than_draw_at_once_are_all_there() -> None:
    points = Points(4, 4)
    users = np.array([[0, 700_000, 0, 5], [1, 0, 0, 800_000]])
    counts = points_by_user(points, users, np.random.default_rng(0))
    assert counts.shape == (2, points.count)
    assert counts.sum(axis=1).tolist() == users.sum(axis=1).tolist()
    assert not points_by_user(points, 0 * users, np.random.default_rng(0)).any()
