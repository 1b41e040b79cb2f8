"""Choose a mechanism: the one with the least total error whose report fits the report budget.

Every mechanism of listed answers is unbiased and has the total risk k·V(0) + V(1) - V(0) whatever the frequencies, so
for one k, ε and (if reports repeat) ε∞ they can be ranked before anything is known.
"""

from dataclasses import dataclass
from functools import lru_cache

from ..errors import ParameterError
from ..mechanism import LISTED, Mechanism
from . import MECHANISMS, SubsetSelection
from .checks import checked_count, checked_epsilons, checked_size

__all__ = ["DEFAULT_BUDGET", "Candidate", "candidates", "choose"]

DEFAULT_BUDGET = 64
"""Bytes of a report row."""

_TIE = 1e-9
"""Risks that differ by less than this, relatively, count as equal: floats round."""


@dataclass(frozen=True)
class Candidate:
    """A calibrated mechanism, and its total risk over the least that any ε-LDP mechanism of one report has."""

    mechanism: Mechanism
    relative_risk: float

    def fits(self, budget: int) -> bool:
        """Return whether a report takes at most ``budget`` bytes."""
        return self.mechanism.row_bytes <= budget


def candidates(size: int, epsilon: float, permanent_epsilon: float | None = None) -> list[Candidate]:
    """Return every mechanism that can serve, best first; ties go to the shorter report, then to the simpler one.

    Raises ParameterError if ``size``, ``epsilon`` or ``permanent_epsilon`` is out of range.
    """
    checked_size(size)
    checked_epsilons(epsilon, permanent_epsilon)
    families = [family for family in MECHANISMS.values() if family.items == LISTED]
    least = SubsetSelection.calibrate(size, epsilon).risk
    found = [
        Candidate(mechanism, mechanism.risk / least)
        for family in families
        if (mechanism := _calibrated(family, size, epsilon, permanent_epsilon)) is not None
    ]
    found.sort(key=lambda candidate: candidate.relative_risk)
    for place in range(len(found)):  # stable sorts within runs of equal risk
        run = [one for one in found[place:] if one.relative_risk <= found[place].relative_risk * (1 + _TIE)]
        run.sort(key=lambda one: (one.mechanism.row_bytes, families.index(type(one.mechanism))))
        found[place : place + len(run)] = run
    return found


def choose(
    size: int, epsilon: float, permanent_epsilon: float | None = None, budget: int = DEFAULT_BUDGET
) -> Mechanism:
    """Return the best mechanism whose report takes at most ``budget`` bytes.

    Raises ParameterError as ``candidates`` does, or naming the least budget that would do.
    """
    return _best(size, epsilon, permanent_epsilon, checked_count(budget, "report_budget", 1, 1 << 20))


@lru_cache(maxsize=1024, typed=True)
def _best(size: int, epsilon: float, permanent_epsilon: float | None, budget: int) -> Mechanism:
    """Choose once for all metrics of a shape: trying every mechanism takes a thousand times as long as the rest."""
    ranked = candidates(size, epsilon, permanent_epsilon)
    for candidate in ranked:
        if candidate.fits(budget):
            return candidate.mechanism
    shortest = min(ranked, key=lambda candidate: candidate.mechanism.row_bytes).mechanism
    raise ParameterError(
        "report_budget",
        f"{budget} byte(s) hold no report over {size} values; {shortest.name} takes {shortest.row_bytes}",
    )


def _calibrated(
    family: type[Mechanism], size: int, epsilon: float, permanent_epsilon: float | None
) -> Mechanism | None:
    """Return the family's mechanism for a survey, or None if the family has none for it."""
    parameters = {"epsilon": epsilon}
    if permanent_epsilon is not None:
        if "permanent_epsilon" not in family.keys:
            return None
        parameters["permanent_epsilon"] = permanent_epsilon
    try:
        return family.configure(size, parameters)
    except ParameterError as error:
        if error.place in {"symbols", "order"}:  # no field is small enough for its table
            return None
        raise
