"""What an analyst is told: a tally's estimate as the JSON of the API."""

import math
from collections.abc import Mapping
from datetime import date
from typing import TypedDict, cast

from dither_shared import Metric, ParameterError
from dither_shared.metric import Period
from dither_shared.privacy import MEMOISATION, losses, odds_sentence

from .estimate import Estimate, Verdict, estimate
from .health import Check, health
from .intervals import Simultaneous
from .poisoning import Floats, Poisoning, gains, poisoning
from .tally import Tally

__all__ = ["Answer", "Privacy", "Row", "answer", "odds_of", "told_privacy"]


class Row(TypedDict):
    """One value's estimate (``Estimate`` says what each number is); a number that is not defined is None.

    ``gain_up`` and ``gain_down`` are how far forged reports could have moved the frequency (``poisoning.gains``).
    """

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
    gain_up: float | None
    gain_down: float | None
    verdict: Verdict


_NUMBERS = [name for name in Row.__annotations__ if name not in {"value", "gain_up", "gain_down", "verdict"}]
"""The columns of an ``Estimate`` that a row has."""


class Privacy(TypedDict):
    """What reports of one value cost: the first, ten, and all there will ever be (None if each costs anew)."""

    epsilon: float
    epsilon_after_10: float
    epsilon_forever: float | None
    privacy: str


class Answer(Privacy):
    """One metric version's estimates; the days are ISO dates, None if there are no reports.

    - ``refused``: how many batches of the metric were refused on these days, by the problem's kind;
    - ``simultaneous``: the rule by which all intervals hold together, None if each holds by itself;
    - ``poisoning``, ``health``: what forged reports could do, and tests of whether the reports look honest.
    """

    metric: str
    version: str
    mechanism: str
    reports: int
    refused: Mapping[str, int]
    since: str | None
    until: str | None
    confidence: float
    simultaneous: Simultaneous | None
    poisoning: Poisoning
    health: list[Check]
    values: list[Row]


def answer(
    metric: Metric,
    tally: Tally,
    days: tuple[date | None, date | None] = (None, None),
    confidence: float = 0.95,
    candidates: tuple[str, ...] | None = None,
    *,
    simultaneous: bool = False,
    forged: float = 0.01,
    refused: Mapping[str, int] | None = None,
) -> Answer:
    """Return the estimates of a tally, whose reports were received from ``days[0]`` to ``days[1]``.

    ``forged`` is the share of the reports that is assumed forged, where the effect of forged ones is told.

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
        refused=refused or {},
        since=since,
        until=until,
        confidence=confidence,
        simultaneous=result.simultaneous,
        poisoning=poisoning(metric.mechanism, result.reports, confidence, forged),
        health=health(metric.mechanism, labels, tally, _periods(metric.period, days)),
        values=_rows(result, gains(metric.mechanism, result.frequency, forged)),
    )


def _rows(result: Estimate, moved: tuple[Floats, Floats]) -> list[Row]:
    columns = [getattr(result, name) for name in _NUMBERS]
    names = [*_NUMBERS, "gain_up", "gain_down"]
    listed = [[_finite(number) for number in column.tolist()] for column in (*columns, *moved)]
    return [
        cast("Row", {"value": label, **dict(zip(names, numbers, strict=True)), "verdict": verdict})
        for label, verdict, *numbers in zip(result.labels, result.verdicts, *listed, strict=True)
    ]


def _periods(period: Period, days: tuple[date | None, date | None]) -> int:
    """Return in how many periods one device may have reported from the first to the last day."""
    first, last = days
    if first is None or last is None or period == "once":
        return 1
    length = 7 if period == "week" else 1
    return max(1, (last.toordinal() - 1) // length - (first.toordinal() - 1) // length + 1)  # day 1 was a Monday


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
