"""What an analyst is told: a tally's estimate as the JSON of the API."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import date
from typing import Literal, TypedDict, cast

from dither_shared import Mechanism, Metric, ParameterError
from dither_shared.privacy.wording import MEMOISATION, losses

from ..estimation.estimate import Estimate, Verdict, estimate
from ..estimation.intervals.shares import Simultaneous
from ..tally.tally import Tally
from .columns import Column, Table
from .health import Check, health
from .labels import shortened
from .poisoning import Poisoning, gains, poisoning
from .repeated_reports import periods_of, repeat_error

Estimator = Callable[[Metric, tuple[str, ...], Tally, float, bool], Estimate]
"""What estimates a tally of a metric: its labels, the confidence, and whether intervals are to hold all together."""


class Row(TypedDict):
    """One value's estimate (``Estimate`` says what each number is); a number that is not defined is None.

    ``repeat_error`` is the standard error if the same people reported in every period (``repeated_reports``);
    ``gain_up`` and ``gain_down`` are how far forged reports could have moved the frequency (``poisoning.gains``).
    ``found`` is None where nothing is selected.
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
    repeat_error: float | None
    consistent: float | None
    gain_up: float | None
    gain_down: float | None
    verdict: Verdict
    found: bool | None


_NUMBERS = [name for name in Row.__annotations__ if name not in {"value", "verdict", "found"}]


class Privacy(TypedDict):
    """What reports of one value cost: the first, ten, and all there will ever be (None if each costs anew)."""

    epsilon: float
    epsilon_after_10: float
    epsilon_forever: float | None
    privacy: str


class Rest(TypedDict):
    """People whose string is none of those looked for, or none of those found (``estimate.Unlisted``)."""

    frequency: float
    standard_error: float
    low: float
    high: float
    beyond: Literal["candidates", "found"]


class Beside(Privacy):
    """What is told beside the estimates of any kind; the days are ISO dates, None if there are no reports.

    - ``periods``: in how many periods of the metric one device may have reported;
    - ``refused``: how many batches of the metric were refused on these days, by the problem's kind.
    """

    metric: str
    version: str
    mechanism: str
    reports: int
    periods: int
    refused: Mapping[str, int]
    since: str | None
    until: str | None
    confidence: float


class About(Beside):
    """What is told beside one metric version's shares.

    - ``simultaneous``: the rule by which all intervals hold together, None if each holds by itself;
    - ``poisoning``, ``health``: what forged reports could do, and tests of whether the reports look honest;
    - ``unlisted``: the share of people whose string is not among the values, where the mechanism can tell.
    """

    simultaneous: Simultaneous | None
    poisoning: Poisoning
    health: list[Check]
    unlisted: Rest | None


class Answer(About):
    """One metric version's estimates."""

    values: list[Row]


def answer(
    metric: Metric,
    tally: Tally,
    days: tuple[date | None, date | None] = (None, None),
    confidence: float = 0.95,
    candidates: tuple[str, ...] | None = None,
) -> Answer:
    """Return ``estimate_table`` as one object."""
    return cast("Answer", estimate_table(metric, tally, days, confidence, candidates).whole())


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
    """Return the estimates of a tally, whose reports were received from ``days[0]`` to ``days[1]``.

    It is about an ``About``, and its rows are ``Row``. ``candidates`` are the strings to decode a metric of any string
    against, instead of the definition's own; ``forged`` is the share of the reports that is assumed forged, where the
    effect of forged ones is told; ``estimator`` may remember estimates. Raises ParameterError if there are no
    candidates, or if they are given for a metric that lists its answers.
    """
    mechanism, labels = metric.mechanism, _labels(metric, candidates)
    result = estimator(metric, labels, tally, confidence, simultaneous)
    periods = periods_of(metric, *days)
    about = About(
        **beside(metric, result.reports, days, confidence, refused or {}),
        simultaneous=result.simultaneous,
        poisoning=poisoning(mechanism, result.reports, confidence, forged),
        health=health(mechanism, labels, tally, periods),
        unlisted=None if result.unlisted is None else cast("Rest", asdict(result.unlisted)),
    )
    return Table(about, _columns(mechanism, result, periods, forged))


def beside(
    metric: Metric, reports: int, days: tuple[date | None, date | None], confidence: float, refused: Mapping[str, int]
) -> Beside:
    """Return what is told beside the estimates of a metric version from so many reports on these days."""
    return Beside(
        metric=metric.name,
        version=metric.version,
        mechanism=metric.mechanism.name,
        **told_privacy(metric),
        reports=reports,
        periods=periods_of(metric, *days),
        refused=refused,
        since=_iso(days[0]),
        until=_iso(days[1]),
        confidence=confidence,
    )


def _iso(day: date | None) -> str | None:
    return None if day is None else day.isoformat()


def _columns(mechanism: Mechanism, result: Estimate, periods: int, forged: float) -> dict[str, Column]:
    """Return the columns of ``Row``."""
    up, down = gains(mechanism, result.frequency, forged)
    repeated = repeat_error(mechanism, result.frequency, result.standard_error, result.reports, periods)
    beside = {"gain_up": up, "gain_down": down, "repeat_error": repeated}
    numbers = {name: beside[name] if name in beside else getattr(result, name) for name in _NUMBERS}
    found = [None] * len(result.labels) if result.found is None else result.found
    return {"value": result.labels, **numbers, "verdict": result.verdicts, "found": found}


def _labels(metric: Metric, candidates: tuple[str, ...] | None) -> tuple[str, ...]:
    if candidates is not None and metric.question.size is not None:
        raise ParameterError("candidates", f"{metric.name} lists its answers; candidates are for metrics of any string")
    labels = metric.labels if candidates is None else candidates
    if not labels:
        raise ParameterError(
            "candidates", f"{metric.name} takes any string and lists none to look for; give candidates"
        )
    return labels


def told_privacy(metric: Metric) -> Privacy:
    """Return what reports of a metric cost, in numbers and in words."""
    mechanism = metric.mechanism
    words = losses(mechanism)
    return Privacy(
        epsilon=mechanism.epsilon,
        epsilon_after_10=mechanism.epsilon_after(10),
        epsilon_forever=mechanism.permanent_epsilon,
        privacy=words if mechanism.permanent_epsilon is None else f"{words}. {MEMOISATION}",
    )


def odds_of(metric: Metric) -> str:
    """Return in words what one report of a metric tells of a person, by the example of its first answer."""
    first = [shortened(name) for name in metric.question.names[:2]]
    return metric.question.odds(metric.mechanism, (first[0], first[1]) if first else None)


def introduced(metric: Metric) -> str:
    """Return a line about a metric: its mechanism, what a report costs, and what it tells."""
    return f"{metric.name}: {metric.mechanism.name}, {losses(metric.mechanism)}; {odds_of(metric)}"
