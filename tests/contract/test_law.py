"""The law of every mechanism is the one it states: cells, supports, variance, rows and tallies."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from contract.cases import every_small, every_small_of_frequencies, has, items, name_of, small, values
from contract.exact_law import exact_law
from dither_server.tally.tally import Tally
from dither_shared import MECHANISMS, KeyedEntropy, Mechanism, Report, Shape, WireError
from dither_shared.mechanism import Item
from dither_shared.mechanisms.projective_buckets import ProjectiveBuckets

CASES = pytest.mark.parametrize(("declared", "mechanism"), every_small(), ids=name_of)
SMALL = pytest.mark.parametrize(
    "mechanism", [case for name in MECHANISMS for epsilon in (1.0, 2.0) for case in small(name, epsilon)], ids=name_of
)


def reported(mechanism: Mechanism, payload: bytes) -> set[int]:
    return set(Report(0, payload).cells(mechanism))


@CASES
def test_cells_are_reported_by_the_law_that_is_stated(declared: float, mechanism: Mechanism) -> None:
    assert declared > 0
    for cohort in range(mechanism.cohorts):
        for item in items(mechanism)[:6]:
            law = exact_law(lambda entropy, item=item, cohort=cohort: mechanism.randomize(item, entropy, cohort))  # type: ignore[misc]
            stated = mechanism.cell_law(item, cohort)
            assert len(stated) == mechanism.cells
            for cell in range(mechanism.cells):
                happens = sum(
                    (chance for payload, chance in law.items() if cell in reported(mechanism, payload)), Fraction(0)
                )
                assert happens == stated[cell]


def supports(mechanism: Mechanism, cohort: int, value: Item) -> Callable[[bytes], bool]:
    """Return whether a payload supports a value: for RAPPOR, which has no support, by one of the bits it marks."""
    speaking = mechanism.supporting(value, cohort)[: None if mechanism.pure else 1]
    return lambda payload: bool(reported(mechanism, payload) & set(speaking))


@pytest.mark.parametrize(
    ("declared", "mechanism"),
    [case for case in every_small_of_frequencies() if not case[1].collision_variance],
    ids=name_of,
)
def test_estimates_are_unbiased_and_scatter_as_the_variance_says(declared: float, mechanism: Mechanism) -> None:
    """By enumeration of one report's debiased support, over the cohorts that cover the value."""
    assert declared > 0
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
    moments = []
    for item in (owner, other):
        mean = square = Fraction(0)
        for cohort in cohorts:
            law = exact_law(lambda entropy, item=item, cohort=cohort: mechanism.randomize(item, entropy, cohort))  # type: ignore[misc]
            supported = supports(mechanism, cohort, value)
            for payload, chance in law.items():
                debiased = (supported(payload) - mechanism.q) / (mechanism.p - mechanism.q)
                mean += chance * debiased / len(cohorts)
                square += chance * debiased**2 / len(cohorts)
        moments.append((mean, square - mean**2))
    assert [mean for mean, _ in moments] == [1, 0]
    thinning = 1 / mechanism.coverage
    for f in (Fraction(0), Fraction(3, 10), Fraction(1)):
        exact = thinning * (f * moments[0][1] + (1 - f) * moments[1][1]) + (thinning - 1) * f * (1 - f)
        assert mechanism.variance(float(f)) == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize(
    "mechanism", [case for name in MECHANISMS for case in small(name, 1.0) if case.items.sets], ids=name_of
)
def test_a_set_supports_each_value_by_whether_it_has_it_and_by_nothing_else(mechanism: Mechanism) -> None:
    """Whatever else is in the set, in every cohort that speaks of the value."""
    for cohort in range(mechanism.cohorts):
        for item in items(mechanism):
            law = exact_law(lambda entropy, item=item, cohort=cohort: mechanism.randomize(item, entropy, cohort))  # type: ignore[misc]
            for value in values(mechanism):
                if mechanism.supporting(value, cohort):
                    supported = supports(mechanism, cohort, value)
                    chance = sum((chance for payload, chance in law.items() if supported(payload)), Fraction(0))
                    assert chance == (mechanism.p if has(mechanism, item, value) else mechanism.q)


@pytest.mark.parametrize(
    ("declared", "mechanism"),
    [case for case in every_small_of_frequencies() if case[1].collision_variance],
    ids=name_of,
)
def test_sketches_have_p_and_the_q_of_a_random_hash(declared: float, mechanism: Mechanism) -> None:
    """A value of another column supports by the law of its own; one of the same column as if it were the value."""
    assert declared > 0
    item = items(mechanism)[0]
    other = next(other for other in items(mechanism) if mechanism.marked(other) != mechanism.marked(item))
    chances = []
    for value in (item, other):
        law = exact_law(lambda entropy, value=value: mechanism.randomize(value, entropy))  # type: ignore[misc]
        chances.append(sum(chance for payload, chance in law.items() if supports(mechanism, 0, item)(payload)))
    columns = mechanism.cells if mechanism.shape is Shape.BITS else mechanism.cells // 2
    if isinstance(mechanism, ProjectiveBuckets):
        columns = mechanism.buckets
    assert chances[0] == mechanism.p
    assert mechanism.q == chances[0] * Fraction(1, columns) + chances[1] * (1 - Fraction(1, columns))


@SMALL
def test_rows_round_trip_and_tally(mechanism: Mechanism) -> None:
    entropy = KeyedEntropy(b"rows", mechanism.name.encode())
    reports = []
    for turn in range(200):
        cohort = mechanism.draw_cohort(entropy)
        payload = mechanism.randomize(items(mechanism)[turn % len(items(mechanism))], entropy, cohort)
        reports.append(Report(cohort, payload))
    rows = [report.encode(mechanism) for report in reports]
    assert all(len(row) == mechanism.row_bytes for row in rows)
    assert [Report.decode(row, mechanism) for row in rows] == reports

    whole = Tally.fold(mechanism, b"".join(rows))
    by_hand = Tally.zero(mechanism)
    for report in reports:
        by_hand.reports[report.cohort] += 1
        by_hand.counts[report.cohort, list(report.cells(mechanism))] += 1
    parts = Tally.fold(mechanism, b"".join(rows[:77])) + Tally.fold(mechanism, b"".join(rows[77:]))
    for tally in (by_hand, parts):
        np.testing.assert_array_equal(whole.reports, tally.reports)
        np.testing.assert_array_equal(whole.counts, tally.counts)


@SMALL
def test_rows_that_no_device_sends_are_refused(mechanism: Mechanism) -> None:
    row = Report(0, mechanism.randomize(items(mechanism)[0], KeyedEntropy(b"row"))).encode(mechanism)
    bad, form = [row + b"\0", row[:-1]], mechanism.row_format
    if mechanism.cohorts > 1:
        bad.append(mechanism.cohorts.to_bytes(form.cohort_bytes, "big") + row[form.cohort_bytes :])
    unused = 8 * form.payload_bytes - form.payload_bits
    if unused:
        head, payload = row[: form.cohort_bytes], bytearray(row[form.cohort_bytes :])
        payload[0 if mechanism.shape is Shape.SYMBOL else -1] |= 0x80
        bad.append(head + payload)
    if mechanism.shape is Shape.LIST:
        bad.append(row[: form.cohort_bytes] + b"\xff" * form.payload_bytes)
    assert len(bad) == 2 + (mechanism.cohorts > 1) + bool(unused) + (mechanism.shape is Shape.LIST)
    for wrong in bad:
        with pytest.raises(WireError, match="reports: "):
            Report.decode(wrong, mechanism)
        if len(wrong) % mechanism.row_bytes or len(wrong) == mechanism.row_bytes:  # else it is other rows
            with pytest.raises(WireError, match="reports: "):
                Tally.fold(mechanism, row + wrong)


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_registry_and_the_constructor_agree(name: str) -> None:
    for mechanism in small(name, 1.0):
        assert MECHANISMS[mechanism.name] is type(mechanism)
        given = {key: getattr(mechanism, key) for key in mechanism.parameters()}
        assert type(mechanism)(**given) == mechanism
