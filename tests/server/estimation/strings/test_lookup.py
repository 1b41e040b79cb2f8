"""A list that comes after the reports: which of its strings are found, and the share of people who hold none."""

import numpy as np
import pytest
from scipy import stats

from dither_server.estimation.estimate import Estimate, Unlisted, estimate
from dither_server.estimation.intervals.score import share_interval
from dither_server.tally.tally import Tally
from dither_shared import PrefixSketch, ProjectiveSketch
from dither_simulations.users.populations import Population
from server.estimation.strings.sketched import tally_of, zipf

SKETCH = ProjectiveSketch.calibrate(None, 2.0, buckets=1 << 13)
HELD = tuple(f"held-{place}" for place in range(500))
LONG = (*HELD, *(f"absent-{place}" for place in range(4500)))
SHARES = np.arange(1.0, 501) ** -1.1 / (np.arange(1.0, 501) ** -1.1).sum()


@pytest.fixture(scope="module")
def surveys() -> list[tuple[Population, Estimate]]:
    """A long list in twelve surveys of 200,000 people."""
    rng = np.random.default_rng(20261122)
    people = [zipf(HELD, 200_000, rng) for _ in range(12)]
    return [(population, estimate(SKETCH, LONG, tally_of(SKETCH, population, rng))) for population in people]


def test_frequent_strings_are_found_and_few_others(surveys: list[tuple[Population, Estimate]]) -> None:
    found = np.array([estimates.found for _, estimates in surveys])
    assert found[:, :3].all()
    assert found.sum() >= 90
    assert found[:, 500:].sum() <= 0.1 * found.sum()


def test_intervals_cover_for_all_strings_and_for_those_found(surveys: list[tuple[Population, Estimate]]) -> None:
    shares = np.append(SHARES, np.zeros(len(LONG) - 500))
    covered = np.array([(estimates.low <= shares) & (shares <= estimates.high) for _, estimates in surveys])
    assert 0.945 < covered.mean() < 0.96  # of 60,000: its deviation is below 0.001
    found = np.array([estimates.found for _, estimates in surveys])
    assert covered[found].mean() > 0.88  # of some 120
    for _, estimates in surveys:  # the error holds the noise and the drawing of those who reported
        share = estimates.frequency[estimates.found]
        sampling = np.hypot(estimates.noise_error[estimates.found], np.sqrt(share * (1 - share) / 200_000))
        assert estimates.standard_error[estimates.found] == pytest.approx(sampling)


def test_estimates_of_what_is_not_found_are_unbiased(surveys: list[tuple[Population, Estimate]]) -> None:
    error = np.array([estimates.frequency[500:] / estimates.standard_error[500:] for _, estimates in surveys])
    assert abs(float(error.mean())) < 0.03
    assert abs(float(error.std()) - 1) < 0.03


def test_nothing_is_stated_beyond_a_list_of_all_that_people_hold(surveys: list[tuple[Population, Estimate]]) -> None:
    unbounded = [estimates.unlisted is None or estimates.unlisted.low == 0 for _, estimates in surveys]
    assert sum(unbounded) >= 6  # P[Bin(12, 0.95) < 6] < 1e-6


@pytest.mark.parametrize(
    ("frequency", "low", "high"),
    [(-0.5, 0, 0.038), (-0.1, 0, 0.147), (0.5, 0.265, 0.735), (1.05, 0.812, 1), (1.5, 0.962, 1)],
)
def test_interval_of_the_unlisted_share_lies_in_the_range_and_is_no_point(
    frequency: float, low: float, high: float
) -> None:
    rest = Unlisted.of(frequency, 0.12, 0.95)
    assert rest is not None
    assert (rest.low, rest.high) == pytest.approx((low, high), abs=0.001)


def test_noise_variance_of_a_fit_is_its_error_variance_less_sampling() -> None:
    """Sampling takes nothing from the error of a share outside [0, 1]; if it would take all, nobody's noise is stated.

    So it is for chance strings of few reports.
    """
    sketch, rng, seen = ProjectiveSketch.calibrate(None, 4.0, buckets=256), np.random.default_rng(0), set()
    for reports in (50, 20_000):
        for shares in ([1.0, 0.0], [0.5, 0.5]):
            people = Population(("a", "b"), (np.array(shares) * reports).astype(np.int64))
            estimates = estimate(sketch, ("a", "b", *LONG[500:900]), tally_of(sketch, people, rng))
            share = np.clip(estimates.frequency, 0, 1)
            left = estimates.standard_error**2 - share * (1 - share) / reports
            nobodys = sketch.variance() / (sketch.fitted_cells * reports)
            few = reports == 50
            assert np.isnan(estimates.noise_low).all() == np.isnan(estimates.noise_high).all() == few
            assert (estimates.unlisted is None) or not few
            low, high = share_interval(sketch, estimates.frequency, np.full(402, reports), 0.05, sampled=True)
            assert not few or ((estimates.low <= low + 1e-12).all() and (estimates.high >= high - 1e-12).all())
            assert estimates.noise_error == pytest.approx(np.sqrt(np.where(left > 0, left, nobodys)), rel=1e-6)
            seen |= {
                name
                for name, some in [
                    ("none", left <= 0),
                    ("below", estimates.frequency < 0),
                    ("above", estimates.frequency > 1),
                ]
                if some.any()
            }
    assert seen == {"none", "below", "above"}


def test_the_surest_interval_of_a_string_is_of_the_largest_number_below_1(monkeypatch: pytest.MonkeyPatch) -> None:
    """As of 20 million strings together, at the highest confidence that there is."""
    monkeypatch.setattr("dither_server.estimation.estimate.level_of_each", lambda *_: ("bonferroni", 5e-17))
    people = Population(("a", "b"), np.array([25_000, 25_000]))
    tally = tally_of(SKETCH, people, np.random.default_rng(1))
    estimates = estimate(SKETCH, ("a", "b"), tally, simultaneous=True)
    score = -stats.norm.ppf(2**-54)
    assert estimates.high - estimates.frequency == pytest.approx(score * estimates.standard_error)


def test_whether_an_unlisted_share_is_stated_depends_on_its_error_alone() -> None:
    """Were it stated where the end of the range cuts the interval, those stated of 0.48 would all miss it."""
    for frequency in (-0.1, 0.02, 0.48, 1.05):
        assert Unlisted.of(frequency, 0.17, 0.95) is None, frequency
        assert Unlisted.of(frequency, 0.12, 0.95) is not None, frequency


def test_a_short_list_is_fitted_together() -> None:
    """The share of all other strings is covered, too, and so is that beyond a longer list."""
    rng, held, missed = np.random.default_rng(7), np.zeros(2), 0
    short, longer = (*HELD[:20], *LONG[500:540]), (*HELD[:250], *LONG[500:600])
    truth = np.append(SHARES[:20], np.zeros(40))
    for _ in range(20):
        people = zipf(HELD, 100_000, rng)
        tally = tally_of(SKETCH, people, rng)
        both = estimate(SKETCH, short, tally), estimate(SKETCH, longer, tally)
        assert both[0].found is not None
        assert both[0].found[:2].all()
        missed += int(((truth < both[0].low) | (truth > both[0].high)).sum())
        for place, (estimates, listed) in enumerate(zip(both, (20, 250), strict=True)):
            rest = estimates.unlisted
            assert rest is not None
            held[place] += rest.low <= 1 - float(people.shares[:listed].sum()) <= rest.high
    assert (held >= 12).all()  # P[Bin(20, 0.95) < 12] < 1e-6
    assert 0.03 < missed / 1200 < 0.07


def test_lookup_of_one_candidate_works_with_many_reports_and_with_none() -> None:
    rng = np.random.default_rng(8)
    people = Population(("only",), np.array([5000]))
    estimates = estimate(SKETCH, ("only",), tally_of(SKETCH, people, rng))
    assert estimates.found is not None
    assert estimates.found.all()
    assert estimates.high[0] == 1.0
    nothing = estimate(SKETCH, ("only",), Tally.zero(SKETCH))
    assert nothing.found is not None
    assert not nothing.found.any()
    assert np.isnan(nothing.frequency).all()


def test_lookup_in_a_discovery_uses_its_complete_strings() -> None:
    rng = np.random.default_rng(9)
    sketch = PrefixSketch.calibrate(None, 3.0, characters=26, length=6, buckets=1 << 12)
    people = Population(("\1\2\0\0\0\0", "\3\0\0\0\0\0"), np.array([70_000, 30_000]))
    tally = tally_of(sketch, people, rng)
    estimates = estimate(sketch, (*people.labels, "\4\0\0\0\0\0"), tally)
    assert estimates.found is not None
    assert estimates.found.tolist() == [True, True, False]
    assert np.abs((estimates.frequency - [0.7, 0.3, 0.0]) / estimates.standard_error).max() < 6
    tally.reports[-2:], tally.counts[-2:] = 0, 0
    silent = estimate(sketch, people.labels, tally)
    assert silent.verdicts == ("too-few", "too-few")
    assert (silent.low.tolist(), silent.high.tolist()) == ([0, 0], [1, 1])


def test_lookup_in_few_reports_finds_nothing_and_in_one_states_nothing() -> None:
    tally = Tally.zero(SKETCH)
    tally.reports[1], tally.counts[1, 5] = 1, 1
    for labels in (("a", "b"), tuple(f"x{place}" for place in range(400))):
        estimates = estimate(SKETCH, labels, tally)
        assert estimates.found is not None
        assert not estimates.found.any()
        assert set(estimates.verdicts) == {"too-few"}
        assert np.isnan(estimates.frequency).all()
        assert estimates.unlisted is None


def test_the_lower_end_of_the_weakest_found_allows_for_frequent_strings_that_are_not_listed() -> None:
    """Each of 100 strings has 1%, few are listed: chance adds much to cells, and a higher score is needed to pass."""
    names, rng = tuple(f"held-{place}" for place in range(100)), np.random.default_rng(3)
    sketch, listed, least = ProjectiveSketch.calibrate(None, 3.0, buckets=2048), (*names[70:], *LONG[500:1500]), []
    for _ in range(12):
        estimates = estimate(sketch, listed, tally_of(sketch, Population.drawn(names, np.ones(100), 60_000, rng), rng))
        assert estimates.found is not None
        score = np.where(estimates.found, estimates.frequency / estimates.standard_error, np.inf)
        least += [(score.min(), estimates.low[score.argmin()])] * int(np.isfinite(score.min()))
    scores, low = np.array(least).T
    assert len(scores) >= 6
    assert (low <= 0.01).all()
    assert (low[scores < 5] == 0).all()
