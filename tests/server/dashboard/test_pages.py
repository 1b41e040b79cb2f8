"""The pages: what they say, that nothing in them runs, and what is left out of many."""

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from functools import partial
from html.parser import HTMLParser
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient

from dither_server.analysis.answers import Row
from dither_server.analysis.labels import shortened
from dither_server.analysis.trend import finished
from dither_server.app import collector_of, create_app
from dither_server.dashboard import pages
from dither_server.dashboard.metric_groups import MANY
from dither_server.dashboard.period import denominator
from dither_server.reading.costs import effort
from dither_server.reading.summaries.shares_page import courses, in_words
from dither_shared import parse_metrics
from server.collecting import METRICS, MOBILE, THEME, TODAY, VERSION, config, problem, rows_of, upload

HOSTILE_TOML = """
[metrics.hostile]
description = "<script>alert(1)</script>"
type = "choice"
values = ['<img src=x onerror="alert(2)">', "<a href='https://evil.example'>a</a>", "a&amp;b", "=cmd()", "%{x}", "2024"]
epsilon = 1.0
"""
WIDE_TOML = """
[metrics.wide]
type = "choice"
values = [{}]
epsilon = 3.0
"""
HOSTILE = parse_metrics(HOSTILE_TOML)["hostile"]
WIDE = parse_metrics(WIDE_TOML.format(", ".join(f'"plugin {number}"' for number in range(999))))["wide"]
MANY_METRICS = parse_metrics(
    "".join(
        f"""
[metrics.many-{number:02}]
description = "Question {number}?"
type = "boolean"
truth = 0.75
{("", 'tier = "sensitive"', 'tier = "technical"')[number % 3]}
"""
        for number in range(27)
    )
)
"""With those of ``METRICS`` 31: nine are sensitive, nine technical, and the others have no tier."""
SHOWN = METRICS | {"hostile": HOSTILE, "wide": WIDE}


def filled(folder: Path, **changed: object) -> Flask:
    """A collector with hostile names and a thousand values, and some days of reports."""
    app = create_app(config(folder, metrics=SHOWN, **changed))
    store = collector_of(app).store
    for day in (0, 1, 4):
        sent = ((THEME, 300 * (day + 1), "light"), (HOSTILE, 300, "=cmd()"), (WIDE, 50, "plugin 7"))
        uploads = [upload(metric, rows_of(metric, count, value=value)) for metric, count, value in sent]
        store.commit(uploads, TODAY + timedelta(days=day), b"s" * 16)
    store.commit([upload(MOBILE, rows_of(MOBILE, 1))], TODAY, b"s" * 16)
    return app


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Flask]:
    with closing(collector_of(app := filled(tmp_path))):
        yield app


class Elements(HTMLParser):
    """Every element of a page, with its attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def count(self, tag: str, **attributes: str) -> int:
        return sum(name == tag and attributes.items() <= found.items() for name, found in self.found)


def test_every_metric_is_on_the_first_page(client: FlaskClient) -> None:
    page = client.get("/").text
    elements = Elements(page)
    assert elements.count("h2") == len(SHOWN)
    assert "Of the 2,400 reports from 20 to 24 November 2026, at most one a device and day." in page
    assert "too few reports" in page
    assert "lists no candidates" in page
    assert "we see it 48 times in 100" in page
    assert "Of the only report on 20 November 2026, at most one a device and day." in page
    assert "No reports yet; it takes " in page
    assert elements.count("a", href="/v1/metrics/theme/estimate?format=csv") == 1
    assert elements.count("a", href="/m/theme") == 1
    assert elements.count("svg", **{"class": "days"}) == 3
    assert "All 1,000 values" in page


def test_a_page_shows_days_and_courses(client: FlaskClient) -> None:
    page = client.get("/m/theme").text
    elements = Elements(page)
    assert "<title>2026-11-20: 300</title>" in page
    assert "<title>2026-11-24: 1,500</title>" in page
    bars = [found for tag, found in elements.found if tag == "rect" and "height" in found and found["height"] == "80.0"]
    assert len(bars) == 1  # the highest day
    lines = [found["points"] or "" for tag, found in elements.found if tag == "polyline"]
    assert len(lines) == elements.count("polygon") == len(THEME.labels)
    assert [float(point.split(",")[0]) for point in lines[0].split()] == [0.0, 150.0, 600.0]  # as far apart as the days
    assert page.index("light over days") < page.index("dark over days")  # the most frequent first
    assert page.count("no drift seen") == len(THEME.labels)
    assert elements.count("a", href="/v1/metrics/theme/trend") == 1
    assert "lists no candidates" in client.get("/m/open").text
    assert "<polyline" not in client.get("/m/mobile").text  # one day is no course
    assert "No reports yet" in client.get("/m/version").text


def test_days_and_confidence_can_be_chosen(client: FlaskClient) -> None:
    page = client.get("/m/theme?since=2026-11-21&until=2026-11-24&confidence=0.5&find=").text
    assert "Of the 2,100 reports from 21 to 24 November 2026" in page
    assert "50% interval" in page
    chosen = "format=ndjson&amp;since=2026-11-21&amp;until=2026-11-24&amp;confidence=0.5"
    assert f'href="/v1/metrics/theme/estimate?{chosen}"' in page
    assert Elements(page).count("polyline") == len(THEME.labels)
    assert "No reports on these days" in client.get("/m/theme?since=2026-12-01").text
    assert f"Version {THEME.version}" in client.get(f"/m/theme?version={THEME.version}").text


def test_many_values_are_paged_and_found(client: FlaskClient) -> None:
    first = client.get("/m/wide").text
    assert first.count('<th scope="row"><bdi>') == 50
    assert first.index("plugin 7<") == first.index("<bdi>plugin") + 5  # the most frequent comes first
    assert "Page 1 of 20" in first
    assert "All intervals hold together" in first
    assert 'href="/m/wide?page=2&amp;simultaneous=true"' in first
    last = client.get("/m/wide?page=20").text
    assert client.get("/m/wide?page=99").text == last
    assert 'rel="next"' not in last
    found = client.get("/m/wide?find=PLUGIN 99").text
    assert found.count('<th scope="row"><bdi>plugin 99') == 10
    assert "No value has “nothing”" in client.get("/m/wide?find=nothing").text


def test_many_metrics_are_paged_and_found(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "_METRICS", 4)
    first, second = (Elements(client.get(f"/?page={number}").text) for number in (1, 2))
    assert (first.count("h2"), second.count("h2")) == (4, 2)
    assert Elements(client.get("/?find=themes").text).count("h2") == 0
    found = Elements(client.get("/?find=THEME").text)
    assert found.count("h2") == found.count("a", href="/m/theme") == 1


def test_more_than_30_metrics_are_in_groups_and_filtered_by_tier(tmp_path: Path) -> None:
    metrics = METRICS | MANY_METRICS
    assert len(metrics) == MANY + 1
    with closing(collector_of(app := create_app(config(tmp_path, metrics=metrics)))):
        client = app.test_client()
        first, last, narrowed = (client.get(path).text for path in ("/", "/?page=9", "/?tier=sensitive&find=many-01"))
        assert problem(client.get("/?tier=secret")) == (400, "parameter")
        assert problem(client.get("/m/theme?tier=sensitive")) == (400, "parameter")
        assert "No metric of this tier." in client.get("/?tier=content").text
    assert [first.index(f">{tier}</h2>") for tier in ("Technical", "Sensitive")] == sorted(
        first.index(f">{tier}</h2>") for tier in ("Technical", "Sensitive")
    )
    assert Elements(first).count("h3") == 12
    assert ">No tier</h2>" in last
    assert all(f'<option value="{tier}"' in first for tier in ("technical", "sensitive", "none"))
    assert 'value="content"' not in first
    for name in metrics:  # each is named on the first page, in its group
        assert Elements(first).count("a", href=f"/m/{name}") >= 1
    assert Elements(narrowed).count("h3") == 1
    assert 'value="sensitive" selected' in narrowed
    assert "1 of 31 metrics" in narrowed


def test_up_to_30_metrics_are_one_list(tmp_path: Path) -> None:
    metrics = dict(list((METRICS | MANY_METRICS).items())[1:])
    with closing(collector_of(app := create_app(config(tmp_path, metrics=metrics)))):
        page = Elements(app.test_client().get("/").text)
    assert (page.count("h2"), page.count("h3"), page.count("select")) == (12, 0, 0)


@pytest.mark.parametrize(
    ("since", "until", "period", "said"),
    [
        ("2026-11-07", "2026-11-20", "day", "from 7 to 20 November 2026, at most one a device and day"),
        ("2026-10-28", "2026-11-03", "week", "from 28 October to 3 November 2026, at most one a device and week"),
        ("2025-12-31", "2026-01-01", "once", "from 31 December 2025 to 1 January 2026, at most one a device"),
        ("2026-11-07", "2026-11-07", "day", "on 7 November 2026, at most one a device and day"),
    ],
)
def test_a_denominator_is_named(since: str, until: str, period: str, said: str) -> None:
    days: dict[str, object] = {"since": since, "until": until}
    # It looks at no more of an answer.
    assert denominator(days | {"reports": 42_000}, period) == f"the 42,000 reports {said}"
    assert denominator(days | {"reports": 1}, period) == f"the only report {said}"
    none = {"reports": 0, "since": None, "until": None}
    assert denominator(none, period) == "no reports"


def test_long_labels_are_shortened_in_the_middle() -> None:
    assert shortened("x" * 80) == "x" * 80
    few = shortened("a" * 500 + "1")
    assert few.startswith("aaaa")
    assert few.endswith("a1")
    assert " … " in few
    assert len(few) <= 80


@pytest.mark.parametrize(
    "query", ["page=0", "page=-1", "page=x", "page=1e3", "page=٣", "since=soon", "other=1", "page=1&page=2"]
)
def test_wrong_arguments_are_told(query: str, client: FlaskClient) -> None:
    assert problem(client.get(f"/m/theme?{query}")) == (400, "parameter")


@pytest.mark.parametrize(
    "path", ["/", "/m/hostile", "/m/hostile?find=<script>alert(3)</script>", "/?find='\"><script>"]
)
def test_nothing_in_a_page_runs_but_what_is_ours(path: str, client: FlaskClient) -> None:
    response = client.get(path)
    elements = Elements(response.text).found
    scripts = [found["src"] for tag, found in elements if tag == "script"]
    assert [(source or "").partition("?")[0] for source in scripts] == ["/plotly.js", "/static/charts.js"]
    names = {name for _, found in elements for name in found}
    assert not [name for name in names if name.startswith("on") or name == "style"]
    assert {found["src"] for tag, found in elements if tag == "img"} == {"/static/icon.svg"}
    policy = response.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
    assert "unsafe" not in policy
    assert "http" not in policy


def test_the_pages_are_whole_without_plotly(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "bundle", lambda: None)
    for path in ("/", "/m/theme"):
        assert Elements(client.get(path).text).count("script") == 0
    assert problem(client.get("/plotly.js")) == (404, "not-found")


def test_the_bundle_comes_compressed_and_stays(client: FlaskClient) -> None:
    response = client.get("/plotly.js")
    assert response.headers["Content-Encoding"] == "gzip"
    assert response.headers["Cache-Control"] == "private, max-age=31536000, immutable"
    assert response.mimetype == "text/javascript"


def test_who_may_read_is_told(app: Flask, tmp_path: Path) -> None:
    assert "pages are public" in app.test_client().get("/", environ_overrides={"REMOTE_ADDR": "192.0.2.7"}).text
    closed = create_app(config(tmp_path, open=frozenset()))
    token = collector_of(closed).gatekeeper.draw_local_token(80).token
    page = closed.test_client().get("/", headers={"Authorization": f"Bearer {token}"})
    assert (page.status_code, "pages are public" in page.text) == (200, False)
    collector_of(closed).close()


def test_forged_and_odd_and_refused_reports_are_told(app: Flask, client: FlaskClient) -> None:
    page = client.get("/m/theme").text
    assert "If 1% of these\n(24) were forged" in page
    assert "look like those of honest devices" in page
    rows = b"\x01" * 3000  # every report says the same: no noise does
    collector_of(app).store.commit([upload(THEME, rows)], TODAY, b"t" * 16)
    for path in ("/", "/m/theme"):
        assert "These reports look odd." in client.get(path).text


def test_a_disabled_metric_says_so(app: Flask, client: FlaskClient) -> None:
    collector_of(app).store.disable("theme", None, TODAY)
    assert client.get("/").text.count("Disabled since 2026-11-20") == 1
    assert "Disabled since 2026-11-20" in client.get("/m/theme").text


def test_people_beyond_the_list_are_told(app: Flask, client: FlaskClient) -> None:
    collector_of(app).store.commit([upload(VERSION, rows_of(VERSION, 2000, value="9.9"))], TODAY, b"s" * 16)
    rest = client.get("/v1/metrics/version/estimate").json["unlisted"]  # type: ignore[index]
    for path in ("/", "/m/version"):
        page = client.get(path).text
        assert f'<data value="{rest["frequency"]}">' in page
        assert "have a string that is\nnone of th" in page


def test_a_page_says_what_is_found_apart_from_the_verdict(app: Flask, client: FlaskClient) -> None:
    collector_of(app).store.commit([upload(VERSION, rows_of(VERSION, 2000, value="1.0"))], TODAY, b"s" * 16)
    rows = client.get("/v1/metrics/version/estimate").json["values"]  # type: ignore[index]
    assert {row["found"] for row in rows} == {True, False}
    page = client.get("/m/version").text
    assert page.count("</span> found</td>") == sum(row["found"] for row in rows)
    assert page.count("</span> not found</td>") == sum(not row["found"] for row in rows)
    assert "an expected 5% of those found are not there" in page
    for path in ("/m/theme", "/m/wide"):
        page = client.get(path).text
        assert "found</td>" not in page
        assert "Clear of 0: the interval lies above 0" in page
        assert "an expected 5%" not in page


def test_work_is_bounded(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    reader, days = collector_of(app).reader, collector_of(app).store.active_days(THEME)
    rows = [row("ok", 0.1) | {"value": label} for label in ("light", "dark")]
    read = partial(reader.estimate, THEME, confidence=0.95)
    drawn = finished(courses(THEME, rows, days, effort(THEME), read, 0.95))
    assert drawn is not None
    assert drawn.days == days
    assert [line.course["value"] for line in drawn.lines] == ["light", "dark"]
    monkeypatch.setattr("dither_server.reading.summaries.shares_page._WORK", 2 * effort(THEME))
    drawn = finished(courses(THEME, rows, days, effort(THEME), read, 0.95))
    assert drawn is not None
    assert drawn.days == days[1:]
    monkeypatch.setattr("dither_server.reading.summaries.shares_page._WORK", effort(THEME))
    assert finished(courses(THEME, rows, days, effort(THEME), read, 0.95)) is None


def row(verdict: str, error: float | None) -> Row:
    return Row(
        value="v",
        frequency=0.1,
        count=10.0,
        noise_error=error,
        noise_low=0.0,
        noise_high=1.0,
        standard_error=error,
        low=0.0,
        high=1.0,
        repeat_error=error,
        consistent=0.1,
        gain_up=0.01,
        gain_down=0.01,
        verdict=verdict,  # type: ignore[typeddict-item]
        found=None,
    )


def test_verdicts_are_words() -> None:
    assert in_words(row("ok", 0.1), THEME, 100, 0.95) == "clear of 0"
    assert in_words(row("noise", 0.1), THEME, 100, 0.95) == "may be 0"
    # 100 reports give 0.1; 0.02 / 1.96 takes 96.04 times as many: 9,604 in all.
    assert in_words(row("too-few", 0.1), THEME, 100, 0.95) == "too few reports: 9,510 more for ±2 points"
    needed = THEME.mechanism.variance() * (1.96 / 0.02) ** 2
    said = in_words(row("too-few", None), THEME, 0, 0.95)
    assert int(said.split()[3].replace(",", "")) == pytest.approx(needed, rel=0.01)


def test_a_browser_is_told_of_a_problem_in_a_page(client: FlaskClient, tmp_path: Path) -> None:
    browser = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    with closing(collector_of(closed := create_app(config(tmp_path, open=frozenset())))):
        shut = closed.test_client().get("/", headers=browser)
    assert (shut.status_code, shut.mimetype) == (401, "text/html")
    assert "Basic" in shut.headers["WWW-Authenticate"]
    assert "give it as the password" in shut.text
    for path, status, said in (
        ("/m/nothing", 404, "No such metric"),
        ("/nowhere", 404, "No such page"),
        ("/v1/metrics/theme/estimate?since=soon", 400, "Since: not a date"),
    ):
        response = client.get(path, headers=browser)
        assert (response.status_code, response.mimetype) == (status, "text/html")
        assert said in response.text
        assert problem(client.get(path))[0] == status


def test_a_fault_of_ours_is_a_page_too(app: Flask, client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ArithmeticError("a secret")

    monkeypatch.setattr(collector_of(app).store, "reports_by_day", fail)
    response = client.get("/m/theme", headers={"Accept": "text/html"})
    assert (response.status_code, response.mimetype) == (500, "text/html")
    assert "The collector failed" in response.text
    assert "secret" not in response.text
