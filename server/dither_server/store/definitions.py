"""Write and read definitions as canonical JSON, so that earlier versions stay known; disable and enable versions."""

import json
from collections.abc import Iterable
from dataclasses import asdict
from datetime import date
from fractions import Fraction
from typing import Any, cast

import sqlalchemy as sa

from dither_shared import MECHANISMS, QUESTIONS, Metric, ParameterError, Strata
from dither_shared.metrics.metric import Mixed
from dither_shared.questions.fields import Fields

from .schema import DISABLED, METRICS, TALLIES, Repository


def register(connection: sa.Connection, metrics: Iterable[Metric]) -> None:
    """Store the definitions of these versions, replacing those that exist."""
    known = set(connection.scalars(sa.select(METRICS.c.version)))
    for metric in metrics:
        row = {"version": metric.version, "name": metric.name, "definition": to_json(metric)}
        if metric.version in known:
            connection.execute(sa.update(METRICS).where(METRICS.c.version == metric.version).values(row))
        else:
            connection.execute(sa.insert(METRICS).values(row))


class Definitions(Repository):
    """The definitions of all metric versions that were ever registered, and which of them an operator has disabled."""

    def versions(self, name: str) -> list[str]:
        """Return every registered version of a metric."""
        with self._transaction() as connection:
            return list(connection.scalars(_registered(name, None)))

    def registered(self) -> list[tuple[str, str]]:
        """Return the name and the version of every metric version that was ever registered."""
        query = sa.select(METRICS.c.name, METRICS.c.version).order_by(METRICS.c.name, METRICS.c.version)
        with self._transaction() as connection:
            return [(row.name, row.version) for row in connection.execute(query)]

    def last_reported(self, name: str) -> Metric | None:
        """Return a metric in the version that was reported last, or None if none was ever registered.

        Raises ParameterError if this program cannot read its definition.
        """
        last = sa.select(sa.func.max(TALLIES.c.day)).where(TALLIES.c.version == METRICS.c.version).scalar_subquery()
        newest_first = sa.func.coalesce(last, date.min).desc(), METRICS.c.version
        with self._transaction() as connection:
            version: str | None = connection.scalar(
                sa.select(METRICS.c.version).where(METRICS.c.name == name).order_by(*newest_first).limit(1)
            )
            return None if version is None else _read_definition(connection, name, version)

    def disabled(self) -> dict[str, date]:
        """Return the disabled versions of all metrics, each with the day on which it was disabled."""
        with self._transaction() as connection:
            return _disabled(connection)

    def disable(self, name: str, version: str | None, day: date) -> list[str]:
        """Stop counting reports of one version of a metric, or of all (None); return those newly disabled."""
        with self._transaction(write=True) as connection:
            known = _disabled(connection)
            fresh = [one for one in connection.scalars(_registered(name, version)) if one not in known]
            if fresh:
                connection.execute(sa.insert(DISABLED), [{"version": one, "day": day} for one in fresh])
        return fresh

    def enable(self, name: str, version: str | None) -> list[str]:
        """Count reports of these versions again; return those newly enabled."""
        with self._transaction(write=True) as connection:
            found = sorted(disabled_among(connection, connection.scalars(_registered(name, version))))
            connection.execute(sa.delete(DISABLED).where(DISABLED.c.version.in_(found)))
        return found

    def read(self, name: str, version: str) -> Metric | None:
        """Return a metric as it was registered in ``version``, or None if it was not.

        Raises ParameterError if this program cannot read its definition.
        """
        with self._transaction() as connection:
            return _read_definition(connection, name, version)


_AMONG = sa.select(DISABLED.c.version).where(DISABLED.c.version.in_(sa.bindparam("versions", expanding=True)))


def disabled_among(connection: sa.Connection, versions: Iterable[str]) -> set[str]:
    """Return which of these versions are disabled."""
    listed = list(versions)
    return set(connection.scalars(_AMONG, {"versions": listed})) if listed else set()


def _disabled(connection: sa.Connection) -> dict[str, date]:
    return {row.version: row.day for row in connection.execute(sa.select(DISABLED.c.version, DISABLED.c.day))}


def _registered(name: str, version: str | None) -> "sa.Select[Any]":
    query = sa.select(METRICS.c.version).where(METRICS.c.name == name).order_by(METRICS.c.version)
    return query if version is None else query.where(METRICS.c.version == version)


def _read_definition(connection: sa.Connection, name: str, version: str) -> Metric | None:
    definition = connection.scalar(
        sa.select(METRICS.c.definition).where(METRICS.c.name == name, METRICS.c.version == version)
    )
    return None if definition is None else from_json(definition, version)


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
    if metric.of is not None:
        definition["of"] = metric.of
    if metric.after:
        definition["after"] = metric.after
    if metric.mixed is not None:
        definition["mixed"] = asdict(metric.mixed)
    return json.dumps(definition, separators=(",", ":"))


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
        raise ParameterError(f"version {version}", f"its {what} is not known to this program; another version wrote it")
    exact = {name: _number(value) for name, value in cast("dict[str, str]", definition["parameters"]).items()}
    given = {key: definition[key] for key in kind.keys if definition[key] not in (None, [])}
    return Metric(
        name=definition["name"],
        question=kind.read(Fields(given)),
        mechanism=family(**exact),  # type: ignore[arg-type]  # each family names its own parameters
        description=definition["description"],
        period=definition["period"],
        strata=Strata.of(definition["strata"]) if "strata" in definition else None,
        of=definition.get("of"),
        after=definition.get("after", 0),
        mixed=Mixed(**definition["mixed"]) if "mixed" in definition else None,
    )


def _number(text: str) -> Fraction | int | tuple[int, ...] | None:
    if text == "None":
        return None
    if text.startswith("("):
        return tuple(int(each) for each in text.strip("()").split(",") if each)
    return Fraction(text) if "/" in text else int(text)
