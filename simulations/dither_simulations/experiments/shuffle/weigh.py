"""Bounds on what a report tells among others, one row for a mechanism and a number of reports."""

from collections.abc import Iterator
from dataclasses import dataclass

from dither_server.analysis.shuffling.amplified import amplified
from dither_shared import Mechanism

from .attack import attack

__all__ = ["Shuffle", "ShuffleRow", "course", "weigh"]

_FIRST = 100
_EVERY = 10**0.5
"""Numbers of reports of a picture: the least, and how far apart they are."""


@dataclass(frozen=True)
class Shuffle:
    """Batches of so many reports, a share ``forged`` of which hides nobody, at a ``delta`` for each batch.

    One device has ``own`` reports in each.
    """

    mechanism: Mechanism
    reports: int
    delta: float
    forged: float = 0.0
    own: int = 1
    batches: int = 1


@dataclass(frozen=True)
class ShuffleRow:
    """What ``own`` reports tell whoever sees a batch in no order; each ε but ``attack`` is no less than the truth.

    - ``local``: ε₀ of one report, with no δ, whoever shuffles; ``honest``: the reports that are not forged;
    - ``generic``, ``blanket``: ε with ``delta``, for any mechanism of that ε₀ and by the law of this one; None where
      there is no amplification, and the latter also where the law has more than two levels;
    - ``best``: the least of these and of ``own`` times ε₀; ``attack``: an ε below which an attack on one report proves
      that no claim is true, None where a device has several;
    - ``epsilon_after``, ``delta_after``: what ``batches`` such batches of one device come to;
    - ``reason``: why there is no amplification.
    """

    mechanism: str
    size: int | None
    local: float
    reports: int
    honest: int
    delta: float
    generic: float | None
    blanket: float | None
    best: float
    attack: float | None
    own: int
    batches: int
    epsilon_after: float
    delta_after: float
    reason: str | None


def weigh(one: Shuffle) -> ShuffleRow:
    """Return the bounds; raises ParameterError for a number or a δ that cannot be."""
    found = amplified(one.mechanism, one.reports, one.delta, one.forged, one.own)
    law = one.mechanism.two_level
    epsilon, delta = found.after(one.batches)
    return ShuffleRow(
        mechanism=one.mechanism.name,
        size=one.mechanism.size,
        local=found.local,
        reports=one.reports,
        honest=found.reports,
        delta=one.delta,
        generic=found.generic,
        blanket=found.blanket,
        best=found.best,
        attack=None if found.reason or law is None or one.own > 1 else attack(law, found.reports, one.delta),
        own=one.own,
        batches=one.batches,
        epsilon_after=epsilon,
        delta_after=delta,
        reason=found.reason,
    )


def course(shuffles: list[Shuffle]) -> Iterator[Shuffle]:
    """Yield the shuffles of a picture: each mechanism with more and more reports, up to the most that are asked for."""
    for mechanism in dict.fromkeys(one.mechanism for one in shuffles):
        mine = [one for one in shuffles if one.mechanism == mechanism]
        most, reports = max(one.reports for one in mine), float(_FIRST)
        while reports < most:
            yield Shuffle(mechanism, round(reports), mine[0].delta, mine[0].forged, mine[0].own)
            reports *= _EVERY
        yield Shuffle(mechanism, most, mine[0].delta, mine[0].forged, mine[0].own)
