"""Honest reports hardly ever look odd, whatever the answers; forged ones do where there is something to see.

Tests of false alarms are wrong with a probability below 1e-7 over the choice of their seed.
"""

from dataclasses import replace
from datetime import date
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dither_server.analysis.answers import answer
from dither_server.analysis.health import FALSE_ALARMS, health
from dither_server.analysis.patterns import spare_supports
from dither_server.tally import Tally
from dither_shared import (
    MECHANISMS,
    BitFlip,
    CountMeanSketch,
    HadamardResponse,
    LocalHashing,
    Mechanism,
    OptimizedUnary,
    ProjectiveGeometry,
    RandomizedResponse,
    Rappor,
    SymmetricUnary,
    parse_metrics,
)
from dither_simulations.populations import Population, numbered, zipf
from dither_simulations.samplers import sample_tally
from simulations.laws import law_of_one

SURVEYS, USERS = 250, 6_000
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
}


def test_every_mechanism_is_examined() -> None:
    assert set(HONEST) == set(MECHANISMS)


@pytest.mark.parametrize("name", HONEST)
def test_honest_reports_pass_as_often_as_is_said(name: str) -> None:
    """Of 250 p-values below 1 in 20 so many as a binomial law allows; at Zipf's frequencies, which it may not mind."""
    mechanism, tests = HONEST[name]
    population = Population.spread(numbered(mechanism.size or 12), zipf(mechanism.size or 12, 1.3), USERS)
    rng = np.random.default_rng(20261120)
    found: dict[str, list[float]] = {}
    for _ in range(SURVEYS):
        for check in health(mechanism, population.labels, sample_tally(mechanism, population, rng)):
            found.setdefault(check["test"], []).append(check["p_value"])
    assert set(found) == tests
    for test, values in found.items():
        alarms = sum(value < 0.05 for value in values)
        assert stats.binom.sf(alarms - 1, SURVEYS, 0.05) > 1e-8, test
        if test not in {"range", "spare"}:  # Bonferroni's inequality makes these two careful, as they may be
            assert stats.binom.cdf(alarms, SURVEYS, 0.05) > 1e-8, test


def test_the_levels_share_the_false_alarms() -> None:
    mechanism, tests = HONEST["local-hashing"]
    population = Population.spread(numbered(10), zipf(10, 1.3), USERS)
    checks = health(mechanism, population.labels, sample_tally(mechanism, population, np.random.default_rng(1)))
    assert [check["level"] for check in checks] == [FALSE_ALARMS / len(tests)] * len(tests)
    assert not any(check["odd"] for check in checks)


@pytest.mark.parametrize(
    "mechanism",
    [OptimizedUnary.calibrate(4, 1.0), SymmetricUnary.calibrate(3, 2.0), BitFlip(size=4, bits=2, keep=Fraction(3, 4)),
     BitFlip(size=4, bits=1, keep=Fraction(3, 4)), Rappor.calibrate(None, 1.0, cohorts=2, bits=5),
     CountMeanSketch.configure(None, {"epsilon": 1.0, "bits": 4, "cohorts": 2})],
    ids=lambda mechanism: f"{mechanism.name}-{mechanism.cells}",
)  # fmt: skip
def test_the_weight_of_a_report_by_enumeration(mechanism: Mechanism) -> None:
    """The same for every value, though the law of a report is not."""
    moments = mechanism.weight_moments
    assert moments is not None
    for item in (0, 1) if mechanism.size is not None else (b"x", b"yy"):
        law = law_of_one(mechanism, item)
        weights = {cells: sum(cells[mechanism.cohorts :]) for cells in law}
        mean = sum(chance * weights[cells] for cells, chance in law.items())
        square = sum(chance * weights[cells] ** 2 for cells, chance in law.items())
        assert (mean, square - mean**2) == pytest.approx(moments)


def odd(mechanism: Mechanism, tally: Tally, periods: int = 1) -> set[str]:
    return {check["test"] for check in health(mechanism, (), tally, periods) if check["odd"]}


def honest(name: str, seed: int = 5) -> tuple[Mechanism, Tally]:
    mechanism, _ = HONEST[name]
    population = Population.spread(numbered(mechanism.size or 12), zipf(mechanism.size or 12, 1.3), USERS)
    return mechanism, sample_tally(mechanism, population, np.random.default_rng(seed))


def forged(mechanism: Mechanism, reports: int, cohort: int, cells: list[int]) -> Tally:
    tally = Tally.zero(mechanism)
    tally.reports[cohort] = reports
    tally.counts[cohort, cells] = reports
    return tally


def test_forged_reports_show() -> None:
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


def test_devices_that_repeat_themselves_are_not_forgers() -> None:
    """The same permanent rows on ten days: odd for independent reports, and not for what they are."""
    mechanism = OptimizedUnary.calibrate(10, 1.0, 2.0)
    population = Population.spread(numbered(10), zipf(10, 1.3), USERS)
    rng, alone, told = np.random.default_rng(7), 0, 0
    for _ in range(50):
        tally = sample_tally(mechanism, population, rng)
        tenfold = Tally(10 * tally.reports, 10 * tally.counts)
        alone += bool(odd(mechanism, tenfold))
        told += bool(odd(mechanism, tenfold, periods=10))
    assert alone > 10
    assert told == 0
    fresh = OptimizedUnary.calibrate(10, 1.0)
    tally = sample_tally(fresh, population, rng)
    assert health(fresh, (), tally, periods=10) == health(fresh, (), tally)


def test_spare_points_are_those_beyond_the_values() -> None:
    """A larger domain of the same geometry calls them values, and estimates that nobody has them."""
    for name in ("hadamard-response", "projective-geometry", "local-hashing"):
        mechanism, tally = honest(name)
        larger = replace(mechanism, size=12)
        assert larger.cells == mechanism.cells
        spare = spare_supports(mechanism, tally)
        deviation = (spare - float(mechanism.q) * USERS) / np.sqrt(USERS / 4)
        assert (np.abs(deviation) < 6).all()
    full = HadamardResponse.calibrate(7, 1.0)
    assert not len(spare_supports(full, Tally.zero(full)))


def test_few_reports_are_not_tested_where_the_law_is_not_near() -> None:
    mechanism = HONEST["optimized-unary"][0]
    assert health(mechanism, (), Tally.zero(mechanism)) == []
    assert {check["test"] for check in health(mechanism, (), forged(mechanism, 30, 0, [1]))} == {"range"}


def test_an_answer_counts_the_periods_of_its_days() -> None:
    """Ten days are at most three weeks, and one survey that is held once."""
    days = (date(2026, 11, 11), date(2026, 11, 23))  # from a Wednesday to a Monday: 13 days in 3 weeks
    levels = []
    for period in ("day", "week", "once"):
        toml = f'[metrics.x]\ntype = "boolean"\nepsilon = 1.0\npermanent_epsilon = 2.0\nperiod = "{period}"\n'
        metric = parse_metrics(toml)["x"]
        told = answer(metric, Tally(np.array([1300]), np.array([[1000, 300]])), days)
        again = health(metric.mechanism, metric.labels, Tally(np.array([1300]), np.array([[1000, 300]])), 1)
        levels.append((told["health"][0]["p_value"], again[0]["p_value"]))
    assert levels[0][0] >= levels[1][0] > levels[2][0]
    assert levels[2][0] == levels[2][1]
