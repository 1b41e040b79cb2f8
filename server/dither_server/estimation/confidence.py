"""Check confidence levels, and compute the level of each interval such that many intervals hold together.

This module does not import the intervals, so that commands can reject a level at once.
"""

import math
from typing import Literal

from dither_shared import Mechanism, ParameterError

Simultaneous = Literal["sidak", "bonferroni"]

LEAST_CONFIDENCE, MOST_CONFIDENCE = 1e-6, 1 - 1e-9
CONFIDENCES = f"between {LEAST_CONFIDENCE:.6f} and {MOST_CONFIDENCE:.9f}"


def require_confidence(confidence: float, place: str = "confidence") -> float:
    """Return ``confidence`` if intervals can have it; raise ParameterError otherwise.

    Closer to 1, rounding of 1 - confidence would matter; closer to 0, an interval would be a point.
    """
    if not LEAST_CONFIDENCE <= confidence <= MOST_CONFIDENCE:  # NaN compares false
        raise ParameterError(place, f"{confidence!r} is not {CONFIDENCES}")
    return confidence


def level_of_each(mechanism: Mechanism, values: int, alpha: float) -> tuple[Simultaneous, float]:
    """Return the level of each interval such that any of them misses with at most ``alpha``, and the name of the rule.

    Given the histogram, the supports of a unary encoding are independent, so for its noise 1 - (1-α)^(1/k) is exact
    (Šidák 1967); for the population they are weakly dependent, because they share the sample of people, and his
    inequality for normal variables holds. All other mechanisms take α/k by Bonferroni's inequality, which assumes
    nothing.
    """
    if mechanism.independent_supports:
        return "sidak", -math.expm1(math.log1p(-alpha) / values)
    return "bonferroni", alpha / values
