"""Uniform solutions of a linear equation over a finite field, drawn for many users at once."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from dither_shared.primitives.galois import field
from dither_simulations.samplers.projective import solutions

USERS = 3_000


@pytest.mark.parametrize(("order", "length"), [(2, 4), (3, 3), (4, 2), (4, 3), (5, 2), (8, 2), (9, 2)])
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
