"""The shares of buckets are unbiased with the stated variance, and Σ f² follows from them."""

from dataclasses import replace
from itertools import permutations, product

import numpy as np
import pytest

from dither_server.estimation.strings.rows import Rows, supports
from dither_server.tally.repeats import Repeats
from dither_server.tally.tally import Tally
from dither_shared import ProjectiveSketch
from server.estimation.strings.sketched import tally_of, zipf

SKETCH = ProjectiveSketch.calibrate(None, 2.0, buckets=64)


def test_variance_of_bucket_shares_is_that_of_simulated_surveys() -> None:
    rng = np.random.default_rng(2)
    people = [zipf([f"v{place}" for place in range(40)], 5000, rng) for _ in range(150)]
    surveys = [Rows.of(SKETCH, tally_of(SKETCH, rows, rng), range(2)) for rows in people]
    seen = np.var([rows.share for rows in surveys], axis=0)
    weights = np.arange(1.0, 41) ** -1.1
    truth = np.zeros((2, 64))
    for row in range(2):
        for place, weight in enumerate(weights / weights.sum()):
            truth[row, SKETCH.bucket(b"v%d" % place, row)] += weight
    variance = surveys[0].variance(truth)
    assert np.abs(np.mean([rows.share for rows in surveys], axis=0) - truth).max() < 6 * np.sqrt(variance.max() / 150)
    # The mean of 128 ratios, each of a variance of 150 draws, has a standard deviation of 0.0103.
    assert abs(float((seen / variance).mean()) - 1) < 0.06


def test_reports_of_one_device_share_the_variance_of_their_permanent_point() -> None:
    """The variance of the mean of two reports, enumerated over the permanent point and what each report makes of it."""
    share, (high, low), (kept, other) = 0.3, (0.75, 0.25), (0.9, 0.2)  # P[permanent | bucket]; P[report | permanent]
    p, q = (other + (kept - other) * chance for chance in (high, low))
    permanent = low + (high - low) * share
    means, chances = [], []
    for point, one, two in product((0, 1), repeat=3):
        chance = permanent if point else 1 - permanent
        for supported in (one, two):
            reported = kept if point else other
            chance *= reported if supported else 1 - reported
        means.append(((one + two) / 2 - q) / (p - q))
        chances.append(chance)
    mean = np.average(means, weights=chances)
    assert mean == pytest.approx(share)
    rows = Rows(np.array([[share]]), np.array([2]), p, q, repeats=2.0, shared=(high, low))
    spread = np.average((np.array(means) - mean) ** 2, weights=chances)
    assert rows.variance(np.array([[share]]))[0, 0] == pytest.approx(spread)


def test_few_reports_that_overshoot_1_have_no_smaller_error_than_at_1() -> None:
    """The share of people who hold any of the strings of a list, and that of nobody."""
    marks = np.zeros((1, 1), dtype=np.uint16)
    errors = [
        Rows(np.array([[held, 0.0]]), np.array([20]), 0.9, 0.01).listed(marks, 0.0)[1] for held in (1.1, 1, -0.1, 0)
    ]
    assert errors[0] == errors[1] == pytest.approx(2 * (0.9 * 0.1 / 20) ** 0.5 / 0.89)  # debiased, of half the buckets
    assert errors[2] == errors[3] == pytest.approx(2 * (0.01 * 0.99 / 20) ** 0.5 / 0.89)


def test_shares_are_debiased_by_the_exact_law_of_a_report() -> None:
    law = np.array(SKETCH.cell_law(b"v", 1), dtype=np.float64)
    rows = Rows.of(SKETCH, Tally.zero(SKETCH), range(2))
    chances = np.full(64, rows.q)
    chances[SKETCH.bucket(b"v", 1)] = rows.p
    assert supports(SKETCH, np.rint(law * 10**12)) == pytest.approx(chances * 10**12)
    tally = Tally.zero(SKETCH)
    tally.reports[1], tally.counts[1, 5] = 1, 1
    rows = Rows.of(SKETCH, tally, range(2))
    assert (rows.share[0] == 0).all()
    assert rows.share[1] * (rows.p - rows.q) + rows.q == pytest.approx(supports(SKETCH, tally.counts[1]))


def test_variance_outside_the_range_is_that_at_its_end() -> None:
    rows = Rows(np.zeros((1, 4)), np.array([10]), 0.6, 0.2, repeats=2.0, shared=(0.9, 0.3))
    at = rows.variance(np.array([[-0.5, 0.0, 1.0, 1.5]]))[0]
    assert (at[0], at[3]) == (at[1], at[2])
    assert at[1:3] == pytest.approx([(0.16 / 0.16 + 0.21 / 0.36) / 10, (0.24 / 0.16 + 0.09 / 0.36) / 10])


def test_concentration_is_the_mean_over_pairs_of_reports_of_a_row() -> None:
    """By the definition, of any reports; and of three people who report their bucket twice, the pairs of two people."""
    p, q = 0.6, 0.2
    adds = ((np.random.default_rng(7).random((9, 4)) < [0.6, 0.3, 0.2, 0.2]) - q) / (p - q)
    parts = adds[:5], adds[5:]
    met = sum(float(one @ other) for part in parts for one, other in permutations(part, 2)) / (5 * 4 + 4 * 3)
    rows = Rows(np.array([part.mean(axis=0) for part in parts]), np.array([5, 4]), p, q)
    assert 0 < rows.concentration < 1
    assert rows.concentration == pytest.approx((met - 1 / 4) / (1 - 1 / 4))
    twice = Rows(np.array([[2 / 3, 1 / 3, 0, 0]]), np.array([6]), 1.0, 0.0, repeats=2.0)
    assert twice.concentration == pytest.approx((1 / 3 - 1 / 4) / (1 - 1 / 4))
    assert Rows(np.array([[1.0, 0, 0, 0]]), np.array([1]), 1.0, 0.0).concentration == 1.0  # no pair
    assert Rows(np.full((1, 4), 0.25), np.array([100]), 1.0, 0.0).concentration == 0.0


def test_share_of_a_list_has_the_variance_of_its_enumerated_reports() -> None:
    """Two of four buckets, that 3/5 hold: each bucket is supported by itself; reports of a device share its string."""
    p, q, held, beyond = 0.6, 0.2, 0.6, 0.3
    sums, chances = [], []
    for own, *supported in product((0, 1, None), (0, 1), (0, 1)):  # the bucket of the string, or another
        law = [p if own == bucket else q for bucket in (0, 1)]
        chances.append((held / 2 if own is not None else 1 - held) * np.prod([
            chance if one else 1 - chance for chance, one in zip(law, supported, strict=True)
        ]))  # fmt: skip
        sums.append(sum((one - q) / (p - q) for one in supported))
    noise = np.average(np.square(sums), weights=chances) - np.average(sums, weights=chances) ** 2
    rows = Rows(np.array([[0.5, 0.1, 0.2, 0.2], [0.1, 0.5, 0, 0]]), np.array([300, 100]), p, q, repeats=3.0)
    marks = np.array([[0, 1, 1], [1, 0, 1]], dtype=np.uint16)
    share, error = rows.listed(marks, beyond)
    each = (noise + 2 * held * (1 - held)) / np.array([300, 100]) + beyond / 4
    assert share == pytest.approx((held - 1 / 2) / (1 - 1 / 2))
    assert error**2 == pytest.approx((each * np.array([0.75, 0.25]) ** 2).sum() / (1 - 1 / 2) ** 2)


def test_design_effect_of_all_rows_together_is_that_of_all_reports() -> None:
    """Reports of a device fall into either row, so one row has a part of the effect, and the rest is between them."""
    tally = replace(Tally.zero(SKETCH), reports=np.array([200, 100]), repeats=Repeats((30,) * 10))
    rows = Rows.of(SKETCH, tally, range(2))
    assert (rows.effect, rows.repeats) == pytest.approx((10, 1 + 9 / 2))
    assert Rows.of(SKETCH, tally, [0]).effect == pytest.approx(1 + 9 * 200 / 300)


def test_concentration_estimate_is_the_sum_of_squared_shares() -> None:
    rng = np.random.default_rng(3)
    sketch = ProjectiveSketch.calibrate(None, 2.0, buckets=4096)
    people = zipf([f"v{place}" for place in range(500)], 200_000, rng)
    surveys = [Rows.of(sketch, tally_of(sketch, people, rng), range(2)).concentration for _ in range(12)]
    assert abs(float(np.mean(surveys)) - float(np.square(people.shares).sum())) < 0.01


def test_row_without_reports_has_no_concentration() -> None:
    empty = Rows.of(SKETCH, Tally.zero(SKETCH), range(2))
    assert empty.total == 0
    assert (empty.share == 0).all()
    assert np.isinf(empty.variance(empty.share)).all()
    assert empty.concentration == 1.0


def test_share_of_people_on_a_list_is_estimated_whatever_the_others_hold() -> None:
    """40 surveys: the squares of 40 standardised misses average to 1 within 4.9·sqrt(2/40) = 1.1 of it."""
    rng = np.random.default_rng(3)
    missed = []
    for _ in range(40):
        marks = rng.integers(0, 4096, (2, 1_500)).astype(np.uint16)
        shares = np.concatenate([np.full(100, 0.004), np.full(200, 0.003)])  # of which the first 100 are listed
        load = np.array([np.bincount(row[:300], shares, 4096) for row in marks])
        rows = Rows((rng.binomial(50_000, 0.25 + 0.25 * load) / 50_000 - 0.25) / 0.25, np.full(2, 50_000), 0.5, 0.25)
        share, error = rows.listed(np.delete(marks, np.s_[100:300], axis=1), 200 * 0.003**2)
        missed.append((share - 0.4) / error)
    assert np.mean(np.square(missed)) < 2.1
    assert abs(float(np.mean(missed))) < 4.9 / np.sqrt(40)


def test_list_that_covers_every_bucket_leaves_the_unlisted_share_unknown() -> None:
    rows = Rows(np.full((2, 4), 0.25), np.array([100, 0]), 0.5, 0.25)
    assert np.isinf(rows.listed(np.array([[0, 1, 2, 3]] * 2, dtype=np.uint16), 1.0)[1])
    share, error = Rows(np.array([[1.0, 0, 0, 0]] * 2), np.array([100, 0]), 0.5, 0.25).listed(
        np.zeros((2, 1), dtype=np.uint16), 0.0
    )
    assert share == 1
    assert error**2 == pytest.approx(0.5 * 0.5 / 0.25**2 / 100 / 0.75**2)  # nobody is drawn who holds another
