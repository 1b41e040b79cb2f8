"""How often numeric intervals contain the truth: ``python -m tests.benchmarks.numeric_coverage [--runs N]``.

Six populations, four privacy losses, three numbers of reports, 64 phases and the usual steps. A run draws people from
the population and their tally from its exact law. The columns say how often the intervals contain: the mean of the
population and, by the noise interval, of those who reported; the share below each point (on average, and at the worst
point); seven quantiles together and the worst one. Then come the median width of the intervals of the median and the
95th percentile, in percent of the range, and the mean Wasserstein-1 distance of the curve from the population, in
ten-thousandths of the range.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dither_server.estimation.numeric.dithered import Dithered
from dither_server.estimation.numeric.estimate import QUANTILES, quantiles_of
from dither_server.estimation.numeric.law import maximum_likelihood
from dither_server.estimation.numeric.mean import mean_of
from dither_server.tally.tally import Tally

from . import tables

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

EPSILONS, SIZES, PHASES, RUNS, CURVES, SEED = (0.5, 1.0, 2.0, 4.0), (10_000, 100_000, 1_000_000), 64, 200, 20, 20261122
POPULATIONS = ("startup-log", "startup", "age", "hours", "zeros", "years")

HEAD = (
    *("population", "ε", "reports", "mean", "mean, by noise", "share below", "the worst", "quantiles", "the worst"),
    *("width of p50", "width of p95", "curve's distance"),
)

_HOURS = {0: 0.04, 4: 0.1, 6: 0.06, 8: 0.46, 10: 0.1, 12: 0.12, 16: 0.06, 24: 0.06}


def dithered(epsilon: float, phases: int = PHASES, steps: int | None = None) -> Dithered:
    """Return the law at ``epsilon``, with the usual steps."""
    steps = max(1, round(math.exp(epsilon / 2))) if steps is None else steps
    p = Fraction(math.exp(epsilon) / (math.exp(epsilon) + steps))
    return Dithered(phases, steps, p, (1 - p) / steps)


def population(name: str, points: int) -> Floats:
    """Return the shares of the points to which answers are rounded; the edges are where half of them go up."""
    if name == "years":  # whole years of a range of 128, which hardly a point is
        years = np.arange(13, 100)
        places = years / 128 * (points - 1)
        lower, upper = places.astype(int), places % 1
        people = (113.0 - years) / (113 - years).sum()
        shares = np.zeros(points)
        np.add.at(shares, lower, people * (1 - upper))
        np.add.at(shares, lower + 1, people * upper)
        return shares
    place = np.linspace(0, 1, points)
    edges = (place[1:] + place[:-1]) / 2
    if name == "hours":  # whole hours of a day, each at its point
        shares = np.zeros(points)
        for hour, share in _HOURS.items():
            shares[round(hour / 24 * (points - 1))] += share
        return shares
    below = {
        # seconds, lognormal of mean 1.24, from 0.05 to 60 in the logarithm and from 0 to 10
        "startup-log": lambda: special.ndtr((edges * math.log(60 / 0.05) + math.log(0.05 / 1.24) + 0.32) / 0.8),
        "startup": lambda: special.ndtr((np.log(edges * 10 / 1.24) + 0.32) / 0.8),
        "age": lambda: special.ndtr((edges * 100 - 42) / 16),
        "zeros": lambda: 1 - 0.4 * np.exp(-8 * edges),
    }[name]()
    return np.diff(np.concatenate([[0.0], below, [1.0]]))


def draw(law: Dithered, people: Counts, rng: np.random.Generator) -> Tally:
    """Return the tally of the reports of a number of people at each point, from its exact law."""
    d, m = law.phases, law.steps
    phases = rng.multinomial(people, np.full(d, 1 / d))
    cells = np.zeros((d, m + 1), dtype=np.int64)
    point = np.arange(law.points)
    for phase in range(d):
        np.add.at(cells[phase], (point + phase) // d, phases[:, phase])
    chances = np.full((m + 1, m + 1), float(law.q)) + law.gap * np.eye(m + 1)
    counts = rng.multinomial(cells, chances / chances.sum(axis=1, keepdims=True)).sum(axis=1)
    return Tally(cells.sum(axis=1), counts)


def mean_in(shares: Floats) -> float:
    """Return the mean of a histogram over the points, in parts of the range."""
    return float(np.arange(len(shares)) @ shares / shares.sum() / (len(shares) - 1))


class Run(NamedTuple):
    """Whether the intervals of a run contained the truth, their widths, and the distance of the curve."""

    mean: bool
    noise: bool
    cuts: NDArray[np.bool_]
    quantiles: list[bool]
    widths: list[float]
    distance: float


def run(law: Dithered, shares: Floats, reports: int, rng: np.random.Generator, *, curve: bool = True) -> Run:
    """Return one run's findings; without ``curve`` its distance is NaN."""
    people = rng.multinomial(reports, shares)
    tally = draw(law, people, rng)
    mean, cuts = mean_of(law, tally), law.cuts(tally, 0.95)
    below = np.append(0.0, np.cumsum(shares))
    distance, found = math.nan, np.full(law.points, 1 / law.points)
    if curve:
        found = maximum_likelihood(law, law.cell_shares(tally), reports).curve
        distance = float(np.abs(np.cumsum(found - shares)).sum() / (law.points - 1))
    quantiles = quantiles_of(cuts, found)
    points = [int(np.searchsorted(np.cumsum(shares), share)) for share in QUANTILES]
    return Run(
        mean.low <= mean_in(shares) <= mean.high,
        mean.noise_low <= mean_in(people / reports) <= mean.noise_high,
        ((cuts.low <= below + 1e-12) & (below <= cuts.high + 1e-12))[1:-1],
        [one.low <= true <= one.high for one, true in zip(quantiles, points, strict=True)],
        [(quantiles[place].high - quantiles[place].low) / (law.points - 1) for place in (2, 5)],
        distance,
    )


def measured(name: str, epsilon: float, reports: int, runs: int) -> Iterator[list[str]]:
    """Yield the row of a population, privacy loss and number of reports."""
    rng = np.random.default_rng([SEED, reports, int(epsilon * 10), *name.encode()])
    law = dithered(epsilon)
    shares = population(name, law.points)
    found = [run(law, shares, reports, rng, curve=number < CURVES) for number in range(runs)]
    mean, noise, cuts, quantiles = (
        np.mean([getattr(one, field) for one in found], axis=0) for field in ("mean", "noise", "cuts", "quantiles")
    )
    widths = np.median([one.widths for one in found], axis=0)
    numbers = (mean, noise, cuts.mean(), cuts.min(), quantiles.mean(), quantiles.min(), *widths)
    distance = np.nanmean([one.distance for one in found])
    yield [name, f"{epsilon}", f"{reports:,}", *(f"{100 * share:.1f}" for share in numbers), f"{1e4 * distance:.1f}"]


CELLS = [(name, epsilon, reports) for epsilon in EPSILONS for reports in SIZES for name in POPULATIONS]

if __name__ == "__main__":
    tables.run(__doc__, numbers=tables.Part("numeric-coverage", HEAD, CELLS, measured, RUNS))
