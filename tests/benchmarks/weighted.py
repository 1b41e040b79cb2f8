"""Measure the bias that weighted estimates remove, and how often their intervals hold.

People of declared strata differ in their answers and in how often they opt in, by 8 points of the first value, or by a
similar part of a range.
"""

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np

from dither_server.analysis.population import KnownPopulation, indicators
from dither_server.analysis.weighted import Weighting, weighted_number, weighted_shares
from dither_server.estimation.estimate import debiased
from dither_server.estimation.numeric.tabulated import law_of
from dither_server.tally.arrays import Floats
from dither_server.tally.repeats import Repeats
from dither_server.tally.tally import Tally
from dither_shared import Metric, parse_metrics
from dither_simulations.samplers import sample_tally
from dither_simulations.users.populations import Population

from .tables import Part, run

JOINT = {"margins": {"platform": {"linux": 0.2, "windows": 0.5, "macos": 0.3, "other": 0.0}}}
RAKED = JOINT["margins"] | {"channel": {"stable": 0.9, "beta": 0.1, "other": 0.0}}

OPT_IN = {"linux": 0.5, "windows": 0.1, "macos": 0.2, "other": 0.0, "stable": 0.3, "beta": 0.9}
HAVE = {"linux": 0.6, "windows": 0.3, "macos": 0.4, "other": 0.3, "stable": 0.0, "beta": 0.1}
"""By stratum: the share of people who opt in (of both attributes times each other), and who have the first value."""


class Setting(NamedTuple):
    """People by cell of the strata, how many of them report in an average survey, and who has the first value."""

    metric: Metric
    population: KnownPopulation
    people: Floats
    opt_in: Floats
    have: Floats


def setting_of(definition: str, *, raked: bool) -> Setting:
    """Return the setting of a metric whose strata have a platform and, if ``raked``, a channel."""
    strata = 'platform = ["linux", "windows", "macos"]' + (', channel = ["stable", "beta"]' if raked else "")
    metric = parse_metrics(f"[metrics.x]\n{definition}\nstrata = {{{strata}}}\n")["x"]
    assert metric.strata is not None
    margins = RAKED if raked else JOINT["margins"]
    cells = metric.strata.cells
    people = np.array([np.prod([_known(margins, value) for value in cell]) for cell in cells])
    opt_in = np.array([np.prod([OPT_IN[value] for value in cell]) for cell in cells])
    have = np.array([sum(HAVE[value] for value in cell) + 0.2 * (cell == ("linux", "beta")) for cell in cells])
    return Setting(metric, KnownPopulation.read({"margins": margins}), people, opt_in, have)


def _known(margins: dict[str, dict[str, float]], value: str) -> float:
    return next((shares[value] for shares in margins.values() if shares.get(value)), 0.0)


def law_of_answers(setting: Setting, values: int) -> Floats:
    """Return the share of each value in each cell: of the first by cell, of the others falling evenly."""
    rest = np.arange(values - 1, 0, -1) / np.arange(1, values).sum()
    return np.column_stack([setting.have, np.outer(1 - setting.have, rest)])


def survey(
    setting: Setting, answers: Floats, reports: int, rng: np.random.Generator, periods: int = 1
) -> tuple[Weighting, Tally]:
    """Return the weighted strata of a survey, and its tally. Each person reports in each of the periods."""
    metric, population, people, opt_in, _ = setting
    per_cell = rng.multinomial(reports // periods, people * opt_in / (people @ opt_in))
    counts = [rng.multinomial(number, law) for number, law in zip(per_cell, answers, strict=True)]
    tallies = []
    for count in counts:
        users = Population(tuple(map(str, range(len(count)))), count)
        drawn = [sample_tally(metric.mechanism, users, rng) for _ in range(periods)]
        tallies.append(_sum(metric, drawn))
    shares = population.shares(metric, (per_cell * periods).astype(np.float64))
    places = np.flatnonzero(shares > 0)
    weighting = Weighting(
        shares=shares,
        design=indicators(population, metric),
        places=places,
        tallies=tuple(tallies[place] for place in places),
        reports=(per_cell * periods).astype(np.float64),
        periods=np.tile(per_cell[places], (periods, 1)),
        chance=Repeats((1,)).chance,
        about={},
    )
    return weighting, _sum(metric, tallies)


def _sum(metric: Metric, tallies: Sequence[Tally]) -> Tally:
    return reduce(add, tallies, Tally.zero(metric.mechanism))


class Measured(NamedTuple):
    """Bias of the raw and of the weighted estimate, in the unit of the estimate, and coverage with its error."""

    raw: float
    weighted: float
    error: float
    coverage: float


def _measured(raw: float, weighted: Sequence[float], truth: float, held: Any) -> Measured:
    off = np.array(weighted) - truth
    return Measured(raw - truth, float(off.mean()), float(off.std() / np.sqrt(len(off))), float(np.mean(held)))


def shares(setting: Setting, reports: int, surveys: int, seed: int, periods: int = 1) -> Measured:
    """Measure the share of the first value; the coverage is that of all values."""
    mechanism, rng = setting.metric.mechanism, np.random.default_rng(seed)
    labels = setting.metric.labels
    answers = law_of_answers(setting, len(labels))
    truth = setting.people @ answers
    raw, weighted, held = [], [], []
    for _ in range(surveys):
        weighting, whole = survey(setting, answers, reports, rng, periods)
        result = weighted_shares(mechanism, labels, weighting, 0.05)
        raw.append(debiased(mechanism, labels, whole).frequency[0])
        weighted.append(result["weighted"][0])
        held.append((result["weighted_low"] <= truth) & (truth <= result["weighted_high"]))
    return _measured(float(np.mean(raw)), weighted, truth[0], held)


def numbers(setting: Setting, reports: int, surveys: int, seed: int, statistic: str) -> Measured:
    """Measure the mean or the median, in parts of the range."""
    law, rng = law_of(setting.metric.mechanism), np.random.default_rng(seed)
    last = law.points - 1
    points = np.arange(law.points) / last
    answers = np.array([np.exp(-(((points - have) / 0.2) ** 2)) for have in setting.have])
    answers /= answers.sum(axis=1, keepdims=True)

    def of(curve: Floats) -> float:
        return float(curve @ points) if statistic == "mean" else float(np.searchsorted(np.cumsum(curve), 0.5)) / last

    truth, weighted, held = of(setting.people @ answers), [], []
    for _ in range(surveys):
        weighting, _whole = survey(setting, answers, reports, rng)
        result = weighted_number(law, weighting, 0.95)
        (middle,) = result.quantiles([0.5])
        value, low, high = (
            (result.mean.estimate, result.mean.low, result.mean.high)
            if statistic == "mean"
            else (place / last for place in (middle.point, middle.low, middle.high))
        )
        weighted.append(value)
        held.append(low <= truth <= high)
    reporters = setting.people * setting.opt_in / (setting.people @ setting.opt_in)
    return _measured(of(reporters @ answers), weighted, truth, held)


BOOLEAN = 'type = "boolean"\nepsilon = {}'
CHOICE = 'type = "choice"\nvalues = ["a", "b", "c", "d", "e", "f"]\nepsilon = {}'
NUMBER = 'type = "number"\nlow = 0\nhigh = 100\nunit = "s"\nepsilon = {}'

KINDS = {
    "share of two answers": BOOLEAN,
    "shares of six answers": CHOICE,
    "mean of a number": NUMBER,
    "median of a number": NUMBER,
}


def measured(kind: str, epsilon: int, raked: bool, reports: int, periods: int, surveys: int) -> Iterator[list[str]]:
    """Yield the row of an estimate; fewer surveys of numbers and of repeated people, which take longer."""
    setting = setting_of(KINDS[kind].format(epsilon), raked=raked)
    if KINDS[kind] is NUMBER:
        one = numbers(setting, reports, surveys // 5, 1, kind.partition(" ")[0])
    else:
        one = shares(setting, reports, surveys if periods == 1 else surveys // 5, 1, periods)
    often = f"{reports // periods:,} a day, the same people for {periods} days" if periods > 1 else f"{reports:,}"
    name = "platform and channel, raked" if raked else "platform"
    figures = [f"{100 * figure + 0.0:.2f}" for figure in one[:3]]
    yield [kind, str(epsilon), name, often, *figures, f"{100 * one.coverage:.1f}"]


HEAD = ("estimate", "ε", "margins", "reports", "raw bias", "weighted bias", "its error", "coverage")
CELLS = [
    *(
        (kind, epsilon, raked, 20_000, 1)
        for raked in (False, True)
        for epsilons, kinds in (((1, 4), list(KINDS)[:2]), ((2,), list(KINDS)[2:]))
        for epsilon in epsilons
        for kind in kinds
    ),
    ("share of two answers", 1, False, 400, 1),
    ("share of two answers", 4, False, 30_000, 30),
]

if __name__ == "__main__":
    run(__doc__, weighted=Part("coverage-weighted", HEAD, CELLS, measured, 2_000, words=4))
