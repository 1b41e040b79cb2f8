"""Selection of strings: the strongest first, without ghosts, and only those that stand out."""

import numpy as np
import pytest

from dither_server.estimation.hashing import Buckets
from dither_server.estimation.strings.cells import Cells, Fitted
from dither_server.estimation.strings.rows import Rows
from dither_server.estimation.strings.selection import highest, selected, threshold
from dither_server.tally.arrays import Floats
from server.estimation.strings.sketched import noiseless

BUCKETS, N = 1 << 12, 1_000_000


def noisy(marks: Buckets, shares: Floats, rng: np.random.Generator) -> Rows:
    """Rows of half a million people each; q is 1/4 and p 1/2, so that a bucket's standard error is 0.0025."""
    truth = np.array([np.bincount(row[: len(shares)], shares, BUCKETS) for row in marks])
    support = rng.binomial(N // 2, 0.25 + 0.25 * truth) / (N // 2)
    return Rows((support - 0.25) / 0.25, np.array([N // 2, N // 2]), 0.5, 0.25)


def test_strings_that_share_buckets_with_frequent_ones_are_not_found() -> None:
    """Until the first three are known, their collisions hide the fourth."""
    rng = np.random.default_rng(1)
    marks = rng.integers(0, BUCKETS, (2, 50_000)).astype(np.uint16)
    marks[0, 100:140] = marks[0, 0]  # forty that share a bucket with the most frequent one,
    marks[:, 200] = [marks[0, 0], marks[1, 1]]  # and one string all of whose buckets frequent strings fill
    found, fit = selected(noisy(marks, np.array([0.3, 0.2, 0.1, 0.015]), rng), marks)
    assert set(range(4)) <= set(found.tolist())
    assert len(found) <= 5  # the chance of one false discovery is near 5%
    held = fit.read.frequency[np.isin(found, range(4))]
    assert np.abs(held - [0.3, 0.2, 0.1, 0.015]).max() < 6 * 0.003


def test_false_discoveries_are_few_where_frequent_strings_are_not_listed() -> None:
    """Of 100 strings that 0.8% hold each 30 are listed, and 4,000 that nobody holds: many share one bucket, few both.

    Some 100 are found; of 5 false ones that are expected, 20 or more come with probability below 1e-6.
    """
    found = false = 0
    for seed in range(20):
        rng = np.random.default_rng([7, seed])
        marks = rng.integers(0, BUCKETS, (2, 4_100)).astype(np.uint16)
        chosen = selected(noisy(marks, np.full(100, 0.008), rng), marks[:, 70:]).found
        found, false = found + len(chosen), false + int((chosen >= 30).sum())
    assert found > 50
    assert false < 20


def test_selection_finds_no_string_where_nobody_holds_any() -> None:
    false = 0
    for seed in range(40):
        rng = np.random.default_rng([3, seed])
        marks = rng.integers(0, BUCKETS, (2, 1000)).astype(np.uint16)
        false += len(selected(noisy(marks, np.zeros(0), rng), marks).found) > 0
    assert false <= 12  # in a run of 20: P[Bin(40, 0.05) > 12] < 1e-7


def test_selection_takes_the_highest_scores_that_stand_out() -> None:
    score = np.array([3.0, -1.0, 5.0, 4.0, 0.0])
    assert highest(score, 2).tolist() == [2, 3]
    assert highest(score, 9).tolist() == highest(score, 5).tolist() == [0, 1, 2, 3, 4]
    assert highest(np.array([-1.0]), 5, 1).tolist() == [0]  # as one is expected
    assert highest(score, 9, 1).tolist() == [0, 2, 3]  # above the upper fifth of the normal law
    assert highest(np.zeros(0), 5, 30).tolist() == []


def test_the_threshold_is_that_of_benjamini_and_hochberg() -> None:
    assert abs(threshold(1, 1_000_000) - 5.3267) < 1e-3
    assert abs(threshold(20, 20) - 1.6449) < 1e-3
    assert threshold(0, 5) == np.inf


def test_the_buckets_of_the_listed_strings_alone_give_the_same_fit() -> None:
    rng = np.random.default_rng(6)
    for strings in (1, 2, 300, 700):
        marks = rng.integers(0, BUCKETS, (2, strings)).astype(np.uint16)
        marks[:, : strings // 3] = marks[:, :1]  # strings that share all buckets
        rows = noisy(marks, 1 / np.arange(2.0, min(strings, 40) + 2) ** 2, rng)
        some, theirs = rows.only(marks)
        assert some.share.shape[1] <= min(strings, BUCKETS)
        assert (some.buckets, some.concentration, some.total) == (rows.buckets, rows.concentration, rows.total)
        whole, part = selected(rows, marks), selected(some, theirs)
        assert part.found.tolist() == whole.found.tolist()
        for cells, buckets in ((Cells(some, 1e-7), theirs), (Cells(rows, 1e-7), marks)):
            assert cells.listed(buckets) == pytest.approx(rows.listed(marks, 1e-7 * BUCKETS))
        for ours, its in zip(part.fit.with_each(theirs), whole.fit.with_each(marks), strict=True):
            assert np.allclose(ours, its, rtol=1e-9, atol=1e-12, equal_nan=True)


def test_no_more_strings_are_tried_than_share_few_buckets() -> None:
    """Of 24 in 128 buckets, 16 are; if all were, the fit would find hardly any."""
    marks = np.random.default_rng(0).integers(0, 128, (2, 100)).astype(np.uint16)
    found = selected(noiseless(marks[:, :24], [1 / 24] * 24, 128), marks).found
    assert len(found) == 16
    assert found.max() < 24


def test_strings_that_leave_the_fit_may_return_but_do_not_come_and_go_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 300 in 1,024 buckets one leaves as another shares its bucket; some would take turns for all 40 rounds."""
    rng, reports = np.random.default_rng(232), 5_000_000
    marks = rng.integers(0, 1024, (2, 4000)).astype(np.uint16)
    held = rng.dirichlet(np.full(300, 0.3))
    truth = np.array([np.bincount(row[:300], held, 1024) for row in marks])
    rows = Rows((rng.binomial(reports, 0.25 + 0.25 * truth) / reports - 0.25) / 0.25, np.full(2, reports), 0.5, 0.25)
    rounds, fit = list[Buckets](), Cells.fit

    def counted(cells: Cells, marks: Buckets) -> Fitted:
        rounds.append(marks)
        return fit(cells, marks)

    monkeypatch.setattr(Cells, "fit", counted)
    assert 266 in selected(rows, marks).found
    assert len(rounds) < 60
