"""Publish a site: read a database, write pages, tables, the definition and a feed."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from dither_shared import Metric, ParameterError

from ...reading.answer_cache import AnswerCache
from ...reading.estimates import EstimateReader
from ...store import Store
from ..card import IndexCard, span_in_words
from .editions import Asked, Edition, Topic, replace_control_chars, topics
from .feed import atom, changes_of
from .folder import Fresh, replacing
from .pages import Frame, Links, Pages, Tables, assets
from .shown import Gatherer

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

        Raises ParameterError for an unknown metric and for a folder with other files, SiteError if writing fails, and
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
        gatherer, tables = Gatherer(store, reader, self.asked), Tables(reader, self.asked)
        editions = [edition for topic in found for edition in topic.editions]
        changes = changes_of(found, gatherer)
        pages = Pages(Frame(self.title, _days(editions), self.asked.confidence, bool(changes), self.whole))
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
        tables: Tables,
        pages: Pages,
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
