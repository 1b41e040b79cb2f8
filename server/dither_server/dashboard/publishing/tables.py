"""The tables of a published site: what ``export`` writes, of every value, and the course by weeks as the API's JSON."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ...analysis.columns import Table
from ...analysis.trend import finished
from ...reading.estimates import EstimateReader
from ...reading.exports import FORMATS, Answered, attributes_of, json_object
from ...reading.query import TrendQuery
from ...reading.summaries import summary_of
from .editions import Asked, Edition

__all__ = ["FORMATS_OF_SITE", "Tables"]

FORMATS_OF_SITE = ("csv", "ndjson", "json")
"""In which every table is there; what wants a package to be read is left out."""

_COURSES = 12
"""Values of which the course by weeks is written: of thousands it would be larger than all else."""


class Tables:
    """Writes tables of a database. What depends on the moment of a fold is left out of them."""

    def __init__(self, reader: EstimateReader, asked: Asked) -> None:
        self._reader = reader
        self._asked = asked

    def shown(self, edition: Edition) -> bool:
        """Return whether there is anything to write: reports, and values whose shares are told."""
        hidden = summary_of(edition.metric).searched and not self._asked.discovered
        return bool(edition.days) and edition.metric.question.estimable and not hidden

    def of(self, edition: Edition) -> Iterator[tuple[str, Iterator[bytes]]]:
        """Yield the name and the pieces of each table of a version; of one without reports there are none."""
        if not self.shown(edition):
            return
        for form in FORMATS_OF_SITE:
            yield f"{edition.folder}/{edition.file(form)}", self._written(form, [edition], by=False)
        if edition.metric.strata is not None:
            for form in FORMATS_OF_SITE:
                yield f"{edition.folder}/{edition.file(f'strata.{form}')}", self._written(form, [edition], by=True)
        if not summary_of(edition.metric).searched:
            yield f"{edition.folder}/{edition.file('weeks.json')}", self._weeks(edition)

    def together(self, editions: Sequence[Edition]) -> Iterator[tuple[str, Iterator[bytes]]]:
        """Yield the tables of all versions, one below the other: each row says of which metric and version it is."""
        told = [one for one in editions if self.shown(one)]
        if told:
            yield from ((f"all.{form}", self._written(form, told, by=False)) for form in FORMATS_OF_SITE)

    def _written(self, form: str, editions: Sequence[Edition], *, by: bool) -> Iterator[bytes]:
        metrics = [one.metric for one in editions]
        kinds = list(dict.fromkeys(map(summary_of, metrics)))
        answers = (answer for one in editions for answer in self._answers(one, by=by))
        return FORMATS[form].write(answers, kinds, attributes_of(metrics))

    def _answers(self, edition: Edition, *, by: bool) -> Iterable[Answered]:
        metric, query = edition.metric, edition.query(self._asked)
        summary = summary_of(metric)
        if summary.needs_simultaneous_intervals(metric):
            query = replace(query, simultaneous=True)
        if by:
            query = replace(query, by=tuple(attributes_of([metric])))
        return ((summary, _steady(table)) for table in self._reader.tables(metric, query))

    def _weeks(self, edition: Edition) -> Iterator[bytes]:
        metric, query = edition.metric, edition.query(self._asked)
        top = _COURSES if metric.labels else None
        asked = TrendQuery(since=query.since, until=query.until, confidence=query.confidence, step="week", top=top)
        yield from json_object(finished(self._reader.trend(metric, asked)))
        yield b"\n"


def _steady(table: Table) -> Table:
    return replace(table, about={name: one for name, one in table.about.items() if name != "folded_up_to"})
