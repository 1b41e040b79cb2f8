"""Mechanisms with two probabilities: a value owns a set of reports, and each of these is more likely than any other.

If a value owns c of K reports, the extremal channel gives each of them the weight e^ε and each other report the weight
1: a report is owned with probability ``inside`` = c e^ε/(c e^ε + K - c), and uniform on either side. So

    ε = ln( inside (K - c) / ((1 - inside) c) ).
"""

from fractions import Fraction

from ..errors import ParameterError
from ..primitives.probability import ONE, as_probability, exp_below, threshold_down, toward


def inside_at(epsilon: Fraction, owned: int, reports: int) -> Fraction:
    """Return the probability of an owned report at ``epsilon``, rounded down to a multiple of 2^-64."""
    odds = exp_below(epsilon)
    return Fraction(threshold_down(owned * odds / (owned * odds + reports - owned)), ONE)


def checked_inside(inside: Fraction, owned: int, reports: int) -> Fraction:
    """Return ``inside`` on the grid of 2^-64; raise ParameterError unless it is above chance and below 1."""
    chance = Fraction(owned, reports)
    rounded = toward(chance, as_probability(inside, "inside"))
    if not chance < rounded < 1:
        raise ParameterError("inside", f"{float(inside):g} must lie between {float(chance):g} (no information) and 1")
    return rounded


def level_ratio(inside: Fraction, owned: int, reports: int) -> Fraction:
    """Return the ratio of the probabilities of one report if it is owned and if it is not."""
    return inside * (reports - owned) / ((1 - inside) * owned)
