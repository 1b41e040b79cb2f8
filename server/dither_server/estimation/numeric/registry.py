"""Which law estimates read for a mechanism of numbers: the one list of them."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from dither_shared import DitheredResponse, Mechanism
from dither_shared.mechanisms.numeric import NumericMechanism

from .dithered import Dithered
from .law import NumericLaw
from .tabulated import Tabulated

LAWS: dict[type[Mechanism], Callable[[Any], NumericLaw]] = {
    DitheredResponse: Dithered.of,
    NumericMechanism: Tabulated.of,  # type: ignore[type-abstract]  # it stands for all that are derived from it
}
"""By the mechanism's class, or the nearest that it is derived from: a law of two levels, or any table."""


@lru_cache(maxsize=256)
def law_of(mechanism: Mechanism) -> NumericLaw:
    """Return the law of a mechanism of numbers; it is made once, for a table takes a while."""
    known = next(LAWS[each] for each in type(mechanism).__mro__ if each in LAWS)
    return known(mechanism)
