"""Confidence levels: which can be asked for, and that of each interval for many to hold together.

It does not load the intervals, so that commands can refuse a level at once.
"""

import math
from typing import Literal

from dither_shared import Mechanism, ParameterError

Simultaneous = Literal["sidak", "bonferroni"]

LEAST_CONFIDENCE, MOST_CONFIDENCE = 1e-6, 1 - 1e-9
CONFIDENCES = f"between {LEAST_CONFIDENCE:.6f} and {MOST_CONFIDENCE:.9f}"


def require_confidence(confidence: float, place: str = "confidence") -> float:
    """Return a confidence that intervals can have; raise ParameterError for any other.

    Nearer to 1, 1 - confidence has lost digits that matter; nearer to 0, an interval is a point.
    """
    if not LEAST_CONFIDENCE <= confidence <= MOST_CONFIDENCE:  # NaN compares false
        raise ParameterError(place, f"{confidence!r} is not {CONFIDENCES}")
    return confidence


def level_of_each(mechanism: Mechanism, values: int, alpha: float) -> tuple[Simultaneous, float]:
    """Return the level of each interval for which any of them misses with ``alpha``, and the name of the rule.

    Given the histogram, the supports of a unary encoding are independent, so for its noise 1 - (1-α)^(1/k) is exact
    (Šidák 1967); about the population they hang together a little, through who reported, and his inequality for normal
    variables holds. For all others α/k by Bonferroni's inequality, which assumes nothing.
    """
    if mechanism.independent_supports:
        return "sidak", -math.expm1(math.log1p(-alpha) / values)
    return "bonferroni", alpha / values
