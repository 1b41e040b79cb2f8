"""Check a confidence level without loading the intervals, so that commands can refuse one at once."""

from dither_shared import ParameterError

LEAST_CONFIDENCE, MOST_CONFIDENCE = 1e-6, 1 - 1e-9
CONFIDENCES = f"between {LEAST_CONFIDENCE:.6f} and {MOST_CONFIDENCE:.9f}"


def require_confidence(confidence: float, place: str = "confidence") -> float:
    """Return a confidence that intervals can have; raise ParameterError for any other.

    Nearer to 1, 1 - confidence has lost digits that matter; nearer to 0, an interval is a point.
    """
    if not LEAST_CONFIDENCE <= confidence <= MOST_CONFIDENCE:  # NaN compares false
        raise ParameterError(place, f"{confidence!r} is not {CONFIDENCES}")
    return confidence
