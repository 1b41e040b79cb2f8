"""Strings that nobody listed: those found, how many people hold each, and how many hold none of those tried."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, cast

from dither_shared import Metric, ParameterError, PrefixSketch
from dither_shared.counted import counted
from dither_shared.mechanisms.prefix_levels import KEPT
from dither_shared.questions.discovery import MARK, DiscoveryQuestion

from ...analysis.columns import Column, ColumnData, Table, number, schemas_of
from ...analysis.health import health
from ...estimation.estimate import Unlisted
from ...estimation.fit import FALSE_DISCOVERIES
from ...estimation.planning import reach, reports_for
from ...estimation.strings.discovery import Discovered, Progress, Spelling, discover, no_progress
from ...tally.tally import Tally
from ..query import Combination, Comparison, Query, Span
from ..schemas import ABOUT, NUMBER, Schema, closed, list_of
from .shares_view import SharesView, share_point
from .summary import CollectedReports, Summary
from .terminal_text import TextTable, head_line, interval, odd_lines, rare_percent
from .view import EstimateView, PointEstimate, Steps

_TRANSFORMED, _TRIED = 160, 24
"""Numbers of cells transformed, and of prefixes tried, that cost as much as showing one value."""

_SOUGHT = 0.01
"""The share of people for which the number of reports needed is stated."""

_PANEL_STRINGS = 5
"""Maximum strings shown on a card and in a stratum panel."""

_MARKED = f"{MARK} stands for text that is left out: the rest of a longer text, or all of one with other characters."
"""The explanation of the mark, shown wherever a string has it."""

COLUMNS = (
    Column("value", str, "A string that is found. Of all found strings, 5% are expected to be held by nobody."),
    number("frequency", "Estimated share of people who hold it, from the confirming reports."),
    number("count", "The frequency times the number of reports."),
    number("standard_error", "Standard error of the share in the population: from the noise and from sampling."),
    number("low", "Lower end of the interval of the share in the population; it allows for the selection."),
    number("high", "Upper end of that interval."),
)
"""The columns of a discovery: one row per string that is found (``Discovered`` defines each number)."""

_SHARE = {"type": "number", "minimum": 0, "maximum": 1}
_UNLISTED = {
    "frequency": NUMBER | {"description": "Share of people who hold none of the strings that were tried."},
    "standard_error": NUMBER,
    **dict.fromkeys(("low", "high"), _SHARE),
}
_POISONING = {
    "share": {"type": "number", "description": "Share of the reports that is assumed to be forged."},
    "reports": {"type": "integer", "description": "Number of reports that is assumed to be forged."},
    "gain_up": NUMBER | {"description": "The most by which they could have raised the frequency. Null without any."},
    "reports_to_appear": {
        "type": "integer",
        "description": "Number of forged reports by which a string that nobody holds is found about half the time.",
    },
}


@dataclass(frozen=True)
class _DiscoveryView(SharesView):
    """The strings that are ``found`` and shown."""

    template: ClassVar[str] = "kinds/discovery.html"

    def shown(self, value: str) -> str:
        """Return a string as it is shown: the empty one in quotes."""
        return value or '""'

    def point(self, row: Mapping[str, Any]) -> PointEstimate:
        """Return the figure of a string: its interval allows for the selection, so it has no verdict."""
        return share_point(self.shown(row["value"]), row["frequency"], row["low"], row["high"])

    def points(self, names: Sequence[str] | None = None) -> Sequence[PointEstimate]:
        """Return the shares of these strings, found here or not, or of the most frequent."""
        if names is None:
            return [self.point(row) for row in self.table.rows(0, _PANEL_STRINGS)]
        points = {self.shown(row["value"]): self.point(row) for row in self.table.rows()}
        return [points.get(name) or PointEstimate(name, "not found", "", None, None, None) for name in names]

    @property
    def known(self) -> bool:
        """Whether there are reports."""
        return bool(self.table.about["reports"])

    @property
    def reach(self) -> str:
        """A sentence on what this number of reports can find."""
        return reach_text(self.table.about)

    @property
    def rule(self) -> str:
        """A sentence on the rule by which strings are found."""
        found = f"Only strings that stand out are shown; about {100 * FALSE_DISCOVERIES:g}% of them are false."
        return f"{found} {_MARKED}" if any(MARK in row["value"] for row in self.found.shown) else found

    @property
    def needs(self) -> str:
        """A sentence on how many reports it takes to find a string that a given share of people hold."""
        sought = self.table.about["sought"]
        held = f"a string that {100 * sought['share']:g}% of people have"
        if sought["reports"] is None:
            return f"No number of reports finds {held}."
        return f"About {counted(sought['reports'], 'report finds', 'reports find')} {held}, half of the time."

    def time_series(self, over: Steps, estimate: Callable[[Span], Any]) -> None:
        """Return None, because a day's reports find less than those of all days together."""


class Discoveries(Summary):
    """The strings that are found, the most frequent first."""

    columns: ClassVar[Sequence[Column]] = COLUMNS
    schema: ClassVar[Schema] = Schema("Discovery", closed({
        **ABOUT,
        "confirming": {"type": "integer", "description": "Reports of whole strings, which give the frequencies."},
        "tried": {"type": "integer", "description": "Strings that were left to be confirmed."},
        "reach": NUMBER | {"description": "Share of people at which these reports find a string about half the time."},
        "sought": closed({
            "share": {"type": "number", "description": "A share of people, for reference."},
            "reports": {
                "type": ["integer", "null"],
                "description": "Number of reports that find such a string half the time; null if none does.",
            },
        }),
        "unlisted": {"anyOf": [{"type": "null"}, closed(_UNLISTED)]},
        "poisoning": closed(_POISONING),
        "values": list_of(schemas_of(COLUMNS)),
    }))  # fmt: skip
    shown_by: ClassVar[type[EstimateView]] = _DiscoveryView
    searched: ClassVar[bool] = True
    cheaper: ClassVar[str] = "declare a smaller alphabet or length"

    def estimate(
        self, metric: Metric, labels: tuple[str, ...], tally: Tally, confidence: float, simultaneous: bool
    ) -> Discovered:
        """Return the strings that are found."""
        return discovered(metric, tally, confidence)

    def effort(self, metric: Metric) -> int:
        """Return the cost of one estimate: of the cells that are transformed and the prefixes that are tried."""
        mechanism, question = _parts(metric)
        ways = len(question.symbols) + len(question.ends)
        steps = [end - start for start, end in zip(mechanism.levels, mechanism.levels[1:], strict=False)]
        tried: int = ways ** mechanism.levels[0] + KEPT * sum(ways**step for step in steps)
        return mechanism.cohorts * mechanism.cells // _TRANSFORMED + tried // _TRIED

    def table(self, survey: CollectedReports, query: Query) -> Table:
        """Return the strings that are found, how rare these can be, and the share of people with others."""
        metric = survey.metric
        _require(survey, query)
        found: Discovered = survey.estimate(query.confidence)
        rest = Unlisted.of(found.unlisted, found.unlisted_error, found.confidence)
        about = {
            **survey.metadata(query.confidence),
            "health": health(metric.mechanism, (), survey.tally),
            "confirming": found.confirming,
            "tried": found.tried,
            "sought": {"share": _SOUGHT, "reports": reports_for(metric.mechanism, _SOUGHT)},
            "reach": float(reach(metric.mechanism, found.reports)) if found.reports else None,
            "unlisted": None if rest is None else asdict(rest),
            "poisoning": _poisoning(metric, found, query.forged),
        }
        text = _parts(metric)[1].text
        columns: dict[str, ColumnData] = {
            "value": tuple(text(item) for item in found.items),
            "frequency": found.frequency,
            "count": found.frequency * found.reports,
            "standard_error": found.standard_error,
            "low": found.low,
            "high": found.high,
        }
        return Table(about, columns)

    def compare(self, sides: tuple[CollectedReports, CollectedReports], query: Comparison) -> Table:
        """Raise ParameterError: that one side did not find a string of the other says nothing about its share."""
        raise ParameterError(
            "other", f"{sides[0].metric.name} discovers strings, and discoveries are not compared: export both"
        )

    def combine(self, name: str, surveys: Sequence[CollectedReports], query: Combination) -> Table:
        """Raise ParameterError: former versions have other alphabets or levels."""
        raise ParameterError("metric", f"{name} discovers strings; name a version, because versions are not combined")

    def text(self, answer: Mapping[str, Any]) -> TextTable:
        """Return one row per string, with shares in percent, and how many people hold none of those tried."""
        reports = f", of which {counted(answer['confirming'], 'confirms', 'confirm')};"
        head = f"{head_line(answer, reports, ', which allow for the selection')}\n{answer['privacy']}"
        rows = [("string", "share %", "interval", "people")]
        rows += [
            (
                row["value"] or '""',
                rare_percent(row["frequency"]),
                interval(row, rare_percent),
                f"{max(0, round(row['count'])):,}",
            )
            for row in answer["values"]
        ]
        return TextTable([head], rows if answer["values"] else [("Nothing was found.",)], _below(answer))


def discovered(metric: Metric, tally: Tally, confidence: float, progress: Progress = no_progress) -> Discovered:
    """Return the strings that a tally of a metric reveals. ``progress`` is called at each level."""
    mechanism, question = _parts(metric)
    return discover(mechanism, Spelling(question.symbols, question.ends), tally, confidence, progress)


def reach_text(answer: Mapping[str, Any]) -> str:
    """Return in words what this many reports can find, and how many are needed to find more."""
    sought, reach = answer["sought"], answer["reach"]
    more = f"To find one that {100 * sought['share']:g}% of people have takes {_needed(sought)}."
    if reach is None or reach >= 1:
        return f"So few reports would not even find a string that everybody has. {more}"
    return f"A string that {rare_percent(reach)}% of people have is found half of the time. {more}"


def _needed(sought: Mapping[str, Any]) -> str:
    """Return the number of reports that find a string, in words."""
    reports = sought["reports"]
    return "more reports than there can be" if reports is None else counted(reports, "report")


def _parts(metric: Metric) -> tuple[PrefixSketch, DiscoveryQuestion]:
    return cast("PrefixSketch", metric.mechanism), cast("DiscoveryQuestion", metric.question)


def _require(survey: CollectedReports, query: Query) -> None:
    """Raise ParameterError for a query that does not apply to a discovery."""
    name = survey.metric.name
    if query.quantile or query.at:
        raise ParameterError("quantile" if query.quantile else "at", f"{name} does not ask for a number")
    if survey.candidates is not None:
        raise ParameterError("candidates", f"{name} discovers strings without a list; candidates do not apply")
    if query.simultaneous:
        raise ParameterError("simultaneous", "does not apply to discoveries; their intervals allow for the selection")


def _poisoning(metric: Metric, found: Discovered, forged: float) -> dict[str, Any]:
    """Return what a share of forged reports could do: all confirm one string, or make one up at every level.

    An honest report supports its string with probability p; a forged one always does, and so counts (1-q)/(p-q).
    """
    mechanism = metric.mechanism
    weight = mechanism.reach[1]
    confirming = max(found.confirming, 1)
    alone = float(reach(mechanism, found.reports)) * found.reports / weight
    reports = round(forged * found.reports)
    return {
        "share": forged,
        "reports": reports,
        "gain_up": min(1.0, forged * found.reports / confirming * weight) if reports else None,
        "reports_to_appear": math.ceil(alone),
    }


def _below(answer: Mapping[str, Any]) -> list[str]:
    """Return the lines that a terminal shows below the table of strings."""
    lines = []
    if answer["values"]:
        percent = f"{100 * FALSE_DISCOVERIES:g}%"
        lines.append(f"found: strings that stand out; an expected {percent} of them are held by nobody")
    if any(MARK in row["value"] for row in answer["values"]):
        lines.append(_MARKED)
    lines.append(reach_text(answer))
    if (rest := answer["unlisted"]) is not None:
        tried = counted(answer["tried"], "string")
        lines.append(f"{interval(rest, rare_percent)}% of people hold none of the {tried} tried.")
    lines += odd_lines(answer)
    if answer["poisoning"]["reports"]:
        few = counted(answer["poisoning"]["reports_to_appear"], "forged report")
        lines.append(f"About {few} would make up a string that nobody holds.")
    return lines
