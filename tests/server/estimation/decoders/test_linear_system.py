"""The linear system of RAPPOR against its definition: a design matrix with one intercept per cohort."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest

from dither_server.estimation.decoders.linear_system import BitCounts, System, refit
from dither_server.tally.arrays import Floats

A, B, BITS, STRINGS = 0.7, 0.2, 7, 4


def drawn(cohorts: int, rng: np.random.Generator) -> tuple[System, Floats]:
    """Return a system of random marks and counts, and its design matrix, shape (cohorts, bits, strings).

    The first cohort has no reports, and the second has no marks of the first string.
    """
    orders = rng.random((1 + cohorts, STRINGS, BITS)).argsort(axis=2)
    marks = orders[..., :2].transpose(0, 2, 1).astype(np.uint16)
    marks[1, :, 0] = BITS
    reports = rng.integers(100, 900, 1 + cohorts)
    reports[0] = 0
    table = BitCounts(reports, rng.binomial(reports[:, np.newaxis], 0.4, (1 + cohorts, BITS)), A, B)
    design = (marks[1:, :, np.newaxis] == np.arange(BITS)[:, np.newaxis]).any(axis=1)
    return System.of(table, marks), design.astype(np.float64)


def weighted(system: System, design: Floats, frequency: Floats) -> tuple[Floats, Floats]:
    """Return the share of people who mark each cell, of whom the rest mark bits evenly, and its inverse variance."""
    share = np.clip(design @ frequency + (1 - frequency.sum()) * design.mean(), 0, 1)
    reported = B + (A - B) * share
    return share, system.table.reports[:, np.newaxis] * (A - B) ** 2 / (reported * (1 - reported))


def test_variance_of_a_cell_is_that_of_its_binomial_law() -> None:
    """By enumeration of three reports, of which each is 1 with probability 3/20 + 11/20 · 2/5 = 37/100."""
    a, b, share = Fraction(7, 10), Fraction(3, 20), Fraction(2, 5)
    one = b + (a - b) * share
    law = [(comb(3, k) * one**k * (1 - one) ** (3 - k), (Fraction(k, 3) - b) / (a - b)) for k in range(4)]
    variance = sum(chance * (y - share) ** 2 for chance, y in law)
    table = BitCounts(np.array([3]), np.zeros((1, 1), dtype=np.int64), float(a), float(b))
    assert table.variance(np.array([[float(share)]]))[0, 0] == pytest.approx(float(variance))


def test_passes_over_the_marks_are_products_with_the_centred_design_matrix() -> None:
    first, design = drawn(3, np.random.default_rng(1))
    assert first.weight == pytest.approx(weighted(first, design, np.zeros(STRINGS))[1])
    for frequency in (np.array([0.5, 0.1, 0.3, 0.0]), np.array([3.0, -1.0, 0.0, 0.0])):  # the latter is clipped
        share, weight = weighted(first, design, frequency)
        assert first.share(frequency) == pytest.approx(share)
        system = first.reweighted(frequency)
        assert system.weight == pytest.approx(weight)
        means = (weight[..., np.newaxis] * design).sum(axis=1) / weight.sum(axis=1)[:, np.newaxis]
        centred = (design - means[:, np.newaxis]).reshape(-1, STRINGS)
        assert system.dense(np.arange(STRINGS)) == pytest.approx(centred)
        assert system.spread(frequency).ravel() == pytest.approx(centred @ frequency)
        assert system.gathered(system.target) == pytest.approx(centred.T @ (weight * system.target).ravel())
        assert system.information == pytest.approx(((centred**2).T * weight.ravel()).sum(axis=1))
        debiased = (system.table.counts / system.table.reports[:, np.newaxis] - B) / (A - B)
        assert system.target == pytest.approx(debiased - np.average(debiased, 1, weight)[:, np.newaxis])
        units = np.eye(3 * BITS).reshape(-1, 3, BITS)
        rank = np.linalg.matrix_rank([system.centred(unit).ravel() for unit in units])
        assert system.freedom == rank


def test_system_tolerates_a_candidate_that_marks_nothing() -> None:
    marks = np.array([[[0, 2]]], dtype=np.uint16)
    system = System.of(BitCounts(np.array([9]), np.array([[4, 5]]), A, B), marks)
    assert 0 < system.information[1] < 1e-6 * system.information[0]
    assert (system.dense(np.array([1])) == 0).all()


@pytest.mark.parametrize("cohorts", [3, 23, 24])
def test_refit_is_least_squares_with_the_errors_of_the_model_or_of_the_scatter_of_many_cohorts(cohorts: int) -> None:
    """Cohorts differ far more than reports of different people would; the last candidate is not refitted.

    From 24 cohorts on, the error is at least that of their independent contributions, with the correction for few
    clusters, C/(C-1) · (degrees of freedom)/(those that are left).
    """
    rng = np.random.default_rng(cohorts)
    system, design = drawn(cohorts, rng)
    size, others, start = cohorts * BITS, np.array([0.0, 0.0, 0.0, 0.1]), np.array([1.2, 0.3, -0.1])
    target = np.einsum("cbv,cv->cb", design[..., :3], start + 0.5 * rng.standard_normal((cohorts, 3)))
    columns = np.hstack([design[..., :3].reshape(size, 3), np.repeat(np.eye(cohorts), BITS, axis=0)])

    def solve(weight: Floats) -> Floats:
        root = np.sqrt(weight.ravel())
        return np.asarray(np.linalg.pinv(columns * root[:, np.newaxis]) * root)

    held = np.append(np.maximum(solve(system.weight)[:3] @ target.ravel(), 0), others[3])
    share, weight = weighted(system, design, held)
    inverse = solve(weight)
    expected, left = inverse[:3] @ target.ravel(), (target.ravel() - columns @ inverse @ target.ravel())
    every = np.vstack([inverse[:3], inverse[:3].sum(axis=0)])
    noise = (share * A * (1 - A) + (1 - share) * B * (1 - B)) / (A - B) ** 2
    variance = np.zeros(4)
    for cohort, reports in enumerate(system.table.reports):
        part = every.reshape(4, cohorts, BITS)[:, cohort]
        seen = part @ design[cohort, :, :3]
        variance += ((part**2) @ noise[cohort] + np.maximum((seen**2) @ held[:3] - (seen @ held[:3]) ** 2, 0)) / reports
    spare = size - cohorts - 3
    ratio = float(weight.ravel() @ left**2) / spare
    assert ratio > 1
    error = np.sqrt(variance * ratio)
    scatter = ((every * left).reshape(4, cohorts, BITS).sum(axis=2) ** 2).sum(axis=1)
    scattered = np.sqrt(scatter * cohorts / (cohorts - 1) * (size - cohorts) / spare)
    assert (scattered > error).any()
    error = np.maximum(error, scattered) if cohorts >= 24 else error
    fit = refit(system, np.arange(3), target, others)
    assert fit.frequency == pytest.approx(expected)
    assert [*fit.standard_error, fit.total_error] == pytest.approx(error)
