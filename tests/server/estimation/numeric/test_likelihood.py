"""The most likely curve: against expectation maximisation, at its own certificate, and where steps could jam."""

import numpy as np
import pytest

from benchmarks.numeric_coverage import POPULATIONS, dithered, draw, population
from dither_server.estimation.numeric.law import NumericLaw, maximum_likelihood
from dither_server.estimation.numeric.tabulated import Tabulated
from dither_server.tally.tally import Tally

from .small_laws import SMALL, small_law

Floats = np.ndarray


def log_likelihood(law: NumericLaw, shares: Floats, curve: Floats) -> float:
    chances = law.floor + law.spread(curve)
    return float((shares[shares > 0] * np.log(chances[shares > 0])).sum())


def em(law: NumericLaw, shares: Floats, curve: Floats) -> Floats:
    ratio = shares / (law.floor + law.spread(curve))
    return np.asarray(curve * (law.gathered(ratio) + law.floor * ratio.sum()))


@pytest.mark.parametrize(("phases", "steps"), SMALL)
def test_likelihood_maximum_is_the_limit_of_expectation_maximisation(phases: int, steps: int) -> None:
    law, rng = small_law(phases, steps), np.random.default_rng([3, phases, steps])
    tally = draw(law, rng.multinomial(500, rng.dirichlet(np.full(law.points, 0.3))), rng)
    shares = law.cell_shares(tally)
    fit = maximum_likelihood(law, shares, tally.total)
    curve = np.full(law.points, 1 / law.points)
    for _ in range(1500):
        curve = em(law, shares, curve)
    assert fit.curve.sum() == pytest.approx(1)
    assert fit.curve.min() >= 0
    best = log_likelihood(law, shares, fit.curve)
    assert best >= log_likelihood(law, shares, curve) - 0.001 / 500
    assert best == pytest.approx(log_likelihood(law, shares, curve), abs=0.1 / 500)
    assert 0 <= fit.short <= 0.001


@pytest.mark.parametrize("reports", [1, 100, 10**9])
@pytest.mark.parametrize("name", POPULATIONS)
@pytest.mark.parametrize("epsilon", [1.0, 6.0])
def test_likelihood_converges_for_every_number_of_reports(epsilon: float, name: str, reports: int) -> None:
    law, rng = dithered(epsilon), np.random.default_rng(4)
    shares = population(name, law.points)
    tally = draw(law, rng.multinomial(reports, shares), rng)
    seen = law.cell_shares(tally)
    fit = maximum_likelihood(law, seen, reports)
    assert fit.short <= 0.001
    assert log_likelihood(law, seen, fit.curve) >= log_likelihood(law, seen, shares) - 0.001 / reports
    assert (
        reports * (log_likelihood(law, seen, em(law, seen, fit.curve)) - log_likelihood(law, seen, fit.curve)) < 0.001
    )


@pytest.mark.parametrize(("epsilon", "phases", "steps"), [(6.0, 64, 20), (6.0, 3, 20), (10.0, 1, 7), (20.0, 1, 20)])
@pytest.mark.parametrize("reports", [1, 2, 97])
def test_likelihood_converges_if_all_reports_agree(epsilon: float, phases: int, steps: int, reports: int) -> None:
    law = dithered(epsilon, phases, steps)
    counts = np.zeros((phases, steps + 1), dtype=np.int64)
    counts[0, steps] = reports
    fit = maximum_likelihood(law, law.cell_shares(Tally(counts.sum(axis=1), counts)), reports)
    assert fit.short <= 0.001
    assert law.spread(fit.curve)[-1 if phases == 1 else steps * phases + phases - 1] == pytest.approx(law.gap, rel=1e-2)


def test_likelihood_fit_accepts_tables_even_singular_ones() -> None:
    rng = np.random.default_rng(5)
    place = np.arange(65)
    for table in (np.exp(-np.abs(place[:, None] - place) / 16), np.exp(-(((place[:, None] - place) / 80) ** 2))):
        possible = np.pad(table, ((0, 0), (0, 1)))  # the last cell is never reported
        law = Tabulated(possible / table.sum(axis=1, keepdims=True), np.arange(66) / 64)
        chances = population("zeros", 65) @ law.table
        seen = rng.multinomial(10**6, chances / chances.sum()) / 1e6
        fit = maximum_likelihood(law, seen, 10**6)
        assert fit.short <= 0.001
        assert log_likelihood(law, seen, fit.curve) >= log_likelihood(law, seen, population("zeros", 65)) - 1e-9
