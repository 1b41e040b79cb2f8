"""Choose a mechanism: the one with the least total error whose report fits the report budget.

Every mechanism of listed answers is unbiased and has the total risk k·V(0) + V(1) - V(0) whatever the frequencies, so
for given k, ε and (if reports repeat) ε∞ they can be ranked before the survey. Those for sets are ranked by their worst
case: the set response with values that half of all users have, privset with sets of maximum size.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from ..counted import counted
from ..errors import ParameterError
from ..mechanism import LISTED, Items, Mechanism
from . import MECHANISMS
from .checks import checked_count, checked_epsilons, checked_size

DEFAULT_BUDGET = 64
"""Bytes of a report row."""

_TIE = 1e-9
"""Risks whose relative difference is smaller count as equal, because floats are rounded."""

_NONE: Mapping[str, int] = {}


@dataclass(frozen=True)
class Candidate:
    """A calibrated mechanism, and its total risk divided by the smallest of all that report once.

    For listed answers, the smallest is the minimum over all ε-LDP mechanisms (subset selection).
    """

    mechanism: Mechanism
    relative_risk: float

    def fits(self, budget: int) -> bool:
        """Return whether a report takes at most ``budget`` bytes."""
        return self.mechanism.row_bytes <= budget


def candidates(
    size: int,
    epsilon: float,
    permanent_epsilon: float | None = None,
    *,
    items: Items = LISTED,
    promises: Mapping[str, int] = _NONE,
) -> list[Candidate]:
    """Return every mechanism of ``items`` that fits, best first; ties go to the shorter, then to the simpler one.

    ``promises`` are the limits that mechanisms may rely on: ``Question.promises`` and ``report_budget``. Raises
    ParameterError if ``size``, ``epsilon`` or ``permanent_epsilon`` is out of range.
    """
    checked_size(size)
    checked_epsilons(epsilon, permanent_epsilon)
    families = MECHANISMS.of(items)
    once: dict[str, float] = {"epsilon": epsilon}
    forever = {} if permanent_epsilon is None else {"permanent_epsilon": permanent_epsilon}
    ready = _calibrated(families, size, once, promises)
    least = min(mechanism.risk for mechanism in ready)
    if forever:
        ready = _calibrated([each for each in families if forever.keys() <= each.keys], size, once | forever, promises)
    found = [Candidate(mechanism, mechanism.risk / least) for mechanism in ready]
    found.sort(key=lambda candidate: candidate.relative_risk)
    for place in range(len(found)):  # stable sorts within runs of equal risk
        run = [one for one in found[place:] if one.relative_risk <= found[place].relative_risk * (1 + _TIE)]
        run.sort(key=lambda one: (one.mechanism.row_bytes, families.index(type(one.mechanism))))
        found[place : place + len(run)] = run
    return found


def choose(
    size: int,
    epsilon: float,
    permanent_epsilon: float | None = None,
    budget: int = DEFAULT_BUDGET,
    *,
    items: Items = LISTED,
    promises: Mapping[str, int] = _NONE,
) -> Mechanism:
    """Return the best mechanism whose report takes at most ``budget`` bytes.

    Raises ParameterError like ``candidates``, or with the smallest budget that would be enough.
    """
    budget = checked_count(budget, "report_budget", 1, 1 << 20)
    return _best(size, epsilon, permanent_epsilon, budget, items, tuple(promises.items()))


@lru_cache(maxsize=1024, typed=True)
def _best(
    size: int,
    epsilon: float,
    permanent_epsilon: float | None,
    budget: int,
    items: Items,
    promises: tuple[tuple[str, int], ...],
) -> Mechanism:
    """Return the best mechanism; cached, because trying every mechanism takes 1,000 times as long as the rest."""
    ranked = candidates(
        size, epsilon, permanent_epsilon, items=items, promises={**dict(promises), "report_budget": budget}
    )
    for candidate in ranked:
        if candidate.fits(budget):
            return candidate.mechanism
    shortest = min(ranked, key=lambda candidate: candidate.mechanism.row_bytes).mechanism
    raise ParameterError(
        "report_budget",
        f"a report about {size} values does not fit into {counted(budget, 'byte')}; {shortest.name} needs "
        f"{shortest.row_bytes}",
    )


def _calibrated(
    families: list[type[Mechanism]], size: int, parameters: Mapping[str, float], promises: Mapping[str, int]
) -> list[Mechanism]:
    """Return the calibrated mechanisms of the families that support this survey."""
    found: list[Mechanism] = []
    for family in families:
        relied = {key: promise for key, promise in promises.items() if key in family.keys}
        try:
            found.append(family.configure(size, {**parameters, **relied}))
        except ParameterError as error:
            # No field is small enough for the family's table, or a promise that it needs is missing or too large.
            if error.place not in {"symbols", "order", "at_most"}:
                raise
    return found
