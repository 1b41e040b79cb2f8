"""Measure how often intervals hold if people report again: ``python -m tests.benchmarks.panel_coverage [--surveys N]``.

A thousand devices and 30 days. They all report every day and keep their answer; or each reports on 30% of the days; or
they all have another answer every day. The table says how often intervals contain four shares, of the population and of
those who reported (weighed by their reports), and of a number its mean, its shares below points and its median, in a
fifth of the surveys. The last column is for intervals that take the reports for those of 30,000 different people.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dither_server.estimation.estimate import estimate
from dither_server.estimation.numeric.estimate import quantiles_of
from dither_server.estimation.numeric.mean import mean_of
from dither_server.estimation.numeric.tabulated import law_of
from dither_server.tally.repeats import DISTINCT, Repeats
from dither_server.tally.tally import Tally
from dither_shared import DitheredResponse, Mechanism, RandomizedResponse
from dither_shared.mechanisms.randomized_response import symbol_chain

from .tables import Part, run

DEVICES, DAYS, SURVEYS, SEED = 1_000, 30, 2_000, 20261124
SHARES = np.array([0.5, 0.3, 0.15, 0.05])
EPSILONS = ((1.0, None), (4.0, None), (1.0, 2.0), (4.0, 6.0))

Panel = NDArray[np.int64]
"""Values, cohorts or cells of each device and day, shape (DEVICES, DAYS)."""


class Habit(NamedTuple):
    """How people answer: on this share of the days, and with a new answer every day or not."""

    words: str
    share: float = 1.0
    changes: bool = False


HABITS = (
    Habit("keep it, report daily"),
    Habit("keep it, 30% a day", share=0.3),
    Habit("change it daily", changes=True),
)


def reported(
    mechanism: Mechanism,
    values: Panel,
    reports: NDArray[np.bool_],
    marked: Callable[[Panel, Panel], Panel],
    rng: np.random.Generator,
) -> Tally:
    """Return the tally of devices, which keep cohorts and a draw for each cell if the mechanism has permanent draws."""
    cells = mechanism.cells
    chain = symbol_chain(cells, mechanism.truth, mechanism.permanent_truth)  # type: ignore[attr-defined]  # both have it

    def lied(symbols: Panel, truth: float) -> Panel:
        others = (symbols + rng.integers(1, cells, symbols.shape)) % cells
        return np.where(rng.random(symbols.shape) < truth, symbols, others)

    cohorts = np.broadcast_to(
        rng.integers(mechanism.cohorts, size=(DEVICES, 1 if chain.permanent else DAYS)), values.shape
    )
    symbols = marked(values, cohorts)
    if chain.permanent:
        kept = lied(np.tile(np.arange(cells), (DEVICES, 1)), float(chain.permanent.truth))
        symbols = np.take_along_axis(kept, symbols, axis=1)
    places = (cohorts * cells + lied(symbols, float(chain.instant.truth)))[reports]
    counts = np.bincount(places, minlength=mechanism.cohorts * cells).reshape(mechanism.cohorts, cells)
    return Tally(counts.sum(axis=1), counts, Repeats(tuple(reports.sum(axis=0).tolist())))


def answers(shares: NDArray[np.float64], habit: Habit, rng: np.random.Generator) -> tuple[Panel, NDArray[np.bool_]]:
    """Return the answer of each device on each day, and on which days it reports."""
    drawn = rng.choice(len(shares), size=(DEVICES, DAYS if habit.changes else 1), p=shares)
    return np.broadcast_to(drawn, (DEVICES, DAYS)), rng.random((DEVICES, DAYS)) < habit.share


def shares_held(mechanism: Mechanism, habit: Habit, surveys: int) -> NDArray[np.float64]:
    """Return how often the three intervals hold a share: the population's, the reporters', and the naive one."""
    rng, held = np.random.default_rng(SEED), np.zeros(3)
    labels = tuple("abcd")
    for _ in range(surveys):
        values, reports = answers(SHARES, habit, rng)
        tally = reported(mechanism, values, reports, lambda value, _: value, rng)
        among = np.bincount(values[reports], minlength=len(SHARES)) / reports.sum()
        result = estimate(mechanism, labels, tally)
        naive = estimate(mechanism, labels, Tally(tally.reports, tally.counts, DISTINCT))
        held += [
            np.mean((result.low <= SHARES) & (result.high >= SHARES)),
            np.mean((result.noise_low <= among) & (result.noise_high >= among)),
            np.mean((naive.low <= SHARES) & (naive.high >= SHARES)),
        ]
    return held / surveys


def numbers_held(mechanism: DitheredResponse, habit: Habit, surveys: int) -> NDArray[np.float64]:
    """Return how often the intervals hold: of mean, shares below points and the worst of these, median."""
    size, phases, law = mechanism.size, mechanism.cohorts, law_of(mechanism)
    shares = np.exp(-np.arange(size) / (size / 4))
    shares /= shares.sum()
    below = np.cumsum(shares)[:-1]
    mean, median = float(shares @ np.arange(size)) / (size - 1), int(np.argmax(np.cumsum(shares) >= 0.5))
    rng, held, points = np.random.default_rng(SEED), np.zeros(2), np.zeros(size - 1)
    for _ in range(surveys):
        values, reports = answers(shares, habit, rng)
        tally = reported(mechanism, values, reports, lambda value, phase: (value + phase) // phases, rng)
        found, cuts = mean_of(law, tally), law.cuts(tally, 0.95)
        (half,) = quantiles_of(cuts, shares, (0.5,))
        points += (cuts.low[1:-1] <= below) & (cuts.high[1:-1] >= below)
        held += [found.low <= mean <= found.high, half.low <= median <= half.high]
    points /= surveys
    return np.array([held[0] / surveys, points.mean(), points.min(), held[1] / surveys])


def measured(epsilon: float, permanent: float | None, habit: Habit, surveys: int) -> Iterator[list[str]]:
    """Yield the row of a privacy loss and of how people answer."""
    choice = RandomizedResponse.calibrate(len(SHARES), epsilon, permanent)
    number = DitheredResponse.calibrate(None, epsilon, permanent, resolution=8)
    held, numbers = shares_held(choice, habit, surveys), numbers_held(number, habit, surveys // 5)
    figures = [f"{100 * one:.1f}" for one in (*held[:2], *numbers, held[2])]
    yield [f"{epsilon:g}", "-" if permanent is None else f"{permanent:g}", habit.words, *figures]


HEAD = (
    *("ε", "ε∞", "people", "shares", "of those who reported", "mean", "below points", "the worst", "median"),
    "as of different people",
)
CELLS = [(*epsilons, habit) for epsilons in EPSILONS for habit in HABITS]

if __name__ == "__main__":
    run(__doc__, panels=Part("coverage-panels", HEAD, CELLS, measured, SURVEYS, words=3))
