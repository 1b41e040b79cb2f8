"""Groups of metrics on the first page, where there are many, and of which reports a page speaks."""

from pathlib import Path

from dither_server.dashboard.card import denominator
from dither_server.dashboard.view import MANY
from server.collecting import METRICS, collector, problem
from server.dashboard.shown import MANY_METRICS, Page


def test_more_than_30_metrics_are_in_groups_and_filtered_by_tier(tmp_path: Path) -> None:
    metrics = METRICS | MANY_METRICS
    assert len(metrics) == MANY + 1
    with collector(tmp_path, metrics=metrics) as app:
        client = app.test_client()
        first, last, narrowed = (client.get(path).text for path in ("/", "/?page=9", "/?tier=sensitive&find=many-01"))
        assert problem(client.get("/?tier=secret")) == (400, "parameter")
        assert problem(client.get("/m/theme?tier=sensitive")) == (400, "parameter")
        assert "No question of this tier." in client.get("/?tier=content").text
    assert first.index(">Technical</h2>") < first.index(">Sensitive</h2>")
    assert Page(first).count("article") == 12
    assert Page(first).count("div", **{"class": "answers"}) == 2
    assert ">No tier</h2>" in last
    assert all(f'<option value="{tier}"' in first for tier in ("technical", "sensitive", "none"))
    assert 'value="content"' not in first
    for name in metrics:  # each is named on the first page, in its group
        assert Page(first).count("a", href=f"/m/{name}") >= 1
    assert Page(narrowed).count("h3") == 1
    assert 'value="sensitive" selected' in narrowed
    assert "1 of 31 questions" in narrowed


def test_up_to_30_metrics_are_one_list(tmp_path: Path) -> None:
    metrics = dict(list((METRICS | MANY_METRICS).items())[1:])
    with collector(tmp_path, metrics=metrics) as app:
        page = Page(app.test_client().get("/").text)
    assert (page.count("h2"), page.count("h3"), page.count("select")) == (13, 0, 0)  # and the box of what to do next


def test_page_names_the_reports_that_it_speaks_of() -> None:
    for since, until, period, words in (
        ("2026-11-07", "2026-11-20", "day", "from 7 to 20 November 2026, at most one per device per day"),
        ("2026-10-28", "2026-11-03", "week", "from 28 October to 3 November 2026, at most one per device per week"),
        ("2025-12-31", "2026-01-01", "once", "from 31 December 2025 to 1 January 2026, at most one per device"),
        ("2026-11-07", "2026-11-07", "day", "on 7 November 2026, at most one per device per day"),
    ):
        days: dict[str, object] = {"since": since, "until": until}
        assert denominator(days | {"reports": 42_000}, period) == f"the 42,000 reports {words}"
        assert denominator(days | {"reports": 1}, period) == f"the only report {words}"
    assert denominator({"reports": 0, "since": None, "until": None}, "day") == "no reports"
