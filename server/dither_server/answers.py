"""What an analyst is told: a tally's estimate as the JSON of the API."""

import math
from datetime import date
from typing import TypedDict, cast

from dither_shared import Metric, ParameterError
from dither_shared.privacy import MEMOISATION, losses, odds_sentence

from .estimate import Estimate, Verdict, estimate
from .intervals import Simultaneous
from .tally import Tally

__all__ = ["Answer", "Privacy", "Row", "answer", "odds_of", "told_privacy"]


class Row(TypedDict):
    """One value's estimate (``Estimate`` says what each number is); a number that is not defined is None."""

    value: str
    frequency: float | None
    count: float | None
    noise_error: float | None
    noise_low: float | None
    noise_high: float | None
    standard_error: float | None
    low: float | None
    high: float | None
    consistent: float | None
    verdict: Verdict


_NUMBERS = [name for name in Row.__annotations__ if name not in {"value", "verdict"}]
"""A row's numbers: the columns of an ``Estimate`` that have the same names."""


class Privacy(TypedDict):
    """What reports of one value cost: the first, ten, and all there will ever be (None if each costs anew)."""

    epsilon: float
    epsilon_after_10: float
    epsilon_forever: float | None
    privacy: str


class Answer(Privacy):
    """One metric version's estimates; the days are ISO dates, None if there are no reports.

    ``simultaneous`` names the rule by which all intervals hold together, None if each holds by itself.
    """

    metric: str
    version: str
    mechanism: str
    reports: int
    since: str | None
    until: str | None
    confidence: float
    simultaneous: Simultaneous | None
    values: list[Row]


def answer(
    metric: Metric,
    tally: Tally,
    days: tuple[date | None, date | None] = (None, None),
    confidence: float = 0.95,
    candidates: tuple[str, ...] | None = None,
    *,
    simultaneous: bool = False,
) -> Answer:
    """Return the estimates of a tally, whose reports were received from ``days[0]`` to ``days[1]``.

    ``candidates`` are the strings to decode a metric of any string against, instead of the definition's own.
    Raises ParameterError if there are none, or if the metric lists its answers and ``candidates`` are given.
    """
    if candidates is not None and metric.domain is not None:
        raise ParameterError("candidates", f"{metric.name} lists its answers; candidates are for metrics of any string")
    labels = metric.labels if candidates is None else candidates
    if not labels:
        raise ParameterError(
            "candidates", f"{metric.name} takes any string and lists none to look for; give candidates"
        )
    result = estimate(metric.mechanism, labels, tally, confidence, simultaneous=simultaneous)
    since, until = (None if day is None else day.isoformat() for day in days)
    return Answer(
        metric=metric.name,
        version=metric.version,
        mechanism=metric.mechanism.name,
        **told_privacy(metric),
        reports=result.reports,
        since=since,
        until=until,
        confidence=confidence,
        simultaneous=result.simultaneous,
        values=_rows(result),
    )


def _rows(result: Estimate) -> list[Row]:
    columns = [[_finite(number) for number in getattr(result, name).tolist()] for name in _NUMBERS]
    return [
        cast("Row", {"value": label, **dict(zip(_NUMBERS, numbers, strict=True)), "verdict": verdict})
        for label, verdict, *numbers in zip(result.labels, result.verdicts, *columns, strict=True)
    ]


def told_privacy(metric: Metric) -> Privacy:
    """Return what reports of a metric cost, in numbers and in words."""
    mechanism = metric.mechanism
    words = losses(mechanism)
    return Privacy(
        epsilon=mechanism.epsilon,
        epsilon_after_10=mechanism.epsilon_after(10),
        epsilon_forever=mechanism.forever_epsilon,
        privacy=words if mechanism.forever_epsilon is None else f"{words}. {MEMOISATION}",
    )


def odds_of(metric: Metric) -> str:
    """Return in words what one report of a metric tells of a person, by the example of its first answer."""
    if metric.kind == "choice":
        return odds_sentence(metric.mechanism, (metric.labels[0], metric.labels[1]))
    return odds_sentence(metric.mechanism)


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
