"""The blanket for laws of few reports: held to what a shuffle truly hides, and to the blanket of two levels."""

import math
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from dither_server.analysis.shuffling.amplified import amplified
from dither_server.analysis.shuffling.blanket import FiniteLaw, blanket_delta, blanket_epsilon, finite_law
from dither_server.analysis.shuffling.generic import generic_epsilon
from dither_shared import MECHANISMS, Mechanism
from server.analysis.shuffling.exact import exact_delta, table_of


def numeric(name: str, epsilon: float, **more: float) -> Mechanism:
    return MECHANISMS[name].configure(None, {"epsilon": epsilon, **more})


def listed(name: str, size: int, epsilon: float) -> Mechanism:
    return MECHANISMS[name].configure(size, {"epsilon": epsilon})


def law_of(mechanism: Mechanism) -> FiniteLaw:
    law = finite_law(mechanism)
    assert law
    return law


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("name", ["discrete-laplace", "exponential"])
def test_no_bound_for_a_number_is_below_the_exact_delta(name: str, epsilon: float) -> None:
    """By enumeration of all values that the others may hold, and of all pairs."""
    for resolution, counts in ((1, (1, 2, 4, 6)), (2, (2, 4)), (3, (2, 3))):
        mechanism = numeric(name, epsilon, resolution=resolution)
        table = table_of(mechanism, range(resolution + 1))
        for count in counts:
            for part in (0.1, 0.6, 0.95):
                after = part * mechanism.epsilon
                truth = exact_delta(table, count, Fraction(math.exp(after)))
                assert truth <= Fraction(blanket_delta(law_of(mechanism), count, after))


@pytest.mark.parametrize(
    "mechanism", [listed("randomized-response", 10, 1.0), numeric("dithered-response", 2.0)], ids=str
)
def test_the_bound_of_a_law_of_two_levels_is_that_of_its_blanket(mechanism: Mechanism) -> None:
    assert mechanism.two_level
    law = finite_law(mechanism)
    if law is None:
        law = law_of(numeric("dithered-response", 2.0, resolution=4))
    for reports in (50, 10**6):
        ours, theirs = (blanket_epsilon(one, reports, 1e-6) for one in (law, mechanism.two_level))
        assert ours == pytest.approx(theirs, rel=1e-4)


@pytest.mark.parametrize("name", ["discrete-laplace", "exponential"])
@pytest.mark.parametrize("after", [0.0, 0.3, 0.9])
def test_envelope_law_dominates_every_pair_in_convex_order(name: str, after: float) -> None:
    mechanism = numeric(name, 1.0, resolution=4)
    law, more = law_of(mechanism), math.exp(after)
    steps = law.steps(after)
    assert steps
    assert 0 <= steps.excess < 1e-9
    nothing = 1 - float(law.common.sum())
    for one, two in permutations(law.odds, 2):
        values = np.append(one - more * two, 0.0)
        masses = np.append(law.common, nothing)
        assert float(values @ masses) == pytest.approx(1 - more)
        for at in np.linspace(values.min() - 1, values.max() + 1, 50):
            ours = float(np.maximum(steps.values - at, 0.0) @ steps.masses)
            assert ours >= float(np.maximum(values - at, 0.0) @ masses) - 1e-12


@pytest.mark.parametrize("name", ["discrete-laplace", "exponential"])
def test_a_number_is_hidden_better_than_by_a_bound_for_any_law(name: str) -> None:
    mechanism = numeric(name, 1.0, resolution=8)
    bounds = amplified(mechanism, 1000, 1e-6)
    assert bounds.blanket == bounds.best < generic_epsilon(mechanism.epsilon, 1000, 1e-6)
    assert blanket_delta(law_of(mechanism), 1000, mechanism.epsilon) <= 1e-12
    alone = blanket_delta(law_of(mechanism), 1, 0.5)
    truth = exact_delta(table_of(mechanism, range(9)), 1, Fraction(math.exp(0.5)))
    assert truth <= Fraction(alone)
    assert alone == pytest.approx(float(truth), rel=1e-3)


def test_laws_that_are_too_large_or_without_symbols_have_no_blanket() -> None:
    assert finite_law(numeric("discrete-laplace", 1.0, resolution=128))
    assert finite_law(numeric("dithered-response", 6.0)) is None
    assert finite_law(listed("optimized-unary", 8, 1.0)) is None
