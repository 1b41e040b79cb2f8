"""Measure what reports reveal, by an attack that is trained on some draws and judged on others."""

import math
from dataclasses import dataclass

from dither_shared.privacy.audit import lower_bound, upper_bound

from .inside.protocol import Finding

CONFIDENCE = 0.999

_PLACES = {"SS": {"0": "listed first", "1": "listed later", "-1": "not listed"}}
"""The numbers of ``Oracle.place`` in words, where they say more than whether a value is supported."""


@dataclass(frozen=True)
class Leak:
    """A lower bound on the privacy loss of a report, and the event that shows it."""

    at_least: float
    event: str
    seen: tuple[int, int]
    """How many of the reports that judge showed the event, of input 0 and of input 1."""


def leak(finding: Finding) -> Leak:
    """Return the bound of the event that separates the inputs best in the training draws, judged on the others.

    An event is what a report shows of values 0 and 1.
    """
    draws, features = finding.case.draws, sorted(set().union(*finding.trained))
    _, event, item = max(
        (_bound(finding.trained, feature, item, draws), feature, item) for feature in features for item in (0, 1)
    )
    words = _PLACES.get(finding.case.mechanism, {"0": "not supported", "1": "supported"})
    said = ", ".join(f"{value} {words[place]}" for value, place in enumerate(event.split()))
    seen = (finding.judged[0].get(event, 0), finding.judged[1].get(event, 0))
    return Leak(max(0.0, _bound(finding.judged, event, item, draws)), said, seen)


def _bound(seen: list[dict[str, int]], event: str, item: int, draws: int) -> float:
    """Return ln of a lower bound of P[event | item] over an upper bound of P[event | the other]."""
    each = 1 - (1 - CONFIDENCE) / 2
    low = lower_bound(seen[item].get(event, 0), draws, each)
    high = upper_bound(seen[1 - item].get(event, 0), draws, each)
    return math.log(low / high) if low > 0 else -math.inf
