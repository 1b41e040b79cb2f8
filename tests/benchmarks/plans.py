"""Measure whether surveys are as precise as planned: ``python -m tests.benchmarks.plans [--surveys N]``.

A plan of a kind is drawn at random: its ε, its size, and its aim. The number of people that ``dither-sim plan`` asks
for is drawn from a population with the planned share, their reports from the exact law, and the survey is estimated as
in the collector. The promise is that the error of the estimate and half of its interval are at most the planned error;
of strings, that the string is found. A row has the promised part of surveys, and the parts that kept the promise: for
the worst plan, and for all.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from dither_server.estimation.decoders.support import decoder_of
from dither_server.estimation.estimate import estimate
from dither_server.estimation.numeric.estimate import estimate_number
from dither_server.estimation.numeric.mean import mean_of
from dither_server.estimation.numeric.tabulated import law_of
from dither_server.estimation.planning import worst_share
from dither_server.estimation.sets import estimate_sets
from dither_server.tally.tally import Tally
from dither_shared import DiscoveryQuestion
from dither_simulations.experiments.error.strings import found_in
from dither_simulations.experiments.plan.numbers import NumberPlanner
from dither_simulations.experiments.plan.planner import IntervalPlanner
from dither_simulations.experiments.plan.shares import SelectionPlanner, SharePlanner, StringPlanner
from dither_simulations.samplers import sample_tally
from dither_simulations.users.numbers import NumberDistribution
from dither_simulations.users.populations import Population, numbered, set_label, spelled

from . import tables

PLANS, SURVEYS, SEED = 20, 200, 20261124

Kept = Callable[[np.random.Generator], bool]
"""One survey, and whether it keeps all that its plan promises."""


class Planned(NamedTuple):
    """A plan's survey, and the part of all surveys that is promised to keep it."""

    survey: Kept
    promised: float


def _epsilon(rng: np.random.Generator) -> float:
    return float(np.exp(rng.uniform(np.log(0.5), np.log(5))))


def _interval(rng: np.random.Generator) -> dict[str, Any]:
    error, confidence = float(np.exp(rng.uniform(np.log(0.01), np.log(0.1)))), float(rng.choice([0.8, 0.95, 0.99]))
    return {"error": error, "confidence": confidence}


def _keeps(plan: IntervalPlanner, truth: float, found: float, low: float, high: float) -> bool:
    return bool(abs(found - truth) <= plan.error and (high - low) / 2 <= plan.error)


def _share(rng: np.random.Generator) -> float | None:
    return None if rng.random() < 0.5 else float(rng.uniform(0.01, 0.9))


def choice(rng: np.random.Generator, size: int | None = None) -> Planned:
    """Plan for the share of one of several values."""
    size = int(rng.integers(2, 60)) if size is None else size
    plan = SharePlanner(size=size, epsilons=(_epsilon(rng),), share=_share(rng), **_interval(rng))
    mechanism = plan.mechanisms(plan.epsilons[0])[0]
    truth, users = worst_share(mechanism) if plan.share is None else plan.share, plan.needed(mechanism) or 0
    shares = np.array([truth, *[(1 - truth) / (size - 1)] * (size - 1)])

    def survey(rng: np.random.Generator) -> bool:
        people = Population.drawn(numbered(size), shares, users, rng)
        result = estimate(mechanism, people.labels, sample_tally(mechanism, people, rng), plan.confidence)
        return _keeps(plan, truth, result.frequency[0], result.low[0], result.high[0])

    return Planned(survey, plan.confidence)


def crossing(rng: np.random.Generator) -> Planned:
    """Plan for the share of a pair of answers to two questions: of a choice with as many values as there are pairs."""
    return choice(rng, int(rng.integers(2, 7) * rng.integers(2, 7)))


def selection(rng: np.random.Generator, *, pairs: bool = False) -> Planned:
    """Plan for the share who have an item, or two items of which the fewest reports speak."""
    size = int(rng.integers(3, 12))
    most = int(rng.integers(2, size)) if rng.random() < 0.4 else None
    plan = SelectionPlanner(
        size=size, epsilons=(_epsilon(rng),), share=_share(rng), at_most=most, pairs=pairs, **_interval(rng)
    )
    mechanism = plan.mechanisms(plan.epsilons[0])[0]
    law, users = plan.law(mechanism), plan.needed(mechanism)
    if law is None or users is None:
        return selection(rng, pairs=pairs)  # no report speaks of two items: another plan
    truth, two = worst_share(law) if plan.share is None else plan.share, [0, 1]
    if pairs:
        even = Tally.zero(mechanism)
        even.reports[:] = 1
        seen = decoder_of(mechanism).pairs(mechanism, even)
        two = seen.values[seen.trials.argmin()].tolist()
    labels = (set_label(sum(1 << place for place in (two if pairs else two[:1]))), set_label(1 << two[1]), "")
    shares = np.array([truth, (1 - truth) / 2, (1 - truth) / 2])

    def survey(rng: np.random.Generator) -> bool:
        people = Population.drawn(labels, shares, users, rng)
        tally = sample_tally(mechanism, people, rng)
        result = estimate_sets(mechanism, numbered(size), tally, plan.confidence, at_most=most)
        if not pairs:
            return _keeps(plan, truth, *(column[two[0]] for column in (result.frequency, result.low, result.high)))
        (place,) = np.flatnonzero((result.pairs.given == two[0]) & (result.pairs.value == two[1]))
        return _keeps(
            plan,
            truth,
            *(column[place] for column in (result.pairs.both, result.pairs.both_low, result.pairs.both_high)),
        )

    return Planned(survey, plan.confidence)


def pair(rng: np.random.Generator) -> Planned:
    """Plan for the share who have two items."""
    return selection(rng, pairs=True)


def mean(rng: np.random.Generator) -> Planned:
    """Plan for a mean, of the answers that make it most uncertain or of any."""
    plan = NumberPlanner(epsilons=(_epsilon(rng),), **_interval(rng))
    mechanism = plan.mechanisms(plan.epsilons[0])[int(rng.integers(2))]
    users, points = plan.needed(mechanism) or 0, np.linspace(0, 1, mechanism.size)
    shares = np.zeros(mechanism.size)
    shares[[0, -1]] = 0.5
    shares = shares if rng.random() < 0.5 else rng.dirichlet(np.full(mechanism.size, 0.1))

    def survey(rng: np.random.Generator) -> bool:
        people = Population.drawn(numbered(mechanism.size), shares, users, rng)
        result = mean_of(law_of(mechanism), sample_tally(mechanism, people, rng), plan.confidence)
        return _keeps(plan, float(shares @ points), result.estimate, result.low, result.high)

    return Planned(survey, plan.confidence)


def quantile(rng: np.random.Generator) -> Planned:
    """Plan for a quantile of uniform answers; the printed interval reaches a point beyond each end."""
    rank = float(rng.uniform(0.1, 0.95))
    aims = _interval(rng) | {"error": float(np.exp(rng.uniform(np.log(0.02), np.log(0.15))))}
    plan = NumberPlanner(epsilons=(_epsilon(rng),), rank=rank, **aims)
    (mechanism,) = plan.mechanisms(plan.epsilons[0])
    shares, users = NumberDistribution("uniform").shares(mechanism.size), plan.needed(mechanism)
    if users is None:
        return quantile(rng)  # the grid is coarser than the aim: draw another plan
    people, last = users, mechanism.size - 1

    def survey(rng: np.random.Generator) -> bool:
        tally = sample_tally(mechanism, Population.drawn(numbered(mechanism.size), shares, people, rng), rng)
        (found,) = estimate_number(law_of(mechanism), tally, plan.confidence).quantiles((rank,))
        low, high = max(found.low - 1, 0) / last, min(found.high + 1, last) / last
        return rank - plan.error <= low and high <= rank + plan.error

    return Planned(survey, plan.confidence)


def strings(rng: np.random.Generator, *, discover: bool = False) -> Planned:
    """Plan for a string that a share of people hold, of a list or without one; the others hold rarer ones."""
    share, question = float(rng.uniform(0.01, 0.1)), DiscoveryQuestion("a-z", int(rng.integers(2, 8)))
    size = int(rng.integers(20, 2_000))
    if discover:
        plan = StringPlanner(discover=question, epsilons=(_epsilon(rng),), share=share)
    else:
        plan = StringPlanner(size=size, epsilons=(_epsilon(rng),), share=share)
    (mechanism,) = plan.mechanisms(plan.epsilons[0])
    users = plan.needed(mechanism) or 0
    labels = tuple("".join(chr(97 + place) for place in row) for row in rng.integers(0, 26, (20, question.length)))
    shares = np.array([share, *rng.dirichlet(np.ones(19)) * (1 - share)])
    if discover:
        sought: DiscoveryQuestion | tuple[str, ...] = question
        spelt = spelled(question, mechanism, labels, shares)
        labels, shares = spelt.labels, spelt.shares
    else:
        sought = numbered(size)
        labels = sought[:20]

    def survey(rng: np.random.Generator) -> bool:
        people = Population.drawn(labels, shares, users, rng)
        return labels[0] in found_in(mechanism, sample_tally(mechanism, people, rng), sought).labels

    return Planned(survey, 0.5)


def discovery(rng: np.random.Generator) -> Planned:
    """Plan for a string that nobody listed."""
    return strings(rng, discover=True)


KINDS: dict[str, Callable[[np.random.Generator], Planned]] = {
    "choice": choice,
    "crossing": crossing,
    "selection": selection,
    "pair": pair,
    "mean": mean,
    "quantile": quantile,
    "strings": strings,
    "discovery": discovery,
}


class Result(NamedTuple):
    """Of each plan of a kind, in how many surveys all its promises were kept, and the part promised."""

    kept: list[int]
    promised: list[float]


def run(kind: str, plans: int, surveys: int) -> Result:
    """Draw plans of a kind and surveys of each; the same seed gives the same."""
    result = Result([], [])
    for plan in range(plans):
        rng = np.random.default_rng([SEED, plan, *kind.encode()])
        planned = KINDS[kind](rng)
        result.kept.append(sum(planned.survey(rng) for _ in range(surveys)))
        result.promised.append(planned.promised)
    return result


def measured(kind: str, surveys: int) -> Iterator[list[str]]:
    """Yield the row of a kind."""
    result = run(kind, PLANS, surveys)
    parts = [kept / surveys for kept in result.kept]
    worst = min(range(PLANS), key=lambda place: parts[place] - result.promised[place])
    numbers = (result.promised[worst], parts[worst], float(np.mean(result.promised)), float(np.mean(parts)))
    yield [kind, str(PLANS), *(f"{100 * number:.1f}" for number in numbers)]


HEAD = ("kind", "plans", "promised by the worst", "kept by the worst", "promised by all", "kept by all")

if __name__ == "__main__":
    tables.run(__doc__, plans=tables.Part("plans", HEAD, [(kind,) for kind in KINDS], measured, SURVEYS))
