"""What a crossing costs: both questions in one report beside each device answering but one of them.

A marginal of the product domain sums a row of cells, each with its noise. Sampling (``one_of``) asks each question of
half the people, at the whole epsilon. The product is the better one for both questions only if there are few pairs:
K <= e^ε/2 is about enough. What is compared are the variances that the mechanisms themselves have, at even shares.
"""

from typing import NamedTuple

from ..mechanism import Mechanism
from .auto import choose
from .sums import joint_constants, sum_variance

__all__ = ["Costs", "costs", "within"]

_BUDGET = 1 << 20
"""Bytes of a report, which do not matter here."""


class Costs(NamedTuple):
    """n · Var of the share of one answer among all people, where all answers to its question are equally common.

    ``crossed``: of a marginal of the crossing; ``sampled``: of the question asked of half of the people.
    """

    crossed: float
    sampled: float


def costs(mechanism: Mechanism, answers: int, others: int) -> Costs | None:
    """Return the costs of a question of so many answers that is crossed with one of so many ``others``.

    None where the mechanism does not know how the noise of two cells hangs together.
    """
    share = 1 / answers
    noise, people = sum_variance(mechanism, others, share), share * (1 - share)
    return None if noise is None else Costs(noise + people, 2 * (_alone(mechanism, answers).variance(share) + people))


def within(mechanism: Mechanism, answers: int, others: int) -> float | None:
    """Return how many times as many people a share within one answer to the other question takes as if that was public.

    n · Var of x/y is (v_x - 2 r v_xy + r² v_y)/y², and within a public stratum of share y it is V(r)/y; both with
    r (1-r)/y of who is asked.
    """
    pair, whole = joint_constants(mechanism), sum_variance(mechanism, answers, 1 / others)
    if pair is None or whole is None:
        return None
    ratio, given, cell = 1 / answers, 1 / others, 1 / (answers * others)
    alone = mechanism.variance(cell)
    both = alone + (answers - 1) * (pair[0] + 2 * cell * pair[1]) / float(mechanism.coverage)
    people = ratio * (1 - ratio) / given
    crossed = (alone - 2 * ratio * both + ratio**2 * whole) / given**2 + people
    return crossed / (_alone(mechanism, answers).variance(ratio) / given + people)


def _alone(mechanism: Mechanism, answers: int) -> Mechanism:
    """Return the best mechanism of the same privacy for one question of so many answers."""
    return choose(answers, mechanism.epsilon, mechanism.permanent_epsilon, _BUDGET)
