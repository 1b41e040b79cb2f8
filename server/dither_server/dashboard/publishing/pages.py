"""Write the pages and the tables of a published site.

Pages use the dashboard's templates, and the site's own where links lead elsewhere. Tables hold every value, as
``export`` writes them, and the weeks as the API's JSON.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from dither_shared.counted import counted

from ...analysis.columns import Table
from ...analysis.labels import shortened
from ...reading.estimates import EstimateReader
from ...reading.exports import FORMATS, Answered, attributes_of, json_object
from ...reading.query import TrendQuery
from ...reading.summaries import summary_of
from ..card import IndexCard
from ..view import MANY, NO_TIER, TIERS, tier_of
from .editions import Asked, Edition, Topic, replace_control_chars
from .shown import Shown

FORMATS_OF_SITE = ("csv", "ndjson", "json")
"""The formats of every table: those that need no package to be read."""

_WEEKLY = 12
"""Maximum values whose weeks are written: for thousands, they would be larger than everything else."""

_BLANK = re.compile(r"\n\s*\n")
_PACKAGE = "dither_server.dashboard"

Links = Sequence[tuple[str, str]]
"""The path of each question's page, and the question."""


class Frame(NamedTuple):
    """What all pages of a site share: title, days of reports in words, confidence, and whether there is a feed.

    ``days`` is empty if there are no reports; ``whole`` says that all days are over.
    """

    title: str
    days: str
    confidence: float
    feed: bool
    whole: bool


class Pages:
    """Renders pages. Everything that comes from a definition or from people is escaped."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def front(self, cards: Sequence[IndexCard], together: Sequence[str]) -> bytes:
        """Return the first page; ``together`` are the names of the tables of everything."""
        grouped = len(cards) > MANY
        shown = sorted(cards, key=lambda one: (bool(one.ended), grouped and TIERS.index(tier_of(one.card.metric))))
        return self._page("index.html", "", cards=shown, grouped=grouped, together=together)

    def metric(self, shown: Shown, topic: Topic, tables: Sequence[str], links: Links) -> bytes:
        """Return the page of a version; ``tables`` are the names of its tables, ``links`` lead to all questions."""
        about = {"shown": shown, "card": shown.card, "edition": shown.edition, "topic": topic, "tables": tables}
        about["links"] = links
        return self._page("metric.html", "../../", **about)

    def _page(self, template: str, root: str, **about: Any) -> bytes:
        text = _environment().get_template(template).render(root=root, frame=self._frame, **about)
        return (_BLANK.sub("\n", replace_control_chars(text)).strip() + "\n").encode()


@cache
def _environment() -> Environment:
    """Return the templates, which are compiled once."""
    own, shared = PackageLoader(_PACKAGE, "templates/published"), PackageLoader(_PACKAGE, "templates")
    environment = Environment(loader=ChoiceLoader([own, shared]), autoescape=True, undefined=StrictUndefined)
    environment.filters |= {"counted": counted, "short": shortened, "tier": tier_of}
    environment.globals |= {"no_tier": NO_TIER, "many": MANY}
    return environment


def assets() -> Mapping[str, bytes]:
    """Return the one style sheet and the icon."""
    static = resources.files(_PACKAGE) / "static"
    return {"style.css": (static / "dashboard.css").read_bytes(), "icon.svg": (static / "icon.svg").read_bytes()}


class Tables:
    """Writes tables of a database, without what depends on the moment of a fold."""

    def __init__(self, reader: EstimateReader, asked: Asked) -> None:
        self._reader = reader
        self._asked = asked

    def shown(self, edition: Edition) -> bool:
        """Return whether there is anything to write: reports, and values whose shares are published."""
        hidden = summary_of(edition.metric).searched and not self._asked.discovered
        return bool(edition.days) and edition.metric.question.estimable and not hidden

    def of(self, edition: Edition) -> Iterator[tuple[str, Iterator[bytes]]]:
        """Yield the name and the pieces of each table of a version, if it has reports."""
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
        """Yield the tables of all versions, appended: each row names its metric and version."""
        shown = [one for one in editions if self.shown(one)]
        if shown:
            yield from ((f"all.{form}", self._written(form, shown, by=False)) for form in FORMATS_OF_SITE)

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
        top = _WEEKLY if metric.labels else None
        asked = TrendQuery(since=query.since, until=query.until, confidence=query.confidence, step="week", top=top)
        yield from json_object(self._reader.trend(metric, asked))
        yield b"\n"


def _steady(table: Table) -> Table:
    return replace(table, about={name: one for name, one in table.about.items() if name != "folded_up_to"})
