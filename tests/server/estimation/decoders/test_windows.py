"""Sets in windows and in lists: pairs of values, and the variance of the sum of all shares, by their definitions."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from dither_server.estimation.decoders.support import decoder_of
from dither_server.estimation.estimate import debiased
from dither_server.tally.tally import Tally
from dither_shared import PrivSet, SetResponse

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


@pytest.mark.parametrize(("size", "window", "epsilon"), [(4, 1, 1.0), (5, 2, 2.0), (4, 4, 4.0)])
def test_the_variance_of_the_sum_is_that_of_its_law(size: int, window: int, epsilon: float) -> None:
    """Expected counts of enough reports to make chance negligible, by the law of one report per window."""
    mechanism = SetResponse.calibrate(size, epsilon, window=window)
    rng = np.random.default_rng(size)
    people = rng.dirichlet(np.full(1 << size, 0.3))
    reports = rng.integers(10**9, 2 * 10**9, size)
    laws = np.array([
        sum(share * np.array(mechanism.cell_law(item, cohort), dtype=np.float64) for item, share in enumerate(people))
        for cohort in range(size)
    ])  # fmt: skip
    tally = Tally(reports, np.rint(laws * reports[:, np.newaxis]).astype(np.int64))
    frequency, _, trials = debiased(mechanism, labels_of(mechanism), tally)
    expected = 0.0
    for cohort, law in enumerate(laws):
        scores = np.zeros(mechanism.cells)
        for value in mechanism.seen(cohort):
            scores[list(mechanism.supporting(value, cohort))] += 1 / trials[value]
        expected += reports[cohort] * (law @ scores**2 - (law @ scores) ** 2) / float(mechanism.p - mechanism.q) ** 2
    variance = decoder_of(mechanism).sum_variance(mechanism, tally, frequency)
    assert variance == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("size", "most", "epsilon", "permanent"), [(4, 1, 1.0, None), (5, 2, 0.3, 3.0), (6, 3, 0.2, None), (4, 4, 0.5, 3.0)]
)
def test_the_variance_of_the_sum_of_lists_is_that_of_their_law(
    size: int, most: int, epsilon: float, permanent: float | None
) -> None:
    """By enumeration of all reports: those that meet the marks are as many times as likely as ``ratio`` says."""
    mechanism = PrivSet.calibrate(size, epsilon, permanent, at_most=most)
    rng = np.random.default_rng(size)
    sets = [item for item in range(1 << size) if item.bit_count() <= most]
    people = rng.dirichlet(np.full(len(sets), 0.5))
    reports = list(combinations(range(mechanism.cells), mechanism.subset))
    law = np.zeros(len(reports))
    for item, share in zip(sets, people, strict=True):
        marked = set(mechanism.marked(item))
        weights = np.array([float(mechanism.ratio) if marked & set(report) else 1.0 for report in reports])
        law += share * weights / weights.sum()
    cells = np.array([[cell in report for cell in range(mechanism.cells)] for report in reports], dtype=np.float64)
    total = 10**12
    tally = Tally(np.array([total]), np.rint(total * law @ cells).astype(np.int64)[np.newaxis])
    scores = cells[:, :size].sum(axis=1)
    expected = (law @ scores**2 - (law @ scores) ** 2) / total / float(mechanism.p - mechanism.q) ** 2
    frequency = debiased(mechanism, tuple(map(str, range(size))), tally).frequency
    assert frequency.sum() == pytest.approx(
        sum(share * item.bit_count() for share, item in zip(people, sets, strict=True)), abs=1e-4
    )
    variance = decoder_of(mechanism).sum_variance(mechanism, tally, frequency)
    assert variance == pytest.approx(expected, rel=1e-6)


def test_privset_has_no_counts_of_pairs() -> None:
    mechanism = PrivSet.calibrate(8, 1.0, at_most=2)
    pairs = decoder_of(mechanism).pairs(mechanism, Tally.zero(mechanism))
    assert len(pairs.values) == 0
    assert "set-response" in pairs.unseen
