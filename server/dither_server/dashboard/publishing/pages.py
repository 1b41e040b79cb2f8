"""Write the pages of a published site by the dashboard's own templates; where these lead elsewhere, by the site's."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from dither_shared.counted import counted

from ...analysis.labels import shortened
from ...reading.summaries.shares.page import SHAPES
from ..metric_groups import MANY, NO_TIER
from .characters import legible
from .editions import Topic
from .shown import Digest, Shown

__all__ = ["Frame", "Pages", "assets"]

_BLANK = re.compile(r"\n\s*\n")
_PACKAGE = "dither_server.dashboard"
_VERDICTS = {"ok": "", "noise": "may be 0", "too-few": "too few reports", "edge": "may lie beyond the range"}


class Frame(NamedTuple):
    """What all pages of a site say: its title, the days of its reports in words, its confidence, whether it has a feed.

    ``days`` is empty where there are no reports; ``whole`` is whether all of them were over.
    """

    title: str
    days: str
    confidence: float
    feed: bool
    whole: bool


class Pages:
    """Renders pages; all that comes from a definition or from people is escaped."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def front(self, digests: Sequence[Digest], together: Sequence[str]) -> bytes:
        """Return the first page; ``together`` are the names of the tables of everything."""
        grouped = len(digests) > MANY
        shown = sorted(digests, key=lambda one: _order(one, grouped=grouped))
        return self._page("index.html", "", digests=shown, grouped=grouped, together=together, verdicts=_VERDICTS)

    def metric(self, shown: Shown, topic: Topic, tables: Sequence[str]) -> bytes:
        """Return the page of a version; ``tables`` are the names of its tables."""
        about = {"shown": shown, "card": shown.card, "edition": shown.edition, "topic": topic, "tables": tables}
        return self._page("metric.html", "../../", **about)

    def _page(self, template: str, root: str, **about: Any) -> bytes:
        text = _environment().get_template(template).render(root=root, frame=self._frame, **about)
        return (_BLANK.sub("\n", legible(text)).strip() + "\n").encode()


@cache
def _environment() -> Environment:
    """Return the templates, which are compiled once."""
    own, shared = PackageLoader(_PACKAGE, "templates/published"), PackageLoader(_PACKAGE, "templates")
    environment = Environment(loader=ChoiceLoader([own, shared]), autoescape=True, undefined=StrictUndefined)
    environment.filters |= {"counted": counted, "short": shortened}
    environment.globals |= {"shapes": SHAPES | {"edge": "◐"}, "no_tier": NO_TIER}
    return environment


def assets() -> Mapping[str, bytes]:
    """Return the one style sheet and the icon."""
    static = resources.files(_PACKAGE) / "static"
    sheets = [(static / name).read_bytes() for name in ("dashboard.css", "published.css")]
    return {"style.css": b"".join(sheets), "icon.svg": (static / "icon.svg").read_bytes()}


def _order(one: Digest, *, grouped: bool) -> tuple[bool, int]:
    """Return what metrics are ordered by: those still asked first, then by group; else as they are defined."""
    tiers = ("technical", "interaction", "content", "sensitive", NO_TIER)
    return (not one.topic.asked, tiers.index(one.tier) if grouped else 0)
