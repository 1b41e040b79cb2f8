"""Draw the support of each value by itself: exact for each value, without the dependence between values.

The mean squared error and the coverage of intervals are averages over values, so their expectation is the same as under
the joint law; how they vary from trial to trial, and the largest error, are not quite. Cost: two binomials a value.
"""

from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np

from dither_server.estimation.decoders.decoder import Decoder, Support
from dither_server.estimation.decoders.support import DECODERS
from dither_server.tally.tally import Tally
from dither_shared import Entropy, Mechanism, Shape
from dither_shared.mechanism import LISTED, Item

from ..users.populations import Population


@dataclass(frozen=True, kw_only=True)
class Marginal(Mechanism):
    """A mechanism seen one value at a time: the pure protocol (Wang et al. 2017) of each value.

    Its tally has a cohort of one cell for every value: the reports that speak of the value, and those that support it.
    Made of a mechanism over a listed domain; no device runs it.
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

    Bin(n_v, p) + Bin(n - n_v, q), after thinning both groups where not every report speaks of the value.
    """
    own, others = population.counts, population.users - population.counts
    if mechanism.coverage != 1:
        own, others = (rng.binomial(group, float(mechanism.coverage)) for group in (own, others))
    supporting = rng.binomial(own, float(mechanism.p)) + rng.binomial(others, float(mechanism.q))
    return Tally(own + others, supporting[:, np.newaxis])
