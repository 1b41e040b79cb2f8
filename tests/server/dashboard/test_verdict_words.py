"""Words and courses: what an estimate's verdict, denominator and days look like on a page."""

import pytest
from flask import Flask

from dither_server.analysis.answers import Row
from dither_server.analysis.trend import finished
from dither_server.app import collector_of
from dither_server.dashboard.verdict_words import courses, denominator, in_words
from dither_server.reading.costs import effort
from server.collecting import THEME


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
    assert denominator(days | {"reports": 42_000}, period) == f"the 42,000 reports {said}"  # type: ignore[arg-type]
    assert denominator(days | {"reports": 1}, period) == f"the only report {said}"  # type: ignore[arg-type]
    none = {"reports": 0, "since": None, "until": None}
    assert denominator(none, period) == "no reports"  # type: ignore[arg-type]


def test_work_is_bounded(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    reader, days = collector_of(app).reader, collector_of(app).store.active_days(THEME)
    rows = [row("ok", 0.1) | {"value": label} for label in ("light", "dark")]
    drawn = finished(courses(reader, THEME, days, rows, 0.95))
    assert drawn is not None
    assert drawn.days == days
    assert [line.course["value"] for line in drawn.lines] == ["light", "dark"]
    monkeypatch.setattr("dither_server.dashboard.verdict_words._WORK", 2 * effort(THEME))
    drawn = finished(courses(reader, THEME, days, rows, 0.95))
    assert drawn is not None
    assert drawn.days == days[1:]
    monkeypatch.setattr("dither_server.dashboard.verdict_words._WORK", effort(THEME))
    assert finished(courses(reader, THEME, days, rows, 0.95)) is None


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
