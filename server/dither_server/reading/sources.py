"""Sources of answers: the days and strata of a metric version on which an answer is based, and their reports."""

import hashlib
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import NamedTuple, Self

from dither_shared import Metric

from ..store import History, Slice, Snapshot
from ..tally.repeats import Repeats
from ..tally.tally import Tally
from .query import EstimateQuery
from .strata import Subgroup
from .summaries.summary import Span


class Source(NamedTuple):
    """The source of an answer: a metric version, the selected strata, and what was collected of them.

    With ``distinct``, all reports are assumed to come from different people.
    """

    metric: Metric
    part: Subgroup
    slice: Slice
    distinct: bool

    @classmethod
    def of(cls, metric: Metric, part: Subgroup, history: History, span: Span, query: EstimateQuery) -> Self:
        """Return the source of the reports of these days."""
        return cls(metric, part, history.slice(*span, part.places), query.distinct)

    @property
    def span(self) -> Span:
        """The days that are asked for."""
        return self.slice.since, self.slice.until

    def at(self, history: History) -> Self:
        """Return the same source at another moment."""
        return self._replace(slice=history.slice(*self.span, self.part.places))

    def tally(self, snapshot: Snapshot) -> Tally:
        """Return its tally."""
        repeats = Repeats.of(self.metric, self.slice.reports)
        tally = snapshot.tally(self.metric, *self.span, self.slice.places)
        return replace(tally, repeats=repeats._replace(chance=0.0) if self.distinct else repeats)


class Collected(NamedTuple):
    """A source with its tally, both read in one snapshot."""

    source: Source
    tally: Tally

    @classmethod
    def of(cls, snapshot: Snapshot, source: Source) -> Self:
        """Return a source as a snapshot has it, with its tally."""
        source = source.at(snapshot.history(source.metric, *source.span))
        return cls(source, source.tally(snapshot))


def key_of(sources: Sequence[Source], labels: tuple[str, ...] | None, *asked: object) -> Hashable:
    """Return the key of an answer: what it depends on, in little space however many days were collected.

    ``labels`` are candidates that replace those of the metric. Labels are not part of a version that takes any string.
    """
    whole = repr((*asked, *((source.slice, source.distinct) for source in sources)))
    named = (labels,) if labels is not None else tuple(source.metric.labels for source in sources)
    return hashlib.blake2b(whole.encode(), digest_size=16).digest(), named
