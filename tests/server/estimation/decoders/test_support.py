"""Support counts from the tally alone: the fast decoders against the definition."""

import numpy as np
import pytest

from contract.cases import each, small_at
from dither_server.estimation.decoders.decoder import Decoder, Symbols
from dither_server.estimation.decoders.support import decoder_of, support
from dither_server.estimation.estimate import estimate
from dither_server.estimation.transform import plane
from dither_server.tally.tally import Tally
from dither_shared import (
    CountMeanSketch,
    HadamardResponse,
    LocalHashing,
    Mechanism,
    PrivSet,
    ProjectiveGeometry,
    SetResponse,
)
from dither_shared.mechanism import NUMBERS


def cases() -> list[Mechanism]:
    """Return small mechanisms of every family whose reports support whole values, and large ones."""
    small = (case for case in small_at(1.0) if case.pure and case.items != NUMBERS)
    return [
        *(case for case in small if case.name != "prefix-sketch"),
        HadamardResponse.calibrate(16, 1.0),
        ProjectiveGeometry.calibrate(13, 1.0),
        *(ProjectiveGeometry.calibrate(70, epsilon) for epsilon in (0.3, 1.0, 1.4, 3.0)),
        *(LocalHashing.calibrate(70, epsilon) for epsilon in (0.3, 1.0, 1.9)),
        SetResponse.calibrate(70, 2.0, window=5),
        PrivSet.calibrate(70, 1.0, at_most=3),
    ]


def labels_of(mechanism: Mechanism) -> tuple[str, ...]:
    return tuple(f"value {number}" for number in range(mechanism.size or 20))


@each(cases)
def test_support_is_the_sum_over_the_cells_of_a_value(mechanism: Mechanism) -> None:
    rng = np.random.default_rng(11)
    counts = rng.integers(0, 1000, (mechanism.cohorts, mechanism.cells))
    tally = Tally(rng.integers(1000, 9000, mechanism.cohorts), counts)
    if mechanism.shape.value == "symbol":  # one report, one cell
        tally = Tally(counts.sum(axis=1), counts)
    decoded = support(mechanism, tally, labels_of(mechanism))
    gathered = Decoder[Mechanism]().support(mechanism, tally, labels_of(mechanism))
    assert (gathered.supporting == decoded.supporting).all()
    assert (gathered.trials == decoded.trials).all()
    for number, label in enumerate(labels_of(mechanism)):
        item = number if mechanism.size is not None else label.encode()
        cells_of = [mechanism.supporting(item, cohort) for cohort in range(mechanism.cohorts)]
        assert decoded.supporting[number] == sum(
            counts[cohort, list(cells)].sum() for cohort, cells in enumerate(cells_of)
        )
        covering = [cohort for cohort, cells in enumerate(cells_of) if cells]
        assert decoded.trials[number] == tally.reports[covering].sum()
    if isinstance(decoder := decoder_of(mechanism), Symbols):  # the sum over some values, taken in the other order
        some = rng.integers(0, 2, len(decoded.supporting))
        supported = decoder.supported(mechanism, some.astype(np.float64)).reshape(counts.shape)
        assert (counts * supported).sum() == pytest.approx(some @ decoded.supporting)


def test_supporting_counts_stay_exact_when_large() -> None:
    """10^12 reports: rounding in the transforms stays far below one half."""
    for mechanism in (ProjectiveGeometry.calibrate(500, 1.5), LocalHashing.calibrate(200, 1.0)):
        counts = np.random.default_rng(5).integers(
            0, 2 * 10**12 // mechanism.cells, (mechanism.cohorts, mechanism.cells)
        )
        decoded = support(mechanism, Tally(counts.sum(axis=1), counts), labels_of(mechanism))
        for item in (0, 1, 77):
            exact = sum(
                int(counts[cohort, list(mechanism.marked(item, cohort))].sum()) for cohort in range(mechanism.cohorts)
            )
            assert decoded.supporting[item] == exact


def test_errors_of_a_sketch_include_the_bias_of_its_hash_functions() -> None:
    """With enough reports to make noise negligible, the standard error does not fall below that of the collisions."""
    mechanism = CountMeanSketch.configure(None, {"epsilon": 2.0, "bits": 16, "cohorts": 4})
    reports = np.full(4, 10**12)
    share = np.zeros((4, 16))
    for cohort in range(4):
        for value, frequency in (("a", 0.6), ("b", 0.4)):
            share[cohort, mechanism.marked(value.encode(), cohort)] += frequency
    p, keep = float(mechanism.a), float(mechanism.b)
    tally = Tally(reports, np.rint((keep + (p - keep) * share) * reports[:, None]).astype(np.int64))
    absent = (f"absent {number}" for number in range(200))
    answer = estimate(mechanism, ("a", "b", *absent), tally)
    assert (answer.standard_error > 0.04).all()
    assert answer.low[0] <= 0.6 <= answer.high[0]
    assert (answer.low[2:] == 0).mean() > 0.85  # of 95%; how far chance takes it is the strings', which are fixed
    assert answer.consistent.sum() <= 1 + 1e-9


@pytest.mark.parametrize(("order", "length"), [(2, 1), (2, 4), (3, 3), (4, 2), (5, 1)])
def test_tables_are_transformed_together_as_each_by_itself_and_as_the_definition_says(order: int, length: int) -> None:
    space, size = plane(order), order**length
    tables = np.random.default_rng(size).integers(0, 1000, (7, size)).astype(np.float64)
    digits = space.digits(np.arange(size), length)
    by_digits = space.characters[digits[:, np.newaxis, :], digits[np.newaxis, :, :]].prod(axis=2)  # χ(a) χ(b) = χ(a+b)
    together = space.transform(tables, length)
    assert together.shape == tables.shape
    assert np.allclose(together, tables @ by_digits)
    for table, found in zip(tables, together, strict=True):
        alone = space.transform(table, length)
        assert alone.shape == (size,)
        assert np.allclose(alone, found)


def test_a_sketch_of_many_rows_is_transformed_to_the_last_bit_as_row_by_row() -> None:
    """Of two elements each step adds or subtracts two numbers, in whatever company."""
    rows = np.random.default_rng(1).normal(size=(512, 256))
    assert (plane(2).transform(rows, 8) == [plane(2).transform(row, 8) for row in rows]).all()
