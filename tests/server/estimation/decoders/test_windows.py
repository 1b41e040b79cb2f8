"""Sets in windows and in lists: pairs of values, and the variance of the sum of all shares, by their definitions."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from dither_server.estimation.decoders.support import decoder_of
from dither_server.estimation.estimate import debiased
from dither_server.tally.arrays import Floats
from dither_server.tally.repeats import Repeats
from dither_server.tally.tally import Tally
from dither_shared import BitFlip, PrivSet, SetResponse

SHAPES = ((2, 1), (2, 2), (3, 2), (4, 3), (6, 4), (9, 5), (300, 5))


def labels_of(mechanism: SetResponse) -> tuple[str, ...]:
    return tuple(map(str, range(mechanism.size)))


@pytest.mark.parametrize(("size", "window"), SHAPES)
def test_pairs_are_counted_in_all_windows_that_hold_both(size: int, window: int) -> None:
    mechanism = SetResponse.calibrate(size, 2.0, window=window)
    counts = np.random.default_rng(3).integers(0, 10**6, (size, mechanism.cells))
    pairs = decoder_of(mechanism).pairs(mechanism, Tally(counts.sum(axis=1), counts))
    held = [mechanism.seen(cohort) for cohort in range(size)]
    near = {tuple(sorted(pair)) for window_of in held for pair in combinations(window_of, 2)}
    assert set(map(tuple, pairs.values.tolist())) == near
    assert decoder_of(mechanism).cost(mechanism, 3) == max(3, size * 2**window // 16) // 16 + len(near)
    assert (pairs.unseen == "") == (len(near) == size * (size - 1) // 2)
    for place in np.random.default_rng(4).permutation(len(near))[:40].tolist():
        two = pairs.values[place].tolist()
        both, trials, each = 0, 0, [0, 0]
        for cohort in range(size):
            marks = [set(mechanism.supporting(value, cohort)) for value in two]
            if not all(marks):
                continue
            trials += int(counts[cohort].sum())
            both += int(counts[cohort, list(marks[0] & marks[1])].sum())
            each = [count + int(counts[cohort, list(cells)].sum()) for count, cells in zip(each, marks, strict=True)]
        assert (pairs.both[place], pairs.trials[place], pairs.each[place].tolist()) == (both, trials, each)


def test_weights_of_a_group_are_summed_over_the_reports_whose_windows_hold_both_values() -> None:
    mechanism, rng = BitFlip.calibrate(7, 1.0, 3), np.random.default_rng(1)
    reports, weights, group = rng.integers(1, 100, 7), rng.random(7), np.array([0, 1, 0, 2, 1, 0, 2])
    tally = Tally(reports, np.zeros((7, 3), dtype=np.int64))
    windows = [{(cohort + bit) % 7 for bit in range(3)} for cohort in range(7)]
    sums = [
        sum(
            weights[other] * sum(reports[cohort] for cohort in range(7) if {value, other} <= windows[cohort])
            for other in np.flatnonzero(group == group[value]).tolist()
        )
        for value in range(7)
    ]
    decoder = decoder_of(mechanism)
    assert decoder.covered_weights(mechanism, tally, weights, group) == pytest.approx(sums)
    assert decoder.cost_together(mechanism, 1_024, 2) == 2 * 3


@pytest.mark.parametrize(("size", "window"), [(3, 2), (4, 3), (5, 5)])
def test_the_law_of_pairs_is_that_of_the_mechanism(size: int, window: int) -> None:
    """P[both bits], of a user who has both values, and of any other: exactly, for every set and pair."""
    mechanism = SetResponse.calibrate(size, 1.5, window=window)
    pairs = decoder_of(mechanism).pairs(mechanism, Tally.zero(mechanism))
    for item, (first, second) in product(range(1 << size), pairs.values.tolist()):
        for cohort in range(size):
            marks = set(mechanism.supporting(first, cohort)) & set(mechanism.supporting(second, cohort))
            if marks:
                law = mechanism.cell_law(item, cohort)
                has = item >> first & item >> second & 1
                assert sum((law[cell] for cell in marks), Fraction(0)) == (pairs.p if has else pairs.q)


@pytest.mark.parametrize(
    ("size", "window", "epsilon", "permanent", "nested"),
    [(4, 1, 1.0, None, True), (5, 2, 2.0, None, True), (4, 4, 4.0, None, False), (5, 2, 1.0, 3.0, False)],
)
def test_the_variance_of_the_sum_is_that_of_its_law(
    size: int, window: int, epsilon: float, permanent: float | None, nested: bool
) -> None:
    """Expected counts of enough reports to make chance negligible, by the law of one report per window.

    The second report of a device has its window and permanent pattern or, without one, only its set. Among nested sets
    values occur together as often as they can.
    """
    mechanism = SetResponse.calibrate(size, epsilon, permanent, window=window)
    rng = np.random.default_rng(size)
    sets = [(1 << most) - 1 for most in range(size + 1)] if nested else list(range(1 << size))
    people = rng.dirichlet(np.full(len(sets), 0.3 if len(sets) > 10 else 2))
    reports = rng.integers(10**9, 2 * 10**9, size)

    def laws(stage: SetResponse) -> Floats:
        of_sets = [
            [np.array(stage.cell_law(item, cohort), dtype=np.float64) for item in sets] for cohort in range(size)
        ]
        return np.asarray(np.einsum("s,csp->cp", people, np.array(of_sets, dtype=np.float64)))

    tally = Tally(reports, np.rint(laws(mechanism) * reports[:, np.newaxis]).astype(np.int64))
    frequency, _, trials = debiased(mechanism, labels_of(mechanism), tally)

    def variance_of(stage: SetResponse) -> float:
        variance = 0.0
        for cohort, law in enumerate(laws(stage)):
            scores = np.zeros(stage.cells)
            for value in stage.seen(cohort):
                scores[list(stage.supporting(value, cohort))] += 1 / trials[value]
            variance += reports[cohort] * (law @ scores**2 - (law @ scores) ** 2)
        return variance / float(stage.p - stage.q) ** 2

    expected, counts = variance_of(mechanism), np.array([item.bit_count() for item in sets])
    again = (people @ counts**2 - (people @ counts) ** 2) / tally.total
    if mechanism.permanent_stage is not None:
        again = variance_of(mechanism.permanent_stage)
    for days in (1, 2, 4):
        repeated = replace(tally, repeats=Repeats((5,) * days))
        variance = decoder_of(mechanism).sum_variance(mechanism, repeated, frequency)
        assert variance == pytest.approx(expected + (days - 1) * again, rel=1e-6, abs=0)
    clipped = [decoder_of(mechanism).sum_variance(mechanism, repeated, np.full(size, share)) for share in (-2, 0, 1, 3)]
    assert (clipped[0], clipped[3]) == (clipped[1], clipped[2])


@pytest.mark.parametrize(
    ("size", "most", "epsilon", "permanent"), [(4, 1, 1.0, None), (9, 3, 0.3, 3.0), (9, 3, 0.1, None), (4, 4, 0.5, 3.0)]
)
def test_the_variance_of_the_sum_of_lists_is_that_of_their_law(
    size: int, most: int, epsilon: float, permanent: float | None
) -> None:
    """By enumeration of all reports: those that meet the marks are as many times as likely as ``ratio`` says.

    Two reports of a device share its permanent list or, without one, its set.
    """
    mechanism = PrivSet.calibrate(size, epsilon, permanent, at_most=most)
    rng = np.random.default_rng(size)
    sets = [item for item in range(1 << size) if item.bit_count() <= most]
    people = rng.dirichlet(np.full(len(sets), 0.5))
    reports = list(combinations(range(mechanism.cells), mechanism.subset))
    cells = np.array([[cell in report for cell in range(mechanism.cells)] for report in reports], dtype=np.float64)
    scores, total = cells[:, :size].sum(axis=1), 10**12

    def law_of(stage: PrivSet) -> Floats:
        law = np.zeros(len(reports))
        for item, share in zip(sets, people, strict=True):
            marked = set(stage.marked(item))
            weights = np.array([float(stage.ratio) if marked & set(report) else 1.0 for report in reports])
            law += share * weights / weights.sum()
        return law

    def variance_of(stage: PrivSet) -> float:
        law = law_of(stage)
        return float(law @ scores**2 - (law @ scores) ** 2) / float(stage.p - stage.q) ** 2

    counts, stage = np.array([item.bit_count() for item in sets]), mechanism.permanent_stage
    again = people @ counts**2 - (people @ counts) ** 2 if stage is None else variance_of(stage)
    sums = np.rint(total * law_of(mechanism) @ cells).astype(np.int64)
    for days in (1, 2, 4):
        tally = Tally(np.array([total]), sums[np.newaxis], Repeats((5,) * days))
        frequency = debiased(mechanism, tuple(map(str, range(size))), tally).frequency
        assert frequency.sum() == pytest.approx(people @ counts, abs=1e-4)
        variance = decoder_of(mechanism).sum_variance(mechanism, tally, frequency)
        assert total * variance == pytest.approx(variance_of(mechanism) + (days - 1) * again, rel=1e-6)
    for beyond, nearest in ((0, float(mechanism.q)), (1, float(mechanism.p))):  # of the dummies
        near, nearer = (
            replace(tally, counts=np.append(sums[:size], np.full(most, int(total * chance)))[np.newaxis])
            for chance in (beyond, nearest)
        )
        variances = [decoder_of(mechanism).sum_variance(mechanism, one, frequency) for one in (near, nearer)]
        assert variances[0] == pytest.approx(variances[1], rel=1e-6, abs=0)


def test_privset_has_no_counts_of_pairs() -> None:
    mechanism = PrivSet.calibrate(8, 1.0, at_most=2)
    pairs = decoder_of(mechanism).pairs(mechanism, Tally.zero(mechanism))
    assert len(pairs.values) == 0
    assert "set-response" in pairs.unseen
