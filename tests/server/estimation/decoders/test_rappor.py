"""RAPPOR decoding: right on average, honest about error, aware of strings that are not listed; and of long lists."""

import math
from unittest.mock import Mock

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special

from dither_server.estimation.decoders.linear_system import BitCounts, System, refit
from dither_server.estimation.decoders.rappor import Prior, _residual_of, amp, decode, regress
from dither_server.estimation.estimate import _fitted, estimate
from dither_server.estimation.fit import Fit
from dither_server.estimation.hashing import buckets_of, columns_of, marks_of
from dither_server.tally.tally import Tally
from dither_shared import CountMeanSketch, RandomizedResponse, Rappor
from dither_shared.primitives.bloom import bloom_digest, bloom_positions
from dither_shared.primitives.buckets import bucket_digest, bucket_in

MECHANISM = Rappor.calibrate(None, 2.0, 4.0, bits=64, hashes=2, cohorts=8)
CANDIDATES = tuple(f"candidate {number}" for number in range(60))


def design(mechanism: Rappor, strings: tuple[str, ...]) -> NDArray[np.float64]:
    """Return which bits strings mark; shape (cohorts, bits, strings)."""
    marks = marks_of(strings, mechanism.cohorts, mechanism.bits, mechanism.hashes)
    marked = np.zeros((mechanism.cohorts, mechanism.bits, len(strings)))
    for cohort, positions in zip(marked, marks, strict=True):
        cohort[positions, np.arange(len(strings))] = 1
    return marked


def zipf(size: int) -> NDArray[np.float64]:
    frequency = np.arange(1, size + 1) ** -1.2
    return np.asarray(frequency / frequency.sum())


def expected(mechanism: Rappor, strings: tuple[str, ...], frequency: NDArray[np.float64], reports: int) -> Tally:
    """Return the mean tally: what infinitely many people would give, scaled down."""
    share = design(mechanism, strings) @ frequency
    a, b = float(mechanism.a), float(mechanism.b)
    each = reports // mechanism.cohorts
    counts = np.rint((b + (a - b) * share) * each).astype(np.int64)
    return Tally(np.full(mechanism.cohorts, each), counts)


def sampled(
    rng: np.random.Generator, mechanism: Rappor, strings: tuple[str, ...], frequency: NDArray[np.float64], reports: int
) -> Tally:
    """Return a tally of one report each, by its exact law."""
    users = rng.multinomial(reports, frequency)
    cohorts = np.array([rng.multinomial(count, np.full(mechanism.cohorts, 1 / mechanism.cohorts)) for count in users])
    marked = np.einsum("cjv,vc->cj", design(mechanism, strings), cohorts).astype(np.int64)
    sizes = cohorts.sum(axis=0)
    counts = rng.binomial(marked, float(mechanism.a)) + rng.binomial(sizes[:, None] - marked, float(mechanism.b))
    return Tally(sizes, counts)


def test_the_mean_tally_gives_the_frequencies_back() -> None:
    frequency = zipf(60)
    fit = regress(MECHANISM, CANDIDATES, expected(MECHANISM, CANDIDATES, frequency, 8 * 10**12))
    assert fit.frequency == pytest.approx(frequency, abs=1e-9)
    assert fit.consistent == pytest.approx(frequency, abs=1e-4)


def test_level_of_one_of_many_strings_that_a_double_rounds_to_1_leaves_finite_intervals() -> None:
    columns, *_ = _fitted(MECHANISM, CANDIDATES, expected(MECHANISM, CANDIDATES, zipf(60), 80_000), 1e-17)
    assert (columns.noise_low < columns.frequency).all()
    assert (columns.noise_high > columns.frequency).all()
    assert np.isfinite(columns.noise_low + columns.noise_high).all()


def test_standard_errors_of_rappor_estimates_match_their_spread() -> None:
    """30 surveys of 60 strings: the squared standardised errors average to 1 within 4.9 of their standard deviations.

    The 1,800 of them are nearly normal and, within a survey, weakly dependent; counting only half as independent,
    their mean strays by 4.9·sqrt(2/900) = 0.23 with probability below 1e-6. They are taken against the population.
    """
    rng = np.random.default_rng(7)
    squares = []
    for _ in range(30):
        tally = sampled(rng, MECHANISM, CANDIDATES, zipf(60), 20_000)
        fit = regress(MECHANISM, CANDIDATES, tally)
        squares.append(((fit.frequency - zipf(60)) / fit.standard_error) ** 2)
    assert abs(np.mean(squares) - 1) < 0.23


def test_strings_outside_the_list_are_not_mistaken_for_candidates() -> None:
    """Half of the people hold strings that are not listed: the listed ones keep their shares."""
    unknown = tuple(f"unlisted {number}" for number in range(2000))
    frequency = np.concatenate([zipf(60) / 2, np.full(2000, 0.5 / 2000)])
    fit = regress(MECHANISM, CANDIDATES, expected(MECHANISM, CANDIDATES + unknown, frequency, 8 * 10**9))
    assert fit.frequency == pytest.approx(zipf(60) / 2, abs=0.01)
    assert fit.consistent.sum() == pytest.approx(0.5, abs=0.05)


def test_cohorts_without_reports_are_ignored_by_the_fit() -> None:
    full = expected(MECHANISM, CANDIDATES, zipf(60), 8 * 10**12)
    full.reports[3] = 0
    full.counts[3] = 0
    fit = regress(MECHANISM, CANDIDATES, full)
    assert fit.frequency == pytest.approx(zipf(60), abs=1e-9)


def test_hundreds_of_candidates_are_not_fitted_together_however_many_cells_there_are() -> None:
    """The fit of all of 1,500 beside 8,192 cells takes 30 times as long as selection, which finds as many."""
    wide = Rappor.calibrate(None, 2.0, bits=128, hashes=2, cohorts=64)
    for decoys, together in ((200, True), (340, False)):
        many = CANDIDATES + tuple(f"decoy {number}" for number in range(decoys))
        fit = regress(wide, many, expected(wide, CANDIDATES, zipf(60), 64 * 10**5))
        assert np.isfinite(fit.unlisted_error) == together
        assert fit.found[:3].all()


def test_candidates_with_the_same_bits_are_reported_as_indistinguishable() -> None:
    """Two strings on one bit have one share between them; a third on a bit of its own keeps its own."""
    narrow = Rappor.calibrate(None, 2.0, 4.0, bits=16, hashes=1, cohorts=1)
    by_bit: dict[tuple[int, ...], list[str]] = {}
    for number in range(12):
        by_bit.setdefault(narrow.marked(str(number).encode()), []).append(str(number))
    twins = next(names for names in by_bit.values() if len(names) == 2)
    single = next(names[0] for names in by_bit.values() if len(names) == 1)
    candidates = (*twins, single)
    tally = expected(narrow, candidates, np.array([0.5, 0.2, 0.3]), 10**6)
    fit = regress(narrow, candidates, tally)
    assert np.isinf(fit.standard_error[:2]).all()
    assert fit.frequency[:2].sum() == pytest.approx(0.7, abs=1e-3)
    assert fit.standard_error[2] < 0.01
    answer = estimate(narrow, candidates, tally)
    assert answer.verdicts == ("too-few", "too-few", "ok")
    assert (answer.low[0], answer.high[0]) == (0, 1)


@pytest.mark.parametrize("simultaneous", [False, True])
@pytest.mark.parametrize("decoys", [0, 90, 1500])
@pytest.mark.parametrize("reports", [300, 20_000])
def test_verdict_depends_on_the_interval_and_found_on_the_list_test(
    reports: int, decoys: int, simultaneous: bool
) -> None:
    """From a list that is read whole to one of many more candidates than cells."""
    candidates = CANDIDATES[:40] + tuple(f"decoy {number}" for number in range(decoys))
    tally = sampled(np.random.default_rng(5), MECHANISM, CANDIDATES[:40], zipf(40), reports)
    estimates = estimate(MECHANISM, candidates, tally, simultaneous=simultaneous)
    verdicts = np.array(estimates.verdicts)
    assert estimates.found is not None
    assert (estimates.low[verdicts == "ok"] > 0).all()
    assert (estimates.low[verdicts == "noise"] == 0).all()
    level = estimate(MECHANISM, candidates, tally, 0.5, simultaneous=simultaneous)
    assert level.found is not None
    assert (level.found == estimates.found).all()  # whatever the intervals' confidence
    assert reports < 20_000 or estimates.found.sum() > 2


def test_without_reports_nothing_is_found_and_where_answers_are_listed_nothing_is_selected() -> None:
    nothing = estimate(MECHANISM, CANDIDATES, Tally.zero(MECHANISM))
    assert nothing.found is not None
    assert not nothing.found.any()
    sketch = CountMeanSketch.calibrate(None, 2.0)
    for mechanism in (RandomizedResponse.calibrate(60, 1.0), sketch):
        assert estimate(mechanism, CANDIDATES, Tally.zero(mechanism)).found is None


def test_odd_tables_are_decoded_without_complaint() -> None:
    """Counts of nothing, of everything, of a few reports, in tables of all shapes: every number is one."""
    rng = np.random.default_rng(0)
    for _ in range(40):
        bits, cohorts, strings = (int(rng.choice(sizes)) for sizes in ([2, 3, 9, 33], [1, 3, 30], [1, 2, 50, 400]))
        reports = rng.integers(0, rng.choice([2, 1000, 10**6]), size=cohorts)
        reports[0] += 1
        share = rng.choice([0.0, 0.1, 1.0, rng.random()])
        counts = rng.binomial(reports[:, np.newaxis], share, size=(cohorts, bits))
        marks = marks_of(tuple(map(str, range(strings))), cohorts, bits, int(rng.integers(1, min(bits, 4))))
        fit = decode(BitCounts(reports, counts, 0.9, 0.1), marks)
        assert not np.isnan([*fit.frequency, *fit.low, *fit.high, *fit.consistent]).any()


SELECTING = Rappor.calibrate(None, 2.0, 4.0, bits=32, hashes=1, cohorts=32)
TRUE = tuple(f"true {number}" for number in range(40))
UNLISTED = tuple(f"unlisted {number}" for number in range(10))
DECOYS = tuple(f"decoy {number}" for number in range(1500))


HELD = np.append(np.full(len(TRUE), 0.02), np.zeros(len(DECOYS)))


@pytest.fixture(scope="module")
def fits() -> list[Fit]:
    """40 of 1,540 candidates and 10 other strings, each with 2% of the people, in twelve surveys."""
    rng = np.random.default_rng(11)
    tallies = (sampled(rng, SELECTING, TRUE + UNLISTED, np.full(50, 0.02), 100_000) for _ in range(12))
    return [regress(SELECTING, TRUE + DECOYS, tally) for tally in tallies]


def test_few_of_the_found_candidates_are_held_by_nobody(fits: list[Fit]) -> None:
    """Each of 480 is found with probability 0.985; if 5% are false, 25, then 55 or more are once in 10^6."""
    assert all(np.isinf(fit.unlisted_error) for fit in fits)  # more than can be fitted together
    false = sum(int(fit.found[len(TRUE) :].sum()) for fit in fits)
    true = sum(int(fit.found[: len(TRUE)].sum()) for fit in fits)
    assert true > 450
    assert false < 45


def test_intervals_of_what_is_found_cover_although_it_was_selected(fits: list[Fit]) -> None:
    """Of about 480, 95% are covered; fewer than 88% would be with probability below 1e-6 even if pairs went together.

    Without regard to the selection it would be 86% of them. Of all 18,480, fewer than 94% would be with as little
    probability if groups of 1.6 went together; the squared errors of those that are not found average to 1 within
    4.9 * sqrt(2 * 1.6 / 18,000) = 0.065.
    """
    found = np.array([fit.found for fit in fits])
    covered = np.array([(np.maximum(fit.low, 0) <= HELD) & (fit.high >= HELD) for fit in fits])
    assert covered[found].mean() > 0.88
    assert covered.mean() > 0.94
    scores = np.array([fit.frequency / fit.standard_error for fit in fits])[:, len(TRUE) :]
    assert abs(np.mean(scores[~found[:, len(TRUE) :]] ** 2) - 1) < 0.065


def test_noise_of_a_long_list_that_nobody_holds_has_its_closed_form() -> None:
    """Each bit is reported as often as the others: of C cohorts, a string has C h (1 - h/m) cells of information."""
    reports, (a, b), share = 10**6, (0.6, 0.4), 1 / 32
    reported = b + (a - b) * share
    counts = np.full((32, 32), round(reported * reports))
    fit = decode(BitCounts(np.full(32, reports), counts, a, b), marks_of(DECOYS, 32, 32, 1))
    variance = reported * (1 - reported) / (reports * (a - b) ** 2) / (32 * (1 - share))
    assert fit.standard_error == pytest.approx(variance**0.5)
    assert fit.frequency == pytest.approx(0, abs=0.1 * variance**0.5)
    assert not fit.found.any()
    assert not fit.consistent.any()


def test_no_more_candidates_are_found_than_half_of_the_degrees_of_freedom() -> None:
    """Those with the highest scores, of 20 that people hold, on 4 free bits in each of 8 cohorts."""
    share = np.linspace(0.03, 0.07, 20)
    marked = marks_of(tuple(map(str, range(20))), 8, 5, 1)
    load = np.array([np.bincount(cohort.ravel(), share, 5) for cohort in marked])
    fit = decode(BitCounts(np.full(8, 10**9), np.rint((0.2 + 0.6 * load) * 10**9).astype(np.int64), 0.8, 0.2), marked)
    assert fit.found.sum() == 16
    assert fit.found[-10:].all()


def test_message_passing_never_ends_with_much_more_noise_than_no_fit() -> None:
    """It would end with 17% more, because 1,500 strings mark the same 16 bits."""
    counts = np.random.default_rng(0).uniform(0.2, 0.8, (1, 16))
    table = BitCounts(np.array([10**5]), np.random.default_rng(0).binomial(10**5, counts), 0.9, 0.1)
    system = System.of(table, marks_of(tuple(map(str, range(1500))), 1, 16, 1))
    assert amp(system).noise < 1.1 * float((system.weight * system.target**2).sum()) / system.freedom


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


def test_refit_of_one_candidate_agrees_with_message_passing() -> None:
    """At its fixed point each candidate is fitted to the residual of the others, as a refit does to few chosen."""
    mechanism = Rappor.calibrate(None, 2.0, 4.0, bits=16, hashes=2, cohorts=16)
    strings = tuple(f"true {number}" for number in range(300)) + DECOYS[:90]
    tally = sampled(np.random.default_rng(17), mechanism, strings[:300], np.full(300, 1 / 300), 1_000_000)
    table = BitCounts(tally.reports, tally.counts, float(mechanism.a), float(mechanism.b))
    system = System.of(table, marks_of(strings, 16, 16, 2))
    shared = amp(system)
    for place in range(0, 390, 13):
        chosen = np.array([place])
        alone = refit(system, chosen, _residual_of(system, chosen, shared), shared.mean)
        assert abs(alone.frequency[0] - shared.frequency[place]) < 0.1 * shared.standard_error[place]
    assert _residual_of(system, np.arange(390), shared) == pytest.approx(system.target), "there are no others"


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
    ("cohorts", "bits", "hashes"),
    [(64, 128, 2), (3, 16, 3), (11, 100, 4), (9, 5, 4), (2, 4096, 1), (20, 257, 1), (8, 60_000, 1)],
)
def test_many_strings_are_hashed_as_each_is(
    cohorts: int, bits: int, hashes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In several blocks, too. Of 60,000 bits, a word of each of two values is skipped, as one in 90,000 is."""
    monkeypatch.setattr("dither_server.estimation.hashing._AT_ONCE", 100)
    monkeypatch.setattr("dither_server.estimation.hashing._CHUNK", 7)
    values = (*(f"value {number}" for number in (*range(50), 2686, 12_754)), "", "Zoë")
    digest = Mock(wraps=bloom_digest)
    monkeypatch.setattr("dither_server.estimation.hashing.bloom_digest", digest)
    marks = marks_of(values, cohorts, bits, hashes)
    assert digest.call_count == len(values) * math.ceil(cohorts / 8), "a digest is for eight cohorts"
    for place, value in enumerate(values):
        for cohort in range(cohorts):
            assert tuple(marks[cohort, :, place]) == bloom_positions(value.encode(), cohort, bits, hashes)
    assert hashes > 1 or (columns_of(values, cohorts, bits) == marks[:, 0]).all()
    for row, buckets in enumerate(buckets_of(values, 8, 1 << 16, 3)):
        assert buckets.tolist() == [bucket_in(bucket_digest(value.encode(), 3), row, 1 << 16) for value in values]


def test_the_prior_learns_what_candidates_are_like() -> None:
    """Half are 0 and half 4: by Bayes's rule one seen at z is 4 with the odds e^(4z - 8); far above it is itself."""
    quantiles = special.ndtri((np.arange(2000) + 0.5) / 2000)
    seen = np.array([-50.0, 0.0, 1.0, 2.0, 3.0, 4.0, 8.0, 20.0])
    prior = Prior()
    prior.shrink(np.concatenate([quantiles, quantiles + 4]), 2000)
    at = prior.shrink(np.concatenate([quantiles, quantiles + 4, seen]), 1)
    four = 1 / (1 + np.exp(8 - 4 * seen[:-2]))
    assert at.mean[-8:] == pytest.approx([*4 * four, 8, 20], abs=0.03)
    assert at.variance[-8:] == pytest.approx([*16 * four * (1 - four), 1, 1], abs=0.2)
