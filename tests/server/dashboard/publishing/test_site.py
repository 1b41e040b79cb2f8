"""Published sites: whole pages of every kind, the same bytes for the same data, nothing from elsewhere."""

import csv
import json
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from dither_server.dashboard.publishing.contents import SiteScope, last_whole_day
from dither_server.dashboard.publishing.site import Site, base_of, title_of
from dither_server.reading.exports import unescape_formula
from dither_server.store import Store
from dither_shared import ParameterError, parse_metrics
from server.collecting import KEPT, collect
from server.dashboard.publishing.sites import (
    ANSWERS,
    FORMER,
    GONE,
    KINDS,
    KINDS_TOML,
    LAST,
    MONDAY,
    copied,
    files_of,
    published,
)
from server.dashboard.shown import MANY_METRICS, WIDE, Page
from server.database import execute

THEME = KINDS["theme"]


def page(site: Path, name: str) -> Page:
    return Page((site / name).read_text(encoding="utf-8"))


def pages(site: Path) -> dict[str, Page]:
    return {path.relative_to(site).as_posix(): page(site, str(path)) for path in site.rglob("*.html")}


def test_every_kind_of_metric_has_a_complete_accessible_page_without_external_links(site: Path) -> None:
    found = pages(site)
    assert set(found) >= {f"metrics/{name}/index.html" for name in (*KINDS, "gone")} | {"index.html"}
    assert len(found) == len(KINDS) + 1 + 2
    for name, shown in found.items():
        tags = {tag for tag, _ in shown.elements}
        assert not tags & {"script", "form", "input", "iframe", "style"}, name
        assert not [attribute for _, given in shown.elements for attribute in given if attribute.startswith("on")]
        assert shown.attributes("html", "lang") == ["en"]
        assert shown.count("h1") == 1
        assert all("scope" in given for tag, given in shown.elements if tag == "th")
        assert all(given.get("aria-hidden") == "true" for tag, given in shown.elements if tag == "svg")
        assert all("aria-label" in given for tag, given in shown.elements if tag == "figure")
        for tag, attribute in (("a", "href"), ("link", "href"), ("img", "src")):
            for link in shown.attributes(tag, attribute):
                parts = urlsplit(link)
                assert not parts.scheme
                assert not parts.netloc
                assert not link.startswith("/")
                target = (site / name).parent / parts.path if parts.path else site / name
                assert target.is_file(), (name, link)
                assert target.resolve().is_relative_to(site.resolve())
                assert not parts.fragment or parts.fragment in page(site, str(target)).ids
    style = (site / "style.css").read_text(encoding="utf-8")
    assert "prefers-color-scheme: dark" in style
    assert "@import" not in style
    assert "url(" not in style


def test_hostile_strings_are_published_as_text(site: Path) -> None:
    hostile = page(site, "metrics/hostile/index.html")
    assert "<script>alert(1)</script>" in hostile.words
    assert "<img src=x onerror=" in hostile.words
    assert "</td><script>alert(3)</script>" in page(site, "metrics/version/index.html").words
    assert page(site, "index.html").words.startswith("What <people> said")
    with (site / "metrics/hostile/hostile.csv").open(encoding="utf-8", newline="") as file:
        written = [row["value"] for row in csv.DictReader(file)]
    assert "=cmd()" not in written
    assert "=cmd()" in map(unescape_formula, written)


def test_every_number_has_its_denominator_and_verdict(site: Path) -> None:
    theme, front = page(site, "metrics/theme/index.html").words, page(site, "index.html").words
    assert "Based on the 300 reports from 21 to 30 September 2026, at most one per device per day." in theme
    assert "300 reports, the last on 2026-09-30" in front
    assert "if your answer is light, we see it" in theme
    assert "To drop <themes> that nobody uses." in theme
    assert "Refused, and not counted: 3 batches (" in theme
    assert "hold even if the same devices reported in each of the 10 days" in theme
    assert "under " in theme
    assert "under " in front
    assert "Yes" in front
    assert any("△ too few" in shown.words for name, shown in pages(site).items() if name != "index.html")


def test_questions_with_only_two_reports_are_published(tmp_path: Path) -> None:
    with closing(Store(f"sqlite:///{tmp_path}/dither.db")) as store:
        store.register(KINDS.values())
        for name in KINDS.keys() & ANSWERS.keys():
            collect(store, KINDS[name], 2, ANSWERS[name], day=LAST)
    for name, shown in pages(published(f"sqlite:///{tmp_path}/dither.db", tmp_path / "site")).items():
        assert name == "index.html" or "Method" in shown.words, name


def test_versions_have_pages_and_counts_of_their_own(site: Path) -> None:
    new, old = page(site, "metrics/theme/index.html"), page(site, f"metrics/theme/{FORMER.version}.html")
    assert "Based on the 420 reports from 7 to 20 September 2026" in old.words
    assert "the 720 reports" not in new.words + old.words
    assert f"{FORMER.version}.html" in new.attributes("a", "href")
    assert "index.html" in old.attributes("a", "href")
    rows = list(csv.DictReader((site / "all.csv").read_text(encoding="utf-8").splitlines()))
    counted = {(row["version"], row["reports"]) for row in rows if row["metric"] == "theme"}
    assert counted == {(THEME.version, "300"), (FORMER.version, "420")}


def test_discovered_strings_are_published_only_if_asked(url: str, site: Path, tmp_path: Path) -> None:
    assert "are not published here" in page(site, "metrics/crash/index.html").words
    assert not (site / "metrics/crash/crash.csv").exists()
    asked = published(url, tmp_path / "site", discovered=True, names=["crash"])
    assert "Only strings that stand out are shown" in page(asked, "metrics/crash/index.html").words
    assert "reach" in json.loads((asked / "metrics/crash/crash.json").read_text(encoding="utf-8"))[0]
    assert not (asked / "metrics/theme").exists()


def test_site_mentions_shuffled_reports_strata_and_ended_questions(site: Path) -> None:
    mobile = page(site, "metrics/mobile/index.html").words
    assert "came sealed, through a relay" in mobile
    assert "8 of one device" in mobile, "one for each day with reports of this version"
    start = page(site, "metrics/start/index.html")
    assert "Sent in the clear with each answer: platform" in start.words
    assert "start.strata.csv" in start.attributes("a", "href")
    assert "No longer asked; the last report came on 2026-09-11." in page(site, "metrics/gone/index.html").words
    assert page(site, "index.html").count("div", **{"class": "answers"}) == 2  # those asked, and those no longer asked
    front = page(site, "index.html").words
    assert front.index("unasked") < front.index("No longer asked")
    assert "No completed day has reports yet. About" in page(site, "metrics/unasked/index.html").words


def test_published_page_shows_its_weeks_and_its_definition(site: Path) -> None:
    steps = json.loads((site / "metrics/theme/theme.weeks.json").read_text(encoding="utf-8"))["steps"]
    assert [(step["since"], step["reports"]) for step in steps] == [("2026-09-21", 210), ("2026-09-28", 90)]
    assert (site / "metrics.toml").read_bytes() == KINDS_TOML.encode()


def test_the_same_data_make_the_same_bytes(url: str, site: Path, tmp_path: Path) -> None:
    again = published(url, tmp_path / "site", until=LAST + timedelta(days=40), base="https://example.org/answers/")
    assert files_of(again) == files_of(site)


def test_retention_is_on_the_page_of_its_metric_in_weeks_that_are_over(tmp_path: Path) -> None:
    with closing(Store(f"sqlite:///{tmp_path}/dither.db")) as store:
        store.register([KEPT])
        for days, reports, week in ((0, 900, "0"), (9, 450, "1"), (13, 9, "1"), (14, 900, "0")):
            collect(store, KEPT, reports, week, day=MONDAY + timedelta(days=days))
    site = published(f"sqlite:///{tmp_path}/dither.db", tmp_path / "site", metrics={"kept": KEPT})
    shown = page(site, "metrics/kept/index.html")
    assert shown.count("polyline") >= 1
    assert "1,359 reports of whole weeks, 2026-09-07 to 2026-09-20" in shown.words
    assert "Of devices of week 0" in shown.words


def test_site_shows_days_only_if_asked(url: str, tmp_path: Path) -> None:
    since, until = MONDAY + timedelta(days=15), MONDAY + timedelta(days=16)
    site = published(url, tmp_path / "site", since=since, until=until, names=["theme"])
    assert "Based on the 60 reports from 22 to 23 September 2026" in page(site, "metrics/theme/index.html").words
    assert not (site / f"metrics/theme/{FORMER.version}.html").exists()
    assert "Over time" not in page(site, "metrics/theme/index.html").words


def test_empty_database_is_published_as_a_site(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/empty.db"
    with closing(Store(url)):
        pass
    site = published(url, tmp_path / "site")
    assert "no completed day with reports yet" in page(site, "index.html").words
    assert not (site / "feed.xml").exists()
    assert not list(site.rglob("*.csv"))
    empty = published(url, tmp_path / "none", metrics={}, definition=b"")
    assert "No question is asked yet." in page(empty, "index.html").words


def test_many_values_and_many_metrics_make_usable_pages(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/many.db"
    metrics = {"wide": WIDE, **MANY_METRICS, **{name: KINDS[name] for name in ("theme", "mobile", "start")}}
    with closing(Store(url)) as store:
        store.register(metrics.values())
        collect(store, WIDE, 50, "plugin 7", day=LAST)
    site = published(url, tmp_path / "site", metrics=metrics)
    wide = (site / "metrics/wide/index.html").read_text(encoding="utf-8")
    assert "The 50 most frequent of 1,000 answers" in " ".join(Page(wide).words.split())
    assert len(wide) < 100_000
    assert len((site / "metrics/wide/wide.csv").read_text(encoding="utf-8").splitlines()) == 1001
    assert "All intervals hold together" in Page(wide).words
    front = page(site, "index.html")
    assert [tier for tier in ("Technical", "Sensitive", "No tier") if tier in front.words]
    assert front.words.count("plugin") == 5  # the most frequent


def test_definition_that_cannot_be_read_is_left_out_and_named(url: str, tmp_path: Path) -> None:
    url = copied(url, tmp_path)
    execute(url, "UPDATE metrics SET definition = '{}' WHERE name = 'gone'")
    with closing(Store(url, create=False)) as store:
        done = Site(KINDS, b"", SiteScope(None, LAST), "t", names=["mobile"]).publish(store, tmp_path / "site")
    assert [error.place for error in done.left_out] == [f"gone {GONE.version}"]


def test_base_is_an_address_that_ends_with_a_slash() -> None:
    for wrong in (
        "example.org", "ftp://example.org/", "https://", "https://a/?b", "javascript:x", "https://[::1", "https://[x]/",
        "https://a:b/", "https://a:99999/", "https://exa\nmple.org/", "https://a\t/", "https://a/\0", 'https://a/"><b>',
        "https://a\u2100b/", "https://user:secret@a/", "https://a/ b",
    ):  # fmt: skip
        with pytest.raises(ParameterError, match="--base-url"):
            base_of(wrong)
    for right in ("https://example.org/answers", "http://[::1]:8000", "https://müller.example/ä"):
        assert base_of(right) == base_of(right + "/") == right + "/"


def test_title_with_unprintable_characters_is_refused() -> None:
    for wrong in ("", " \n", "a\0", "a\x1b[31m", "a\u202eb", "T\udcc3\udcaftle"):
        with pytest.raises(ParameterError, match="--title"):
            title_of(wrong)
    assert title_of("</title>👩\u200d👧 =1") == "</title>👩\u200d👧 =1"


CONTROLS = "a\0b\x07c\x1b[31md\x7fe\x85f\ufdd0g\ufffeh\U0001fffei\u202ej"
CONTROLS_TOML = """
[metrics.steer]
description = "{0}"
why = "{0}"
type = "choice"
values = ["{0}", "dark"]
epsilon = 2.0
""".format(CONTROLS.translate({code: f"\\u{code:04x}" for code in (*range(32), 127)}))


def test_no_character_steers_a_page_or_a_feed(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/steer.db"
    metrics = parse_metrics(CONTROLS_TOML)
    with closing(Store(url)) as store:
        store.register(metrics.values())
        for day in (MONDAY, LAST):
            collect(store, metrics["steer"], 30, "dark", day=day)
    site = published(url, tmp_path / "site", metrics=metrics, definition=b"")
    for name in ("index.html", "metrics/steer/index.html", "feed.xml"):
        text = (site / name).read_text(encoding="utf-8")
        assert "a�b�c�[31md�e�f�g�h�i�j" in text
        assert not set(CONTROLS) & set(text) - set("abcdefghij[31m")
    lines = (site / "metrics/steer/steer.ndjson").read_bytes().splitlines()
    assert [json.loads(line)["value"] for line in lines] == [CONTROLS, "dark", "other"]


def test_day_is_published_when_it_is_over_and_wholly_folded() -> None:
    for folded, last in (
        (None, 19),
        (datetime(2026, 11, 20, 6, tzinfo=UTC), 19),
        (datetime(2026, 11, 20, 0, 5, tzinfo=UTC), 19),
        (datetime(2026, 11, 20, 0, 4, 59, tzinfo=UTC), 18),
        (datetime(2026, 11, 10, 12, tzinfo=UTC), 9),
    ):
        assert last_whole_day(date(2026, 11, 20), folded, 300.0) == date(2026, 11, last), folded
