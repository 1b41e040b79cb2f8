"""Releases of the app: what the setting takes, and where pages mark them."""

from datetime import date, datetime, timedelta
from pathlib import Path

import pytest

from dither_server.app import collector_of, create_app
from dither_server.config.settings import Release, Releases
from dither_server.config.sources import COLLECTOR
from dither_server.reading.summaries.view import markers_of
from dither_shared import ParameterError
from server.collecting import SHARD, THEME, TODAY, config, rows_of, upload

DAY = date(2026, 11, 20)


def test_releases_from_tables_and_text_are_sorted_oldest_first() -> None:
    setting = [{"day": date(2026, 12, 1), "name": "2.2 (beta)"}, {"day": "2026-11-20", "name": "2.1"}]
    releases = Releases.read(setting, "releases")
    assert releases.listed == (Release(DAY, "2.1"), Release(date(2026, 12, 1), "2.2 (beta)"))
    assert str(releases) == "2026-11-20 2.1, 2026-12-01 2.2 (beta)"
    assert Releases.read(str(releases), "releases") == releases
    assert Releases.read("", "releases") == Releases()


@pytest.mark.parametrize(
    ("setting", "wrong"),
    [
        (3, "not a list"),
        ([3], "releases[0]: not a day with a name"),
        ([{"day": DAY}], "not a day with a name"),
        ([{"day": DAY, "name": "x", "more": 1}], "not a day with a name"),
        ([{"day": "soon", "name": "x"}], "its day is not a date"),
        ([{"day": datetime(2026, 11, 20), "name": "x"}], "its day is not a date"),  # noqa: DTZ001 - as TOML has it
        ([{"day": 20261120, "name": "x"}], "its day is not a date"),
        ([{"day": DAY, "name": ""}], "its name is not"),
        ([{"day": DAY, "name": "x" * 41}], "its name is not"),
        ([{"day": DAY, "name": "a\x1b[0m"}], "its name is not"),
        ([{"day": DAY, "name": 2.1}], "its name is not"),
        ("2026-11-20", "its name is not"),
        ([{"day": DAY, "name": "x"}] * 1001, "at most 1000"),
    ],
)
def test_invalid_releases_are_refused(setting: object, wrong: str) -> None:
    with pytest.raises(ParameterError) as raised:
        Releases.read(setting, "releases")
    assert wrong in str(raised.value)


def test_the_settings_file_has_tables_of_releases(tmp_path: Path) -> None:
    file = tmp_path / "collector.toml"
    file.write_text('[[releases]]\nday = 2026-11-20\nname = "2.1"\n', encoding="utf-8")
    setting = COLLECTOR.resolve({}, {}, str(file))["releases"]
    assert setting is not None
    assert setting.value == Releases((Release(DAY, "2.1"),))


def test_markers_lie_within_the_drawing() -> None:
    days = [DAY, DAY + timedelta(days=1), DAY + timedelta(days=4)]
    named = [(DAY - timedelta(days=1), "before"), (DAY, "a"), (DAY + timedelta(days=2), "b"), (DAY + timedelta(5), "c")]
    assert [(one.x, one.name) for one in markers_of(named, days)] == [(0.0, "a"), (300.0, "b")]


def test_pages_mark_releases_on_curves_and_escape_their_names(tmp_path: Path) -> None:
    releases = Releases((Release(TODAY - timedelta(days=1), "<2.1>"), Release(TODAY + timedelta(days=9), "later")))
    app = create_app(config(tmp_path, releases=releases))
    for ago in (0, 1, 2):
        store = collector_of(app).store
        store.commit([upload(THEME, rows_of(THEME, 500))], TODAY - timedelta(days=ago), SHARD)
    page = app.test_client().get("/m/theme").text
    assert "Dashed lines are releases: <bdi>&lt;2.1&gt;</bdi> on 2026-11-19." in page
    assert '<line class="release" x1="300.0" x2="300.0"' in page
    assert "later" not in page
    collector_of(app).close()
