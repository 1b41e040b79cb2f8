"""Read ``metrics.toml`` into metrics; every mistake is named with file, metric and key."""

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import cast, get_args

from ..errors import ParameterError
from ..mechanism import Mechanism
from ..mechanisms import MECHANISMS
from ..mechanisms.auto import DEFAULT_BUDGET, choose
from ..mechanisms.checks import checked_count, checked_size
from ..questions import QUESTIONS
from ..questions.fields import NAME, Fields
from ..questions.question import Question
from ..seal_key import SealKey
from . import events
from .metric import Metric, Mixed, Survey, Tier
from .period import Period
from .strata import Strata

_COMMON = frozenset({
    "description", "type", "mechanism", "period", "cap", "why", "owner", "expires", "tier", "strata", "one_of", "mixed",
    "of", "after",
})  # fmt: skip

_AUTO = "auto"

_PIECE, _LARGEST = 1 << 16, 1 << 24
"""Bytes that are read at a time, and of all definitions: a list of 2^20 short values needs that many."""

_AUTO_KEYS = frozenset({"epsilon", "permanent_epsilon", "report_budget"})


def load_metrics(path: str | Path) -> dict[str, Metric]:
    """Read the metrics of a ``metrics.toml``, by name.

    Raises ParameterError that names the file, the metric and the key.
    """
    try:
        with Path(path).open("rb") as file:
            data = b"".join(islice(iter(lambda: file.read(_PIECE), b""), _LARGEST // _PIECE + 1))
        if len(data) > _LARGEST:
            raise ParameterError(str(path), f"longer than {_LARGEST} bytes, the maximum for a metrics file")
        text = data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise ParameterError(str(path), f"cannot be read: {reason}") from None
    return parse_metrics(text, str(path))


def parse_metrics(text: str, source: str = "metrics.toml") -> dict[str, Metric]:
    """Read the metrics of a TOML text; ``source`` is the file's name in errors."""
    import tomllib  # noqa: PLC0415 - an app that hands its metrics over ready-made need not load a parser

    try:
        document = tomllib.loads(text.removeprefix("\ufeff"))  # with which some editors mark UTF-8
    except tomllib.TOMLDecodeError as error:
        raise ParameterError(source, f"not TOML: {error}") from None
    except (ValueError, RecursionError):  # a number with too many digits, or lists nested too deeply
        raise ParameterError(source, "a number or a list in it is too long to be read") from None
    try:
        Fields(document).require_known({"metrics", "seal"})
        seal = _seal(document["seal"]) if "seal" in document else None
        tables = document.get("metrics")
        if not isinstance(tables, dict) or not tables:
            raise ParameterError("metrics", "missing; a metric is a table such as [metrics.theme]")
        read = _with_surveys({name: _metric(name, table, tables) for name, table in tables.items()})
        return {name: replace(metric, seal=seal) for name, metric in read.items()} if seal else read
    except ParameterError as error:
        raise error.within(f"{source}: ") from None


def _seal(table: object) -> SealKey:
    if not isinstance(table, dict):
        raise ParameterError("seal", 'not a table; write [seal], and under it key = "x25519:..."')
    try:
        fields = Fields(table)
        fields.require_known({"key"})
        return SealKey.parse(fields.string("key", ""))
    except ParameterError as error:
        raise error.within("seal.") from None


def _metric(name: str, table: object, tables: Mapping[str, object]) -> Metric:
    place = f"metrics.{name}"
    if not NAME.fullmatch(name):
        raise ParameterError(
            place, "not a name; names start with a-z and continue with a-z, 0-9, '_', '-' or '.', up to 64"
        )
    if not isinstance(table, dict):
        raise ParameterError(place, f"not a table; write [metrics.{name}]")
    if "type" not in table and (inner := next((key for key in table if isinstance(table[key], dict)), None)):
        raise ParameterError(place, f'contains a table; quote a name that has a dot: [metrics."{name}.{inner}"]')
    try:
        return _read_metric(name, Fields(table, tables))
    except ParameterError as error:
        raise error.within(f"{place}.") from None


def _read_metric(name: str, fields: Fields) -> Metric:
    kind = QUESTIONS[fields.one_of("type", tuple(QUESTIONS))].asked(fields)
    family = _family(kind, fields)
    if family is not None:
        _require_own_parameters(family, kind, fields)
    fields.require_known(_COMMON | kind.keys | (family.keys if family else _AUTO_KEYS))
    question = kind.read(fields)
    period = cast("Period", fields.one_of("period", get_args(Period), "day"))
    formed = events.of(fields, question, period)
    metric = Metric(
        name=name,
        question=question,
        mechanism=events.private_mechanism(formed, question, _mechanism(family, question, fields), fields),
        description=fields.string("description", ""),
        period=period,
        why=fields.string("why", ""),
        owner=fields.string("owner", ""),
        expires=fields.day("expires"),
        tier=cast("Tier", fields.one_of("tier", get_args(Tier))) if "tier" in fields else None,
        cap=fields.number("cap") if "cap" in fields else None,
        survey=_survey(fields),
        strata=Strata.read(fields.value("strata")) if "strata" in fields else None,
        of=formed,
        after=events.after(fields),
    )
    if "mixed" in fields:
        metric = replace(metric, mixed=_mixed(fields.table("mixed", _MIXED), metric.mechanism))
    if metric.cap is not None and not metric.charge <= metric.cap < math.inf:
        raise ParameterError("cap", f"{metric.cap:g} is less than the cost of one answer, {metric.charge:.6g}")
    return metric


_MIXED = "{epsilon = 0.5, least = 1000}"

MOST_MIXED = 4.0
"""The largest epsilon of a report that is sealed and mixed: it holds if relay and collector work together."""


def _mixed(fields: Fields, mechanism: Mechanism) -> Mixed:
    """Read what a batch promises; that it follows from the mechanism, the collector checks (it takes numpy)."""
    if mechanism.memoised:
        raise ParameterError("mixed", "a permanent draw links the reports of a device; leave permanent_epsilon out")
    if mechanism.delta:
        raise ParameterError("mixed", f"no bound is proven for {mechanism.name}, which already has a delta")
    if mechanism.epsilon > MOST_MIXED:
        raise ParameterError("epsilon", f"{mechanism.epsilon:.6g} is above {MOST_MIXED:g}, the most if mixed is set")
    try:
        fields.require_known({"epsilon", "least", "delta"})
        least = checked_count(fields.number("least"), "least", 2, 10**8)
        delta = float(fields.number("delta")) if "delta" in fields else Mixed.delta
        epsilon = float(fields.number("epsilon"))
        if not 0 < epsilon < mechanism.epsilon:
            problem = f"{epsilon:g} is not between 0 and {mechanism.epsilon:.6g}, what a report costs unmixed"
            raise ParameterError("epsilon", problem)
        if not 0 < delta < 1 / least:
            raise ParameterError("delta", f"{delta:g} is not between 0 and 1/{least}, one report of a batch")
    except ParameterError as error:
        raise error.within("mixed.") from None
    return Mixed(epsilon, least, delta)


def _survey(fields: Fields) -> Survey | None:
    if "one_of" not in fields:
        return None
    name = fields.string("one_of", "")
    if not NAME.fullmatch(name):
        raise ParameterError(
            "one_of", f"{name!r} is not a name; names start with a-z and continue with a-z, 0-9 or '_'"
        )
    return Survey(name)


def _with_surveys(metrics: Mapping[str, Metric]) -> dict[str, Metric]:
    """Return the metrics of a file, each with the names of all metrics of its survey.

    Raises ParameterError if the metrics of a survey have different periods, because the choice is drawn per period.
    """
    members: dict[str, list[Metric]] = {}
    for metric in metrics.values():
        if metric.survey is not None:
            members.setdefault(metric.survey.name, []).append(metric)
    whole = {name: Survey(name, tuple(sorted(one.name for one in of))) for name, of in members.items()}
    for name, of in members.items():
        for one in of:
            if one.period != of[0].period:
                why = f"{of[0].name} belongs to the same survey, {name!r}, and its period is {of[0].period}"
                raise ParameterError(
                    f"metrics.{one.name}.period", f"{one.period}; {why}; all metrics of a survey share it"
                )
    return {name: _member(metric, whole) for name, metric in metrics.items()}


def _member(metric: Metric, surveys: Mapping[str, Survey]) -> Metric:
    return metric if metric.survey is None else replace(metric, survey=surveys[metric.survey.name])


def _family(kind: type[Question], fields: Fields) -> type[Mechanism] | None:
    """Return the family that a definition asks for, or None for the best one ("auto")."""
    name = fields.one_of("mechanism", (_AUTO, *MECHANISMS), _AUTO)
    if name == _AUTO:
        return kind.family(fields)
    family = MECHANISMS[name]
    if family.items != kind.items:
        wants = f"{family.name} takes {family.items.words}"
        raise ParameterError("mechanism", f"{wants}; a metric of type {kind.kind} has other answers")
    return family


def _mechanism(family: type[Mechanism] | None, question: Question, fields: Fields) -> Mechanism:
    keys = _AUTO_KEYS if family is None else family.keys
    if family is not None:
        words = {key: fields.one_of(key, family.words[key]) for key in family.words if key in fields}
        promised = {key: promise for key, promise in question.promises.items() if key in family.promised}
        numbers = {key: fields.number(key) for key in keys - words.keys() if key in fields}
        return _configured(family, question.size, **promised, **numbers, **words)
    parameters = {key: fields.number(key) for key in keys if key in fields}
    if "epsilon" not in parameters:
        raise ParameterError("epsilon", "missing; the privacy loss of one report, for example epsilon = 1.0")
    budget = checked_count(parameters.pop("report_budget", DEFAULT_BUDGET), "report_budget", 1, 1 << 20)
    return choose(
        checked_size(question.size), **parameters, budget=budget, items=question.items, promises=question.promises
    )


@lru_cache(maxsize=1024, typed=True)  # typed, because a parameter may be refused for its type: 12 and 12.0 differ
def _configured(family: type[Mechanism], size: int | None, **parameters: float | str) -> Mechanism:
    """Return the mechanism asked for; metrics of one shape share it, because it never changes."""
    return family.configure(size, parameters)


def _require_own_parameters(family: type[Mechanism], kind: type[Question], fields: Fields) -> None:
    """Refuse a parameter that only other mechanisms for such a question have, and name those mechanisms."""
    others = MECHANISMS.of(family.items)
    for key in fields:
        have = [] if key in family.keys | kind.keys else sorted(other.name for other in others if key in other.keys)
        if have:
            raise ParameterError(key, f"{family.name} has none; mechanisms that have it: {', '.join(have)}")
