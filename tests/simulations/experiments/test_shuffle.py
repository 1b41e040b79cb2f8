"""The command ``dither-sim shuffle``; its bounds are tested in tests/server/analysis."""

import math
from fractions import Fraction
from functools import partial

import pytest

from contract.cases import usual
from dither_server.analysis.shuffling.amplified import CONDITIONS, amplified
from dither_shared import MECHANISMS
from dither_simulations.experiments.shuffle_bounds import attack
from server.analysis.shuffling.exact import exact_delta, table_of
from simulations.lab import lab, rows_of

run = partial(lab, "shuffle")


rows = partial(rows_of, "shuffle")


def test_shuffle_rows_agree_with_the_bounds_of_the_library_under_its_conditions() -> None:
    options = ("--mechanism", "randomized-response", "-n", "5000", "-k", "8", "--forged", "10%", "--batches", "7")
    (row,) = rows(*options)
    printed = run(*options).stdout
    assert all(condition in printed for condition in CONDITIONS)
    bounds = amplified(usual("randomized-response"), 4500, 1e-6)
    assert (row["honest"], row["generic"], row["blanket"]) == (4500, bounds.generic, bounds.blanket)
    assert (row["epsilon_after"], row["delta_after"]) == bounds.after(7)
    assert row["attack"] <= row["best"] == bounds.best


def test_several_reports_of_one_device_in_a_batch_cost_more() -> None:
    """An example is a daily question whose pool waited for four days."""
    options = ("--mechanism", "randomized-response", "-n", "5000", "-k", "8", "--own", "4")
    (row,) = rows(*options, "--batches", "2")
    bounds = amplified(usual("randomized-response"), 5000, 1e-6, own=4)
    assert (row["own"], row["best"], row["generic"], row["attack"]) == (4, bounds.best, bounds.generic, None)
    assert (row["epsilon_after"], row["delta_after"]) == bounds.after(2)
    assert row["best"] > 4 * amplified(usual("randomized-response"), 5000, 1e-6).best
    assert "The bounds are for 4 reports of one device in a batch, all together." in run(*options).stdout
    assert "of one device in a batch" not in run(*options[:-2]).stdout


def test_shuffle_says_why_there_is_no_amplification() -> None:
    result = run("--mechanism", "bit-flip", "--mechanism", "discrete-gaussian")
    assert "bit-flip: no amplification; reports of one device repeat its permanent draw" in result.stdout
    assert "discrete-gaussian: no amplification; it has a δ of its own" in result.stdout
    assert CONDITIONS[0] not in result.stdout
    (row,) = rows("--mechanism", "local-hashing", "--permanent-epsilon", "2")
    assert (row["generic"], row["blanket"], row["attack"], row["best"]) == (None, None, None, row["local"])


@pytest.mark.parametrize(("name", "size"), [("randomized-response", 2), ("hadamard-response", 3)])
@pytest.mark.parametrize("reports", [1, 6])
def test_epsilon_that_an_attack_proves_is_below_the_exact_one(name: str, size: int, reports: int) -> None:
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
        ("projective-geometry", 1024, 0.97),
        ("subset-selection", 100, 0.75),
        ("privset", 10, 0.5),
    ],
)
@pytest.mark.parametrize(
    ("reports", "epsilon", "delta"),
    [(10**4, 1.0, 1e-6), pytest.param(10**6, 4.0, 1e-8, marks=pytest.mark.slow)],
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
