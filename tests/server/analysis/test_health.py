"""Honest reports hardly ever look odd, whatever the answers; forged ones do if their law differs.

Tests of false alarms are wrong with a probability below 1e-7 over the choice of their seed.
"""

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from contract.cases import NUMERIC, each, usual
from dither_server.analysis.health import FALSE_ALARMS, _at_most, health
from dither_server.estimation.decoders.support import support
from dither_server.tally.repeats import Repeats
from dither_server.tally.tally import Tally
from dither_shared import (
    MECHANISMS,
    BitFlip,
    CountMeanSketch,
    HadamardResponse,
    LocalHashing,
    Mechanism,
    OptimizedUnary,
    PrefixSketch,
    PrivSet,
    ProjectiveGeometry,
    ProjectiveSketch,
    RandomizedResponse,
    Rappor,
    SetResponse,
    SymmetricUnary,
)
from dither_simulations.samplers import sample_tally
from dither_simulations.users.populations import Population, numbered, zipf
from server.estimation.sets_of_people import People, privset_tally, response_tally

SURVEYS, USERS = 150, 6_000
HONEST: dict[str, tuple[Mechanism, set[str]]] = {
    "randomized-response": (RandomizedResponse.calibrate(12, 1.0), {"range"}),
    "subset-selection": (MECHANISMS["subset-selection"].calibrate(12, 1.0), {"range"}),
    "projective-geometry": (ProjectiveGeometry.calibrate(10, 1.0), {"range", "spare"}),
    "hadamard-response": (HadamardResponse.calibrate(10, 1.0), {"range", "spare"}),
    "local-hashing": (LocalHashing.calibrate(10, 1.0), {"range", "spare", "cohorts", "symbols"}),
    "optimized-unary": (OptimizedUnary.calibrate(10, 1.0), {"range", "weight"}),
    "symmetric-unary": (SymmetricUnary.calibrate(10, 1.0), {"range", "weight"}),
    "bit-flip": (BitFlip.calibrate(6, 1.0, 4), {"range", "cohorts", "weight"}),
    "rappor": (Rappor.calibrate(None, 1.0, cohorts=8, bits=32), {"cohorts", "weight", "weight-by-cohort"}),
    "count-mean-sketch": (
        CountMeanSketch.configure(None, {"epsilon": 1.0, "bits": 32, "cohorts": 8}),
        {"cohorts", "weight", "weight-by-cohort"},
    ),
    "hadamard-count-mean-sketch": (
        MECHANISMS["hadamard-count-mean-sketch"].configure(None, {"epsilon": 1.0, "bits": 32, "cohorts": 8}),
        {"cohorts", "symbols"},
    ),
    "projective-count-mean-sketch": (ProjectiveSketch.calibrate(None, 1.0, buckets=32), {"cohorts"}),
    "prefix-sketch": (PrefixSketch.calibrate(None, 1.0, characters=26, length=4, buckets=32), {"cohorts"}),
    "dithered-response": (
        MECHANISMS["dithered-response"].configure(None, {"epsilon": 1.0, "resolution": 8}),
        {"cohorts"},
    ),
}
CAREFUL = {"range", "spare", "windows"}
"""Tests of many values at once, which Bonferroni's inequality makes careful, as they may be."""

EXAMINED = [name for name, family in MECHANISMS.items() if name in HONEST or not (family.items.sets or name in NUMERIC)]
"""Those of sets and of numbers in one cohort have tests of their own below."""


def alarms_of(mechanism: Mechanism, labels: tuple[str, ...], tallies: Iterable[Tally]) -> dict[str, int]:
    """Return how many p-values of each test are below 1 in 20, after checking that no more are than chance allows."""
    found: dict[str, list[float]] = {}
    for tally in tallies:
        for check in health(mechanism, labels, tally):
            found.setdefault(check["test"], []).append(check["p_value"])
    alarms = {test: sum(value < 0.05 for value in values) for test, values in found.items()}
    for test, values in found.items():
        assert max(values) <= 1, test
        assert stats.binom.sf(alarms[test] - 1, len(values), 0.05) > 1e-8, test
        if test not in CAREFUL:
            assert stats.binom.cdf(alarms[test], len(values), 0.05) > 1e-8, test
    return alarms


@pytest.mark.parametrize("name", EXAMINED)
def test_honest_reports_pass_health_tests_as_often_as_stated(name: str) -> None:
    """Of 150 p-values as many are below 1 in 20 as a binomial law allows, at any frequencies; here of Zipf's law."""
    mechanism, tests = HONEST[name] if name in HONEST else (usual(name, 10), None)
    population = Population.spread(numbered(mechanism.size or 12), zipf(mechanism.size or 12, 1.3), USERS)
    rng = np.random.default_rng(20261120)
    tallies = (sample_tally(mechanism, population, rng) for _ in range(SURVEYS))
    alarms = alarms_of(mechanism, population.labels, tallies)
    assert tests is None or set(alarms) == tests


def test_numbers_of_one_cohort_have_no_health_tests() -> None:
    """Its cells may be of any answers: nothing is known."""
    mechanism = usual("exponential")
    counts = np.ones((1, mechanism.cells), dtype=np.int64)
    assert health(mechanism, (), Tally(counts.sum(axis=1), counts)) == []


def odd(mechanism: Mechanism, tally: Tally) -> set[str]:
    return {check["test"] for check in health(mechanism, (), tally) if check["odd"]}


def honest(name: str, seed: int = 5) -> tuple[Mechanism, Tally]:
    mechanism, _ = HONEST[name]
    population = Population.spread(numbered(mechanism.size or 12), zipf(mechanism.size or 12, 1.3), USERS)
    return mechanism, sample_tally(mechanism, population, np.random.default_rng(seed))


def forged(mechanism: Mechanism, reports: int, cohort: int, cells: list[int]) -> Tally:
    tally = Tally.zero(mechanism)
    tally.reports[cohort] = reports
    tally.counts[cohort, cells] = reports
    return tally


def test_forged_reports_are_flagged_by_the_expected_health_tests() -> None:
    """A tenth of all: rows of ones, rows of few, one seed, one point, one symbol over all seeds."""
    for name, shown in (("symmetric-unary", "weight"), ("optimized-unary", "weight")):
        mechanism, tally = honest(name)
        assert not odd(mechanism, tally)
        assert shown in odd(mechanism, tally + forged(mechanism, 600, 0, list(range(10))))
        assert shown in odd(mechanism, tally + forged(mechanism, 600, 0, [3]))
    mechanism, tally = honest("rappor")
    assert odd(mechanism, tally + forged(mechanism, 600, 2, list(range(12)))) >= {"cohorts", "weight-by-cohort"}
    mechanism, tally = honest("hadamard-response")
    assert odd(mechanism, tally + forged(mechanism, 600, 0, [3])) >= {"spare"}
    mechanism, tally = honest("local-hashing")
    assert {"cohorts", "spare"} <= odd(mechanism, tally + forged(mechanism, 600, 3, [1]))
    every = forged(mechanism, 0, 0, [])
    every.reports[:], every.counts[:, 1] = 600 // mechanism.cohorts, 600 // mechanism.cohorts
    assert "symbols" in odd(mechanism, tally + every)
    mechanism, tally = honest("randomized-response")
    assert odd(mechanism, forged(mechanism, 600, 0, [3])) == {"range"}


def test_repeats_without_permanent_draws_change_no_test() -> None:
    for name in ("optimized-unary", "local-hashing"):
        fresh, tally = honest(name)
        assert health(fresh, (), replace(tally, repeats=Repeats((1,) * 10))) == health(fresh, (), tally)


def test_few_reports_are_not_tested_while_the_normal_approximation_is_poor() -> None:
    """Also if no window that holds a value has a report."""
    for mechanism in (HONEST["optimized-unary"][0], SetResponse.calibrate(6, 2.0, window=3)):
        assert health(mechanism, (), Tally.zero(mechanism)) == []
        (check,) = health(mechanism, (), forged(mechanism, 30, 0, [1]))
        assert (check["test"], check["level"]) == ("range", FALSE_ALARMS), "it alone may raise all false alarms"


LASTING = [
    RandomizedResponse.calibrate(12, 1.0, 2.0),
    LocalHashing.calibrate(10, 1.0, 2.0),
    OptimizedUnary.calibrate(10, 1.0, 2.0),
    BitFlip.calibrate(6, 1.0, 4),
    Rappor.calibrate(None, 1.0, cohorts=8, bits=32),
]


@each(lambda: LASTING)
def test_reports_repeated_over_periods_have_the_p_values_of_one_period(mechanism: Mechanism) -> None:
    """Every p-value of seven equal periods is that of one of them, whatever the test."""
    size, rng = mechanism.size or 10, np.random.default_rng(3)
    population = Population.spread(numbered(size), np.eye(size)[0], USERS)  # all alike, and a few forgers on top
    honest = sample_tally(mechanism, population, rng)
    forged = honest.counts.copy()
    forged[:, 0] += 60 // mechanism.cohorts
    forged[:, 1] -= 60 // mechanism.cohorts
    shape = mechanism.cohorts, mechanism.cells
    for reports, counts in (
        (honest.reports, forged),
        (rng.integers(290, 310, shape[0]), rng.integers(90, 130, shape)),  # so that no test is passed with 1
    ):
        once = health(mechanism, (), Tally(reports, counts))
        repeated = health(mechanism, (), Tally(7 * reports, 7 * counts, Repeats((1,) * 7)))
        assert [check["test"] for check in once] == [check["test"] for check in repeated]
        assert min(check["p_value"] for check in once) < 0.9
        for one, other in zip(once, repeated, strict=True):
            assert other["p_value"] == pytest.approx(one["p_value"], rel=1e-6, abs=1e-15), one["test"]


@pytest.mark.parametrize("name", ["bit-flip", "symmetric-unary", "randomized-response"])
def test_range_test_takes_the_p_value_of_the_oddest_value(name: str) -> None:
    """By the binomial laws, value by value; where windows cover values unevenly, the rarest may not be the oddest."""
    mechanism = HONEST[name][0]
    assert mechanism.size is not None
    rng = np.random.default_rng(11)
    tally = Tally(
        rng.integers(200, 400, mechanism.cohorts), rng.integers(60, 140, (mechanism.cohorts, mechanism.cells))
    )
    estimated = support(mechanism, tally, ())
    p, q = float(mechanism.p), float(mechanism.q)
    tails = [
        min(stats.binom.cdf(seen, n, min(p, q)), stats.binom.sf(seen - 1, n, max(p, q)))
        for seen, n in zip(*estimated, strict=True)
    ]
    (p_value,) = [check["p_value"] for check in health(mechanism, (), tally) if check["test"] == "range"]
    assert p_value == pytest.approx(min(1.0, 2 * mechanism.size * min(tails)), rel=1e-6)


@pytest.mark.parametrize("name", ["hadamard-response", "projective-geometry", "local-hashing"])
def test_test_of_spare_symbols_takes_the_p_value_of_the_oddest(name: str) -> None:
    """By the binomial law of one, in both tails, times how many there are."""
    mechanism = HONEST[name][0]
    rng, q = np.random.default_rng(12), float(mechanism.q)
    for bound in (100, 130):
        counts = rng.integers(90, bound, (mechanism.cohorts, mechanism.cells))
        tally = Tally(np.full(mechanism.cohorts, int(counts.sum(axis=1).mean())), counts)
        spare = support(replace(mechanism, size=mechanism.max_size), tally, ()).supporting[mechanism.size :]
        tails = np.minimum(stats.binom.cdf(spare, tally.total, q), stats.binom.sf(spare - 1, tally.total, q))
        found = {check["test"]: check["p_value"] for check in health(mechanism, (), tally)}
        assert found["spare"] == pytest.approx(min(1.0, 2 * len(spare) * tails.min()), rel=1e-6)
        assert found["spare"] < 1 or bound == 100, "one of two tallies is odd"


def test_tail_of_a_count_matches_the_binomial_law() -> None:
    counts, trials = np.array([0.0, 3.0, 99.0, 100.0, 0.0]), np.array([100.0, 100.0, 100.0, 100.0, 0.0])
    for probability in (0.01, 0.5, 0.99):
        expected = stats.binom.cdf(counts, trials, probability)
        assert _at_most(counts, trials, probability) == pytest.approx(expected, rel=1e-9)


def test_cohorts_are_compared_by_pearsons_test() -> None:
    hashing = LocalHashing.calibrate(10, 1.0)
    tally = Tally(300 + 3 * np.arange(hashing.cohorts), np.full((hashing.cohorts, hashing.cells), 100))
    found = {check["test"]: check["p_value"] for check in health(hashing, (), tally)}
    assert found["cohorts"] == pytest.approx(stats.chisquare(tally.reports).pvalue)


@pytest.mark.parametrize(("symbols", "held"), [(2, False), (3, True)])
def test_symbols_are_compared_if_there_are_two_besides_the_first(symbols: int, held: bool) -> None:
    """With two, all values and seeds leave one symbol that says nothing, which is as common as itself."""
    hashing = LocalHashing(size=8, symbols=symbols, truth=Fraction(3, 4))
    tally = Tally(np.full(hashing.cohorts, 300), np.full((hashing.cohorts, hashing.cells), 300 // symbols))
    assert ("symbols" in {check["test"] for check in health(hashing, (), tally)}) == held


def test_health_test_runs_once_reports_are_enough_for_its_approximation(monkeypatch: pytest.MonkeyPatch) -> None:
    hashing = LocalHashing.calibrate(10, 1.0)
    for count, held in ((24, False), (25, True)):
        cells = np.full((hashing.cohorts, hashing.cells), count // hashing.cells)
        even = Tally(np.full(hashing.cohorts, count), cells)
        assert ("cohorts" in {check["test"] for check in health(hashing, (), even)}) == held
    unary = SymmetricUnary.calibrate(2, 1.0)
    moments = unary.weight_moments
    assert moments is not None
    assert moments[1] < 0.5  # so that some number of reports has a variance between 399 and 400, and the next more
    enough = int(-(-400 // moments[1]))
    for reports, held in ((enough - 1, False), (enough, True)):
        tally = Tally(np.array([reports]), np.full((1, 2), reports // 2))
        assert ("weight" in {check["test"] for check in health(unary, (), tally)}) == held
    monkeypatch.setattr("dither_server.analysis.health._LEAST_VARIANCE", enough * moments[1])  # just enough
    assert "weight" in {check["test"] for check in health(unary, (), tally)}


def test_weight_of_all_ones_is_judged_by_both_tails_of_the_normal_law() -> None:
    unary = SymmetricUnary.calibrate(4, 1.0)
    moments = unary.weight_moments
    assert moments is not None
    for ones in (7_000, 9_000):
        tally = Tally(np.array([4_000]), np.full((1, 4), ones // 4))
        score = (ones - 4_000 * moments[0]) / (4_000 * moments[1]) ** 0.5
        found = {check["test"]: check["p_value"] for check in health(unary, tuple("abcd"), tally)}
        assert found["weight"] == pytest.approx(2 * stats.norm.sf(abs(score)))


@pytest.mark.parametrize(("least", "held"), [(-1, False), (0, True)])
def test_each_cohort_is_weighed_if_the_smallest_is_large_enough(
    least: int, held: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    sketch = CountMeanSketch.configure(None, {"epsilon": 1.0, "bits": 2, "cohorts": 3})
    moments = sketch.weight_moments
    assert moments is not None
    assert moments[1] < 0.5
    enough = int(-(-400 // moments[1])) + least
    reports = np.array([enough, 2 * enough, 2 * enough])
    counts = np.stack([reports // 2 + (20, 0, -30), reports // 2], 1)
    found = {check["test"]: check["p_value"] for check in health(sketch, (), Tally(reports, counts))}
    assert ("weight-by-cohort" in found) == held
    if held:
        away = counts.sum(axis=1) - reports * moments[0]
        assert found["weight-by-cohort"] == pytest.approx(stats.chi2.sf((away**2 / (reports * moments[1])).sum(), 3))
    monkeypatch.setattr("dither_server.analysis.health._LEAST_VARIANCE", enough * moments[1])
    assert "weight-by-cohort" in {check["test"] for check in health(sketch, (), Tally(reports, counts))}


@pytest.mark.parametrize(("size", "window"), [(2, 1), (2, 2), (8, 5)])
def test_honest_reports_of_windows_pass_as_often_as_stated(size: int, window: int) -> None:
    mechanism, people = SetResponse.calibrate(size, 2.0, window=window), People.of(size)
    rng = np.random.default_rng(20261120)
    alarms = alarms_of(mechanism, (), (response_tally(mechanism, people, 4_000, rng) for _ in range(SURVEYS)))
    assert set(alarms) == {"range", "cohorts"} | ({"windows"} if window > 1 else set())


def test_honest_lists_of_values_pass_as_often_as_stated() -> None:
    mechanism, people = PrivSet.calibrate(8, 1.0, at_most=3), People.of(8, 3)
    rng = np.random.default_rng(20261120)
    tallies = (privset_tally(mechanism, people.draw(500, rng), rng) for _ in range(SURVEYS))
    assert set(alarms_of(mechanism, (), tallies)) == {"range"}


def test_value_forged_in_one_window_is_flagged_as_odd() -> None:
    """Two in a hundred forged reports of one window."""
    mechanism = SetResponse.calibrate(8, 2.0, window=2)
    tally = response_tally(mechanism, People.of(8), 60_000, np.random.default_rng(5))
    assert not odd(mechanism, tally)
    counts = tally.counts.copy()
    counts[5, mechanism.cells - 1] += 1_200
    assert odd(mechanism, Tally(counts.sum(axis=1), counts)) == {"cohorts", "windows"}
    counts[:, 0] += 1_200 - np.bincount([5], [1_200], 8).astype(np.int64)  # as many reports of every window
    assert odd(mechanism, Tally(counts.sum(axis=1), counts)) == {"windows"}
    lasting = SetResponse.calibrate(8, 2.0, 3.0, window=2)
    same = Tally(3 * tally.reports, 3 * tally.counts, Repeats((1,) * 3))
    once, repeated = ([check["p_value"] for check in health(lasting, (), one)] for one in (tally, same))
    assert repeated == pytest.approx(once, rel=1e-6)


def test_value_in_every_report_is_flagged_as_odd() -> None:
    """All values in every report is more than everybody has; the levels share the false alarms."""
    mechanism = SetResponse.calibrate(6, 1.0, window=2)
    counts = np.zeros((6, 4), dtype=np.int64)
    counts[:, 3] = 500
    checks = health(mechanism, (), Tally(counts.sum(axis=1), counts))
    assert [(check["test"], check["odd"]) for check in checks] == [("range", True), ("cohorts", False)]
    assert {check["level"] for check in checks} == {FALSE_ALARMS / 2}


def test_windows_are_compared_by_pearsons_test() -> None:
    """Each value's reports in the windows that hold it, with its bit and without, are a table of counts."""
    mechanism = SetResponse.calibrate(6, 2.0, window=3)
    tally = response_tally(mechanism, People.of(6), 5_000, np.random.default_rng(8))
    found = {check["test"]: check["p_value"] for check in health(mechanism, (), tally)}["windows"]
    chances = []
    for value in range(6):
        cells_of = [mechanism.supporting(value, cohort) for cohort in range(6)]
        ones = np.array([tally.counts[cohort, list(cells)].sum() for cohort, cells in enumerate(cells_of) if cells])
        reports = np.array([tally.reports[cohort] for cohort, cells in enumerate(cells_of) if cells])
        chances.append(stats.chi2_contingency([ones, reports - ones]).pvalue)
    assert found == pytest.approx(min(1.0, 6 * min(chances)))


@pytest.mark.parametrize(("ones", "held"), [(24, False), (25, True), (75, True), (76, False)])
def test_windows_are_compared_if_25_reports_with_a_value_and_25_without_it_are_expected(ones: int, held: bool) -> None:
    mechanism = SetResponse.calibrate(6, 2.0, window=3)
    counts = np.zeros((6, 8), dtype=np.int64)
    counts[:, 7], counts[:, 0] = ones, 100 - ones  # all values of the window, or none
    checks = {check["test"]: check["p_value"] for check in health(mechanism, (), Tally(counts.sum(axis=1), counts))}
    assert ("windows" in checks) == held
    assert checks.get("windows", 1) == 1, "all windows are alike"
