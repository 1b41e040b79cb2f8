"""Write and read a metric's definition as canonical JSON, so that former versions stay known to the database."""

import json
from fractions import Fraction
from typing import Any, cast

from dither_shared import MECHANISMS, QUESTIONS, Metric, ParameterError, Strata
from dither_shared.questions.fields import Fields

__all__ = ["from_json", "to_json"]


def to_json(metric: Metric) -> str:
    """Return a metric's definition: the same text for the same metric."""
    definition = {
        **metric.question.stored(),
        "name": metric.name,
        "type": metric.question.kind,
        "description": metric.description,
        "period": metric.period,
        "mechanism": metric.mechanism.name,
        "parameters": metric.mechanism.parameters(),
    }
    if metric.strata is not None:
        definition["strata"] = metric.strata.stored()
    return json.dumps(definition, sort_keys=True, separators=(",", ":"))


def from_json(text: str, version: str) -> Metric:
    """Read what ``to_json`` wrote. Raises ParameterError if it no longer describes ``version``."""
    try:
        metric = _read(json.loads(text), version)
    except ParameterError:
        raise
    except (ValueError, ArithmeticError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise ParameterError(
            f"version {version}", f"its registered definition cannot be read: {error!r:.100}"
        ) from None
    if metric.version != version:
        raise ParameterError(f"version {version}", "its registered definition has another version; it was altered")
    return metric


def _read(definition: dict[str, Any], version: str) -> Metric:
    family, kind = MECHANISMS.get(definition["mechanism"]), QUESTIONS.get(definition["type"])
    if family is None or kind is None:
        what = "mechanism" if family is None else "type"
        raise ParameterError(f"version {version}", f"its {what} is not known to this program; another one knew it")
    exact = {name: _number(value) for name, value in cast("dict[str, str]", definition["parameters"]).items()}
    given = {key: definition[key] for key in kind.keys if definition[key] not in (None, [])}
    return Metric(
        name=definition["name"],
        question=kind.read(Fields(given)),
        mechanism=family(**exact),  # type: ignore[arg-type]  # each family names its own parameters
        description=definition["description"],
        period=definition["period"],
        strata=Strata.of(definition["strata"]) if "strata" in definition else None,
    )


def _number(text: str) -> Fraction | int | tuple[int, ...] | None:
    if text == "None":
        return None
    if text.startswith("("):
        return tuple(int(each) for each in text.strip("()").split(",") if each)
    return Fraction(text) if "/" in text else int(text)
