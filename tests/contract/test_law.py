"""The exact law of every mechanism equals its declared one: cells, supports, variance, rows and tallies."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from contract.cases import each, every_small, has, items, small_at, values
from contract.exact_law import law_of
from dither_server.tally.tally import Tally
from dither_shared import MECHANISMS, KeyedEntropy, Mechanism, Report, Shape, WireError
from dither_shared.mechanism import NUMBERS, Item
from dither_shared.mechanisms.projective_sketch import ProjectiveBuckets


def reported(mechanism: Mechanism, payload: bytes) -> set[int]:
    return set(mechanism.row_format.cells_of(payload))


@each(every_small)
def test_cells_are_reported_with_the_stated_probabilities(mechanism: Mechanism) -> None:
    for cohort in range(mechanism.cohorts):
        for item in items(mechanism)[:6]:
            happens = [Fraction(0)] * mechanism.cells
            for payload, chance in law_of(mechanism, item, cohort).items():
                for cell in reported(mechanism, payload):
                    happens[cell] += chance
            assert happens == [*mechanism.cell_law(item, cohort)], f"item {item!r} in cohort {cohort}"


def supports(mechanism: Mechanism, cohort: int, value: Item) -> Callable[[bytes], bool]:
    """Return whether a payload supports a value: for RAPPOR, which has no support, by one of the bits it marks."""
    covered = mechanism.supporting(value, cohort)[: None if mechanism.pure else 1]
    return lambda payload: bool(reported(mechanism, payload) & set(covered))


def support_of(mechanism: Mechanism, item: Item, value: Item, cohort: int = 0) -> Fraction:
    """Return P[a report of the item supports the value]."""
    supported = supports(mechanism, cohort, value)
    law = law_of(mechanism, item, cohort)
    return sum((chance for payload, chance in law.items() if supported(payload)), Fraction(0))


@each(lambda: [case for case in every_small() if case.items != NUMBERS and not case.collision_variance])
def test_estimates_are_unbiased_with_the_stated_variance(mechanism: Mechanism) -> None:
    """Enumerate one report's debiased support over the cohorts that cover the value."""
    value = values(mechanism)[0]
    cohorts = [cohort for cohort in range(mechanism.cohorts) if mechanism.supporting(value, cohort)]
    assert Fraction(len(cohorts), mechanism.cohorts) == mechanism.coverage
    if mechanism.items.open:
        cohorts = cohorts[:1]
    first = set(mechanism.marked(value)[:1])
    owner = next(item for item in items(mechanism) if has(mechanism, item, value))
    other = next(
        item
        for item in items(mechanism)
        if not has(mechanism, item, value) and not (mechanism.items.open and first & set(mechanism.marked(item)))
    )
    low, high = (((bit - mechanism.q) / (mechanism.p - mechanism.q)) for bit in (0, 1))
    moments = []
    for item in (owner, other):
        chances = [support_of(mechanism, item, value, cohort) for cohort in cohorts]
        chance = sum(chances, Fraction(0)) / len(cohorts)
        mean, square = (chance * high**power + (1 - chance) * low**power for power in (1, 2))
        moments.append((mean, square - mean**2))
    assert [mean for mean, _ in moments] == [1, 0]
    thinning = 1 / mechanism.coverage
    for f in (Fraction(0), Fraction(3, 10), Fraction(1)):
        exact = thinning * (f * moments[0][1] + (1 - f) * moments[1][1]) + (thinning - 1) * f * (1 - f)
        assert mechanism.variance(float(f)) == pytest.approx(float(exact), rel=1e-12)


@each(lambda: [case for case in small_at(1.0) if case.items.sets])
def test_set_supports_a_value_by_whether_it_holds_it_and_nothing_else(mechanism: Mechanism) -> None:
    """The support of a value is independent of the set's other members, in every cohort that covers the value."""
    for cohort in range(mechanism.cohorts):
        for item in items(mechanism):
            for value in values(mechanism):
                if mechanism.supporting(value, cohort):
                    expected = mechanism.p if has(mechanism, item, value) else mechanism.q
                    assert support_of(mechanism, item, value, cohort) == expected


@each(lambda: [case for case in every_small() if case.items != NUMBERS and case.collision_variance])
def test_sketches_have_p_and_the_q_of_a_random_hash(mechanism: Mechanism) -> None:
    """A value of another column supports by its own law, and a value of the same column like the reported one."""
    item = items(mechanism)[0]
    other = next(other for other in items(mechanism) if mechanism.marked(other) != mechanism.marked(item))
    owned, apart = (support_of(mechanism, value, item) for value in (item, other))
    columns = mechanism.cells if mechanism.shape is Shape.BITS else mechanism.cells // 2
    if isinstance(mechanism, ProjectiveBuckets):
        columns = mechanism.buckets
    assert owned == mechanism.p
    assert mechanism.q == owned * Fraction(1, columns) + apart * (1 - Fraction(1, columns))


@each(lambda: small_at(1.0))
def test_rows_round_trip_and_tally_as_counted_by_hand(mechanism: Mechanism) -> None:
    entropy = KeyedEntropy(b"rows", mechanism.name.encode())
    reports = []
    for turn in range(100):
        cohort = mechanism.draw_cohort(entropy)
        payload = mechanism.randomize(items(mechanism)[turn % len(items(mechanism))], entropy, cohort)
        reports.append(Report(cohort, payload))
    parameters = {key: getattr(mechanism, key) for key in mechanism.parameters()}
    assert MECHANISMS[mechanism.name](**parameters) == mechanism
    rows = [report.encode(mechanism) for report in reports]
    assert all(len(row) == mechanism.row_bytes for row in rows)
    assert [Report.decode(row, mechanism) for row in rows] == reports

    whole = Tally.fold(mechanism, b"".join(rows))
    by_hand = Tally.zero(mechanism)
    for report in reports:
        by_hand.reports[report.cohort] += 1
        by_hand.counts[report.cohort, list(report.cells(mechanism))] += 1
    parts = Tally.fold(mechanism, b"".join(rows[:33])) + Tally.fold(mechanism, b"".join(rows[33:]))
    for tally in (by_hand, parts):
        np.testing.assert_array_equal(whole.reports, tally.reports)
        np.testing.assert_array_equal(whole.counts, tally.counts)


@each(lambda: small_at(1.0))
def test_rows_that_no_device_sends_are_refused(mechanism: Mechanism) -> None:
    """tests/contract/test_rows.py has symbols, cohorts, bits and lists that no device sends."""
    row = Report(0, mechanism.randomize(items(mechanism)[0], KeyedEntropy(b"row"))).encode(mechanism)
    for wrong in (row + b"\0", row[:-1]):
        with pytest.raises(WireError, match="reports: "):
            Report.decode(wrong, mechanism)
    if mechanism.cohorts > 1:
        form = mechanism.row_format
        wrong = mechanism.cohorts.to_bytes(form.cohort_bytes, "big") + row[form.cohort_bytes :]
        with pytest.raises(WireError, match="reports: "):
            Tally.fold(mechanism, row + wrong)
