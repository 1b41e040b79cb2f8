"""Return the mechanism of a survey by its name; ``auto`` is the best one."""

from dither_shared import MECHANISMS, Mechanism
from dither_shared.mechanism import LISTED, NUMBERS
from dither_shared.mechanisms.auto import choose

__all__ = ["AUTO", "CLOSED", "NAMES", "REMEMBERING", "named"]

AUTO = "auto"
"""The name of the mechanism with the least total risk whose report fits the usual budget (``choice.choose``)."""

_SHARES = {name: family for name, family in MECHANISMS.items() if family.items != NUMBERS}

NAMES = (AUTO, *_SHARES)
"""The mechanisms that estimate shares."""

CLOSED = tuple(name for name, family in _SHARES.items() if family.items == LISTED)
"""The mechanisms of listed answers."""

REMEMBERING = tuple(name for name, family in _SHARES.items() if "permanent_epsilon" in family.keys)
"""The mechanisms with a permanent part, which may be left out but in RAPPOR."""


def named(name: str, size: int, epsilon: float, permanent_epsilon: float | None = None) -> Mechanism:
    """Return the best mechanism of that name for ``size`` values, which are the candidates of an open domain.

    ``permanent_epsilon`` is left out where the family has no permanent part to choose.
    Raises ParameterError for a size or an ε that the family cannot have.
    """
    if name == AUTO:
        return choose(size, epsilon, permanent_epsilon)
    family = _SHARES[name]
    parameters: dict[str, float | str] = {"epsilon": epsilon}
    if permanent_epsilon is not None and "permanent_epsilon" in family.keys:
        parameters["permanent_epsilon"] = permanent_epsilon
    return family.configure(None if family.items.open else size, parameters)
