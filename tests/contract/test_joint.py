"""The joint supports of two values that each mechanism of listed answers declares, compared with its exact law."""

from fractions import Fraction
from itertools import combinations

import pytest

from contract.cases import each, small
from contract.exact_law import law_of
from dither_shared import MECHANISMS, Mechanism, Shape, SubsetSelection
from dither_shared.mechanism import LISTED
from dither_shared.mechanisms.sums import sum_variance


def cases() -> list[Mechanism]:
    most = SubsetSelection(size=3, subset=2, inside=Fraction(3, 4))
    return [most] + [
        case
        for family in MECHANISMS.of(LISTED)
        for case in [*small(family.name, 1.0), *([family.calibrate(7, 1.0)] if family.name != "bit-flip" else [])]
        if case.size is not None and case.size > 2
    ]


def supports(mechanism: Mechanism, payload: bytes, cohort: int) -> set[int]:
    cells = set(mechanism.row_format.cells_of(payload))
    return {v for v in range(mechanism.size or 0) if cells & set(mechanism.marked(v, cohort))}


def widest(mechanism: Mechanism) -> Mechanism:
    """Return the mechanism with its largest number of values, over which a third value is averaged."""
    parameters = {key: getattr(mechanism, key) for key in mechanism.parameters()}
    return type(mechanism)(**{**parameters, "size": mechanism.max_size})


def joint(mechanism: Mechanism, u: int, v: int, of: int) -> tuple[Fraction, Fraction]:
    """Return P[a report of ``of`` supports both u and v], and P[its cohort covers both]."""
    both = spoken = Fraction(0)
    for cohort in range(mechanism.cohorts):
        if all(mechanism.marked(value, cohort) for value in (u, v)):
            spoken += Fraction(1, mechanism.cohorts)
            law = law_of(mechanism, of, cohort)
            both += (
                sum((chance for row, chance in law.items() if {u, v} <= supports(mechanism, row, cohort)), Fraction(0))
                / mechanism.cohorts
            )
    return both, spoken


@each(cases)
def test_pairs_of_values_are_supported_together_as_stated(case: Mechanism) -> None:
    mechanism = widest(case)
    size = mechanism.size or 0
    assert mechanism.joint_support == case.joint_support is not None
    pairs = list(combinations(range(size), 2))[:: max(1, size * size // 24)]
    for u, v in pairs:
        held, supported = joint(mechanism, u, v, u)
        if not supported:
            continue  # no window of bit-flip covers both
        others = [joint(mechanism, u, v, w)[0] for w in range(size) if w not in {u, v}]
        assert held / supported == case.joint_support[0]
        assert sum(others, Fraction(0)) / len(others) / supported == case.joint_support[1]
        if case.shape is not Shape.SYMBOL:  # for symbols the third value may matter
            assert len(set(others)) == 1


@each(cases)
def test_variance_of_a_sum_follows_from_its_values_and_pairs(case: Mechanism) -> None:
    """Enumerate over the largest number of values at even shares, for all third values."""
    mechanism = widest(case)
    size = mechanism.size or 0
    assert sum_variance(mechanism, 1, 0.3) == pytest.approx(mechanism.variance(0.3))
    if mechanism.coverage < 1:
        return
    q, gap = mechanism.q, mechanism.p - mechanism.q
    chosen = range(size // 2 + 1)
    total = Fraction(0)
    for of in range(size):
        mean = square = Fraction(0)
        for cohort in range(mechanism.cohorts):
            law = law_of(mechanism, of, cohort)
            for row, chance in law.items():
                held = sum(v in chosen for v in supports(mechanism, row, cohort))
                added = (held - len(chosen) * q) / gap
                mean += chance * added / mechanism.cohorts
                square += chance * added**2 / mechanism.cohorts
        assert mean == (of in chosen)
        total += (square - mean**2) / size
    said = sum_variance(mechanism, len(chosen), len(chosen) / size)
    if mechanism.shape is not Shape.SYMBOL or mechanism.own_cells:
        assert said == pytest.approx(float(total), rel=1e-12)
