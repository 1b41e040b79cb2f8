"""The pages: their text, that no script runs in them, and the paging of many values."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from flask import Flask
from flask.testing import FlaskClient

from dither_server.app import collector_of
from server.collecting import THEME, TODAY, VERSION, collect, collector, problem, upload
from server.dashboard.shown import SHOWN, Page


def test_first_page_shows_every_metric(reader: FlaskClient) -> None:
    page = reader.get("/").text
    read = Page(page)
    assert read.count("h2") == len(SHOWN)
    assert "the last report came on 2026-11-24" in read.words
    assert "2,400 reports, the last on 2026-11-24" in read.words
    assert "1 report: too few to say anything" in read.words
    assert "none is listed to look for" in page
    assert "No reports yet. About " in page
    assert f"{THEME.description} theme" in read.words  # the question leads, the name stands beside it
    assert read.count("a", href="/m/theme") == 1
    assert "and 995 more answers" in page


def test_page_of_a_metric_draws_days_and_each_value_over_time(reader: FlaskClient) -> None:
    page = reader.get("/m/theme").text
    read = Page(page)
    assert "<title>2026-11-20: 300</title>" in page
    assert "<title>2026-11-24: 1,500</title>" in page
    bars = [found for tag, found in read.elements if tag == "rect" and found.get("height") == "80.0"]
    assert len(bars) == 1  # the highest day
    assert f"<title>{THEME.description} – What people answered</title>" in page
    assert "we see it 48 times in 100" in page
    assert "Based on the 2,400 reports from 20 to 24 November 2026, at most one per device per day." in read.words
    assert "Last report: 24 November 2026." in read.words
    lines = [found["points"] or "" for tag, found in read.elements if tag == "polyline"]
    assert len(lines) == read.count("polygon") == 1  # nobody may have given the other answers, and none drifts
    assert [float(point.split(",")[0]) for point in lines[0].split()] == [0.0, 150.0, 600.0]  # as far apart as the days
    assert "light over days" in page
    assert "drawn only if they drift" in page
    assert read.count("a", href="/v1/metrics/theme/trend") == 1
    assert read.count("a", href="/v1/metrics/theme/estimate?format=csv") == 1
    assert "none is listed to look for" in reader.get("/m/open").text
    assert "<polyline" not in reader.get("/m/mobile").text  # a single day is not drawn as a curve
    assert "No reports yet" in reader.get("/m/version").text


def test_days_and_confidence_can_be_chosen(reader: FlaskClient) -> None:
    page = reader.get("/m/theme?since=2026-11-21&until=2026-11-24&confidence=0.5&find=").text
    assert "Based on the 2,100 reports from 21 to 24 November 2026" in page
    assert "50% interval" in page
    chosen = "format=ndjson&amp;since=2026-11-21&amp;until=2026-11-24&amp;confidence=0.5"
    assert f'href="/v1/metrics/theme/estimate?{chosen}"' in page
    assert Page(page).count("polyline") == 1
    assert "No reports on these days" in reader.get("/m/theme?since=2026-12-01").text
    assert f"Version <code>{THEME.version}</code>" in reader.get(f"/m/theme?version={THEME.version}").text


def test_many_values_are_paged_and_found(reader: FlaskClient) -> None:
    first = reader.get("/m/wide").text
    assert first.count('<th scope="row"><bdi>') == 50
    assert first.index("plugin 7<") == first.index("<bdi>plugin") + 5  # the most frequent comes first
    assert "Page 1 of 20" in first
    assert "All intervals hold together" in first
    assert 'href="/m/wide?page=2&amp;simultaneous=true"' in first
    last = reader.get("/m/wide?page=20").text
    assert reader.get("/m/wide?page=99").text == last
    assert 'rel="next"' not in last
    found = reader.get("/m/wide?find=PLUGIN 99").text
    assert found.count('<th scope="row"><bdi>plugin 99') == 10
    assert "No answer contains “nothing”" in reader.get("/m/wide?find=nothing").text


def test_many_metrics_are_paged_and_found(reader: FlaskClient) -> None:
    first, second = (Page(reader.get(f"/?limit=4&page={number}").text) for number in (1, 2))
    assert (first.count("h2"), second.count("h2")) == (4, 2)
    assert Page(reader.get("/?find=themes").text).count("h2") == 0
    found = Page(reader.get("/?find=THEME").text)
    assert found.count("h2") == found.count("a", href="/m/theme") == 1


def test_pages_lead_to_each_other_and_to_ranges_of_days(reader: FlaskClient) -> None:
    page = Page(reader.get("/m/theme?confidence=0.9").text)
    links = page.attributes("a", "href")
    assert [f"/m/{name}" for name in SHOWN] == [link for link in links if link.startswith("/m/") and "?" not in link][
        : len(SHOWN)
    ]
    assert page.count("a", **{"aria-current": "page"}) == 1
    assert page.count("a", rel="next") == 1
    week = f"/m/theme?confidence=0.9&since={TODAY - timedelta(days=6)}"
    assert week in links
    assert Page(reader.get(week).text).count("a", **{"aria-current": "true"}) == 1
    assert f"/?since={TODAY - timedelta(days=27)}" in Page(reader.get("/").text).attributes("a", "href")


def test_a_collector_without_answers_says_what_to_do_next(tmp_path: Path) -> None:
    with collector(tmp_path, title="Notes") as app:
        page = app.test_client().get("/").text
    assert "<title>Notes</title>" in page
    assert "No answers yet" in page
    assert "dither-server doctor" in page


def test_pages_refuse_wrong_arguments(reader: FlaskClient) -> None:
    for query in ("page=0", "page=-1", "page=x", "page=1e3", "page=٣", "since=soon", "other=1", "page=1&page=2"):
        assert problem(reader.get(f"/m/theme?{query}")) == (400, "parameter"), query


def test_no_script_runs_in_a_page(reader: FlaskClient) -> None:
    for path in ("/", "/m/hostile", "/m/hostile?find=<script>alert(3)</script>", "/?find='\"><script>"):
        response = reader.get(path)
        elements = Page(response.text).elements
        assert not [tag for tag, _ in elements if tag == "script"]
        names = {name for _, found in elements for name in found}
        assert not [name for name in names if name.startswith("on") or name == "style"]
        assert {found["src"] for tag, found in elements if tag == "img"} == {"/static/icon.svg"}
        policy = response.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; style-src 'self';")
        assert "unsafe" not in policy
        assert "http" not in policy


def test_page_says_whether_it_is_public(reader: FlaskClient, tmp_path: Path) -> None:
    assert "pages are public" in reader.get("/", environ_overrides={"REMOTE_ADDR": "192.0.2.7"}).text
    with collector(tmp_path, open=frozenset()) as app:
        token = collector_of(app).gatekeeper.draw_local_token(80).token
        page = app.test_client().get("/", headers={"Authorization": f"Bearer {token}"})
    assert (page.status_code, "pages are public" in page.text) == (200, False)


def test_page_says_that_reports_are_odd_and_that_a_metric_is_disabled(app: Flask, client: FlaskClient) -> None:
    page = client.get("/m/theme").text
    assert "If 1% of these reports\n(24) were forged" in page
    assert "Integrity check passed (1 test; false alarms: 1 in 1,000)." in page
    store = collector_of(app).store
    store.commit([upload(THEME, b"\x01" * 3000)], TODAY, b"t" * 16)  # all reports agree, which noise cannot do
    store.definitions.disable("theme", None, TODAY)
    for path in ("/", "/m/theme"):
        page = client.get(path).text
        assert "These reports look odd." in page
        assert page.count("Disabled on 2026-11-20") == 1


def test_page_says_how_many_strings_are_unlisted_and_which_were_found(app: Flask, client: FlaskClient) -> None:
    store = collector_of(app).store
    collect(store, VERSION, 2000, "9.9")
    assert client.get("/v1/metrics/version/estimate").json["unlisted"] is None  # type: ignore[index]
    assert "have a string that is" not in client.get("/m/version").text  # two candidates cannot tell
    collect(store, VERSION, 4000, "1.0")
    rows = client.get("/v1/metrics/version/estimate").json["values"]  # type: ignore[index]
    assert {row["found"] for row in rows} == {True, False}
    page = client.get("/m/version").text
    assert page.count('<span class="figure">under') == sum(not row["found"] for row in rows)
    assert "5% of those that stand out are false" in page
    for path in ("/m/theme", "/m/wide"):
        assert "stand out are false" not in client.get(path).text


def test_pages_say_when_the_last_fold_began(tmp_path: Path, reader: FlaskClient) -> None:
    with collector(tmp_path, spool=f"{tmp_path}/spool") as app:
        for path in ("/", "/m/theme"):
            assert "which has not run yet" in app.test_client().get(path).text
        folds = collector_of(app).store.folds
        folds.begin(b"r" * 16, datetime(2026, 11, 20, 14, 5, 59, tzinfo=UTC))
        folds.finish(b"r" * 16)
        for path in ("/", "/m/theme"):
            assert (
                "The last fold began at 2026-11-20 14:05 UTC; reports received less than 300 seconds before it are not"
                in app.test_client().get(path).text
            )
            assert "olded up to" not in reader.get(path).text  # this collector counts without a spool
