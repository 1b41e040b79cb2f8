"""Choose a mechanism: the one with the least total error whose report fits the report budget.

Every mechanism of listed answers is unbiased and has the total risk k·V(0) + V(1) - V(0) whatever the frequencies, so
for given k, ε and (if reports repeat) ε∞ they can be ranked before the survey. Those for sets are ranked by their worst
case: the set response with values that half of all users have, privset with sets of maximum size.
"""

from collections.abc import Mapping
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


def candidates(
    size: int,
    epsilon: float,
    permanent_epsilon: float | None = None,
    *,
    items: Items = LISTED,
    promises: Mapping[str, int] = _NONE,
) -> dict[Mechanism, float]:
    """Return every mechanism of ``items``, best first, with its relative risk.

    That is its total risk divided by the smallest of all that report once, which for listed answers is the minimum over
    all ε-LDP mechanisms (subset selection). Ties go to the shorter report, then to the simpler mechanism.

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
    ranked = sorted(ready, key=lambda mechanism: mechanism.risk)
    for place, first in enumerate(ranked):  # stable sorts within runs of equal risk
        run = [mechanism for mechanism in ranked[place:] if mechanism.risk <= first.risk * (1 + _TIE)]
        run.sort(key=lambda mechanism: (mechanism.row_bytes, families.index(type(mechanism))))
        ranked[place : place + len(run)] = run
    return {mechanism: mechanism.risk / least for mechanism in ranked}


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
    for mechanism in ranked:
        if mechanism.row_bytes <= budget:
            return mechanism
    shortest = min(ranked, key=lambda mechanism: mechanism.row_bytes)
    raise ParameterError(
        "report_budget",
        f"a report about {size} values does not fit into {counted(budget, 'byte')}; {shortest.name} needs "
        f"{shortest.row_bytes}",
    )


def _calibrated(
    families: list[type[Mechanism]], size: int, parameters: Mapping[str, float], promises: Mapping[str, int]
) -> list[Mechanism]:
    """Return the calibrated mechanisms of the families that support this survey."""
    mechanisms: list[Mechanism] = []
    for family in families:
        relied = {key: promise for key, promise in promises.items() if key in family.keys}
        try:
            mechanisms.append(family.configure(size, {**parameters, **relied}))
        except ParameterError as error:
            # No field is small enough for the family's table, or a promise that it needs is missing or too large.
            if error.place not in {"symbols", "order", "at_most"}:
                raise
    return mechanisms
