"""Days in words: of which reports a page speaks."""

import pytest

from dither_server.dashboard.period import denominator


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
