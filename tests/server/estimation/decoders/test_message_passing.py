"""Decoding more candidates than can be fitted together: selection, intervals and the consistent fit."""

import numpy as np
import pytest
from scipy import special

from dither_server.estimation.decoders.linear_system import BitCounts
from dither_server.estimation.decoders.rappor import Prior, decode, regress
from dither_server.estimation.fit import Fit, Slab, absent_share, passing, truncated_means
from dither_server.estimation.hashing import marks_of
from dither_shared import Rappor
from dither_shared.primitives.bloom import bloom_positions
from server.estimation.decoders.test_rappor import sampled

MECHANISM = Rappor.calibrate(None, 2.0, 4.0, bits=32, hashes=1, cohorts=32)
TRUE = tuple(f"true {number}" for number in range(40))
UNLISTED = tuple(f"unlisted {number}" for number in range(10))
DECOYS = tuple(f"decoy {number}" for number in range(1500))


HELD = np.append(np.full(len(TRUE), 0.02), np.zeros(len(DECOYS)))


@pytest.fixture(scope="module")
def fits() -> list[Fit]:
    """40 of 1,540 candidates and 10 other strings, each with 2% of the people, in twelve surveys."""
    rng = np.random.default_rng(11)
    tallies = (sampled(rng, MECHANISM, TRUE + UNLISTED, np.full(50, 0.02), 100_000) for _ in range(12))
    return [regress(MECHANISM, TRUE + DECOYS, tally) for tally in tallies]


def test_few_of_the_found_candidates_are_held_by_nobody(fits: list[Fit]) -> None:
    """About 350 are found; if 5% of them are false, 17, then 45 or more are with probability below 1e-6."""
    assert all(np.isinf(fit.unlisted_error) for fit in fits)  # more than can be fitted together
    false = sum(int(fit.found[len(TRUE) :].sum()) for fit in fits)
    true = sum(int(fit.found[: len(TRUE)].sum()) for fit in fits)
    assert true > 300
    assert false < 45


def test_intervals_of_what_is_found_cover_although_it_was_selected(fits: list[Fit]) -> None:
    """Of about 350, 95% are covered; fewer than 88% would be with probability below 1e-6 even if pairs went together.

    Without regard to the selection it would be 86% of them. Of all 18,480, fewer than 94% would be with as little
    probability if groups of 1.6 went together.
    """
    found = np.array([fit.found for fit in fits])
    covered = np.array([(np.maximum(fit.low, 0) <= HELD) & (fit.high >= HELD) for fit in fits])
    assert covered[found].mean() > 0.88
    assert covered.mean() > 0.94


def test_consistent_fit_is_consistent_and_closer_to_the_true_shares(fits: list[Fit]) -> None:
    """The total is wrong by 0.063 on average; with 0 for candidates that are not found it would be by 0.142.

    Surveys scatter by less than 0.02, so their mean is above 0.1 with probability below 1e-6.
    """
    consistent = np.array([fit.consistent for fit in fits])
    assert (consistent >= 0).all()
    assert (consistent.sum(axis=1) <= 1 + 1e-9).all()
    assert np.abs(consistent - HELD).sum(axis=1).mean() < 0.1


def test_candidates_that_are_not_found_count_with_their_expected_share() -> None:
    """More true strings than cells: 300, and 90 others, on 16 bits in 16 cohorts, of which about 60 are found.

    The total error is 0.30 on average; with 0 for what is not found it is 0.96. The mean of six surveys scatters by
    0.02: 4.9 times that is exceeded once in 10^6.
    """
    mechanism = Rappor.calibrate(None, 2.0, 4.0, bits=16, hashes=2, cohorts=16)
    rng = np.random.default_rng(17)
    strings, held = tuple(f"true {number}" for number in range(300)), np.append(np.full(300, 1 / 300), np.zeros(90))
    tallies = [sampled(rng, mechanism, strings, held[:300], 1_000_000) for _ in range(6)]
    fits = [regress(mechanism, strings + DECOYS[:90], tally) for tally in tallies]
    assert np.mean([np.abs(fit.consistent - held).sum() for fit in fits]) < 0.41


def test_a_candidate_that_marks_nothing_is_not_found_where_most_are_there() -> None:
    """Nothing distinguishes this candidate, and few of the others are absent: all but this one may pass."""
    strings = tuple(f"true {number}" for number in range(300))
    marks = marks_of(strings, 8, 16, 2).copy()
    share = np.zeros((8, 16))
    for cohort, marked in zip(share, marks, strict=True):
        np.add.at(cohort, marked.ravel(), 1 / 300)
    marks[:, :, -1] = 16
    counts = np.random.default_rng(1).binomial(100_000, 0.4 + 0.2 * share)
    fit = decode(BitCounts(np.full(8, 100_000), counts, 0.6, 0.4), marks)
    assert not fit.found[-1]
    assert fit.consistent[-1] == 0
    assert np.isfinite(fit.consistent.sum())
    assert np.isfinite(fit.standard_error[fit.found]).all()


@pytest.mark.parametrize(
    ("cohorts", "bits", "hashes"), [(64, 128, 2), (3, 16, 3), (11, 100, 4), (9, 5, 4), (2, 4096, 1)]
)
def test_many_strings_are_hashed_as_each_is(cohorts: int, bits: int, hashes: int) -> None:
    values = (*(f"value {number}" for number in range(50)), "", "Zoë")
    marks = marks_of(values, cohorts, bits, hashes)
    for place, value in enumerate(values):
        for cohort in range(cohorts):
            assert tuple(marks[cohort, :, place]) == bloom_positions(value.encode(), cohort, bits, hashes)


def test_candidates_pass_by_the_step_up_procedure() -> None:
    score = -special.ndtri(np.array([0.001, 0.04, 0.012, 0.9, 0.03]))
    assert passing(score, 0.05).tolist() == [0, 2, 4, 1] or passing(score, 0.05).tolist() == [0, 1, 2, 4]
    assert passing(score, 0.04).tolist() == [0, 2]
    assert passing(score, 0.04, absent=0.5).tolist() == [0, 1, 2, 4]
    assert passing(-np.ones(3), 0.05).tolist() == []
    assert passing(np.array([3.0, -1.0, -np.inf, 0.0, 0.1]), 0.05, absent=0.01).tolist() == [0, 4]


def test_estimated_share_of_absent_candidates_is_not_too_low() -> None:
    """Quantiles instead of draws: 800 of 1,000 are noise; the rest would be missed by none, or by many."""
    noise = special.ndtri((np.arange(800) + 0.5) / 800)
    assert absent_share(np.concatenate([noise, np.full(200, 5.0)])) == pytest.approx(0.8, abs=0.01)
    assert 0.8 < absent_share(np.concatenate([noise, special.ndtri((np.arange(200) + 0.5) / 200) + 1])) < 0.88
    assert absent_share(noise) == pytest.approx(1, abs=0.01)
    assert absent_share(noise / 100) == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("tail", [0.025, 0.5])
def test_means_of_candidates_that_passed_are_those_of_a_truncated_normal(tail: float) -> None:
    scores = np.array([2.0, 2.5, 4.0, 12.0])
    means = truncated_means(scores, 2.0, tail)
    for score, mean in zip(scores[1:], means[1:], strict=True):
        assert special.ndtr(mean - score) / special.ndtr(mean - 2.0) == pytest.approx(tail, rel=1e-6)
    assert means[3] == pytest.approx(12 + special.ndtri(tail), abs=1e-6)
    assert means[0] < -20


def test_slab_is_learnt_from_the_scores() -> None:
    """Of 2,000 half are 0 and half about 4, so one seen at 1 is 0 and one at 3 is not, whatever they were called."""
    quantiles = special.ndtri((np.arange(1000) + 0.5) / 1000)
    slab = Slab.learnt(np.concatenate([quantiles, quantiles + 4]))
    seen = np.array([-9.0, 0.0, 1.0, 3.0, 4.0, 7.99, 20.0])
    likely = slab.medians(seen)
    assert likely[[0, 1, 2, 6]].tolist() == [0, 0, 0, 20]
    assert likely[3:5] == pytest.approx([3.7, 4.0], abs=0.3)
    assert (np.diff(likely) >= 0).all()
    assert slab.medians_of(seen) == pytest.approx(likely, abs=0.02)
    # With a quarter of the others' error, 12 errors of a candidate are 3 of the others'.
    assert slab.medians_of(np.array([2.0, 6.0]), np.array([2.0, 0.5])) == pytest.approx([2.0, 7.0], abs=0.7)


def test_the_prior_learns_what_candidates_are_like() -> None:
    """Half are 0 and half 4, so one seen at 2 may be either, one seen at 0 or 4 is what it seems."""
    quantiles = special.ndtri((np.arange(2000) + 0.5) / 2000)
    prior = Prior()
    prior.shrink(np.concatenate([quantiles, quantiles + 4]), 400)
    at = prior.shrink(np.concatenate([quantiles, quantiles + 4, [0.0, 2.0, 4.0, 20.0]]), 1)
    assert at.mean[-4:] == pytest.approx([0, 2, 4, 20], abs=0.3)
    assert at.variance[-3] > 2
    assert at.variance[-1] == 1
