"""Write and read a metric's definition as canonical JSON, so that former versions stay known to the database."""

import json
from fractions import Fraction
from typing import cast

from dither_shared import MECHANISMS, Domain, Metric, ParameterError

__all__ = ["from_json", "to_json"]


def to_json(metric: Metric) -> str:
    """Return a metric's definition: the same text for the same metric."""
    domain = metric.domain
    definition = {
        "name": metric.name,
        "type": metric.kind,
        "description": metric.description,
        "period": metric.period,
        "values": None if domain is None else list(domain.labels),
        "other": None if domain is None else domain.other,
        "candidates": list(metric.candidates),
        "mechanism": metric.mechanism.name,
        "parameters": metric.mechanism.parameters(),
    }
    return json.dumps(definition, sort_keys=True, separators=(",", ":"))


def from_json(text: str, version: str) -> Metric:
    """Read what ``to_json`` wrote. Raises ParameterError if it no longer describes ``version``."""
    definition = json.loads(text)
    family = MECHANISMS.get(definition["mechanism"])
    if family is None:
        raise ParameterError(f"version {version}", "its mechanism is not known to this program; an older one knew it")
    exact = {name: _number(value) for name, value in cast("dict[str, str]", definition["parameters"]).items()}
    values = definition["values"]
    metric = Metric(
        name=definition["name"],
        kind=definition["type"],
        mechanism=family(**exact),  # type: ignore[arg-type]  # each family names its own parameters
        domain=None if values is None else Domain(tuple(values), definition["other"]),
        description=definition["description"],
        period=definition["period"],
        candidates=tuple(definition["candidates"]),
    )
    if metric.version != version:
        raise ParameterError(f"version {version}", "its registered definition has another version; it was altered")
    return metric


def _number(text: str) -> Fraction | int | None:
    if text == "None":
        return None
    return Fraction(text) if "/" in text else int(text)
