"""Support counts from the tally alone: the fast decoders against the definition."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from contract.cases import each, small_at
from dither_server.estimation.decoders.decoder import Decoder, Pairs, Symbols
from dither_server.estimation.decoders.support import decoder_of, support
from dither_server.estimation.estimate import estimate
from dither_server.estimation.transform import plane
from dither_server.tally.tally import Tally
from dither_shared import (
    CountMeanSketch,
    HadamardResponse,
    LocalHashing,
    Mechanism,
    PrefixSketch,
    PrivSet,
    ProjectiveGeometry,
    Rappor,
    SetResponse,
)
from dither_shared.mechanism import LISTED, NUMBERS


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


def membership(mechanism: Mechanism) -> NDArray[np.int64]:
    """Return 1 for each cell that supports a value, shape (cohorts, cells, values)."""
    labels = labels_of(mechanism)
    member = np.zeros((mechanism.cohorts, mechanism.cells, len(labels)), dtype=np.int64)
    for value, label in enumerate(labels):
        for cohort in range(mechanism.cohorts):
            item = value if mechanism.size is not None else label.encode()
            member[cohort, list(mechanism.supporting(item, cohort)), value] = 1
    return member


def random_tally(mechanism: Mechanism) -> Tally:
    rng = np.random.default_rng(11)
    counts = rng.integers(0, 1000, (mechanism.cohorts, mechanism.cells))
    symbols = mechanism.shape.value == "symbol"  # one report, one cell
    return Tally(counts.sum(axis=1) if symbols else rng.integers(1000, 9000, mechanism.cohorts), counts)


@each(cases)
def test_support_is_the_sum_over_the_cells_of_a_value(mechanism: Mechanism) -> None:
    tally, member = random_tally(mechanism), membership(mechanism)
    for decoder in (decoder_of(mechanism), Decoder[Mechanism]()):
        decoded = decoder.support(mechanism, tally, labels_of(mechanism))
        assert (decoded.supporting == np.einsum("cj,cjv->v", tally.counts, member)).all()
        assert (decoded.trials == tally.reports @ member.any(axis=1)).all()


@each(lambda: [case for case in cases() if case.items == LISTED])
def test_sums_over_groups_are_those_over_pairs_of_values(mechanism: Mechanism) -> None:
    """Of the reports that support two values of a group, and of those that cover two; of the selected values a cell."""
    tally, member, decoder = random_tally(mechanism), membership(mechanism), decoder_of(mechanism)
    group = np.arange(member.shape[2]) % 3
    same, weights = group[:, np.newaxis] == group, np.random.default_rng(1).uniform(size=len(group))
    selected = (weights > 0.5).astype(np.float64)
    together = decoder.together(mechanism, tally, group)
    in_group = member @ same
    assert together is None or (together == np.einsum("cj,cjv,cjv->v", tally.counts, member, in_group)).all()
    covers = member.any(axis=1)
    both = (covers * tally.reports[:, np.newaxis]).T @ covers
    assert decoder.covered_weights(mechanism, tally, weights, group) == pytest.approx((both * same) @ weights)
    if isinstance(decoder, Symbols):
        assert decoder.supported(mechanism, selected).ravel() == pytest.approx((member @ selected).ravel())


@each(cases)
def test_many_values_cost_less_to_estimate_than_to_show(mechanism: Mechanism) -> None:
    decoder, values = decoder_of(mechanism), 10**9
    assert decoder.cost(mechanism, 0) >= 0
    assert mechanism.name == "set-response" or 10**4 < decoder.cost(mechanism, values) < values  # it shows pairs
    if mechanism.items == LISTED:
        assert 10**4 < decoder.cost_together(mechanism, values, 3) < values


def test_many_cells_cost_something_and_a_regression_costs_more_than_to_show_its_strings() -> None:
    for wide in (LocalHashing.calibrate(500, 3.0), PrefixSketch.calibrate(None, 3.0, characters=26, length=8)):
        assert 50 < decoder_of(wide).cost(wide, 0) < wide.cohorts * wide.cells < decoder_of(wide).cost(wide, 10**9)
    rappor = Rappor.calibrate(None, 2.0)
    assert decoder_of(rappor).cost(rappor, 10**6) > 10**6


def test_share_of_both_values_is_unbiased_within_what_their_single_shares_allow() -> None:
    """With p = 3/5 and q = 1/5: (46/100 - 1/5)/(2/5) is 13/20, and so on; if no report tells, it is the least."""
    both, trials = np.array([46, 24, 60, 0, 1, 0]), np.array([100, 100, 100, 100, 1, 0])
    pairs = Pairs.none("")._replace(
        values=np.array([[0, 1], [0, 1], [0, 1], [2, 3], [4, 4], [0, 1]]), both=both, trials=trials,
        p=Fraction(3, 5), q=Fraction(1, 5),
    )  # fmt: skip
    shares = pairs.shares(np.array([0.7, 0.9, 0.2, 0.3, 0.95]))
    assert shares == pytest.approx([0.65, 0.6, 0.7, 0, 0.95, 0.6])


def test_absent_pairs_have_no_entries_and_reports_that_tell_everything() -> None:
    none = Pairs.none("why")
    assert [len(each) for each in (none.values, none.both, none.each, none.trials, none.repeats)] == [0] * 5
    assert [none.p, none.q, *none.shared] == [1, 0, 1, 0]
    assert none.shares(np.ones(2)).shape == (0,)


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
