"""The facts that every mechanism declares and analyses rely on, compared with its exact law."""

from fractions import Fraction

import pytest

from contract.cases import each, every_small, items, small_at, values
from contract.exact_law import exact_law, law_of
from dither_shared import Mechanism
from dither_shared.mechanism import LISTED, NUMBERS, Item

SMALL = each(lambda: small_at(0.5, 2.0))


def law_of_cells(mechanism: Mechanism, item: Item, cohort: int) -> dict[tuple[int, ...], Fraction]:
    law = law_of(mechanism, item, cohort)
    return {mechanism.row_format.cells_of(payload): chance for payload, chance in law.items()}


@SMALL
def test_value_marks_the_stated_number_of_cells(mechanism: Mechanism) -> None:
    for cohort in range(mechanism.cohorts):
        for item in items(mechanism):
            marked = mechanism.marked(item, cohort)
            assert len(set(marked)) == len(marked)
            assert len(marked) in {0, mechanism.marks}
            assert marked or mechanism.coverage < 1
            assert not mechanism.own_cells or marked == (item,)
    for value in values(mechanism):
        spoken = sum(bool(mechanism.supporting(value, cohort)) for cohort in range(mechanism.cohorts))
        assert Fraction(spoken, mechanism.cohorts) == mechanism.coverage
    assert not mechanism.own_cells or (mechanism.cohorts == 1 and mechanism.cells == mechanism.size)
    if mechanism.items is LISTED:
        each_its_own = all(mechanism.marked(value) == (value,) for value in values(mechanism))
        assert mechanism.own_cells == (mechanism.cohorts == 1 and each_its_own)


@SMALL
def test_reports_have_the_stated_number_of_cells(mechanism: Mechanism) -> None:
    for item in items(mechanism)[:4]:
        mean = square = Fraction(0)
        for cohort in range(mechanism.cohorts):
            for cells, chance in law_of_cells(mechanism, item, cohort).items():
                assert mechanism.weight in {None, len(cells)}
                mean += chance * len(cells) / mechanism.cohorts
                square += chance * len(cells) ** 2 / mechanism.cohorts
        if mechanism.weight_moments is not None:
            assert mechanism.weight_moments == pytest.approx((float(mean), float(square - mean**2)), rel=1e-9)
    assert (mechanism.weight is None) == (mechanism.weight_moments is not None)


@SMALL
def test_cells_are_independent_exactly_if_stated(mechanism: Mechanism) -> None:
    """The law of a report is the product of the laws of its cells, or differs from it for at least one value."""
    products = []
    for item in items(mechanism)[:2]:
        stated, law = mechanism.cell_law(item, 0), law_of_cells(mechanism, item, 0)
        for cells, chance in law.items():
            product = Fraction(1)
            for cell, probability in enumerate(stated):
                product *= probability if cell in cells else 1 - probability
            products.append(product == chance)
    assert all(products) == mechanism.independent_cells
    if mechanism.independent_supports:
        supports = [cell for value in values(mechanism) for cell in mechanism.supporting(value)]
        assert all(products)
        assert len({*supports}) == len(supports), "two values share a cell, so their supports depend on each other"


@SMALL
def test_uniform_cells_are_reported_equally_often_for_every_value(mechanism: Mechanism) -> None:
    if mechanism.uniform_cells is None:
        return
    first, length = mechanism.uniform_cells
    assert not (mechanism.cells - first) % length
    for item in items(mechanism):
        chances = set()
        for start in range(first, mechanism.cells, length):
            run = set(range(start, start + length))
            marking = sum(len(run & set(mechanism.marked(item, c))) for c in range(mechanism.cohorts))
            others = mechanism.cohorts * length - marking
            chances.add((mechanism.a * marking + mechanism.b * others) / mechanism.cohorts)
        assert len(chances) == 1


@SMALL
def test_law_stays_the_same_up_to_the_stated_largest_size(mechanism: Mechanism) -> None:
    if mechanism.size is None:
        assert mechanism.max_size is None
        return
    assert mechanism.max_size is not None
    assert mechanism.max_size >= mechanism.size
    parameters = {key: getattr(mechanism, key) for key in mechanism.parameters()}
    wider = type(mechanism)(**{**parameters, "size": mechanism.max_size})
    assert (wider.cohorts, wider.cells) == (mechanism.cohorts, mechanism.cells)
    assert [wider.cell_law(item, 0) for item in items(mechanism)] == [
        mechanism.cell_law(item, 0) for item in items(mechanism)
    ]


@each(every_small)
def test_memoised_mechanisms_state_the_law_of_their_permanent_draws(mechanism: Mechanism) -> None:
    assert mechanism.memoised == (mechanism.permanent_ratio is not None) == (mechanism.permanent_law is not None)
    assert mechanism.memoised or not mechanism.always_memoised
    if mechanism.permanent_law is None:
        return
    marked, key = (of(items(mechanism)[0], 0) for of in (mechanism.marked, mechanism.permanent_key))
    law = exact_law(lambda entropy: mechanism.permanent_draw(key, entropy).to_bytes(4, "big"))
    rows = mechanism.row_format
    drawn = [(int.from_bytes(draw, "big"), chance) for draw, chance in law.items()]
    held = [(rows.cells_of(draw.to_bytes(rows.payload_bytes, rows.byteorder)), chance) for draw, chance in drawn]
    for cell in range(mechanism.cells):
        happens = sum((chance for cells, chance in held if cell in cells), Fraction(0))
        assert happens == mechanism.permanent_law[cell not in marked]


@each(lambda: [case for case in small_at(0.5, 2.0) if case.items != NUMBERS])
def test_one_report_moves_an_estimate_by_the_stated_reach(mechanism: Mechanism) -> None:
    """For one value, compare a report's debiased support or, for fitted values, its part of a least-squares fit."""
    low, high = mechanism.reach
    gap = float(mechanism.p - mechanism.q)
    if mechanism.pure:
        ends = sorted(((supported - float(mechanism.q)) / gap) for supported in (0, 1))
        assert [low, high] == pytest.approx(ends)
        assert mechanism.fitted_cells == 1
    else:
        assert (low, high) == pytest.approx((-1 / abs(gap), 1 / abs(gap)))
        assert 0 < mechanism.fitted_cells <= mechanism.marks
