"""The noise of a sum of estimates, such as a row of a crossing: how the supports of two values hang together.

With J₁ and J₀ the chances that a report supports both u and v, if the user's value is one of them and if it is a third
(``Mechanism.joint_support``), and V₀, V_f as in ``Mechanism.variance``, of the sum of m values that together have the
share F

    n·Var = m V₀ + F V_f + ( m(m-1)(J₀ - q²) + 2(m-1) F (J₁ - J₀ - q(p-q)) ) / (p-q)²,

from noise alone (the histogram fixed); a random sample of people adds F(1-F). For subset selection at a uniform
histogram that is R m(k-m)/(k(k-1)), R being the total risk.
"""

from ..mechanism import Mechanism

__all__ = ["joint_constants", "sum_variance"]


def joint_constants(mechanism: Mechanism) -> tuple[float, float] | None:
    """Return n · Cov of the estimates of two values, by noise alone: of shares 0, and what is added per their sum.

    None where the mechanism does not know. (Where not all pairs are alike it is that of an average one.)
    """
    joint = mechanism.joint_support
    if joint is None:
        return None
    own, other = joint
    p, q = mechanism.p, mechanism.q
    gap = p - q
    return float((other - q**2) / gap**2), float((own - other - q * gap) / gap**2)


def sum_variance(mechanism: Mechanism, values: int, share: float) -> float | None:
    """Return n · Var of the sum of the estimates of so many values, whose shares sum to ``share``, by noise alone.

    None where the mechanism does not know how the supports of two values hang together. Where a share c of the reports
    speaks of a value (bit-flip), the whole share is taken to be of one of the values, which is the worst.
    """
    pair = joint_constants(mechanism)
    if pair is None:
        return None
    lone, joined = mechanism.variance(0.0), values * pair[0] + 2 * share * pair[1]
    return mechanism.variance(share) + (values - 1) * (lone + joined / float(mechanism.coverage))
