"""Fits of strings that share buckets: collisions are undone, errors are those of least squares."""

import numpy as np
import pytest
from scipy import special

from dither_server.estimation.strings.cells import Cells, Chance
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


def test_candidates_beside_a_fit_are_read_as_if_each_were_added_to_it() -> None:
    marks = np.array([[3, 3, 7, 9, 11], [1, 2, 2, 5, 12]], dtype=np.uint16)
    rows = noiseless(marks, [0.3, 0.1, 0.2, 0.2, 0.0], BUCKETS)
    fitted = Cells(rows, 0.0).fit(marks[:, [0, 3]])
    beside = fitted.with_each(marks)
    for place in (1, 4):
        together = Cells(rows, 0.0).fit(marks[:, [0, 3, place]]).read
        assert beside.frequency[place] == pytest.approx(together.frequency[2], abs=0.01)
        assert beside.error[place] == pytest.approx(together.error[2], rel=0.05)


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


def test_chance_of_a_score_averages_over_every_pair_of_cells() -> None:
    rng = np.random.default_rng(1)
    cells = tuple(np.append(rng.standard_normal(500), [3.0, 8.0, 20.0]) for _ in range(2))
    pairs = np.array([each.ravel() for each in np.meshgrid(*cells)])
    score = np.minimum(pairs.sum(axis=0) / np.sqrt(2), np.sqrt(2) * (pairs.min(axis=0) + 0.65))
    thresholds = np.array([1.0, 2.0, 3.0, 4.0, 6.0, 11.0, 27.0])
    chances = Chance(cells).judged(thresholds)
    assert chances[0] == 1.0
    share = np.array([(score >= threshold).mean() for threshold in thresholds])
    assert (chances <= thresholds).all()
    assert special.ndtr(-chances[1:]) == pytest.approx(np.maximum(share, special.ndtr(-thresholds))[1:], rel=0.15)
