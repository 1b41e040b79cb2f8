"""Check the arguments of a client before they are used, so that a mistake is reported where it is made."""

from __future__ import annotations

import math
from os import PathLike, fspath

from dither_shared.errors import ParameterError
from dither_shared.light import Mapping, MappingProxyType
from dither_shared.plain import type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dither_shared.metrics.metric import Metric
    from dither_shared.seal_key import SealKey

NONE_GIVEN: Mapping[str, Any] = MappingProxyType({})

SPREAD = 300.0
"""Seconds over which departures are spread, unless the app says otherwise."""

WAIT = 0.25
"""Maximum seconds for which an exit waits for an upload, unless the app says otherwise."""

EVERY = 300.0
"""Seconds after an unsuccessful wait during which no exit of a device waits, unless the app says otherwise."""

MOST_SECONDS = 366 * 86400.0
"""A year: longer than anything here takes, and short enough for every clock and lock of the system."""


def number(name: str, value: object) -> float:
    """Return ``value``; raise ParameterError unless it is a number other than NaN."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ParameterError(name, f"must be a number, not a value of type {type_name(value)}")
    if value != value:  # noqa: PLR0124 - true only for NaN; math.isnan refuses an integer of 400 digits
        raise ParameterError(name, "not a number (NaN)")
    return value


def seconds(name: str, value: object) -> float:
    """Return ``value`` as seconds; raise ParameterError unless it is a number from 0 to a year."""
    span = number(name, value)
    if not 0 <= span <= MOST_SECONDS:
        raise ParameterError(name, f"{_quoted(span)} is not a number of seconds from 0 to {MOST_SECONDS:.0f} (a year)")
    return float(span)


def epsilon_cap(name: str, value: object) -> float:
    """Return ``value`` as a cap of epsilon; raise ParameterError unless it is a number of at least 0."""
    cap = number(name, value)
    if cap < 0:
        raise ParameterError(name, "must not be negative (0 disables reporting, inf means no cap)")
    return cap


def path(name: str, value: object) -> str | PathLike[str]:
    """Return ``value``; raise ParameterError unless it is a path."""
    if not isinstance(value, str | PathLike):
        raise ParameterError(name, f"must be a path, not a value of type {type_name(value)}")
    return value


def metrics_of(metrics: object, load: Callable[[str], Mapping[str, Metric]]) -> Mapping[str, Metric]:
    """Return metrics by name: ``metrics`` itself, or what ``load`` returns for the file at that path.

    Raises ParameterError if it is neither, and if the file cannot be read or contains a mistake.
    """
    if not isinstance(metrics, Mapping):
        return load(fspath(path("metrics", metrics)))
    kinds = {(type_name(name), type_name(metric)) for name, metric in metrics.items() if not _is_metric(name, metric)}
    for name, metric in kinds:
        raise ParameterError(
            "metrics", f"must map names to metrics, but maps an object of type {name} to one of type {metric}"
        )
    return metrics


def sealed_for(seal: object, metrics: Mapping[str, Metric]) -> Mapping[str, Metric]:
    """Return metrics whose reports are sealed for the key ``seal``, a text or a SealKey; None leaves each its own.

    Raises ParameterError for an impossible key, and if only some metrics have one: all reports go to one endpoint, and
    a relay must not see any in the clear.
    """
    if seal is not None:
        from dataclasses import replace  # noqa: PLC0415 - only who seals pays for it

        key = _key(seal)
        return {name: replace(metric, seal=key) for name, metric in metrics.items()}
    bare = [name for name, metric in metrics.items() if metric.seal is None]
    if bare and len(bare) < len(metrics):
        raise ParameterError(
            "metrics",
            f"{bare[0]} has no seal key, but other metrics have one; give every metric one, or pass the client seal=…",
        )
    return metrics


def _key(seal: object) -> SealKey:
    from dither_shared.seal_key import SealKey  # noqa: PLC0415 - likewise

    if isinstance(seal, SealKey):
        return seal
    if not isinstance(seal, str):
        raise ParameterError("seal", f"must be a key such as x25519:…, not a value of type {type_name(seal)}")
    try:
        return SealKey.parse(seal)
    except ParameterError as error:
        raise ParameterError("seal", error.problem) from None


def strata_of(strata: object) -> Mapping[str, object]:
    """Return attributes by name; raise ParameterError for anything else."""
    if not isinstance(strata, Mapping):
        raise ParameterError("strata", f"must map attributes to values, not be a value of type {type_name(strata)}")
    for name in strata:
        if not isinstance(name, str):
            raise ParameterError("strata", f"has a name of type {type_name(name)}; names must be text")
    return {str.__str__(name): value for name, value in strata.items()}  # a subclass may run code when it is compared


def _is_metric(name: object, metric: object) -> bool:
    from dither_shared.metrics.metric import Metric  # noqa: PLC0415 - anybody who has one has loaded it

    return isinstance(name, str) and isinstance(metric, Metric)


def _quoted(value: float) -> str:
    """Return a number as text, but not one with thousands of digits, which Python refuses to print."""
    return repr(value) if abs(value) < 1e15 or value in {math.inf, -math.inf} else "a number this large"
