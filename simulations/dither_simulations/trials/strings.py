"""Score one trial of a question for strings: the strings that are found, and the others."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dither_server.estimation.estimate import estimate
from dither_server.estimation.strings.discovery import Spelling, discover
from dither_server.tally.tally import Tally
from dither_shared import DiscoveryQuestion, Mechanism, PrefixSketch

from ..users.populations import Floats
from .shares import Measures

TOPS = (8, 16, 32)
"""Recall is measured for these numbers of most frequent strings."""

_NAMED = 16


class Found(NamedTuple):
    """The strings that are found, the highest estimate first, and their intervals."""

    labels: tuple[str, ...]
    low: Floats
    high: Floats


def found_in(
    mechanism: Mechanism, tally: Tally, candidates: Sequence[str] | DiscoveryQuestion, confidence: float = 0.95
) -> Found:
    """Return which of the candidates are found in a tally, or which strings of a question are discovered."""
    if isinstance(candidates, DiscoveryQuestion):
        spelling = Spelling(candidates.symbols, candidates.ends)
        made = discover(PrefixSketch.require(mechanism, "mechanism"), spelling, tally, confidence)
        return Found(tuple(item.decode("latin-1") for item in made.items), made.low, made.high)
    whole = estimate(mechanism, tuple(candidates), tally, confidence)
    places = np.flatnonzero(np.zeros(0) if whole.found is None else whole.found)
    places = places[np.argsort(-whole.frequency[places], kind="stable")]
    return Found(tuple(whole.labels[place] for place in places), whole.low[places], whole.high[places])


def string_scores(held: Mapping[str, float], found: Found) -> Measures:
    """Return how many of the strings that people hold, with their shares, are found, and how many that nobody holds.

    - ``recall_8``, ``recall_16``, ``recall_32``: the share of the 8, 16, 32 most frequent strings that are found;
    - ``f1``: for the 16 found strings with the highest estimates, against the 16 most frequent: 2 hits/(found of them +
      16);
    - ``found``: how many; ``false``: the share of these that nobody in the population holds, 0 if none is found;
    - ``missed``: the share of the found strings' intervals that do not contain the population's share, 0 if none is
      found.
    """
    ranked = sorted(held, key=lambda label: -held[label])
    truth = np.array([held.get(label, 0.0) for label in found.labels])
    hits = len(set(found.labels[:_NAMED]) & set(ranked[:_NAMED]))
    return {
        **{f"recall_{top}": _recall(found.labels, ranked[:top]) for top in TOPS},
        "f1": 2 * hits / (min(len(found.labels), _NAMED) + min(len(ranked), _NAMED)),
        "found": float(len(found.labels)),
        "false": float((truth == 0).mean()) if len(truth) else 0.0,
        "missed": float(((truth < found.low) | (truth > found.high)).mean()) if len(truth) else 0.0,
    }


def _recall(found: Sequence[str], frequent: Sequence[str]) -> float:
    return len(set(found) & set(frequent)) / len(frequent)
