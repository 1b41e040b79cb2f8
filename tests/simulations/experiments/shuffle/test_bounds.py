import math
from fractions import Fraction

import pytest

from dither_server.analysis.shuffling.amplified import amplified
from dither_shared import MECHANISMS
from dither_simulations.experiments.shuffle.bounds import attack
from server.analysis.shuffling.exact import exact_delta, table_of


@pytest.mark.parametrize(
    ("name", "size"), [("randomized-response", 2), ("randomized-response", 3), ("hadamard-response", 3)]
)
@pytest.mark.parametrize("reports", [1, 2, 3, 6])
def test_what_an_attack_proves_is_true(name: str, size: int, reports: int) -> None:
    """The exact δ at the ε that it proves is not below the δ that was granted."""
    mechanism = MECHANISMS[name].calibrate(size, 1.0)
    table = table_of(mechanism, range(size))
    for delta in (1e-6, 1e-3, 0.03):
        assert mechanism.two_level
        proven = attack(mechanism.two_level, reports, delta)
        if proven:
            assert exact_delta(table, reports, Fraction(math.exp(proven * (1 - 1e-9)))) >= delta


@pytest.mark.parametrize(
    ("name", "size", "least"),
    [
        ("randomized-response", 2, 0.6),
        ("randomized-response", 10, 0.97),
        ("projective-geometry", 1024, 0.97),
        ("hadamard-response", 100, 0.97),
        ("local-hashing", 100, 0.97),
        ("subset-selection", 100, 0.75),
        ("optimized-unary", 10, 0.65),
        ("set-response", 10, 0.6),
        ("privset", 10, 0.5),
    ],
)
@pytest.mark.parametrize(
    ("reports", "epsilon", "delta"),
    [
        (10**4, 1.0, 1e-6),
        pytest.param(10**6, 4.0, 1e-8, marks=pytest.mark.slow),
        pytest.param(10**6, 1.0, 1e-3, marks=pytest.mark.slow),
    ],
)
def test_an_attack_comes_near_the_bound_and_never_passes_it(
    name: str, size: int, least: float, reports: int, epsilon: float, delta: float
) -> None:
    """Slow at a hundred times the usual number of reports."""
    parameters = {"at_most": 2} if name == "privset" else {}
    mechanism = MECHANISMS[name].configure(size, {"epsilon": epsilon, **parameters})
    assert mechanism.two_level
    bound = amplified(mechanism, reports, delta).best
    proven = attack(mechanism.two_level, reports, delta)
    assert least * bound <= proven <= bound * (1 + 1e-9)


@pytest.mark.slow  # a lattice of a billion reports; their bound is tested in test_blanket.py
def test_a_billion_reports_are_attacked_too() -> None:
    for size in (2, 10):
        mechanism = MECHANISMS["randomized-response"].calibrate(size, 1.0)
        assert mechanism.two_level
        bound = amplified(mechanism, 10**9, 1e-6).best
        assert 0.7 * bound < attack(mechanism.two_level, 10**9, 1e-6) <= bound
