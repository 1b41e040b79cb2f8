"""Say beforehand what a sketch of strings can find: the smallest share of people that is found about half the time."""

import math
from functools import singledispatch

from dither_shared import Mechanism, ParameterError, PrefixSketch, ProjectiveSketch

from .selection import threshold

_LISTED = 1_000_000
"""Candidates of a list that is brought later, if nobody says how many."""


@singledispatch
def reach(mechanism: Mechanism, reports: int, listed: int = _LISTED) -> float:
    """Return the smallest share of people whose string is found about half the time from so many reports.

    It falls with the root of their number, and may be above 1: then nothing can be found. In a sketch so many strings
    are ``listed``. Raises ParameterError for a mechanism of another kind.
    """
    raise ParameterError("mechanism", f"{mechanism.name} finds no strings")


@reach.register
def _(mechanism: ProjectiveSketch, reports: int, listed: int = _LISTED) -> float:
    """Take the score that the first of the listed must pass."""
    return threshold(1, listed) * math.sqrt(mechanism.variance() / max(reports, 1))


@reach.register
def _(mechanism: PrefixSketch, reports: int, listed: int = _LISTED) -> float:
    """Take what its levels are weighed for."""
    return mechanism.least_share(max(reports, 1))


def reports_for(mechanism: Mechanism, share: float, listed: int = _LISTED) -> int:
    """Return from how many reports a string that a ``share`` of people hold is found about half the time.

    Rounded up to two digits: a third would claim what nobody knows.
    """
    number = math.ceil((reach(mechanism, 1, listed) / share) ** 2)
    step: int = 10 ** max(0, len(str(number)) - 2)
    return -(-number // step) * step
