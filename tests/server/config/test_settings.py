"""Settings: flags before environment before file before defaults; and releases of the app, which pages mark."""

from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from dither_server.access.origins import Origins
from dither_server.access.tokens import Role
from dither_server.app import collector_of, create_app
from dither_server.config.settings import Config, Release, Releases
from dither_server.config.sources import COLLECTOR
from dither_server.reading.summaries.view import markers_of
from dither_server.tally.retention import Retention
from dither_shared import ParameterError
from server.collecting import SHARD, THEME, TODAY, config, rows_of, upload

NEEDED = {"DITHER_METRICS": "m.toml", "DITHER_DB": "sqlite:///d.db"}


def configured(*given: Any) -> Config:
    """Return the configuration of these flags, variables and file."""
    return COLLECTOR.configured(COLLECTOR.resolve(*given))


def test_defaults_of_settings_are_those_of_the_dataclass() -> None:
    assert configured({}, NEEDED) == Config(metrics="m.toml", db="sqlite:///d.db")


def test_flag_overrides_environment_which_overrides_file_which_overrides_default(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text('port = 1\nthreads = 2\nhorizon = 60\nopen = ["read"]\ntrust_loopback = false\n', encoding="utf-8")
    environment = NEEDED | {"DITHER_CONFIG": str(file), "DITHER_PORT": "3", "DITHER_THREADS": "4", "DITHER_HOST": ""}
    config = configured({"port": "5", "threads": None}, environment)
    assert (config.port, config.threads, config.horizon, config.host) == (5, 4, 60, "127.0.0.1")
    assert (config.open, config.trust_loopback) == (frozenset({Role.READ}), False)
    assert configured({}, environment | {"DITHER_OPEN": "report, read"}).open == {
        Role.REPORT,
        Role.READ,
    }


@pytest.mark.parametrize("name", COLLECTOR.settings)
def test_every_setting_is_read_from_the_environment(name: str) -> None:
    """A wrong value is reported with its source; none is ignored."""
    variable = f"DITHER_{name.upper()}"
    if isinstance(COLLECTOR.settings[name].default, int | float | frozenset | Retention | Origins | Releases):
        with pytest.raises(ParameterError, match=variable):
            COLLECTOR.resolve({}, NEEDED | {variable: "nonsense"})
    else:
        setting = COLLECTOR.resolve({}, NEEDED | {variable: "text"})[name]
        assert setting is not None
        assert (setting.value, setting.source) == ("text", variable)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("port = ", "not TOML"),
        ("prot = 1", "prot: unknown; known here: metrics, db"),
        ("port = true", "port: not a whole number"),
        ("port = 1.5", "port: not a whole number"),
        ("lock_wait = 'long'", "lock_wait: not a number"),
        ("lock_wait = -1", "lock_wait: -1.0 is not positive"),
        ("queue_limit = 0", "queue_limit: 0 is not positive"),
        ("request_seconds = inf", "request_seconds: inf is not finite"),
        ("host = 1", "host: not a string"),
        ("open = 1", "open: not a list of roles"),
        ("origins = 1", "origins: not a list of origins, such as"),
        ("origins = ['https://app.example/']", "origins: 'https://app.example/' is not an origin as browsers write it"),
        ("trust_loopback = 'perhaps'", "trust_loopback: neither true nor false"),
        ("retention = 400", "retention: not a number of days; write 400 days"),
        ("retention = 'for ever'", "retention: not a number of days from 1 to 365000"),
        ("retention = '400000 days'", "retention: not a number of days from 1 to 365000"),
        ("retention = '3 days, 4 days'", "retention: *: given twice"),
        ("[retention]\ntheme = 90", "retention: theme: not a number of days from 1 to 365000"),
        ("log_level = 'loud'", "log_level: 'loud' is not one of"),
    ],
)
def test_mistakes_in_the_settings_file_are_named(text: str, what: str, tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ParameterError) as error:
        configured({}, NEEDED, str(file))
    assert what in str(error.value)
    assert "c.toml" in str(error.value)


def test_missing_database_setting_is_refused_with_an_example() -> None:
    with pytest.raises(
        ParameterError,
        match=r"DITHER_DB: not set; set it, --db, or db in a collector\.toml here, for example sqlite:///",
    ):
        configured({"metrics": "m.toml"}, {})


@pytest.mark.parametrize(
    "text",
    [
        'retention = "400 days, theme = 90 days, crash=1 day"',
        '[retention]\n"*" = "400 days"\ntheme = "90 days"\ncrash = "1 day"',
    ],
)
def test_retention_is_set_for_all_metrics_and_for_single_ones(text: str, tmp_path: Path) -> None:
    file, today = tmp_path / "c.toml", date(2026, 11, 20)
    file.write_text(text, encoding="utf-8")
    retention = configured({}, NEEDED, str(file)).retention
    assert str(retention) == "400 days, theme = 90 days, crash = 1 day"
    assert Retention.read(str(retention), "") == retention
    kept = [retention.before(name, today) for name in ("crash", "theme", "other")]
    assert kept == [today - timedelta(days=days) for days in (1, 90, 400)]
    assert Retention.read("theme = 90 days", "").before("other", today) is None
    assert configured({}, NEEDED).retention.before("theme", today) is None


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
