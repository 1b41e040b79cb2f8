"""Fits of strings that share buckets: collisions are undone, errors are those of least squares."""

from itertools import product

import numpy as np
import pytest
from scipy import special

from dither_server.estimation.strings.cells import Cells, Chance, Read
from dither_server.estimation.strings.rows import Rows
from server.estimation.strings.sketched import noiseless

BUCKETS = 4096


def test_strings_whose_marks_collide_are_fitted_apart() -> None:
    marks = np.array([[3, 3, 7, 9], [1, 2, 2, 5]], dtype=np.uint16)  # the first three hang together in a chain
    shares = [0.4, 0.1, 0.2, 0.3]
    fit = Cells(noiseless(marks, shares, BUCKETS), 0.0).fit(marks)
    assert fit.read.frequency == pytest.approx(shares, abs=1e-7)
    assert np.abs(fit.left).max() < 1e-6


def test_errors_are_those_of_weighted_least_squares() -> None:
    marks = np.array([[3, 3, 7, 9], [1, 2, 2, 5]], dtype=np.uint16)
    rows = noiseless(marks, [0.4, 0.1, 0.2, 0.3], BUCKETS)
    fit = Cells(rows, 1e-7).fit(marks)
    columns = np.zeros((2 * BUCKETS, 4))
    for row in range(2):
        columns[row * BUCKETS + marks[row], np.arange(4)] = 1
    weight = 1 / (rows.variance(rows.share) + 1e-7).ravel()
    inverse = np.linalg.inv((columns.T * weight) @ columns)
    assert fit.read.error == pytest.approx(np.sqrt(np.diag(inverse)), rel=1e-5)
    hat = (columns @ inverse * columns).sum(axis=1) * weight
    assert fit.free.ravel() == pytest.approx(1 - hat, abs=1e-5)


def test_strings_in_the_same_buckets_get_the_same_estimate() -> None:
    marks = np.array([[3, 3, 5], [1, 1, 6]], dtype=np.uint16)
    fit = Cells(noiseless(marks, [0.2, 0.1, 0.3], BUCKETS), 0.0).fit(marks)
    assert np.isinf(fit.read.error[:2]).all()
    assert np.isneginf(fit.read.score[:2]).all()
    assert fit.read.frequency[2] == pytest.approx(0.3, abs=1e-3)


def test_string_supported_by_one_row_only_is_scored_by_the_other_row() -> None:
    share = np.zeros((2, BUCKETS))
    share[:, 3] = 0.5  # a string that people hold
    share[0, 7] = 0.5  # a bucket that a frequent string fills
    rows = Rows(share, np.array([500_000, 500_000]), 0.5, 0.25)
    read = (
        Cells(rows, 0.0).fit(np.zeros((2, 0), dtype=np.uint16)).with_each(np.array([[3, 7], [3, 9]], dtype=np.uint16))
    )
    assert read.frequency == pytest.approx([0.5, 0.25], abs=0.02)
    assert read.score[0] > 5  # any string is there with probability 4096^-2
    assert abs(read.score[1]) < 4  # the least row is at the background


def test_row_without_reports_leaves_the_estimate_to_the_other_row() -> None:
    marks = np.array([[3, 7], [3, 9]], dtype=np.uint16)
    share = np.full((2, BUCKETS), 0.5 / BUCKETS)
    share[0, 3] = 0.5
    rows = Rows(share, np.array([1_000_000, 0]), 0.5, 0.25)
    for read in (Cells(rows, 0.0).fit(marks).read, Cells(rows, 0.0).fit(marks[:, :0]).with_each(marks)):
        assert read.frequency == pytest.approx([0.5, 0.0], abs=0.02)
        assert np.isfinite(read.error).all()
        assert read.score[0] > 3  # any string is in this bucket once in 4096


@pytest.mark.parametrize("rows", [1, 2, 8])
def test_chance_of_a_score_is_the_share_of_the_combinations_of_cells_that_reach_it(rows: int) -> None:
    """By enumeration, where each score is a whole number of bins: all rows together, and each but for the slack."""
    bins = np.random.default_rng(rows).integers(5, 60, (rows, 3))
    bins[0], bins[-1, 0] = (-40, 20, 400), 90
    chance = Chance(tuple(0.05 * np.sqrt(rows) * bins))
    every = np.clip(list(product(*bins)), 0, 200)
    scores = np.arange(1.5, 10.1, 0.25)
    least = np.maximum(np.rint((scores / np.sqrt(rows) - 0.65) / np.sqrt(rows) / 0.05), 0)
    reached = (every.sum(axis=1)[:, np.newaxis] >= np.rint(scores / 0.05)) & (every.min(axis=1)[:, np.newaxis] >= least)
    expected = np.maximum(reached.mean(axis=0), special.ndtr(-scores))
    assert special.ndtr(-chance.judged(scores)) == pytest.approx(expected)
    beyond = [np.mean(cells >= 12 / np.sqrt(rows) - 0.65) for cells in chance.cells]
    expected = np.array([max(np.prod(beyond), special.ndtr(-12)), special.ndtr(-1.4)])
    assert special.ndtr(-chance.judged(np.array([12.0, 1.4]))) == pytest.approx(expected)


def test_least_score_is_the_first_that_is_judged_as_high() -> None:
    chance = Chance((np.append(special.ndtri((np.arange(500) + 0.5) / 500), [3.0, 8.0, 20.0]),) * 2)
    for judged, step in ((0.5, 0.021), (3.0, 0.021), (5.0, 0.5)):
        least = chance.least(judged)
        before, after = chance.judged(np.array([least - step, least]))
        assert before < judged <= after


def test_chance_of_rows_of_a_single_cell_or_none_is_certain_or_unknown() -> None:
    scores = np.array([2.0, 9.0, 15.0])
    assert np.isneginf(Chance((np.array([20.0]),)).judged(scores)).all()
    assert (Chance((np.zeros(0),)).judged(scores) == scores).all()


def test_strings_beside_unlisted_ones_are_fitted_exactly() -> None:
    """Of 16 buckets a row, with 2/5 of the people spread evenly: a chain, a pair that shares a bucket, a single one."""
    marks = np.array([[3, 3, 7, 9, 9, 11], [1, 2, 2, 5, 6, 12], [0, 1, 2, 3, 4, 5]], dtype=np.uint16)
    shares = [0.2, 0.05, 0.1, 0.1, 0.05, 0.1]
    load = noiseless(marks, shares, 16).share + 0.4 / 16
    fit = Cells(Rows(load, np.array([10**4, 2 * 10**4, 10**4]), 0.5, 0.25), 1e-5).fit(marks)
    assert fit.read.frequency == pytest.approx(shares)
    assert fit.left == pytest.approx(0, abs=1e-12)


def test_shares_outside_the_range_leave_the_background_inside_it() -> None:
    """One string in two rows: the rest is 1 if it is estimated below 0, and 0 if above 1."""
    for share, frequency in ((-0.1, -0.1 - 1 / 16), (1.3, 1.3)):
        rows = Rows(np.full((2, 16), share), np.array([100, 100]), 0.5, 0.25)
        assert Cells(rows, 0.0).fit(np.zeros((2, 1), dtype=np.uint16)).read.frequency == pytest.approx([frequency])


def test_strings_that_fill_every_bucket_have_the_share_of_theirs() -> None:
    rows, marks = Rows(np.array([[0.4, 0.3, 0.2, 0.1]] * 2), np.array([100, 100]), 0.5, 0.25), np.array([range(4)] * 2)
    assert Cells(rows, 0.0).fit(marks).read.frequency == pytest.approx(rows.share[0])


def test_string_beside_a_fitted_one_is_scored_by_its_least_row_without_that_cell() -> None:
    """Rows of 16 buckets say 0.3 and 0.305 of the fitted string, of which the other shares the bucket in the first.

    So the first row says -0.005 of it, with the variance of a difference of cells.
    """
    share = np.full((2, 16), 0.025)
    share[0, 3], share[1, 1], share[1, 7] = 0.3, 0.305, 0.3
    rows, crowd = Rows(share, np.array([10**6, 10**6]), 0.5, 0.25), 1e-6
    beside = Cells(rows, crowd).fit(np.array([[3], [1]], dtype=np.uint16)).with_each(np.array([[3], [7]]))
    fitted = (0.3025 - 1 / 16) / (1 - 1 / 16)
    fitted, apart = rows.variance(np.array([[fitted, 0.0]]))[0] + crowd
    first, second = 2 * fitted, apart
    assert beside.score == pytest.approx(np.sqrt(2) * (-0.005 / np.sqrt(first) + 0.65), rel=1e-3)
    background = (1 - (0.3025 - 1 / 16) / (1 - 1 / 16)) / 16
    mean = (-0.005 / first + (0.3 - background) / second) / (1 / first + 1 / second)
    assert beside.error == pytest.approx((1 / first + 1 / second) ** -0.5, rel=1e-3)
    assert beside.frequency == pytest.approx(mean * 16 / 15, rel=0.02)


def test_single_string_has_its_share_of_few_buckets() -> None:
    """A string of 3/10, of 4 buckets, in which the others are spread evenly: 3/10 + 7/40 in its own."""
    rows = Rows(np.array([[0.475, 0.175, 0.175, 0.175]] * 2), np.array([100, 100]), 0.5, 0.25)
    marks = np.zeros((2, 1), dtype=np.uint16)
    assert Cells(rows, 0.0).fit(marks[:, []]).with_each(marks).frequency == pytest.approx([0.3])


def test_crowd_is_the_concentration_without_the_squares_of_known_strings() -> None:
    rows = noiseless(np.array([[3, 7], [1, 2]], dtype=np.uint16), [0.8, 0.2], 64)
    for frequency, error, squares in ((0.5, 0.1, 0.24), (0.1, 0.2, 0.0), (2.0, 0.1, 3.99)):
        known = Read(np.array([frequency]), np.array([error]), np.zeros(1))
        assert Cells.of(rows, known).crowd * 64 == pytest.approx(max(0, rows.concentration - squares))
    assert Cells.of(rows).crowd * 64 == pytest.approx(rows.concentration)
