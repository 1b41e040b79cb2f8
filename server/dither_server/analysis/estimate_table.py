"""Estimates of shares as the API answers them, and the fields that accompany an estimate of any kind."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import date
from typing import Any

import numpy as np

from dither_shared import Mechanism, Metric, ParameterError
from dither_shared.privacy.wording import MEMOISATION, losses

from ..estimation.estimate import Estimate, estimate
from ..tally.tally import Tally
from .columns import Column, ColumnData, Table, number
from .health import gains, health, poisoning

Estimator = Callable[[Metric, tuple[str, ...], Tally, float, bool], Estimate]
"""What estimates a tally of a metric: its labels, the confidence, and whether intervals are simultaneous."""

VERDICT = Column(
    "verdict",
    str,
    "Whether the interval from low to high lies above 0 (ok), contains 0 and half of the range or more (too-few), or "
    "else contains 0 (noise).",
    choices=("ok", "noise", "too-few"),
)
SHARES = (
    Column("value", str),
    number("frequency", "Estimated share, raw and unbiased: it may lie below 0 or above 1."),
    number("count", "The frequency times the number of reports."),
    number("noise_error", "Standard error of the share among those who reported: from the noise alone."),
    number(
        "noise_low",
        "Lower end of the confidence interval of the share among those who reported. Null if too few of the reports "
        "carry noise.",
    ),
    number("noise_high", "Upper end of that interval."),
    number(
        "standard_error",
        "Standard error of the share in the population: from the noise and from sampling people, who may report again.",
    ),
    number("low", "Lower end of the interval of the share in the population, if reporters are a random sample."),
    number("high", "Upper end of that interval."),
    number(
        "consistent",
        "Frequency from 0 to 1; all sum to 1 (strings: at most 1; selections: any sum). Easier to show, but biased.",
    ),
    number("gain_up", "The most by which forged reports could have raised the frequency. Null if none is assumed."),
    number("gain_down", "The most by which forged reports could have lowered it."),
    VERDICT,
    Column(
        "found",
        bool,
        "Whether a candidate string is found. Of all strings that are found, 5% are expected to be false discoveries. "
        "Null if the metric lists its values, or the mechanism does not select.",
        nullable=True,
    ),
)
"""The columns of an estimate of shares: one row per value (``Estimate`` defines each number)."""

_NUMBERS = [column.name for column in SHARES if column.type is float]


def _estimated(
    metric: Metric, labels: tuple[str, ...], tally: Tally, confidence: float, simultaneous: bool
) -> Estimate:
    return estimate(metric.mechanism, labels, tally, confidence, simultaneous=simultaneous)


def estimate_table(
    metric: Metric,
    tally: Tally,
    days: tuple[date | None, date | None] = (None, None),
    confidence: float = 0.95,
    candidates: tuple[str, ...] | None = None,
    *,
    simultaneous: bool = False,
    forged: float = 0.01,
    refused: Mapping[str, int] | None = None,
    estimator: Estimator = _estimated,
) -> Table:
    """Return the estimates of a tally whose reports were received from ``days[0]`` to ``days[1]``; rows are ``SHARES``.

    ``candidates`` are the strings to decode a metric of any string against, instead of the definition's own. ``forged``
    is the share of reports assumed to be forged where their effect is stated. ``estimator`` may remember estimates.
    Raises ParameterError if there are no candidates, or if they are given for a metric that lists its answers.
    """
    mechanism, labels = metric.mechanism, _labels(metric, candidates)
    result = estimator(metric, labels, tally, confidence, simultaneous)
    about = {
        **metadata(metric, tally, days, confidence, refused or {}),
        "simultaneous": result.simultaneous,
        "poisoning": poisoning(mechanism, result.reports, confidence, forged),
        "health": health(mechanism, labels, tally),
        "unlisted": None if result.unlisted is None else asdict(result.unlisted),
    }
    return Table(about, _columns(mechanism, result, forged))


def metadata(
    metric: Metric, tally: Tally, days: tuple[date | None, date | None], confidence: float, refused: Mapping[str, int]
) -> dict[str, Any]:
    """Return the fields that accompany an estimate of any kind, from a tally of these days.

    ``periods`` counts the periods in which one device may have reported, ``repeats`` is the design effect that follows
    from their reports, and ``refused`` counts the metric's refused batches by the kind of problem. Days are ISO dates,
    or None if there are no reports.
    """
    return {
        "metric": metric.name,
        "version": metric.version,
        "mechanism": metric.mechanism.name,
        **privacy_fields(metric),
        "reports": tally.total,
        "periods": max(1, len(tally.repeats.periods)),
        "repeats": tally.repeats.effect,
        "refused": refused,
        "since": _iso(days[0]),
        "until": _iso(days[1]),
        "confidence": confidence,
    }


def _iso(day: date | None) -> str | None:
    return None if day is None else day.isoformat()


def _columns(mechanism: Mechanism, result: Estimate, forged: float) -> dict[str, ColumnData]:
    up, down = gains(mechanism, result.frequency, forged if round(forged * result.reports) else np.nan)
    derived = {"gain_up": up, "gain_down": down}
    numbers = {name: derived[name] if name in derived else getattr(result, name) for name in _NUMBERS}
    selected = [None] * len(result.labels) if result.found is None else result.found
    return {"value": result.labels, **numbers, "verdict": result.verdicts, "found": selected}


def _labels(metric: Metric, candidates: tuple[str, ...] | None) -> tuple[str, ...]:
    if candidates is not None and metric.question.size is not None:
        raise ParameterError(
            "candidates", f"{metric.name} lists its answers; candidates apply only to metrics that take any string"
        )
    labels = metric.labels if candidates is None else candidates
    if not labels:
        raise ParameterError("candidates", f"{metric.name} takes any string and lists no candidates; give candidates")
    return labels


def privacy_fields(metric: Metric) -> dict[str, Any]:
    """Return what reports of one value cost: the first, ten, and any number (None without bound), and that in words."""
    mechanism = metric.mechanism
    words = losses(mechanism)
    return {
        "epsilon": mechanism.epsilon,
        "epsilon_after_10": mechanism.epsilon_after(10),
        "epsilon_forever": mechanism.permanent_epsilon,
        "privacy": words if mechanism.permanent_epsilon is None else f"{words}. {MEMOISATION}",
    }


def privacy_statement(metric: Metric) -> str:
    """Return in words what one report of a metric reveals about a person, by the example of its first answer."""
    first = [shortened(name) for name in metric.question.names[:2]]
    return metric.question.odds(metric.mechanism, (first[0], first[1]) if first else None)


def metric_summary(metric: Metric) -> str:
    """Return a line about a metric: its mechanism, what a report costs, and what it reveals."""
    return f"{metric.name}: {metric.mechanism.name}, {losses(metric.mechanism)}; {privacy_statement(metric)}"


_LONG, _START, _END = 80, 44, 28
"""Maximum characters of a label, and the kept start and end: both are kept because labels may begin alike."""


def shortened(label: str) -> str:
    """Return a label, with its middle left out if it is long."""
    return label if len(label) <= _LONG else f"{label[:_START]} … {label[-_END:]}"
