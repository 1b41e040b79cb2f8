"""Publish a site: read a database, write pages, tables, the definition and a feed.

Pages use the dashboard's templates, and the site's own where links lead elsewhere. Tables hold every value, as
``export`` writes them, and the weeks as the API's JSON.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from dither_shared import Metric, ParameterError
from dither_shared.counted import counted

from ...analysis.columns import Table
from ...analysis.estimate_table import shortened
from ...reading.estimates import EstimateReader
from ...reading.exports import FORMATS, Answered, attributes_of, json_object
from ...reading.query import TrendQuery
from ...reading.sources import AnswerCache
from ...reading.summaries import summary_of
from ...store import Store
from ..card import IndexCard, span_in_words
from ..view import MANY, NO_TIER, TIERS, tier_of
from .editions import Asked, Edition, Topic, replace_control_chars, topics
from .feed import atom, changes_of
from .folder import Fresh, replacing
from .shown import Gatherer, Shown

FORMATS_OF_SITE = ("csv", "ndjson", "json")
"""The formats of every table: those that need no package to be read."""

_WEEKLY = 12
"""Maximum values whose weeks are written: for thousands, they would be larger than everything else."""

_BLANK = re.compile(r"\n\s*\n")
_PACKAGE = "dither_server.dashboard"

Links = Sequence[tuple[str, str]]
"""The path of each question's page, and the question."""


class _Frame(NamedTuple):
    """What all pages of a site share: title, days of reports in words, confidence, and whether there is a feed.

    ``days`` is empty if there are no reports; ``whole`` says that all days are over.
    """

    title: str
    days: str
    confidence: float
    feed: bool
    whole: bool


class _Pages:
    """Renders pages. Everything that comes from a definition or from people is escaped."""

    def __init__(self, frame: _Frame) -> None:
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


class _Tables:
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


_SPELT = re.compile(r"""[^\s\x00-\x20\x7f-\x9f"<>\\^`{|}]+""")
"""The characters of an address (RFC 3987). urlsplit silently drops some of the others."""

_CACHE = 1 << 27
"""Bytes of estimates kept in memory, because pages, tables and time series read each of them."""


class _Published:
    """What was published: the numbers of metrics and files, whether any day has reports, and unreadable definitions."""

    def __init__(self) -> None:
        self.metrics = 0
        self.files = 0
        self.days = False
        self.left_out: list[ParameterError] = []


@dataclass(frozen=True)
class Site:
    """What is published: the metrics of a definition and former ones, or only those in ``names``.

    ``definition`` holds the bytes of the file that defines the metrics. ``base`` is the site's address, empty or ending
    with a slash. The feed's ids derive from ``identity``, by default that of the database. ``whole`` says that all days
    are over.
    """

    metrics: Mapping[str, Metric]
    definition: bytes
    asked: Asked
    title: str
    base: str = ""
    names: Sequence[str] = ()
    identity: str = ""
    whole: bool = True

    def publish(self, store: Store, out: Path) -> _Published:
        """Write the site in place of the folder ``out``.

        Raises ParameterError for an unknown metric and for a folder with other files, DitherError if writing fails, and
        StoreError.
        """
        done = _Published()
        found = self._chosen(list(topics(store, self.metrics, self.asked, done.left_out)))
        with replacing(out) as fresh:
            for name, content in assets().items():
                fresh.write(name, [content])
            fresh.write("metrics.toml", [self.definition])
            self._write(store, found, fresh)
            done.metrics, done.files = len(found), fresh.files
        done.days = any(edition.days for topic in found for edition in topic.editions)
        return done

    def _write(self, store: Store, found: Sequence[Topic], fresh: Fresh) -> None:
        reader = EstimateReader(store, AnswerCache(_CACHE))
        gatherer, tables = Gatherer(store, reader, self.asked), _Tables(reader, self.asked)
        editions = [edition for topic in found for edition in topic.editions]
        changes = changes_of(found, gatherer)
        pages = _Pages(_Frame(self.title, _days(editions), self.asked.confidence, bool(changes), self.whole))
        links = [(topic.current.page, topic.question) for topic in found]
        cards = []
        for topic in found:
            for edition in topic.editions:
                card = self._edition(topic, edition, gatherer, tables, pages, fresh, links)
                cards += [card] if edition is topic.current else []
        together = [name for name, pieces in tables.together(editions) if fresh.write(name, pieces)]
        fresh.write("index.html", [pages.front(cards, together)])
        if changes:
            fresh.write("feed.xml", atom(changes, self.title, self.identity or store.identity(), self.base))

    def _edition(
        self,
        topic: Topic,
        edition: Edition,
        gatherer: Gatherer,
        tables: _Tables,
        pages: _Pages,
        fresh: Fresh,
        links: Links,
    ) -> IndexCard:
        """Write the page and the tables of one version."""
        names = [name.rpartition("/")[2] for name, pieces in tables.of(edition) if fresh.write(name, pieces)]
        shown = gatherer.shown(edition)
        fresh.write(edition.page, [pages.metric(shown, topic, names, links)])
        return gatherer.index_card(topic, shown)

    def _chosen(self, found: Sequence[Topic]) -> list[Topic]:
        there = [topic.name for topic in found]
        for name in self.names:
            if name not in there:
                raise ParameterError("--metric", f"no metric is named {name}; known: {', '.join(there) or 'none'}")
        return [topic for topic in found if not self.names or topic.name in self.names]


def base_of(text: str) -> str:
    """Return the address of a site. Raises ParameterError if it is not an address, or has a password."""
    try:
        parts = urlsplit(text)
        whole = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:  # half of an IPv6 address, or a port that is not a number
        whole = False
    if not whole or parts.username is not None or parts.query or parts.fragment or not _SPELT.fullmatch(text):
        raise ParameterError(
            "--base-url", f"{text!r} is not the address of a site, such as https://example.org/answers/"
        )
    return text.rstrip("/") + "/"


def title_of(text: str) -> str:
    """Return a title. Raises ParameterError if a page or a feed cannot show it."""
    if not text.strip():
        raise ParameterError("--title", "is empty; pages and feed need one")
    if replace_control_chars(text) != text:
        raise ParameterError(
            "--title",
            f"{text!r:.80} holds characters that no page can contain; in a locale without UTF-8, set LC_ALL=C.UTF-8",
        )
    return text


def _days(editions: Sequence[Edition]) -> str:
    days = [day for edition in editions for day in (edition.days[:1] + edition.days[-1:])]
    return span_in_words(min(days), max(days)) if days else ""
