"""The feed of a published site: what changed, as Atom (RFC 4287), dated by the reports and never by the clock."""

import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, timedelta
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

from .contents import Edition, SiteReader, Topic, replace_control_chars

MOST = 200
"""Maximum entries of a feed, the newest."""

_NEW = "The question or its noise has changed. Answers of this version are counted separately."


class Change(NamedTuple):
    """A change that follows from the reports of a day.

    ``key`` identifies it permanently. ``text`` is a function, because it may need estimates. ``page`` is the path of
    the page that shows it.
    """

    key: str
    day: date
    title: str
    text: Callable[[], str]
    page: str


def changes_of(published: Sequence[Topic], reader: SiteReader) -> list[Change]:
    """Return the newest changes of all that is published, newest first."""
    return sorted(_changes(published, reader), key=lambda change: change.day, reverse=True)[:MOST]


def _changes(published: Sequence[Topic], reader: SiteReader) -> Iterator[Change]:
    """Yield what changed.

    A week is over once there are reports of a later day, of any metric: the calendar alone changes nothing.
    """
    last = max((edition.days[-1] for topic in published for edition in topic.editions if edition.days), default=None)
    if last is None:
        return
    for topic in published:
        first = min((edition.days[0] for edition in topic.editions if edition.days), default=last)
        for edition in (one for one in topic.editions if one.days):
            for span in reader.weeks(edition):
                sunday = span[0] + timedelta(days=6 - span[0].weekday())
                if sunday <= last:
                    yield _week(topic, edition, span, sunday, reader)
            if edition.days[0] > first:
                title = f"{topic.question} – new version"
                yield Change(f"{edition.metric.version}/new", edition.days[0], title, lambda: _NEW, edition.page)
        if not topic.asked:
            yield _ended(topic)


def _week(topic: Topic, edition: Edition, span: tuple[date, date], sunday: date, reader: SiteReader) -> Change:
    monday = sunday - timedelta(days=6)
    version = "" if edition.current else f", version {edition.metric.version}"
    return Change(
        f"{edition.metric.version}/week/{monday}",
        sunday,
        f"{topic.question} – week from {monday}{version}",
        lambda: reader.week_in_words(edition, span),
        edition.page,
    )


def _ended(topic: Topic) -> Change:
    edition = topic.current
    text = f"The last report came on {edition.days[-1]}. Its answers remain published."
    return Change(
        f"{topic.name}/{edition.metric.version}/ended",
        edition.days[-1],
        f"{topic.question} – no longer asked",
        lambda: text,
        edition.page,
    )


def atom(changes: Iterable[Change], title: str, identity: str, base: str) -> Iterator[bytes]:
    """Yield the feed, or nothing if there is no change yet, because a feed needs a date.

    Ids of entries are hashes of ``identity``, which names the database, and of their ``key``; so they survive a move of
    the site. Links are relative unless ``base``, the site's address, is given.
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
    """Return the end of a day as a timestamp."""
    return f"{day + timedelta(days=1)}T00:00:00Z"


def _address(base: str, path: str) -> str:
    return quoteattr(replace_control_chars(base + path))


def _text(text: str) -> str:
    return escape(replace_control_chars(text))
