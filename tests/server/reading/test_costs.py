"""The cost of an answer is known before it begins, and its work ends if the peer hangs up."""

from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from dither_server.app import collector_of
from dither_server.reading.analysis_limiter import effort, reading
from dither_server.reading.estimates import EstimateReader
from dither_server.reading.query import Comparison
from dither_shared import parse_metrics
from server.collecting import TODAY, problem
from server.reading.wide import COMPARE, DAYS, ESTIMATE, TABLE, TREND, WIDE, ended, filled

DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("path", "limit", "hint"),
    [
        (f"{ESTIMATE}?by_day=true", 300 * DAYS, "ask for fewer days, step=week for a trend, values= or top=50"),
        (TABLE, 300 * DAYS, "fewer days"),
        (f"{TABLE}&top=50", 50 * DAYS, "values= or top=50"),
        (TREND, 300 * DAYS, "step=week"),
        (TREND, 10, "ask for fewer days, or step=week for a trend"),
        (ESTIMATE, 300, "ask for top=50 or values="),
        (COMPARE, 300, "ask for top=50 or values="),
        ("/v1/metrics/wide/combined", 300, "ask for top=50 or values="),
        ("/v1/metrics/version/estimate", 100, "list fewer candidates in its definition"),
        ("/", 100, "fewer candidates"),
    ],
)
def test_answer_that_costs_too_much_is_refused_with_a_hint_before_anything_is_read(
    path: str, limit: int, hint: str, tmp_path: Path, read: list[str]
) -> None:
    with closing(collector_of(app := filled(tmp_path, estimates_limit=limit))):
        response = app.test_client().get(path)
        assert problem(response) == (413, "too-costly")
        assert hint in response.json["detail"]  # type: ignore[index]
        assert "wide" not in read
        assert ended(app) == {"refused": 1}


def test_following_the_hints_makes_an_answer_affordable(tmp_path: Path) -> None:
    with closing(collector_of(app := filled(tmp_path, estimates_limit=7 * (300 + effort(WIDE))))):
        client = app.test_client()
        parts = ("top=50", "values=v,1&values=v,2", "limit=50&offset=100", "since=2026-11-18")
        of_tables = [f"{TABLE}&{part}" for part in parts]
        for path in (*of_tables, f"{TREND}?top=50", f"{TREND}?step=week", ESTIMATE, COMPARE, "/m/wide"):
            assert client.get(path).status_code == 200, path


def test_comparison_costs_only_the_tallies_of_its_days(tmp_path: Path) -> None:
    with closing(collector_of(app := filled(tmp_path))):
        store = collector_of(app).store
        query = Comparison(since=TODAY, until=TODAY, other_since=TODAY - DAY, other_until=TODAY - DAY)
        right = EstimateReader(store).compare(WIDE, WIDE, query)
        alone = sum(reading(WIDE, store.history(WIDE, day, day)) for day in (TODAY, TODAY - DAY))
        costs: list[int] = []
        comparison = EstimateReader(store, demand=costs.append).compare(WIDE, WIDE, query)
        assert comparison.whole() == right.whole()
        assert costs == [2 * (300 + effort(WIDE)) + alone]
        assert alone < reading(WIDE, store.history(WIDE))


def test_default_limit_allows_a_year_of_the_top_50_of_16384_values() -> None:
    text = '[metrics.x]\ntype = "choice"\nepsilon = 1.0\nvalues = [{}]\n'
    wide = parse_metrics(text.format(", ".join(f'"{number}"' for number in range(16_383))))["x"]
    limit = 500_000
    assert 365 * (effort(wide) + 50) <= limit < 365 * (effort(wide) + 16_384)
    assert 28 * (effort(wide) + 16_384) <= limit
