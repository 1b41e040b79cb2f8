"""Strings that nobody listed: those found, how many people hold each, and how many hold anything else."""

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from statistics import NormalDist
from typing import Any, ClassVar, TypedDict, cast

from dither_shared import Metric, ParameterError, PrefixSketch
from dither_shared.mechanisms.prefix_levels import KEPT
from dither_shared.questions.discovery import DiscoveryQuestion

from ....analysis.answers import beside
from ....analysis.columns import Column, Table
from ....analysis.health import health
from ....analysis.repeated_reports import periods_of, repeat_error
from ....estimation.strings.discovery import Discovered, Progress, discover, untold
from ....estimation.strings.reach import reach, reports_for
from ....estimation.strings.spelling import Spelling
from ....protocol.json_schema import Schema
from ....tally.tally import Tally
from ...query import Comparison, EstimateQuery, Query
from ..summary import Estimator, Exhibit, Span, Steps, Summary, Survey, TextTable
from ..window import Look
from .page import DiscoveryExhibit
from .schema import ESTIMATE
from .text import discovery_text

__all__ = ["Discoveries", "DiscoveryRow", "discovered"]

_TRANSFORMED, _TRIED = 160, 24
"""So many cells, or prefixes tried, cost as much as a value that is shown (``costs``)."""

_SOUGHT = 0.01
"""The share of people by which "how many reports does it take" is told."""


class DiscoveryRow(TypedDict):
    """A string that is found (``Discovered`` says what each number is).

    ``repeat_error`` is the standard error if the same people reported in every period (``repeated_reports``).
    """

    value: str
    frequency: float
    count: float
    standard_error: float
    low: float
    high: float
    repeat_error: float


class Discoveries(Summary[Discovered]):
    """The strings that are found, the most frequent first."""

    row: ClassVar[type] = DiscoveryRow
    schema: ClassVar[Schema] = ESTIMATE
    searched: ClassVar[bool] = True
    cheaper: ClassVar[str] = "declare a smaller alphabet or length"

    def estimate(
        self, metric: Metric, labels: tuple[str, ...], tally: Tally, confidence: float, simultaneous: bool
    ) -> Discovered:
        """Return the strings that are found."""
        return discovered(metric, tally, confidence)

    def effort(self, metric: Metric) -> int:
        """Count the cells that are transformed, and the prefixes that are tried."""
        mechanism, question = _parts(metric)
        ways = len(question.symbols) + len(question.ends)
        steps = [end - start for start, end in zip(mechanism.levels, mechanism.levels[1:], strict=False)]
        tried: int = ways ** mechanism.levels[0] + KEPT * sum(ways**step for step in steps)
        return mechanism.cohorts * mechanism.cells // _TRANSFORMED + tried // _TRIED

    def table(
        self, survey: Survey, query: EstimateQuery, estimator: Estimator, candidates: tuple[str, ...] | None = None
    ) -> Table:
        """Return the strings that are found, about what was collected, what it can find and what it leaves."""
        metric, asked = survey.metric, query if isinstance(query, Query) else Query(confidence=query.confidence)
        _require(metric, asked, candidates)
        found: Discovered = estimator(metric, (), survey.tally, asked.confidence, False)
        periods = periods_of(metric, *survey.days)
        about = {
            **beside(metric, found.reports, survey.days, asked.confidence, survey.refused),
            "health": health(metric.mechanism, (), survey.tally, periods),
            "confirming": found.confirming,
            "tried": found.tried,
            "sought": {"share": _SOUGHT, "reports": reports_for(metric.mechanism, _SOUGHT)},
            "reach": reach(metric.mechanism, found.reports) if found.reports else None,
            "unlisted": _unlisted(found),
            "poisoning": _poisoning(metric, found, asked.forged),
        }
        text = _parts(metric)[1].text
        columns: dict[str, Column] = {
            "value": tuple(text(item) for item in found.items),
            "frequency": found.frequency,
            "count": found.frequency * found.reports,
            "standard_error": found.standard_error,
            "low": found.low,
            "high": found.high,
            "repeat_error": repeat_error(
                metric.mechanism, found.frequency, found.standard_error, found.confirming, periods
            ),
        }
        return Table(about, columns)

    def compare(self, sides: tuple[Survey, Survey], query: Comparison, estimator: Estimator) -> Table:
        """Refuse: each side finds strings of its own, of which the other says nothing but that it did not find them."""
        raise ParameterError(
            "other", f"{sides[0].metric.name} discovers strings, and discoveries are not compared: export both"
        )

    def combine(self, name: str, surveys: Sequence[Survey], query: EstimateQuery, estimator: Estimator) -> Table:
        """Refuse: former versions are of other alphabets or levels."""
        raise ParameterError("metric", f"{name} discovers strings; name a version, for versions are not combined")

    def exhibit(self, survey: Survey, query: Query, estimator: Estimator, look: Look) -> DiscoveryExhibit:
        """Return the strings that are looked at."""
        return DiscoveryExhibit.of(self.table(survey, query, estimator), look)

    def courses(
        self,
        metric: Metric,
        exhibit: Exhibit,
        over: Steps,
        estimate: Callable[[Span], Discovered],
        query: Query,
    ) -> Generator[None, None, None]:
        """Make none: a day's reports find less than those of all days together."""
        yield from ()

    def text(self, told: Mapping[str, Any]) -> TextTable:
        """Return a row a string; shares are in percent."""
        return discovery_text(told)


def discovered(metric: Metric, tally: Tally, confidence: float, progress: Progress = untold) -> Discovered:
    """Return the strings that a tally of a metric tells of; ``progress`` is told of each level."""
    mechanism, question = _parts(metric)
    return discover(mechanism, Spelling(question.symbols, question.ends), tally, confidence, progress)


def _parts(metric: Metric) -> tuple[PrefixSketch, DiscoveryQuestion]:
    return cast("PrefixSketch", metric.mechanism), cast("DiscoveryQuestion", metric.question)


def _require(metric: Metric, asked: Query, candidates: tuple[str, ...] | None) -> None:
    """Raise ParameterError for what a discovery does not answer."""
    if asked.quantile or asked.at:
        raise ParameterError("quantile" if asked.quantile else "at", f"{metric.name} asks for no number")
    if candidates is not None:
        raise ParameterError("candidates", f"{metric.name} discovers strings by itself; it takes no list")
    if asked.simultaneous:
        raise ParameterError("simultaneous", "not for discoveries: their intervals allow for the selection already")


def _unlisted(found: Discovered) -> dict[str, Any] | None:
    """Return the share of people who hold none of the strings that are found, with its interval."""
    if math.isnan(found.unlisted):
        return None
    margin = NormalDist().inv_cdf((1 + found.confidence) / 2) * found.unlisted_error
    low, high = (min(1.0, max(0.0, found.unlisted + side)) for side in (-margin, margin))
    ends = {"low": low, "high": high, "beyond": "found"}
    return {"frequency": found.unlisted, "standard_error": found.unlisted_error, **ends}


def _poisoning(metric: Metric, found: Discovered, forged: float) -> dict[str, Any]:
    """Return what a share of forged reports could do: all confirm one string, or make up one at every level.

    An honest report supports its string with probability p; a forged one for certain, and so counts (1-q)/(p-q).
    """
    mechanism = metric.mechanism
    weight = mechanism.reach[1]
    confirming = max(found.confirming, 1)
    alone = reach(mechanism, found.reports) * found.reports / weight
    return {
        "share": forged,
        "reports": round(forged * found.reports),
        "gain_up": min(1.0, forged * found.reports / confirming * weight),
        "reports_to_appear": math.ceil(alone),
    }
