"""Two-level laws, compared with the exact law of every report: the rows that a value owns, and that values share."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import permutations

from contract.cases import each, items, small_at
from contract.exact_law import law_of
from dither_shared import Mechanism, RandomizedResponse, Report
from dither_shared.mechanism import Item
from dither_shared.primitives.channel import TwoLevel

Row = tuple[int, bytes]


def cases() -> list[Mechanism]:
    return [case for case in small_at(0.5, 2.0) if case.two_level]


def laws(mechanism: Mechanism, item: Item) -> dict[Row, Fraction]:
    """Return the law of a whole report: its cohort and its payload."""
    weights = mechanism.cohort_law or (Fraction(1, mechanism.cohorts),) * mechanism.cohorts
    return {
        (cohort, payload): weight * chance
        for cohort, weight in enumerate(weights)
        for payload, chance in law_of(mechanism, item, cohort).items()
    }


def owns(mechanism: Mechanism, item: Item, row: Row) -> bool:
    return not set(Report(*row).cells(mechanism)).isdisjoint(mechanism.marked(item, row[0]))


def two_level_of(mechanism: Mechanism) -> TwoLevel:
    assert mechanism.two_level
    return mechanism.two_level


def owned(mechanism: Mechanism) -> Iterator[tuple[dict[Row, Fraction], frozenset[Row]]]:
    """Yield for some items μ of each report, and the reports that the item owns."""
    law = two_level_of(mechanism)
    for item in items(mechanism)[:16]:
        laws_of_item = laws(mechanism, item)
        has = frozenset(row for row in laws_of_item if owns(mechanism, item, row))
        yield (
            {row: chance / law.blanket / (law.ratio if row in has else 1) for row, chance in laws_of_item.items()},
            has,
        )


@each(cases)
def test_law_of_two_levels_is_the_law_of_the_reports(mechanism: Mechanism) -> None:
    law, values = two_level_of(mechanism), [*owned(mechanism)]
    base = values[0][0]
    assert sum(base.values()) == 1

    def measure(rows: frozenset[Row]) -> Fraction:
        return sum((base[row] for row in rows), Fraction(0))

    for other, has in values:
        assert other == base  # so the weights are 1 and the ratio, times a law that all items share
        assert measure(has) == law.share
    overlaps = [measure(first & second) for (_, first), (_, second) in permutations(values, 2)]
    if mechanism.items.open:  # no two values need differ in every cohort, but some do in one
        assert min(overlaps) >= law.overlap
        cohort = frozenset(row for row in base if not row[0])
        overlaps = [measure(first & second & cohort) for (_, first), (_, second) in permutations(values, 2)]
        assert min(overlaps) == law.overlap * measure(cohort)
    else:
        assert min(overlaps) == law.overlap


@each(lambda: [case for case in cases() if two_level_of(case).aside is not None])
def test_third_value_overlaps_two_others_as_stated(mechanism: Mechanism) -> None:
    law, values = two_level_of(mechanism), [*owned(mechanism)]
    base = values[0][0]

    def measure(rows: frozenset[Row]) -> Fraction:
        return sum((base[row] for row in rows), Fraction(0))

    assert any(
        measure(first & second) == law.overlap
        and measure(third & first - second) == measure(third & second - first) == law.aside
        for (_, first), (_, second), (_, third) in permutations(values, 3)
    )


def test_every_mechanism_of_two_levels_declares_its_two_level_law() -> None:
    more = {"bit-flip", "rappor", "discrete-laplace", "exponential", "discrete-gaussian"}
    two = {case.name for case in cases()}
    assert more.isdisjoint(two)
    assert len(two) >= 14


def test_a_coin_that_lies_more_often_than_not_is_one_of_two_levels() -> None:
    two_level = RandomizedResponse(size=2, truth=Fraction(3, 4)).two_level
    assert RandomizedResponse(size=2, truth=Fraction(1, 4)).two_level == two_level == TwoLevel(3, Fraction(1, 2), 0)  # type: ignore[arg-type]
