"""Sources of answers: the days and strata of a metric version on which an answer is based, and their reports."""

import hashlib
from collections.abc import Hashable, Sequence
from dataclasses import replace
from datetime import date
from typing import NamedTuple, Self

from dither_shared import Metric

from ..analysis.weighted import Weighting
from ..store import History, Slice, Snapshot
from ..tally.repeats import Repeats
from ..tally.tally import Tally
from .query import EstimateQuery, Query
from .strata import Part
from .summaries.summary import Span

Answered = tuple[tuple[date, tuple[tuple[int, int], ...]], ...]
"""The reports of each day, by place of the stratum."""


class Source(NamedTuple):
    """The source of an answer: a metric version, the selected strata, and what was collected of them.

    With ``distinct``, all reports are assumed to come from different people. ``answered``, from which weights follow,
    are the reports of each day and place, in all strata; None if no weights are asked for.
    """

    metric: Metric
    part: Part
    slice: Slice
    distinct: bool
    answered: Answered | None = None

    @classmethod
    def of(cls, metric: Metric, part: Part, history: History, span: Span, query: EstimateQuery) -> Self:
        """Return the source of the reports of these days."""
        answered = _answered(history, span) if isinstance(query, Query) and query.weighted else None
        return cls(metric, part, history.slice(*span, part.places), query.distinct, answered)

    @property
    def span(self) -> Span:
        """The days that are asked for."""
        return self.slice.since, self.slice.until

    def at(self, history: History) -> Self:
        """Return the same source at another moment."""
        answered = None if self.answered is None else _answered(history, self.span)
        return self._replace(slice=history.slice(*self.span, self.part.places), answered=answered)

    def until(self, history: History, day: date) -> Self:
        """Return the source of its days up to one."""
        return self._replace(slice=history.slice(self.slice.since, day, self.part.places))

    @property
    def repeats(self) -> Repeats:
        """How its reports may repeat."""
        found = Repeats.of(self.metric, self.slice.reports)
        return found._replace(chance=0.0) if self.distinct else found

    def tally(self, snapshot: Snapshot) -> Tally:
        """Return its tally."""
        return replace(snapshot.tally(self.metric, *self.span, self.slice.places), repeats=self.repeats)


class Collected(NamedTuple):
    """A source with its tally and, if asked for, its strata with their weights, all read in one snapshot."""

    source: Source
    tally: Tally
    weighting: Weighting | None = None


def _answered(history: History, span: Span) -> Answered:
    since, until = span
    return tuple(
        (day, tuple(sorted(places.items())))
        for day, places in history.reports.items()
        if (since is None or day >= since) and (until is None or day <= until)
    )


def key_of(sources: Sequence[Source], labels: tuple[str, ...] | None, *asked: object) -> Hashable:
    """Return the key of an answer: what it depends on, in little space however many days were collected.

    ``labels`` are candidates that replace those of the metric. Labels are not part of a version that takes any string.
    """
    whole = repr((*asked, *((source.slice, source.distinct, source.answered) for source in sources)))
    named = (labels,) if labels is not None else tuple(source.metric.labels for source in sources)
    return hashlib.blake2b(whole.encode(), digest_size=16).digest(), named
