"""The feed of a published site: what changed, as Atom (RFC 4287), dated by the reports and never by the clock."""

import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, timedelta
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

from .characters import legible

__all__ = ["MOST", "Change", "atom"]

MOST = 200
"""Entries of a feed, the newest: a reader that looks once a year misses some."""


class Change(NamedTuple):
    """Something that changed, on account of the reports of a day.

    ``key`` tells it from all others, for ever; ``text`` is made when it is asked for, which may take estimates;
    ``page`` is the path of the page that shows it.
    """

    key: str
    day: date
    title: str
    text: Callable[[], str]
    page: str


def atom(changes: Iterable[Change], title: str, identity: str, base: str) -> Iterator[bytes]:
    """Yield the feed; nothing where nothing changed yet, for a feed wants a date.

    ``identity`` names the database and, hashed with each ``key``, the entries: they keep their ids wherever the site
    moves. Without ``base``, the site's address, links are relative.
    """
    newest = sorted(changes, key=lambda one: one.day, reverse=True)[:MOST]
    if not newest:
        return
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="en">',
        f"<id>{_id(identity, 'feed')}</id>",
        f"<title>{_text(title)}</title>",
        f"<updated>{_moment(newest[0].day)}</updated>",
        f"<author><name>{_text(title)}</name></author>",
        f'<link rel="alternate" type="text/html" href={_address(base, "index.html")}/>',
    ]
    if base:
        lines.append(f'<link rel="self" type="application/atom+xml" href={_address(base, "feed.xml")}/>')
    yield "\n".join([*lines, ""]).encode()
    for one in newest:
        yield "\n".join(_entry(one, identity, base)).encode()
    yield b"</feed>\n"


def _entry(one: Change, identity: str, base: str) -> Sequence[str]:
    return (
        "<entry>",
        f"<id>{_id(identity, one.key)}</id>",
        f"<title>{_text(one.title)}</title>",
        f"<updated>{_moment(one.day)}</updated>",
        f'<link rel="alternate" type="text/html" href={_address(base, one.page)}/>',
        f'<content type="text">{_text(one.text())}</content>',
        "</entry>",
        "",
    )


def _id(identity: str, key: str) -> str:
    return f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'dither:{identity}:{key}')}"


def _moment(day: date) -> str:
    """Return when a day was over."""
    return f"{day + timedelta(days=1)}T00:00:00Z"


def _address(base: str, path: str) -> str:
    return quoteattr(legible(base + path))


def _text(text: str) -> str:
    return escape(legible(text))
