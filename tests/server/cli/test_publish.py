"""The command ``publish``: what it takes, what it refuses in one line, and how it exits."""

import re
from pathlib import Path

import pytest

from server.cli.invoking import error_of, invoke
from server.collecting import METRICS_TOML, TODAY
from server.database import execute


@pytest.fixture(autouse=True)
def tomorrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reports of the tests are of a day that is over."""
    monkeypatch.setattr("dither_shared.metrics.period.utc_today", lambda: TODAY.replace(day=TODAY.day + 1))


def test_publish_writes_a_site_of_all_metrics(folder: Path) -> None:
    result = invoke(folder, "publish", "--out", str(folder / "site"), "--title", "Ours")
    assert (result.exit_code, result.stdout) == (0, ""), result.output
    assert re.search(r"site: 4 metrics in \d+ files, up to 2026-11-20", result.stderr)
    assert " Ours</h1>" in (folder / "site/index.html").read_text(encoding="utf-8")
    assert (folder / "site/metrics.toml").read_text(encoding="utf-8") == METRICS_TOML


def test_publish_writes_the_metrics_that_are_named(folder: Path) -> None:
    options = ("--metric", "theme", "--metric", "mobile", "--confidence", "0.9", "--base-url", "https://a.example/x")
    result = invoke(folder, "publish", "--out", str(folder / "site"), *options)
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in (folder / "site/metrics").iterdir()) == ["mobile", "theme"]
    assert "90% interval" in (folder / "site/index.html").read_text(encoding="utf-8")


def test_on_the_first_day_publish_says_when_the_first_answers_appear(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dither_shared.metrics.period.utc_today", lambda: TODAY)
    result = invoke(folder, "publish", "--out", str(folder / "site"))
    assert (result.exit_code, "appear from 2026-11-21 on." in result.stderr) == (0, True), result.output


def test_mistakes_of_publish_are_answered_in_one_line_and_write_nothing(folder: Path) -> None:
    for options, complaint in (
        (("--until", "2026-11-21"), r"--until: 2026-11-21 is not over, .*the last completed day is 2026-11-20"),
        (("--since", "2026-11-21"), "--since: 2026-11-21 is later than 2026-11-20"),
        (("--since", "yesterday"), "--since"),
        (("--confidence", "2"), "confidence"),
        (("--metric", "them"), "--metric: no metric is named them; known: theme, mobile"),
        (("--base-url", "a.example"), "--base-url"),
    ):
        line = error_of(invoke(folder, "publish", "--out", str(folder / "site"), *options))
        assert re.search(complaint, line), line
        assert line.count("\n") == 1
    assert not (folder / "site").exists()
    (folder / "site").mkdir()
    (folder / "site/mine").write_text("", encoding="utf-8")
    assert "holds mine and was not written" in error_of(invoke(folder, "publish", "--out", str(folder / "site")))
    under_a_file = invoke(folder, "publish", "--out", str(folder / "site/mine/site"))
    assert "cannot be written" in error_of(under_a_file, 1)


def test_publish_needs_metrics_and_a_database_of_this_version(folder: Path) -> None:
    publish = ("publish", "--out", str(folder / "site"))
    execute(f"sqlite:///{folder}/dither.db", "UPDATE alembic_version SET version_num = '0000'")
    assert "a collector upgrades it when it starts" in error_of(invoke(folder, *publish))
    (folder / "dither.db").write_bytes(b"")
    assert "holds no dither tables" in error_of(invoke(folder, *publish))
    (folder / "metrics.toml").unlink()
    assert "metrics.toml" in error_of(invoke(folder, *publish))
