"""Say beforehand what a sketch of strings can find: the smallest share of people that is found about half the time."""

import math
from functools import singledispatch

from dither_shared import Mechanism, ParameterError, PrefixSketch, ProjectiveSketch
from dither_shared.mechanisms.prefix_levels import CONFIRMING, WEIGHT

from .selection import threshold

__all__ = ["reach", "reports_for", "standing"]

_LISTED = 1_000_000
"""Candidates of a list that is brought later, if nobody says how many."""


def reach(mechanism: Mechanism, reports: float, listed: int = _LISTED) -> float:
    """Return the smallest share of people whose string is found about half the time from so many reports.

    It is ``standing``·√(V(0)/reports), and may be above 1: then nothing can be found. ``listed`` candidates are looked
    for in a sketch. Raises ParameterError for a mechanism of another kind.
    """
    return standing(mechanism, listed) * math.sqrt(_noise(mechanism) / max(reports, 1))


def reports_for(mechanism: Mechanism, share: float, listed: int = _LISTED) -> int:
    """Return from how many reports a string that a ``share`` of people hold is found about half the time."""
    return math.ceil((standing(mechanism, listed) / share) ** 2 * _noise(mechanism))


@singledispatch
def standing(mechanism: Mechanism, listed: int = _LISTED) -> float:
    """Return κ: how far a string must stand out, in standard errors that all reports together would have."""
    raise ParameterError("mechanism", f"{mechanism.name} finds no strings")


@standing.register
def _(mechanism: ProjectiveSketch, listed: int = _LISTED) -> float:
    """Take the score that the first of the listed must pass."""
    return threshold(1, listed)


@standing.register
def _(mechanism: PrefixSketch, listed: int = _LISTED) -> float:  # noqa: ARG001 - it needs no list
    """Take √(Σ (z_j + 1)²): level j, of a share of the reports in proportion to its term, passes z_j standard errors.

    The terms follow from the confirming level's, and its share.
    """
    return float(CONFIRMING + 1) * math.sqrt(WEIGHT / mechanism.weights[-1])


def _noise(mechanism: Mechanism) -> float:
    """Return n·Var of a rare string if all reports spoke of it."""
    p, q = float(mechanism.p), float(mechanism.q)
    return q * (1 - q) / (p - q) ** 2
