"""Run one seeded trial of a question for strings: people, their tally, the strings that are found, and the others."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dither_server.estimation.estimate import estimate
from dither_server.estimation.strings.discovery import discover
from dither_server.estimation.strings.spelling import Spelling
from dither_server.tally.tally import Tally
from dither_shared import DiscoveryQuestion, Mechanism, PrefixSketch

from ..choices import Law
from ..samplers import sample_tally
from ..users.populations import Floats, Population
from .devices import device_entropy, device_tally
from .measures import Measures

TOPS = (8, 16, 32)
"""Recall is measured of this many of the most frequent strings."""

_NAMED = 16


@dataclass(frozen=True, eq=False)
class StringSetting:
    """The setting of a trial: everything but its seed.

    ``labels`` are held by ``shares`` of the population of which a trial draws ``users``. They are looked for among
    ``candidates`` or, with a ``question``, are its items (``strings.spelled``) and are discovered.
    """

    mechanism: Mechanism
    labels: tuple[str, ...]
    shares: Floats
    users: int
    candidates: tuple[str, ...] = ()
    question: DiscoveryQuestion | None = None
    confidence: float = 0.95
    law: Law = "joint"


class Found(NamedTuple):
    """The strings that are found, the highest estimate first, and their intervals."""

    labels: tuple[str, ...]
    low: Floats
    high: Floats


def run_string_trial(setting: StringSetting, seed: np.random.SeedSequence) -> Measures:
    """Return the scores of one trial; they depend on ``setting`` and ``seed`` alone."""
    rng = np.random.default_rng(seed)
    people = Population.drawn(setting.labels, setting.shares, setting.users, rng)
    if setting.law == "device":
        tally = device_tally(setting.mechanism, people, device_entropy(seed))
    else:
        tally = sample_tally(setting.mechanism, people, rng)
    return string_scores(setting, found_in(setting, tally))


def found_in(setting: StringSetting, tally: Tally) -> Found:
    """Return what is found in a tally: of the candidates, or without a list."""
    if setting.question is not None:
        mechanism = PrefixSketch.require(setting.mechanism, "mechanism")
        made = discover(mechanism, Spelling(setting.question.symbols, setting.question.ends), tally, setting.confidence)
        return Found(tuple(item.decode("latin-1") for item in made.items), made.low, made.high)
    whole = estimate(setting.mechanism, setting.candidates, tally, setting.confidence)
    places = np.flatnonzero(np.zeros(0) if whole.found is None else whole.found)
    places = places[np.argsort(-whole.frequency[places], kind="stable")]
    return Found(tuple(whole.labels[place] for place in places), whole.low[places], whole.high[places])


def string_scores(setting: StringSetting, found: Found) -> Measures:
    """Return how much of what people hold is found, and how much that nobody does.

    - ``recall_8``, ``recall_16``, ``recall_32``: the share of the 8, 16, 32 most frequent strings that are found;
    - ``f1``: of the 16 found that are estimated highest, against the 16 most frequent: 2 hits/(found of them + 16);
    - ``found``: how many; ``false``: the share of these that nobody in the population holds, 0 if none is found;
    - ``missed``: the share of the intervals of those found that do not hold the population's share, 0 without any.
    """
    held = dict(zip(setting.labels, setting.shares.tolist(), strict=True))
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
