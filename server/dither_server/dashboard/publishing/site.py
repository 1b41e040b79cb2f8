"""Publish a site: read a database, write pages, tables, the definition and a feed.

Pages use the dashboard's templates, and the site's own where links lead elsewhere. Tables hold every value, as
``export`` writes them, and the weeks as the API's JSON.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from dither_shared import Metric, ParameterError
from dither_shared.counted import counted

from ...analysis.estimate_table import shortened
from ...reading.estimates import EstimateReader
from ...reading.sources import AnswerCache
from ...store import Store
from ..card import IndexCard, span_in_words
from ..view import MANY, NO_TIER, TIERS, tier_of
from .contents import Edition, EditionPage, SiteReader, SiteScope, Topic, replace_control_chars, topics
from .feed import atom, changes_of
from .folder import NewFolder, replacing

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

    def metric(self, shown: EditionPage, topic: Topic, tables: Sequence[str], links: Links) -> bytes:
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
    scope: SiteScope
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
        published = self._chosen(list(topics(store, self.metrics, self.scope, done.left_out)))
        with replacing(out) as folder:
            for name, content in assets().items():
                folder.write(name, [content])
            folder.write("metrics.toml", [self.definition])
            self._write(store, published, folder)
            done.metrics, done.files = len(published), folder.files
        done.days = any(edition.days for topic in published for edition in topic.editions)
        return done

    def _write(self, store: Store, published: Sequence[Topic], folder: NewFolder) -> None:
        reader = SiteReader(store, EstimateReader(store, AnswerCache(_CACHE)), self.scope)
        editions = [edition for topic in published for edition in topic.editions]
        changes = changes_of(published, reader)
        pages = _Pages(_Frame(self.title, _days(editions), self.scope.confidence, bool(changes), self.whole))
        links = [(topic.current.page, topic.question) for topic in published]
        cards = []
        for topic in published:
            for edition in topic.editions:
                card = self._edition(topic, edition, reader, pages, folder, links)
                cards += [card] if edition is topic.current else []
        together = [name for name, pieces in reader.joint_tables(editions) if folder.write(name, pieces)]
        folder.write("index.html", [pages.front(cards, together)])
        if changes:
            folder.write("feed.xml", atom(changes, self.title, self.identity or store.identity(), self.base))

    def _edition(
        self,
        topic: Topic,
        edition: Edition,
        reader: SiteReader,
        pages: _Pages,
        folder: NewFolder,
        links: Links,
    ) -> IndexCard:
        """Write the page and the tables of one version."""
        names = [name.rpartition("/")[2] for name, pieces in reader.tables(edition) if folder.write(name, pieces)]
        shown = reader.content(edition)
        folder.write(edition.page, [pages.metric(shown, topic, names, links)])
        return reader.index_card(topic, shown)

    def _chosen(self, published: Sequence[Topic]) -> list[Topic]:
        there = [topic.name for topic in published]
        for name in self.names:
            if name not in there:
                raise ParameterError("--metric", f"no metric is named {name}; known: {', '.join(there) or 'none'}")
        return [topic for topic in published if not self.names or topic.name in self.names]


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
