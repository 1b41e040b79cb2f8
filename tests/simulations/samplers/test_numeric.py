"""Samplers of numbers at the sizes people use; their laws are enumerated in test_laws.py."""

from fractions import Fraction

import numpy as np
import pytest

from dither_server.estimation.numeric.tabulated import law_of
from dither_shared import DitheredResponse
from dither_shared.mechanisms.numeric import NumericMechanism
from dither_simulations.mechanism_by_name import NUMERIC, named_numeric
from dither_simulations.samplers import sample_tally
from dither_simulations.samplers.numeric import _conditional
from dither_simulations.users.populations import Population, numbered

MECHANISMS = {
    **{name: named_numeric(name, 4.0) for name in NUMERIC},
    "permanent": named_numeric("dithered-response", 1.0, 2.0),
    "many steps": DitheredResponse.calibrate(None, 10.0, steps=1023, resolution=2),
    "many phases": DitheredResponse.calibrate(None, 1.0, resolution=256),
}


def lopsided(mechanism: NumericMechanism, users: int) -> Population:
    """A third of people at each end, the others rarer at higher points: some points have nobody."""
    weights = np.exp(-np.linspace(0, 40, mechanism.size))
    weights[[0, -1]] = weights.sum()
    return Population.spread(numbered(mechanism.size), weights, users)


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_mean_score_is_where_theory_puts_it_at_any_scale(name: str) -> None:
    """Six and a half standard deviations: a normal variable is farther out below 1e-10; 16 times of many users."""
    mechanism = MECHANISMS[name]
    held = np.flatnonzero(lopsided(mechanism, 10**9).counts).tolist()
    variances = {point: float(mechanism.mean_variance(point)) for point in held}
    for users in (0, 1, 10**9, 10**12):
        people = lopsided(mechanism, users)
        tally = sample_tally(mechanism, people, np.random.default_rng(users))
        assert (tally.total, int(tally.counts.sum())) == (users, users)
        assert (tally.counts.sum(axis=1) == tally.reports).all()
        if users > 1:
            truth = float(np.arange(mechanism.size) @ people.shares) / (mechanism.size - 1)
            variance = sum(variances.get(point, 0.0) * share for point, share in enumerate(people.shares.tolist()))
            assert abs(law_of(mechanism).scores(tally).mean - truth) < 6.5 * (variance / users) ** 0.5, users


def test_conditional_probabilities_of_rare_values_are_exact_at_both_ends() -> None:
    """Floating-point subtraction from 1 would lose the last probability."""
    tail = Fraction(1, 2**64)
    assert _conditional((tail, 1 - 2 * tail, tail)) == [2.0**-64, 1.0, 1.0]
    law = (Fraction(1, 2), Fraction(1, 2) - 3 * tail, tail, 2 * tail)
    assert _conditional(law) == pytest.approx([1 / 2, 1 - 6 * 2**-64, 1 / 3, 1.0], rel=1e-15)
