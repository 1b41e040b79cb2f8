"""Reading ``metrics.toml``: from TOML to metrics, every mistake named with file, metric and key."""

import math
import re
from collections.abc import Mapping
from datetime import date, datetime
from functools import lru_cache
from pathlib import Path
from typing import cast, get_args

from ..errors import ParameterError, did_you_mean
from ..mechanism import Mechanism
from ..mechanisms import MECHANISMS, RandomizedResponse, Rappor
from ..mechanisms.auto import DEFAULT_BUDGET, choose
from ..mechanisms.checks import checked_count, checked_size
from ..questions.domain import Domain
from .metric import Kind, Metric, Period, Tier

__all__ = ["load_metrics", "parse_metrics"]


_NAME = re.compile(r"[a-z][a-z0-9_.-]{0,63}")


_COMMON = frozenset({"description", "type", "mechanism", "period", "cap", "why", "owner", "expires", "tier"})


_OF_KIND: dict[str, frozenset[str]] = {
    "boolean": frozenset(),
    "choice": frozenset({"values", "other"}),
    "string": frozenset({"candidates"}),
}


_AUTO = "auto"


_AUTO_KEYS = frozenset({"epsilon", "permanent_epsilon", "report_budget"})


def load_metrics(path: str | Path) -> dict[str, Metric]:
    """Read the metrics of a ``metrics.toml``, by name.

    Raises ParameterError that names the file, the metric and the key.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise ParameterError(str(path), f"cannot be read: {reason}") from None
    return parse_metrics(text, str(path))


def parse_metrics(text: str, source: str = "metrics.toml") -> dict[str, Metric]:
    """Read the metrics of a TOML text; ``source`` is the file's name in errors."""
    import tomllib  # noqa: PLC0415 - an app that hands its metrics over ready-made need not load a parser

    try:
        document = tomllib.loads(text.removeprefix("\ufeff"))  # by which some editors mark UTF-8
    except tomllib.TOMLDecodeError as error:
        raise ParameterError(source, f"not TOML: {error}") from None
    try:
        _known_keys(document, frozenset({"metrics"}))
        tables = document.get("metrics")
        if not isinstance(tables, dict) or not tables:
            raise ParameterError("metrics", "missing; a metric is a table such as [metrics.theme]")
        return {name: _metric(name, table) for name, table in tables.items()}
    except ParameterError as error:
        raise error.within(f"{source}: ") from None


def _metric(name: str, table: object) -> Metric:
    place = f"metrics.{name}"
    if not _NAME.fullmatch(name):
        raise ParameterError(
            place, "not a name; it starts with a-z and goes on with a-z, 0-9, '_', '-' or '.', up to 64"
        )
    if not isinstance(table, dict):
        raise ParameterError(place, f"not a table; write [metrics.{name}]")
    if "type" not in table and (inner := next((key for key in table if isinstance(table[key], dict)), None)):
        raise ParameterError(place, f'holds a table; a name with a dot is quoted: [metrics."{name}.{inner}"]')
    try:
        return _read_metric(name, table)
    except ParameterError as error:
        raise error.within(f"{place}.") from None


def _read_metric(name: str, table: Mapping[str, object]) -> Metric:
    kind = _one_of(table, "type", get_args(Kind))
    family = _family(kind, table)
    if family is not None:
        _parameters_of(family, table)
    _known_keys(table, _COMMON | _OF_KIND[kind] | (family.keys if family else _AUTO_KEYS))
    domain = _domain(kind, table)
    metric = Metric(
        name=name,
        kind=cast("Kind", kind),
        mechanism=_mechanism(family, None if domain is None else len(domain), table),
        domain=domain,
        description=_string(table, "description", ""),
        period=cast("Period", _one_of(table, "period", get_args(Period), "day")),
        candidates=_strings(table, "candidates") if "candidates" in table else (),
        why=_string(table, "why", ""),
        owner=_string(table, "owner", ""),
        expires=_date(table, "expires"),
        tier=cast("Tier", _one_of(table, "tier", get_args(Tier))) if "tier" in table else None,
        cap=_number(table, "cap") if "cap" in table else None,
    )
    if metric.cap is not None and not metric.charge <= metric.cap < math.inf:
        raise ParameterError("cap", f"{metric.cap:g} does not pay for one answer, which costs {metric.charge:.6g}")
    return metric


def _family(kind: str, table: Mapping[str, object]) -> type[Mechanism] | None:
    """Return the family that a table asks for, or None for the best one ("auto")."""
    name = _one_of(table, "mechanism", (_AUTO, *MECHANISMS), _AUTO)
    if name == _AUTO:
        if kind == "string":
            return Rappor
        return RandomizedResponse if "truth" in table else None
    family = MECHANISMS[name]
    if family.open_domain != (kind == "string"):
        wants = "any string" if family.open_domain else "listed answers"
        raise ParameterError("mechanism", f"{family.name} takes {wants}; a metric of type {kind} has other answers")
    return family


def _mechanism(family: type[Mechanism] | None, size: int | None, table: Mapping[str, object]) -> Mechanism:
    keys = _AUTO_KEYS if family is None else family.keys
    parameters = {key: _number(table, key) for key in keys if key in table}
    if family is not None:
        return _configured(family, size, **parameters)
    if "epsilon" not in parameters:
        raise ParameterError("epsilon", "missing; the privacy loss of one report, for example epsilon = 1.0")
    budget = checked_count(parameters.pop("report_budget", DEFAULT_BUDGET), "report_budget", 1, 1 << 20)
    return choose(checked_size(size), **parameters, budget=budget)


@lru_cache(maxsize=1024, typed=True)  # typed, for a parameter may be refused for its type: 12 bits, but not 12.0
def _configured(family: type[Mechanism], size: int | None, **parameters: float) -> Mechanism:
    """Return the mechanism asked for; metrics of one shape share it, for it never changes."""
    return family.configure(size, parameters)


def _domain(kind: str, table: Mapping[str, object]) -> Domain | None:
    if kind == "string":
        return None
    if kind == "boolean":
        return Domain.boolean()
    return Domain.choice(_strings(table, "values"), _string(table, "other", "other"))


def _parameters_of(family: type[Mechanism], table: Mapping[str, object]) -> None:
    """Refuse a parameter that only other mechanisms for such a question have, and name these."""
    others = [other for other in MECHANISMS.values() if other.open_domain == family.open_domain]
    for key in table:
        have = [] if key in family.keys else sorted(other.name for other in others if key in other.keys)
        if have:
            raise ParameterError(key, f"{family.name} has none; mechanisms that have it: {', '.join(have)}")


def _known_keys(table: Mapping[str, object], known: frozenset[str]) -> None:
    for key in table:
        if key in known:
            continue
        meant = did_you_mean(key, sorted(known))
        listed = f" Known here: {', '.join(sorted(known))}" if meant else f"; known here: {', '.join(sorted(known))}"
        raise ParameterError(key, f"unknown{meant}{listed}")


def _one_of(table: Mapping[str, object], key: str, choices: tuple[str, ...], default: str | None = None) -> str:
    value = table.get(key, default)
    if value is None:
        raise ParameterError(key, f"missing; one of {', '.join(choices)}")
    if value not in choices:
        raise ParameterError(key, f"{value!r} is not one of {', '.join(choices)}{did_you_mean(value, choices)}")
    return value


def _string(table: Mapping[str, object], key: str, default: str) -> str:
    value = table.get(key, default)
    if not isinstance(value, str):
        raise ParameterError(key, f"{value!r} is not a string")
    return value


def _date(table: Mapping[str, object], key: str) -> date | None:
    value = table.get(key)
    if isinstance(value, datetime) or not isinstance(value, date | None):
        raise ParameterError(key, f"{value!r} is not a date such as 2027-06-30, without quotes")
    return value


def _strings(table: Mapping[str, object], key: str) -> tuple[str, ...]:
    values = table.get(key, [])
    if not isinstance(values, list):
        raise ParameterError(key, f'{values!r} is not a list of strings such as ["light", "dark"]')
    if not values:
        wrong = "empty" if key in table else "missing"
        raise ParameterError(key, f'{wrong}; a list of strings such as ["light", "dark"]')
    seen: set[str] = set()
    for value in values:
        if not isinstance(value, str) or not value:
            raise ParameterError(key, f"{value!r} is not a string of at least one character")
        if value in seen:
            raise ParameterError(key, f"{value!r} is listed twice")
        seen.add(value)
    return tuple(values)


def _number(table: Mapping[str, object], key: str) -> float:
    value = table[key]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ParameterError(key, f"{value!r} is not a number")
    return value
