"""Answers over several days: they allow for people who report again, unless all are said to be different."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from dither_server.app import collector_of
from dither_server.reading.exports import refresh
from server.collecting import THEME, TODAY, collect, collector


def test_errors_allow_for_people_who_report_again_unless_they_are_distinct(tmp_path: Path) -> None:
    with collector(tmp_path) as app:
        store, client = collector_of(app).store, app.test_client()

        def read(path: str) -> dict[str, Any]:
            answer: dict[str, Any] = client.get(f"/v1/metrics/theme/{path}").json  # type: ignore[assignment]
            return answer

        for back, reports in ((1, 900), (0, 300)):
            collect(store, THEME, reports, day=TODAY - timedelta(days=back))
        both, distinct = read("estimate"), read("estimate?distinct=true")
        assert (both["repeats"], both["periods"]) == (1 + 2 * 300 / 1200, 2)
        assert (distinct["repeats"], distinct["periods"]) == (1, 2)
        assert read("estimate") == both, "answers of both kinds are remembered apart"
        day = read(f"estimate?since={TODAY}")
        assert day == read(f"estimate?since={TODAY}&distinct=true"), "one day is the same either way"
        for row, alone in zip(both["values"], distinct["values"], strict=True):
            share = min(max(row["frequency"], 0), 1)
            assert row["frequency"] == alone["frequency"]
            variance = alone["standard_error"] ** 2 + 0.5 * share * (1 - share) / 1200
            assert row["standard_error"] ** 2 == pytest.approx(variance)
            assert row["noise_error"] == pytest.approx(alone["noise_error"]), "there is no permanent draw"
        for path in ("combined?", "trend?step=week&"):
            assert read(path) != read(f"{path}distinct=true")
        assert client.get("/m/theme?distinct=true").status_code == 200
        written = list(refresh(store, THEME))
        assert len(written) == 2, "rows of one day are of different people"
