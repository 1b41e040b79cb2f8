"""Metrics of numbers, and surveys of them: by the expected tally, by an exact draw, or by rows that devices send."""

from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither_server.estimation.numeric.dithered import Dithered
from dither_server.estimation.numeric.estimate import NumericEstimate
from dither_server.estimation.numeric.law import LikelihoodFit
from dither_server.estimation.numeric.mean import mean_of
from dither_server.estimation.numeric.tabulated import law_of
from dither_server.reading.summaries import summary_of
from dither_server.reading.summaries.summary import CollectedReports, Estimator
from dither_server.tally.tally import Tally
from dither_shared import Metric, parse_metrics
from server.collecting import TODAY

Floats = NDArray[np.float64]

_KNOWN: dict[tuple[object, ...], object] = {}


def estimated(metric: Metric, labels: tuple[str, ...], tally: Tally, confidence: float, together: bool) -> Any:
    """Estimate each tally once, because tests ask for the same surveys again."""
    key = (metric.version, tally.reports.tobytes(), tally.repeats, tally.counts.tobytes(), confidence)
    if key not in _KNOWN:
        _KNOWN[key] = summary_of(metric).estimate(metric, labels, tally, confidence, together)
    return _KNOWN[key]


def bare(
    metric: Metric, labels: tuple[str, ...], tally: Tally, confidence: float, simultaneous: bool = False
) -> NumericEstimate:
    """The same with a flat curve: simulations do not look at the curve, which takes most of the time."""
    law = law_of(metric.mechanism)
    even = LikelihoodFit(np.full(law.points, 1 / law.points), 0.0)
    return NumericEstimate(tally.total, confidence, mean_of(law, tally, confidence), law.cuts(tally, confidence), even)


def metric(keys: str, name: str = "startup") -> Metric:
    return parse_metrics(f'[metrics.{name}]\ntype = "number"\n{keys}\n')[name]


LINEAR = metric('low = 0.0\nhigh = 10.0\nunit = "s"\nepsilon = 1.0')
LOG = metric('low = 0.05\nhigh = 60.0\nlog = true\nunit = "s"\nepsilon = 4.0')
PERMANENT = metric("low = -5\nhigh = 5\nepsilon = 1.0\npermanent_epsilon = 2.0")
TABLE = metric('low = 0.0\nhigh = 10.0\nepsilon = 4.0\nmechanism = "discrete-laplace"\nresolution = 8')
COARSE = metric("low = 0\nhigh = 1\nepsilon = 1.0\nsteps = 1\nresolution = 1")
FINE = metric("low = 0\nhigh = 1\nepsilon = 1.0\nsteps = 1023\nresolution = 1")
HUGE = metric("low = 1e-300\nhigh = 1e300\nlog = true\nepsilon = 0.01")


def hill(metric: Metric, middle: float, width: float = 0.08) -> Floats:
    """Shares of the points of a grid: a hill about a part of the range."""
    points = np.arange(metric.mechanism.size or 0) / ((metric.mechanism.size or 0) - 1)
    shares = np.exp(-(((points - middle) / width) ** 2) / 2)
    return np.asarray(shares / shares.sum())


def chances(metric: Metric, shares: Floats) -> Floats:
    """The chance of each cell, in each cohort, of people with these shares."""
    law = law_of(metric.mechanism)
    if not isinstance(law, Dithered):
        return np.asarray([shares @ [metric.mechanism.cell_law(point) for point in range(len(shares))]], dtype=float)
    cells = np.zeros((law.phases, law.steps + 1))
    for phase in range(law.phases):
        np.add.at(cells[phase], (np.arange(len(shares)) + phase) // law.phases, shares)
    return np.asarray(float(law.q) + law.gap * cells)


def drawn(metric: Metric, shares: Floats, reports: int, rng: np.random.Generator) -> Tally:
    """The tally of a random sample of people, by its exact law."""
    law = chances(metric, shares)
    per_cohort = rng.multinomial(reports, [1 / len(law)] * len(law))
    return Tally(
        per_cohort, np.array([rng.multinomial(n, row / row.sum()) for n, row in zip(per_cohort, law, strict=True)])
    )


def nothing(metric: Metric) -> Tally:
    shape = metric.mechanism.cohorts, metric.mechanism.cells
    return Tally(np.zeros(shape[0], dtype=np.int64), np.zeros(shape, dtype=np.int64))


def survey(
    metric: Metric, tally: Tally, since: date = TODAY, until: date = TODAY, by: Estimator = estimated
) -> CollectedReports:
    return CollectedReports(metric, tally, (since, until), {}, by)
