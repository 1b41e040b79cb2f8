"""The feed: valid by the rules of RFC 4287, dated by the data, with ids that stay."""

import re
import xml.etree.ElementTree as ET
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path

from dither_server.dashboard.publishing.feed import MOST, Change, atom
from dither_server.store import Store
from server.collecting import upload
from server.dashboard.publishing.sites import KINDS, LAST, MONDAY, answers_of, copied, published

ATOM = "{http://www.w3.org/2005/Atom}"
TITLED = ("id", "title", "updated")


def feed_of(site: Path) -> ET.Element:
    return ET.parse(site / "feed.xml").getroot()  # noqa: S314 - our own file


def text(element: ET.Element, name: str) -> str:
    (found,) = element.findall(ATOM + name)  # exactly one, as the RFC has it
    return found.text or ""


def entries(feed: ET.Element) -> dict[str, ET.Element]:
    return {text(entry, "title"): entry for entry in feed.findall(f"{ATOM}entry")}


def require_valid(feed: ET.Element, base: str) -> None:
    """Hold a feed to what RFC 4287 asks of one, in sections 4.1 and 4.2."""
    assert feed.tag == f"{ATOM}feed"
    (author,) = feed.findall(f"{ATOM}author")
    assert text(author, "name")
    ids = [text(element, "id") for element in (feed, *feed.findall(f"{ATOM}entry"))]
    assert len(set(ids)) == len(ids)
    for element in (feed, *feed.findall(f"{ATOM}entry")):
        assert all(text(element, name) for name in TITLED)
        assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", text(element, "id"))
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT00:00:00Z", text(element, "updated"))
        links = [link.attrib for link in element.findall(f"{ATOM}link") if link.attrib["rel"] == "alternate"]
        assert len(links) == 1
        assert links[0]["href"].startswith(base)
    dates = [text(element, "updated") for element in feed.findall(f"{ATOM}entry")]
    assert dates == sorted(dates, reverse=True)
    assert text(feed, "updated") == dates[0]


def test_a_feed_is_valid_with_a_base_and_without(url: str, site: Path, tmp_path: Path) -> None:
    require_valid(feed_of(site), "https://example.org/answers/")
    bare = feed_of(published(url, tmp_path / "site", names=["theme", "mobile"]))
    require_valid(bare, "")
    assert not [link for link in bare.iter(f"{ATOM}link") if ":" in link.attrib["href"]]
    mine, theirs = entries(bare), entries(feed_of(site))
    both = mine.keys() & theirs.keys()
    assert len(both) > 3
    assert all(text(mine[title], "id") == text(theirs[title], "id") for title in both)
    for link in bare.iter(f"{ATOM}link"):
        assert (tmp_path / "site" / link.attrib["href"]).is_file()


def test_feed_announces_weeks_versions_and_ends(site: Path) -> None:
    found = entries(feed_of(site))
    week = found["Which theme do people use? – week from 2026-09-21"]
    assert text(week, "updated") == "2026-09-28T00:00:00Z"
    assert re.match(
        r"Of 210 reports from 21 to 27 September 2026: [a-z]+: [^;]+%.*; [a-z]+: [^;]+%", text(week, "content")
    )
    assert "under " in text(week, "content")
    assert text(found["Which theme do people use? – new version"], "updated") == "2026-09-22T00:00:00Z"
    assert "2026-09-11" in text(found["gone – no longer asked"], "content")
    assert not [title for title in found if "2026-09-28" in title]  # a week that is not over


def test_an_entry_of_a_week_never_changes(url: str, tmp_path: Path) -> None:
    url = copied(url, tmp_path)
    before = entries(feed_of(published(url, tmp_path / "site", names=["theme"])))
    with closing(Store(url, create=False)) as store:
        sunday = MONDAY + timedelta(days=27)
        store.commit([upload(KINDS["theme"], answers_of(KINDS["theme"], 9, "sunday"))], sunday, b"s" * 16)
    unchanged = published(url, tmp_path / "site", names=["theme"], until=LAST)
    assert {title: ET.tostring(element) for title, element in entries(feed_of(unchanged)).items()} == {
        title: ET.tostring(element) for title, element in before.items()
    }
    after = entries(feed_of(published(url, tmp_path / "site", names=["theme"], until=sunday)))
    assert after.keys() - before.keys() == {"Which theme do people use? – week from 2026-09-28"}
    assert all(ET.tostring(after[title]) == ET.tostring(element) for title, element in before.items())


def test_characters_that_xml_forbids_are_replaced() -> None:
    changes = [Change("a", date(2026, 9, 1), "<b>\x00", lambda: "& \x1b ]]>", 'a"b.html')]
    feed = ET.fromstring(b"".join(atom(changes, "t", "one", "https://example.org/")))  # noqa: S314 - our own
    (entry,) = feed.findall(f"{ATOM}entry")
    assert text(entry, "title") == "<b>�"
    assert text(entry, "content") == "& � ]]>"
    assert [element.attrib["href"] for element in entry.findall(f"{ATOM}link")] == ['https://example.org/a"b.html']


def test_databases_have_ids_of_their_own_and_a_feed_is_bounded() -> None:
    changes = [Change(f"{n}", date(2026, 1, 1) + timedelta(days=n), "t", lambda: "", "p") for n in range(2 * MOST)]
    element, other = (ET.fromstring(b"".join(atom(changes, "t", name, ""))) for name in ("one", "other"))  # noqa: S314
    assert {text(entry, "id") for entry in element.iter(f"{ATOM}entry")}.isdisjoint(
        {text(entry, "id") for entry in other.iter(f"{ATOM}entry")}
    )
    assert len(element.findall(f"{ATOM}entry")) == MOST
    assert b"".join(atom([], "t", "one", "")) == b""
