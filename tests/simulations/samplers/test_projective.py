"""Points of hyperplanes, drawn for many users at once in two ways."""

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from scipy import stats

from dither_shared.primitives.galois import field
from dither_shared.primitives.projective import Points
from dither_simulations.samplers.projective import owned_points, points_by_user, solutions

USERS = 3_000


@pytest.mark.parametrize("draw", [owned_points, points_by_user])
@pytest.mark.parametrize(("order", "length"), [(2, 5), (3, 3), (4, 3), (5, 2), (9, 3), (27, 2)])
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


@pytest.mark.parametrize(("order", "length"), [(2, 4), (3, 3), (4, 3), (5, 2), (9, 2)])
def test_every_equation_has_its_solutions_and_each_as_often(order: int, length: int) -> None:
    """Chi-square at 1e-9 for each of at most 260 equations: wrong together below 3e-7. A lane is an equation."""
    space = field(order)
    vectors = [space.digits(number, length) for number in range(order**length)]
    equations = [(x, s) for x, s in product(range(len(vectors)), range(order)) if x or not s]
    groups = np.array([(lane, x, s, USERS) for lane, (x, s) in enumerate(equations)]).T
    drawn = solutions(order, length, len(equations), groups, np.random.default_rng(order))
    for counts, (x, s) in zip(drawn, equations, strict=True):
        solves = np.array([space.dot(y, vectors[x]) == s for y in vectors])
        assert counts.sum() == USERS
        assert not counts[~solves].any()
        assert stats.chisquare(counts[solves]).pvalue > 1e-9


def test_sampler_without_users_draws_an_empty_tally() -> None:
    none = np.zeros((4, 3), dtype=np.int64)
    assert not solutions(3, 2, 1, none, np.random.default_rng(0)).any()
