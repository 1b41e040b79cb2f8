"""The whole estimate: for extreme tallies, and how often its intervals cover."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from benchmarks.numeric_coverage import dithered, draw, mean_in, population, run
from dither_server.estimation.numeric.dithered import Dithered
from dither_server.estimation.numeric.estimate import estimate_number
from dither_server.tally.repeats import Repeats
from dither_server.tally.tally import Tally
from dither_shared import ParameterError

from .small_laws import SMALL, expected_tally, small_law

RUNS = 300


def empty(phases: int, steps: int) -> Tally:
    return Tally(np.zeros(phases, dtype=np.int64), np.zeros((phases, steps + 1), dtype=np.int64))


@pytest.mark.parametrize(("phases", "steps"), SMALL)
def test_number_without_reports_is_unknown_and_with_one_nearly_so(phases: int, steps: int) -> None:
    found = estimate_number(small_law(phases, steps), empty(phases, steps))
    assert found.reports == 0
    assert math.isnan(found.mean.estimate)
    assert math.isnan(found.below(0.5).consistent)
    assert np.isnan(found.cuts.frequency[1:-1]).all()
    assert (found.cuts.low[1:-1] == 0).all()
    assert (found.cuts.high[1:-1] == 1).all()
    assert {quantile.verdict for quantile in found.quantiles()} == {"too-few"}
    assert found.fit.curve == pytest.approx(np.full(steps * phases + 1, 1 / (steps * phases + 1)))
    assert found.fit.short == 0
    tally = empty(phases, steps)
    tally.reports[0] = tally.counts[0, 0] = 1
    found = estimate_number(small_law(phases, steps), tally)
    assert found.mean.low == 0
    assert all(quantile.high == steps * phases for quantile in found.quantiles())
    assert np.isfinite(found.fit.curve).all()


@pytest.mark.parametrize("confidence", [0.95, 1 - 1e-9])
@pytest.mark.parametrize("repeats", [Repeats(), Repeats((1, 1, 1))])
def test_numbers_are_shown_once_the_error_separates_the_ends_of_the_range(repeats: Repeats, confidence: float) -> None:
    """In a one-sided test; reports of a device share the answer and the permanent cell. All are at one end."""
    kept = Dithered(2, 1, Fraction(19, 20), Fraction(1, 20))
    law = Dithered(2, 1, Fraction(9, 10), Fraction(1, 10), kept)
    variance = law.worst_variance + 1 / 4 + (repeats.effect - 1) * (kept.worst_variance + 1 / 4)
    enough = math.ceil(variance * stats.norm.isf(1 - confidence) ** 2)
    assert enough > 1
    for reports in (enough - 1, enough):
        tally = Tally(np.array([reports, 0]), np.array([[reports, 0], [0, 0]]), repeats)
        assert np.isfinite(estimate_number(law, tally, confidence).mean.estimate) == (reports == enough)


def test_size_of_a_number_is_about_that_of_its_columns() -> None:
    found = estimate_number(small_law(16, 1), empty(16, 1))
    columns = [*vars(found.cuts).values(), found.fit.curve]
    held = sum(column.nbytes for column in columns if isinstance(column, np.ndarray))
    assert held <= found.size < 1.02 * held


def test_phase_without_reports_is_bounded_by_its_neighbours() -> None:
    law = dithered(4.0, 16, 2)
    tally = draw(law, np.full(33, 100_000), np.random.default_rng(1))
    tally.reports[5] = 0
    tally.counts[5] = 0
    found = estimate_number(law, tally)
    cut = 16 - 5
    assert math.isnan(found.cuts.frequency[cut])
    assert found.cuts.low[cut] < cut / 33 < found.cuts.high[cut]
    assert found.cuts.high[cut] - found.cuts.low[cut] < 0.2
    assert found.below(cut + 0.5).low == found.cuts.low[cut]


@pytest.mark.parametrize(("phases", "steps"), [*SMALL, (64, 20)])
def test_estimate_of_a_billion_reports_recovers_every_share(phases: int, steps: int) -> None:
    law, rng = dithered(6.0, phases, steps), np.random.default_rng([2, phases, steps])
    shares = rng.dirichlet(np.ones(law.points))
    found = estimate_number(law, draw(law, rng.multinomial(10**9, shares), rng), 1 - 1e-9)
    below = np.append(0, np.cumsum(shares))
    assert found.mean.low < mean_in(shares) < found.mean.high
    assert ((found.cuts.low <= below + 1e-12) & (below <= found.cuts.high + 1e-12)).all()
    assert np.append(0, np.cumsum(found.fit.curve)) == pytest.approx(below, abs=2e-3)
    ends = found.at_ends()
    assert (ends[0].low, ends[0].high) == (found.cuts.low[1], found.cuts.high[2])
    assert (ends[1].low, ends[1].high) == (1 - found.cuts.high[-2], 1 - found.cuts.low[-3])
    top = found.below(law.points - 2)
    assert (ends[1].frequency, *ends[1][1:3]) == (1 - top.frequency, top.noise_error, top.standard_error)
    assert ends[1].consistent == pytest.approx(found.fit.curve[-1] + found.fit.curve[-2] / 2, abs=1e-9)


def test_impossible_confidence_of_a_number_is_refused() -> None:
    with pytest.raises(ParameterError, match="confidence"):
        estimate_number(small_law(2, 1), expected_tally(small_law(2, 1), [0]), 1.0)


@pytest.mark.parametrize(("epsilon", "name", "reports"), [(1.0, "zeros", 20_000), (4.0, "startup", 2_000)])
def test_intervals_of_numbers_cover_as_often_as_stated(epsilon: float, name: str, reports: int) -> None:
    """Of 300 at 95% fewer than 262 hold it with a chance of 3e-7, all with 2e-7; at 97% fewer than 270 with 4e-8."""
    law, rng = dithered(epsilon, 16), np.random.default_rng([3, reports, *name.encode()])
    shares = population(name, law.points)
    found = [run(law, shares, reports, rng, curve=False) for _ in range(RUNS)]
    for held in (sum(estimate.mean for estimate in found), sum(estimate.noise for estimate in found)):
        assert 262 <= held < RUNS
    cuts = np.sum([estimate.cuts for estimate in found], axis=0)
    assert cuts.min() >= 258
    assert cuts.mean() < 0.998 * RUNS  # they are not trivial
    assert np.sum([estimate.quantiles for estimate in found], axis=0).min() >= 270
