"""The noise of a sum of estimates, such as a row of a crossing: how the supports of two values depend on each other.

Let J₁ and J₀ be the probabilities that a report supports both u and v, if the user's value is one of them and if it is
a third (``Mechanism.joint_support``), and let V₀, V_f be as in ``Mechanism.variance``. For the sum of m values that
together have the share F

    n·Var = m V₀ + F V_f + ( m(m-1)(J₀ - q²) + 2(m-1) F (J₁ - J₀ - q(p-q)) ) / (p-q)²,

from noise alone (the histogram fixed); a random sample of people adds F(1-F). For subset selection at a uniform
histogram that is R m(k-m)/(k(k-1)), R being the total risk. ``costs`` compares a crossing with sampling by it.
"""

from ..mechanism import MAX_CELLS, Mechanism
from .auto import choose


def joint_constants(mechanism: Mechanism) -> tuple[float, float] | None:
    """Return n · Cov of the estimates of two values, from noise alone: for shares of 0, and the increase per their sum.

    None if the mechanism does not know it. (If not all pairs are alike, that of an average pair.)
    """
    joint = mechanism.joint_support
    if joint is None:
        return None
    own, other = joint
    p, q = mechanism.p, mechanism.q
    gap = p - q
    return float((other - q**2) / gap**2), float((own - other - q * gap) / gap**2)


def sum_variance(mechanism: Mechanism, values: int, share: float) -> float | None:
    """Return n · Var of the sum of the estimates of ``values`` values whose shares sum to ``share``, from noise alone.

    None if the mechanism does not know how the supports of two values depend on each other. If only a share c of the
    reports covers a value (bit-flip), the whole share is assumed to belong to one of the values, which is the worst
    case.
    """
    pair = joint_constants(mechanism)
    if pair is None:
        return None
    lone, joined = mechanism.variance(0.0), values * pair[0] + 2 * share * pair[1]
    return mechanism.variance(share) + (values - 1) * (lone + joined / float(mechanism.coverage))


def costs(mechanism: Mechanism, answers: int, others: int) -> tuple[float, float] | None:
    """Return the costs of a question with ``answers`` answers: crossed with one with ``others`` answers, and sampled.

    A cost is n · Var of the share of one answer among all people, if all answers to its question are equally common:
    for a marginal of the crossing, and for the question asked of half of the people.

    A marginal of the product domain sums a row of cells, each with its noise. Sampling (``one_of``) asks each question
    of half of the people, at the whole epsilon. The product is better for both questions only if there are few pairs:
    roughly K <= e^ε/2. The costs are the variances of the mechanisms themselves at equal shares. None if the mechanism
    does not know how the noise of two cells depends on each other.
    """
    share = 1 / answers
    noise, people = sum_variance(mechanism, others, share), share * (1 - share)
    return None if noise is None else (noise + people, 2 * (_alone(mechanism, answers).variance(share) + people))


def within(mechanism: Mechanism, answers: int, others: int) -> float | None:
    """Return how many times as many people a share within one answer takes as if the other question were public.

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
    """Return the best mechanism of the same privacy for one question with ``answers`` answers."""
    return choose(answers, mechanism.epsilon, mechanism.permanent_epsilon, budget=MAX_CELLS)
