"""Days in words: of which reports a page speaks."""

from dither_server.dashboard.card import denominator


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
