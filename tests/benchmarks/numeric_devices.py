"""Measure how often intervals from devices' reports of a number contain the truth.

``python -m tests.benchmarks.numeric_devices [--input people.csv --column age --low 0 --high 100] [--seeds N]``

In each run people are drawn with replacement from a column, the rows of a CSV file or made-up ones, and each sends one
report by the device's own randomizer, from ``KeyedEntropy`` of the run's seed. The table is about the 95% intervals of
the mean, the median and the 95th percentile, as a collector's answer gives them in the metric's unit: three true values
of the column, how many runs contained each, and the median widths in percent of the range.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dither_server.estimation.numeric.estimate import NumericEstimate, estimate_number
from dither_server.estimation.numeric.tabulated import law_of
from dither_server.reading.summaries.number_scale import Scale
from dither_shared import Metric, parse_metrics
from dither_simulations.samplers.devices import device_entropy, device_tally
from dither_simulations.users.populations import Population, read_column

from .tables import Part

Floats = NDArray[np.float64]

EPSILONS, REPORTS, SEEDS = (1.0, 2.0), 50_000, 100
STATISTICS = ("mean", "p50", "p95")
_SHARES = (0.5, 0.95)


class Column(NamedTuple):
    """Numbers, the share of people who have each, and the range of the question."""

    numbers: Floats
    shares: Floats
    low: float
    high: float


_AGES, _HOURS = np.arange(17.0, 91.0), np.arange(1.0, 100.0)
_OLDER = np.exp(-(((_AGES - 33) / 22) ** 2))
_AT_WORK = 0.5 * (_HOURS == 40) + 0.1 * (_HOURS == 50) + 0.4 * (_HOURS % 5 == 0) / 19  # 0.4 at 5, 10, … 95

MADE_UP = {
    "age": Column(_AGES, _OLDER / _OLDER.sum(), 0, 100),
    "hours": Column(_HOURS, _AT_WORK, 0, 100),
}
"""A smooth population, and one of a few numbers, of which half have one."""


def metric_of(column: Column, epsilon: float) -> Metric:
    """Return a metric that asks for the numbers of a column."""
    question = f'type = "number"\nlow = {column.low}\nhigh = {column.high}\nepsilon = {epsilon}'
    return parse_metrics(f"[metrics.number]\n{question}\n")["number"]


def truth(column: Column) -> Floats:
    """Return mean, median and 95th percentile of answers, clipped to the range."""
    numbers = np.clip(column.numbers, column.low, column.high)
    order = np.argsort(numbers)
    places = np.searchsorted(np.cumsum(column.shares[order]), np.array(_SHARES) - 1e-12)
    return np.array([float(numbers @ column.shares), *numbers[order][places]])


def estimated(metric: Metric, column: Column, reports: int, seed: int) -> NumericEstimate:
    """Return the estimate from ``reports`` reports of people, drawn from the column with replacement."""
    people, devices = np.random.SeedSequence(seed).spawn(2)
    rng = np.random.default_rng(people)
    drawn = rng.multinomial(reports, column.shares)
    counts = np.zeros(Scale.of(metric).last + 2, dtype=np.int64)  # the last takes those whom nothing rounds up
    places = [metric.answers.encode(number) for number in column.numbers.tolist()]
    points = np.array([place.item for place in places], dtype=np.intp)
    upward = rng.binomial(drawn, [(place.rest or 0) / 2**64 for place in places])
    np.add.at(counts, points, drawn - upward)
    np.add.at(counts, points + 1, upward)
    counts = counts[:-1]
    population = Population(tuple(map(str, range(len(counts)))), counts)
    tally = device_tally(metric.mechanism, population, device_entropy(devices))
    return estimate_number(law_of(metric.mechanism), tally)


def run(metric: Metric, column: Column, reports: int, seed: int) -> Floats:
    """Return the intervals of a run, shape (3, 2): of mean, median and 95th percentile."""
    scale, found = Scale.of(metric), estimated(metric, column, reports, seed)
    statistics: list[dict[str, Any]] = [scale.mean(found.mean)]
    statistics += [scale.quantile(quantile, reports) for quantile in found.quantiles(_SHARES)]
    return np.array([[statistic["low"], statistic["high"]] for statistic in statistics])


def read(path: Path, name: str, low: float, high: float) -> Column:
    """Return a column of a CSV file, plain or gzipped, of which every row must hold a number."""
    held = read_column(path, name)
    return Column(np.array([float(label) for label in held.labels]), held.shares, low, high)


def measured(name: str, column: Column, epsilon: float, reports: int, runs: int) -> Iterator[list[str]]:
    """Yield the row of a column and a privacy loss."""
    metric, true = metric_of(column, epsilon), truth(column)
    ends = np.array([run(metric, column, reports, seed) for seed in range(runs)])
    held = ((ends[:, :, 0] <= true) & (true <= ends[:, :, 1])).sum(axis=0)
    widths = 100 * np.median(ends[:, :, 1] - ends[:, :, 0], axis=0) / (column.high - column.low)
    numbers = (*(f"{number:.2f}" for number in true), *map(str, held), *(f"{width:.1f}" for width in widths))
    yield [name, f"{epsilon:g}", f"{reports:,}", str(runs), *numbers]


HEAD = ("column", "ε", "reports", "runs", *STATISTICS, *("held" for _ in STATISTICS), *("width" for _ in STATISTICS))


def main() -> None:
    """Print the rows of a column of a file, or of made-up people."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", type=Path, help="CSV file; without it people are made up")
    parser.add_argument("--column", default="age")
    parser.add_argument("--low", type=float, default=0)
    parser.add_argument("--high", type=float, default=100)
    parser.add_argument("--reports", type=int, default=REPORTS)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    options = parser.parse_args()
    columns = MADE_UP
    if options.input is not None:
        columns = {options.column: read(options.input, options.column, options.low, options.high)}
    cells = [(name, column, epsilon, options.reports) for name, column in columns.items() for epsilon in EPSILONS]
    list(Part("", HEAD, cells, measured, SEEDS).rows(options.seeds))


if __name__ == "__main__":
    main()
