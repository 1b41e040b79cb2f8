"""The bias of fixed hash functions: its moments are those of a binomial number of collisions."""

from fractions import Fraction
from itertools import permutations
from math import comb

import numpy as np
import pytest

from dither_server.estimation.estimate import collision_bias, concentration
from dither_server.tally.tally import Tally
from dither_shared import CountMeanSketch, HadamardCountMeanSketch, ProjectiveSketch

SHAPES = [{"bits": 2, "cohorts": 1}, {"bits": 4, "cohorts": 3}, {"bits": 16, "cohorts": 64}]
Sketched = CountMeanSketch | HadamardCountMeanSketch

SKETCHES: list[Sketched] = [
    family.configure(None, {"epsilon": 2.0, **shape})
    for family in (CountMeanSketch, HadamardCountMeanSketch)
    for shape in SHAPES
]


def moment(mechanism: Sketched, power: int) -> Fraction:
    """Return E[(m/(m-1) · (Bin(M, 1/m)/M - 1/m))^power], by enumeration: what a string of share 1 adds to another."""
    m, cohorts = mechanism.bits, mechanism.cohorts
    total = Fraction(0)
    for met in range(cohorts + 1):
        chance = comb(cohorts, met) * Fraction(1, m) ** met * Fraction(m - 1, m) ** (cohorts - met)
        total += chance * (Fraction(m, m - 1) * (Fraction(met, cohorts) - Fraction(1, m))) ** power
    return total


def reports(mechanism: Sketched, weights: dict[bytes, int], each: int) -> Tally:
    """Return the tally that is expected of ``each`` reports a cohort, from strings of these weights."""
    share = np.zeros((mechanism.cohorts, mechanism.cells))
    for value, weight in weights.items():
        for cohort in range(mechanism.cohorts):
            share[cohort, list(mechanism.marked(value, cohort))] += weight / sum(weights.values())
    law = float(mechanism.b) + float(mechanism.a - mechanism.b) * share
    return Tally(np.full(mechanism.cohorts, each), np.rint(law * each).astype(np.int64))


@pytest.mark.parametrize("mechanism", SKETCHES, ids=str)
def test_the_moments_of_the_bias_by_enumeration(mechanism: Sketched) -> None:
    """Where all strings are looked for, what another adds is its share times one collision; they add up."""
    shares = np.array([0.6, 0.3, 0.1])
    alone = Tally.zero(mechanism)  # its Σ f² counts as 1: 0.54 beyond those looked for
    error, cube = collision_bias(mechanism, alone, shares)
    squares, cubes = 1 - shares**2, (shares**3).sum() + 0.54**1.5 - shares**3
    np.testing.assert_allclose(error, np.sqrt(squares * float(moment(mechanism, 2))), rtol=1e-12)
    np.testing.assert_allclose(cube, cubes * float(moment(mechanism, 3)), rtol=1e-12, atol=1e-300)


def test_rows_of_a_projective_sketch_collide_as_cohorts_do() -> None:
    sketch = ProjectiveSketch.calibrate(None, 2.0, buckets=16)
    cohorts = CountMeanSketch.configure(None, {"epsilon": 2.0, "bits": 16, "cohorts": sketch.rows})
    assert sketch.collision_variance == pytest.approx(float(moment(cohorts, 2)), rel=1e-12)
    assert sketch.collision_cube == pytest.approx(float(moment(cohorts, 3)), rel=1e-12)


def test_moments_of_the_bias_clip_shares_to_the_unit_interval() -> None:
    mechanism = SKETCHES[2]
    beyond = collision_bias(mechanism, Tally.zero(mechanism), np.array([1.2, -0.1]))
    within = collision_bias(mechanism, Tally.zero(mechanism), np.array([1.0, 0.0]))
    np.testing.assert_array_equal(beyond, within)
    assert within[0][0] == 0


def test_no_bias_is_added_where_the_reports_say_that_no_string_is_frequent() -> None:
    """Σ f² is at least 0, also beyond shares that chance made larger than it."""
    mechanism = SKETCHES[1]
    error, cube = collision_bias(mechanism, Tally.fold(mechanism, bytes([0, 1, 0, 2])), np.array([0.5, 0.0]))
    assert error.tolist() == [0, 0]
    assert cube == pytest.approx(np.array([0, 0.125]) * mechanism.collision_cube)


def debiased(mechanism: Sketched, payload: bytes) -> list[Fraction]:
    """Return what one report of cohort 0 adds to the users of each column."""
    if isinstance(mechanism, HadamardCountMeanSketch):
        row, wrong = divmod(int.from_bytes(payload, "big"), 2)
        sign = Fraction(-1 if wrong else 1) / (2 * mechanism.inside - 1)
        return [-sign if (row & column).bit_count() & 1 else sign for column in range(mechanism.bits)]
    bits = int.from_bytes(payload, "little")
    a, b = mechanism.a, mechanism.b
    return [((bits >> column & 1) - b) / (a - b) for column in range(mechanism.bits)]


@pytest.mark.parametrize(
    ("mechanism", "numbers"), [(SKETCHES[1], (14, 9, 0, 13, 3, 5, 9)), (SKETCHES[4], (1, 5, 6, 3, 4, 4, 7))], ids=str
)
def test_the_concentration_is_the_mean_over_pairs_of_reports(mechanism: Sketched, numbers: tuple[int, ...]) -> None:
    """By the definition: over all ordered pairs of different reports of a cohort, less the chance agreement."""
    cohorts = (0, 0, 0, 0, 1, 1, 1)
    added = [debiased(mechanism, bytes([number])) for number in numbers]
    pairs = [(i, j) for i, j in permutations(range(len(numbers)), 2) if cohorts[i] == cohorts[j]]
    total = sum((x * y for i, j in pairs for x, y in zip(added[i], added[j], strict=True)), Fraction(0))
    chance = Fraction(1, mechanism.bits)
    expected = (total / len(pairs) - chance) / (1 - chance)
    rows = b"".join(bytes(row) for row in zip(cohorts, numbers, strict=True))
    computed = concentration(mechanism, Tally.fold(mechanism, rows))
    assert computed == pytest.approx(float(expected), rel=1e-9)
    assert 0.2 < computed < 0.8


def test_concentrations_are_clipped_to_their_range() -> None:
    mechanism = SKETCHES[1]
    assert concentration(mechanism, Tally.fold(mechanism, bytes([0, 1, 0, 2]))) == 0
    assert concentration(mechanism, Tally.fold(mechanism, bytes([0, 1, 0, 1]))) == 1
    assert concentration(mechanism, Tally.fold(mechanism, bytes([0, 1, 1, 1]))) == 1  # no pair of one cohort
