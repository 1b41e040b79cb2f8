"""The registry of samplers: which mechanism has which, and what a draw of it costs."""

from functools import singledispatch

import numpy as np

from dither_server.tally.tally import Tally
from dither_shared import Mechanism, ParameterError

from ..users.populations import Floats, Population


@singledispatch
def sample_tally(mechanism: Mechanism, population: Population, rng: np.random.Generator) -> Tally:
    """Return the tally of one report from each user, from the joint law of its counts.

    The labels of ``population`` are those of the mechanism's domain, in order, or any strings for an open domain.
    Raises ParameterError for a mechanism whose law no sampler is registered for.
    """
    raise ParameterError(
        "mechanism", f"{mechanism.name} has no exact sampler; it can only be simulated device by device"
    )


@singledispatch
def joint_draws(mechanism: Mechanism, population: Population) -> float:
    """Return about how many binomial draws ``sample_tally`` makes, each some 60 ns."""
    return mechanism.cohorts * mechanism.cells


@singledispatch
def collision_bias(mechanism: Mechanism, population: Population) -> Floats:
    """Return the bias that fixed hash functions add to each estimate; 0 for mechanisms without any."""
    return np.zeros(len(population.labels))


def has_sampler(family: type[Mechanism]) -> bool:
    """Return whether a law is registered for a family of mechanisms."""
    return sample_tally.dispatch(family) is not sample_tally.dispatch(Mechanism)


def signal_probability(mechanism: Mechanism) -> float:
    """Return λ: with probability λ a report is uniform over the cells that its value owns, otherwise over all cells.

    Every mechanism whose cells have two probabilities, a and b, is such a mixture: b comes of the uniform part alone.
    """
    return float(1 - mechanism.cells * mechanism.b)
