"""The registry of samplers, the cost of a draw, and the marginal law: the support of each value drawn separately.

The marginal law is exact for each value, without the dependence between values. The mean squared error and the coverage
of intervals are averages over values, so their expectation is the same as under the joint law; their variation from
trial to trial, and the largest error, differ slightly. It takes two binomials per value.
"""

from dataclasses import dataclass, field
from functools import singledispatch
from typing import ClassVar, Self

import numpy as np

from dither_server.estimation.decoders.decoder import Decoder, Support
from dither_server.estimation.decoders.support import DECODERS
from dither_server.tally.tally import Tally
from dither_shared import Entropy, Mechanism, ParameterError, Shape
from dither_shared.mechanism import LISTED, Item

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

    Every mechanism whose cells have two probabilities, a and b, is such a mixture; b comes only from the uniform part.
    """
    return float(1 - mechanism.cells * mechanism.b)


@dataclass(frozen=True, kw_only=True)
class Marginal(Mechanism):
    """A mechanism seen one value at a time: the pure protocol (Wang et al. 2017) of each value.

    Its tally has a cohort of one cell for every value: the reports that cover the value, and those that support it. It
    is made from a mechanism over a listed domain; no device runs it.
    """

    name: ClassVar[str] = "marginal"

    size: int = field(init=False)
    whole: Mechanism

    def __post_init__(self) -> None:
        whole = self.whole
        self._derive(
            shape=Shape.BITS,
            size=whole.size,
            cohorts=whole.size,
            cells=1,
            a=whole.p,
            b=whole.q,
            p=whole.p,
            q=whole.q,
            coverage=whole.coverage,
            ratio=whole.ratio,
        )

    @classmethod
    def calibrate(cls, size: int | None, epsilon: float) -> Self:
        """Refuse: it is made from a mechanism, and not by itself."""
        raise NotImplementedError

    def marked(self, item: Item, cohort: int = 0) -> tuple[int, ...]:
        """Return the one cell of the value's own cohort."""
        return (0,) if item == cohort else ()

    def randomize(self, item: Item, entropy: Entropy, cohort: int = 0, permanent: Entropy | None = None) -> bytes:
        """Refuse: no device runs it."""
        raise NotImplementedError


class _Marginals(Decoder[Marginal]):
    def support(self, mechanism: Marginal, tally: Tally, labels: tuple[str, ...]) -> Support:
        return Support(tally.counts[:, 0], tally.reports)


DECODERS[Marginal] = _Marginals()


def has_marginal(mechanism: Mechanism) -> bool:
    """Return whether the support of each value is binomial: in every listed domain; not under fixed hashing."""
    return mechanism.items == LISTED


def sample_support(mechanism: Mechanism, population: Population, rng: np.random.Generator) -> Tally:
    """Return a tally of ``Marginal(whole=mechanism)``: for each value, its support among one report from each user.

    Bin(n_v, p) + Bin(n - n_v, q), after thinning both groups if not every report covers the value.
    """
    own, others = population.counts, population.users - population.counts
    if mechanism.coverage != 1:
        own, others = (rng.binomial(group, float(mechanism.coverage)) for group in (own, others))
    supporting = rng.binomial(own, float(mechanism.p)) + rng.binomial(others, float(mechanism.q))
    return Tally(own + others, supporting[:, np.newaxis])
