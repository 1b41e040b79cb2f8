"""Surveys: of several metrics with the same survey name, each device answers one per period, chosen at random."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..errors import ParameterError

if TYPE_CHECKING:
    from .metric import Metric


@dataclass(frozen=True)
class Survey:
    """The survey ``name`` and its metrics; each device answers one in a period (reporting/surveys.py draws it).

    It is not part of a metric's version: who is asked depends on no answer, so no estimate depends on it, and permanent
    draws outlast it. It is part of what people consent to.
    """

    name: str
    metrics: tuple[str, ...] = ()


def with_surveys(metrics: Mapping[str, "Metric"]) -> dict[str, "Metric"]:
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


def _member(metric: "Metric", surveys: Mapping[str, Survey]) -> "Metric":
    return metric if metric.survey is None else replace(metric, survey=surveys[metric.survey.name])
