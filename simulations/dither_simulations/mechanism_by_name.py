"""Return the mechanism of a survey by its name; ``auto`` is the best one."""

from functools import lru_cache
from typing import cast

from dither_shared import MECHANISMS, DiscoveryQuestion, Mechanism, ParameterError
from dither_shared.mechanism import LISTED, NUMBERS, SETS, SPELLED, STRINGS
from dither_shared.mechanisms.auto import choose
from dither_shared.mechanisms.numeric import NumericMechanism

AUTO = "auto"
"""The name of the mechanism with the least total risk whose report fits the usual budget (``auto.choose``)."""

_SHARES = {name: family for name, family in MECHANISMS.items() if family.items in {LISTED, STRINGS}}

NAMES = (AUTO, *_SHARES)
"""The mechanisms that estimate shares."""

CLOSED = tuple(name for name, family in _SHARES.items() if family.items == LISTED)
"""The mechanisms of listed answers."""

LISTED_SPEAKING = tuple(name for name in CLOSED if name != "bit-flip")
"""Mechanisms of listed answers whose reports carry information about every value."""

_VARIANTS: dict[str, tuple[str, dict[str, float | str]]] = {
    "dithered-response-mean": ("dithered-response", {"for": "mean"}),
    "discrete-gaussian": ("discrete-gaussian", {"delta": 1e-6}),
}
"""Names of mechanisms with more parameters than ε: the family, and its other parameters."""

_NUMERIC = tuple(name for name, family in MECHANISMS.items() if family.items == NUMBERS)

NUMERIC = tuple(dict.fromkeys((_NUMERIC[0], "dithered-response-mean", *_NUMERIC)))
"""The mechanisms of numbers; dithered-response-mean has its steps chosen for the mean alone."""

SET_MECHANISMS = tuple(name for name, family in MECHANISMS.items() if family.items == SETS)
"""The mechanisms of sets."""

PER_ITEM = "boolean"
"""The name for asking about each item separately, yes or no, at ε/d: the baseline of a selection."""

SELECTIONS = (AUTO, *SET_MECHANISMS, PER_ITEM)
"""The ways to ask which of some items a person has."""

STRING_MECHANISMS = ("projective-count-mean-sketch", "rappor")
"""The mechanisms of strings that are looked up in a list of candidates."""

DISCOVERING = tuple(name for name, family in MECHANISMS.items() if family.items == SPELLED)
"""The mechanisms of strings without a list."""

MEMOIZED = tuple(name for name, family in MECHANISMS.items() if "permanent_epsilon" in family.keys)
"""The mechanisms with a permanent part, which is optional except in RAPPOR."""


def check_names(names: tuple[str, ...], known: tuple[str, ...]) -> None:
    """Raise ParameterError for a mechanism that does not answer what the type asks."""
    for name in names:
        if name not in known:
            raise ParameterError("--mechanism", f"{name} does not fit this --type; use {', '.join(known)}")


@lru_cache(maxsize=256)
def named(
    name: str, size: int, epsilon: float, permanent_epsilon: float | None = None, at_most: int | None = None
) -> Mechanism:
    """Return the best mechanism of that name for ``size`` values, which are the candidates of an open domain.

    A mechanism of numbers makes its own grid: ``size`` does not matter to it. ``permanent_epsilon`` and ``at_most``, of
    the values in a set, are ignored if the family has no such parameter. Raises ParameterError for a size or an ε that
    the family cannot have. Mechanisms are cached, because one for numbers may take a second.
    """
    if name == AUTO:
        return choose(size, epsilon, permanent_epsilon)
    base, more = _VARIANTS.get(name, (name, {}))
    family = MECHANISMS[base]
    parameters: dict[str, float | str] = {"epsilon": epsilon, **more}
    optional = {"permanent_epsilon": permanent_epsilon, "at_most": at_most}
    parameters |= {key: value for key, value in optional.items() if value is not None and key in family.keys}
    return family.configure(size if family.items in {LISTED, SETS} else None, parameters)


@lru_cache(maxsize=256)
def named_selection(
    name: str, size: int, at_most: int | None, epsilon: float, permanent_epsilon: float | None = None
) -> Mechanism:
    """Return the mechanism of that name (of ``SELECTIONS``); for ``PER_ITEM``, the one of a single item, at ε/d."""
    if name == PER_ITEM:
        forever = None if permanent_epsilon is None else permanent_epsilon / size
        return MECHANISMS["randomized-response"].configure(
            2, {"epsilon": epsilon / size} | ({} if forever is None else {"permanent_epsilon": forever})
        )
    if name == AUTO:
        promises = {} if at_most is None else {"at_most": at_most}
        return choose(size, epsilon, permanent_epsilon, items=SETS, promises=promises)
    return named(name, size, epsilon, permanent_epsilon, at_most)


def named_numeric(name: str, epsilon: float, permanent_epsilon: float | None = None) -> NumericMechanism:
    """Return the mechanism of numbers of that name (of ``NUMERIC``), as ``named`` does."""
    mechanism = named(name, 0, epsilon, permanent_epsilon)
    if mechanism.items != NUMBERS:
        raise ParameterError("mechanism", f"{name} does not answer a question for a number")
    return cast("NumericMechanism", mechanism)


@lru_cache(maxsize=256)
def named_discovery(
    name: str, question: DiscoveryQuestion, epsilon: float, permanent_epsilon: float | None = None
) -> Mechanism:
    """Return the mechanism of that name (of ``DISCOVERING``) for the strings of a question."""
    parameters: dict[str, float | str] = {"epsilon": epsilon, **question.promises}
    if permanent_epsilon is not None:
        parameters["permanent_epsilon"] = permanent_epsilon
    return MECHANISMS[name].configure(None, parameters)
