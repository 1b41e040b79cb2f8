"""Samplers of mechanisms whose items are sets: the window of neighbouring items, and PrivSet's list of cells.

``sample_tally`` takes a population of given sets; ``sample_sets`` also draws the people from their law.
"""

from functools import singledispatch

import numpy as np

from dither_server.tally.tally import Tally
from dither_shared import Mechanism, ParameterError, PrivSet, SetResponse

from ..users.populations import Counts, Floats, Population, set_item
from ..users.sets import SetChain, SetLaw, SetList, members, patterns_in
from .registry import MAX_TABLE, over_cohorts, responses, sample_tally


@singledispatch
def sample_sets(mechanism: Mechanism, people: SetLaw, users: int, rng: np.random.Generator) -> Tally:
    """Return the tally of one report from each of ``users`` people whose sets are drawn from their law."""
    raise ParameterError("mechanism", f"{mechanism.name} does not take sets")


@sample_tally.register
def _(mechanism: SetResponse, population: Population, rng: np.random.Generator) -> Tally:
    """Split each set's users over the windows, and perturb their patterns there."""
    sets = members([set_item(label) for label in population.labels], mechanism.size)
    users = over_cohorts(mechanism, population, rng)
    symbols = np.zeros((mechanism.cohorts, mechanism.cells), dtype=np.int64)
    for window in range(mechanism.cohorts):
        np.add.at(symbols[window], patterns_in(sets, window, mechanism.window), users[:, window])
    return Tally(symbols.sum(axis=1), responses(float(mechanism.a), symbols, rng))


@sample_sets.register
def _(mechanism: SetResponse, people: SetLaw, users: int, rng: np.random.Generator) -> Tally:
    """Draw the windows' patterns from their law: n_c ~ Multinomial(n, 1/d), and of these the patterns of window c."""
    reports = rng.multinomial(users, np.full(mechanism.cohorts, 1 / mechanism.cohorts))
    symbols = rng.multinomial(reports, people.windows(mechanism.window))
    return Tally(reports, responses(float(mechanism.a), symbols, rng))


@sample_tally.register
def _(mechanism: PrivSet, population: Population, rng: np.random.Generator) -> Tally:
    """Use the given sets as the states of a chain, in which their users begin."""
    sets = members([set_item(label) for label in population.labels], mechanism.size)
    chain = SetList(sets, np.ones(len(sets))).chain()
    counts = _listed_counts(mechanism, chain, population.counts, rng)
    return Tally(population.counts.sum(keepdims=True), counts[np.newaxis])


@sample_sets.register
def _(mechanism: PrivSet, people: SetLaw, users: int, rng: np.random.Generator) -> Tally:
    chain = people.chain()
    counts = _listed_counts(mechanism, chain, rng.multinomial(users, chain.start), rng)
    return Tally(np.array([users]), counts[np.newaxis])


def _listed_counts(mechanism: PrivSet, chain: SetChain, users: Counts, rng: np.random.Generator) -> Counts:
    """Return how often each cell is listed; ``users[s]`` of those who report begin in state s of the chain.

    Cell by cell, people whose set continues from the same state and whose lists have as many places left are alike, as
    long as no cell of their list is marked; after the first marked one, the rest of the list is uniform. So each cell
    takes only a few binomials, with probabilities that follow from the weights of all lists (``_weights``).
    """
    cells, listed, odds = mechanism.cells, mechanism.subset, float(mechanism.ratio)
    weights = _weights(mechanism, chain)
    places = np.arange(listed + 1)
    unmet, met = np.zeros((len(users), listed + 1), dtype=np.int64), np.zeros(listed + 1, dtype=np.int64)
    unmet[:, listed] = users
    counts = np.zeros(cells, dtype=np.int64)
    for cell in range(cells):
        present, after = _marking(mechanism, chain, cell)
        taken, left = _chances(cells - cell, places)
        ahead = weights[cell + 1]
        chances = (
            present[:, np.newaxis] * taken * odds,
            present[:, np.newaxis] * left * ahead[after],
            (1 - present[:, np.newaxis]) * taken * np.roll(ahead, 1, axis=1),
            (1 - present[:, np.newaxis]) * left * ahead,
        )
        hit, passed, other, rest = _split(unmet, chances, rng)
        again = rng.binomial(met, taken)
        counts[cell] = hit.sum() + other.sum() + again.sum()
        met = met - again
        met[:-1] += again[1:] + hit.sum(axis=0)[1:]
        rest[:, :-1] += other[:, 1:]
        np.add.at(rest, after, passed)
        unmet = rest
    return counts


def _weights(mechanism: PrivSet, chain: SetChain) -> Floats:
    """Return the mean weight of the possible ends of a list, none marked so far; shape (cells + 1, states, places + 1).

    ``[j, s, r]``: of lists with r places left from cell j on, for a set in state s. A list weighs e^ε if it meets the
    marks of the set, and 1 if not.
    """
    cells, listed, odds = mechanism.cells, mechanism.subset, float(mechanism.ratio)
    if cells * len(chain.held) * (listed + 1) > MAX_TABLE:
        raise ParameterError("size", f"{len(chain.held)} sets are too many for the joint law of {mechanism.name}")
    places = np.arange(listed + 1)
    weights = np.ones((cells + 1, len(chain.held), listed + 1))
    for cell in reversed(range(cells)):
        present, after = _marking(mechanism, chain, cell)
        taken, left = _chances(cells - cell, places)
        ahead = weights[cell + 1]
        without = taken * np.roll(ahead, 1, axis=1) + left * ahead
        within = taken * odds + left * ahead[after]
        weights[cell] = without + present[:, np.newaxis] * (within - without)
    return weights


def _marking(mechanism: PrivSet, chain: SetChain, cell: int) -> tuple[Floats, Counts]:
    """Return the chance that a cell is marked, and the state that follows if it is, for each state.

    Dummies follow the items; a set marks one dummy for each item that it has less than ``at_most``.
    """
    if cell < mechanism.size:
        return chain.present[cell], chain.after
    marked = cell - mechanism.size < mechanism.at_most - chain.held
    return marked.astype(np.float64), np.arange(len(chain.held))


def _chances(left: int, places: Counts) -> tuple[Floats, Floats]:
    """Return the chance that a uniform list of ``places`` out of ``left`` cells takes the next one, or not."""
    taken = np.minimum(places / left, 1.0)
    return taken, 1 - taken


def _split(users: Counts, weights: tuple[Floats, ...], rng: np.random.Generator) -> list[Counts]:
    """Return how many users have each outcome, whose chances are proportional to ``weights``."""
    left, outcomes = users.copy(), []
    for place, weight in enumerate(weights[:-1]):
        total = sum(weights[place:])
        some = rng.binomial(left, np.minimum(weight / np.where(total > 0, total, 1.0), 1.0))
        outcomes.append(some)
        left = left - some
    return [*outcomes, left]
