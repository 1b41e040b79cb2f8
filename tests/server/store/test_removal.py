"""Whole days are removed, by an operator and by the setting ``retention``; nothing that was removed counts again."""

import logging
import shutil
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dither_server.app import collector_of, create_app
from dither_server.cli.main import cli
from dither_server.reading.exports import refresh
from dither_server.store import Refusal, Store, StoreError, UploadOutcome
from dither_server.store.removal import Housekeeper, removals
from dither_server.tally.retention import Retention
from dither_shared import Metric, parse_metrics
from server.cli.invoking import error_of
from server.collecting import (
    COUNTED,
    METRICS,
    MOBILE,
    SHARD,
    THEME,
    TODAY,
    ago,
    by_kind,
    config,
    environment,
    rows_of,
    upload,
)
from server.database import execute, url_of

(NEWER,) = parse_metrics(
    '[metrics.theme]\ntype = "choice"\nmechanism = "randomized-response"\nvalues = ["dark", "b"]\nepsilon = 2.0\n'
).values()


@pytest.fixture(scope="module")
def filled_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three reports of theme and one of mobile on each of ten days up to today, and their estimates."""
    folder = tmp_path_factory.mktemp("filled")
    with closing(Store(url_of(folder))) as store:
        store.register([*METRICS.values(), NEWER])
        for day in map(ago, range(10)):
            store.commit([upload(), upload(MOBILE, b"\x00")], day, SHARD)
            store.add_refusals({Refusal("theme", day, "malformed"): 1, Refusal("", day, "malformed"): 1}, SHARD)
        for metric in (THEME, MOBILE):
            list(refresh(store, metric))
    return folder / "dither.db"


@pytest.fixture
def filled(tmp_path: Path, filled_once: Path) -> Iterator[Store]:
    shutil.copyfile(filled_once, tmp_path / "dither.db")
    with closing(Store(url_of(tmp_path))) as store:
        yield store


def ends(store: Store, metric: Metric) -> tuple[date, date]:
    """The first and the last day with reports."""
    days = list(store.reports_by_day(metric))
    return days[0], days[-1]


def purge(folder: Path, *arguments: str, answer: str | None = None) -> Result:
    return CliRunner().invoke(cli, ["purge", *arguments], env=environment(folder), input=answer)


def viewed(folder: Path) -> set[tuple[str, str]]:
    """The metrics and days of the view daily_estimates."""
    return set(execute(url_of(folder), "SELECT DISTINCT metric, day FROM daily_estimates"))


def test_a_dry_run_says_what_the_purge_then_removes(filled: Store, tmp_path: Path) -> None:
    options = ("--metric", "theme", "--before", str(ago(6)))
    dry = purge(tmp_path, *options, "--dry-run")
    assert dry.exit_code == 0, dry.stderr
    head, theme, refused, total = dry.stdout.splitlines()
    assert head.split() == ["metric", "version", "days", "reports", "rows"]
    assert theme.split() == ["theme", THEME.version, "3", "9", "21", str(ago(9)), "to", str(ago(7))]
    assert refused.split()[:5] == ["theme", "0", "0", "3", "counts"]
    assert total.split() == ["in", "all", "3", "9", "24"]
    assert filled.tally(THEME).total == 30
    done = purge(tmp_path, *options, "--yes")
    assert (done.exit_code, done.stdout, done.stderr) == (0, dry.stdout, "removed\n")
    assert ends(filled, THEME) == (ago(6), TODAY)
    assert (filled.tally(THEME).total, filled.tally(MOBILE).total) == (21, 10)
    assert by_kind(filled, "theme") == {"malformed": 7}
    assert ("theme", str(ago(7))) not in viewed(tmp_path)
    assert {("theme", str(ago(6))), ("mobile", str(ago(9)))} <= viewed(tmp_path)
    assert list(refresh(filled, THEME)) == []
    again = purge(tmp_path, *options, "--yes")
    assert (again.exit_code, again.stdout) == (0, "nothing to remove\n")


def test_retry_of_a_removed_batch_is_acknowledged_and_not_counted_again(store: Store, tmp_path: Path) -> None:
    sent = [upload(), upload(MOBILE, b"\x00")]
    store.commit(sent, ago(1), SHARD)
    assert purge(tmp_path, "--before", str(TODAY), "--yes").exit_code == 0
    assert store.commit(sent, TODAY, b"u" * 16) == [COUNTED] * len(sent)
    assert [store.tally(metric).total for metric in (THEME, MOBILE)] == [0, 0]


def test_versions_and_whole_metrics_are_removed_and_stay_registered(filled: Store, tmp_path: Path) -> None:
    filled.commit([upload(NEWER, rows_of(NEWER, 5, value="dark"))], TODAY, SHARD)
    assert purge(tmp_path, "--metric", "theme", "--version", NEWER.version, "--yes").exit_code == 0
    assert (filled.tally(NEWER).total, filled.tally(THEME).total) == (0, 30)
    assert by_kind(filled, "theme") == {"malformed": 10}
    assert purge(tmp_path, "--metric", "theme", "--metric", "mobile", "--yes").exit_code == 0
    assert (filled.tally(THEME).total, filled.tally(MOBILE).total) == (0, 0)
    assert by_kind(filled, "theme") == {}
    assert filled.definitions.versions("theme") == sorted([THEME.version, NEWER.version])
    assert filled.commit([upload()], TODAY, SHARD) == [COUNTED]  # it is collected as before
    assert filled.tally(THEME).total == 3


def test_purge_command_asks_before_it_removes(filled: Store, tmp_path: Path) -> None:
    for answer in ("n\n", "", None):
        refused = purge(tmp_path, "--metric", "theme", answer=answer)
        assert (refused.exit_code, filled.tally(THEME).total) == (1, 30)
    assert "Remove all this for good? [y/N]" in refused.stderr
    assert purge(tmp_path, "--metric", "theme", answer="y\n").exit_code == 0
    assert filled.tally(THEME).total == 0


def test_purge_command_answers_mistakes_in_one_line(filled: Store, tmp_path: Path) -> None:
    theme, missing = ["--metric", "theme"], "sqlite:///missing.db"
    for arguments, what in (
        ([], "purge: name what to remove: --metric, --before or both"),
        (["--before", "2026-1-1"], "--before: not a date"),
        (["--before", "2999-01-01"], "--before: later than today"),
        (["--metric", "nothing"], "nothing: no metric has this name; known: mobile, open, theme, version"),
        (["--version", THEME.version], "--version: belongs to one metric"),
        ([*theme, "--metric", "mobile", "--version", THEME.version], "--version: belongs to one metric"),
        ([*theme, "--version", MOBILE.version], "--version: not collected here; known:"),
        ([*theme, "--db", missing], "missing.db does not exist"),
    ):
        assert what in error_of(purge(tmp_path, *arguments, "--yes")), arguments
    assert filled.tally(THEME).total == 30


def test_version_with_an_unreadable_definition_can_be_purged(filled: Store, tmp_path: Path) -> None:
    execute(url_of(tmp_path), "UPDATE metrics SET definition = replace(definition, 'randomized', 'forgotten')")
    done = purge(tmp_path, "--metric", "theme", "--yes")
    assert done.exit_code == 0
    assert f"{THEME.version}    10  unknown" in done.stdout
    assert filled.days.rows(THEME.version) == {}


def test_estimates_written_after_their_day_was_purged_go_at_the_next_refresh(filled: Store) -> None:
    basis = filled.estimates.bases(THEME.version)[ago(9)]
    row = dict.fromkeys(("frequency", "noise_error", "standard_error", "low", "high"), 0.0) | {"value": "dark"}
    filled.days.purge(THEME.version, ago(9))
    filled.estimates.write(THEME.version, ago(9), basis, "shares", [row])
    assert list(refresh(filled, THEME)) == []
    assert ago(9) not in filled.estimates.bases(THEME.version)


def housekeeper(folder: Path, retention: str, today: list[date]) -> Housekeeper:
    url = url_of(folder)
    return Housekeeper(Retention.read(retention, ""), lambda: Store(url, create=False), lambda: today[0], 45)


def test_retention_is_applied_once_a_day(filled: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    today = [TODAY]
    keeper = housekeeper(tmp_path, "8 days, theme = 3 days", today)
    keeper.look()
    assert ends(filled, THEME) == (ago(3), TODAY)
    assert ends(filled, MOBILE) == (ago(8), TODAY)
    assert (by_kind(filled, "theme"), by_kind(filled, "")) == ({"malformed": 4}, {"malformed": 9})
    assert viewed(tmp_path) & {("theme", str(ago(4))), ("mobile", str(ago(9)))} == set()
    assert f"removed 6 days of theme {THEME.version}, {ago(9)} to {ago(4)}" in caplog.text
    filled.commit([upload()], ago(9), SHARD)
    keeper.look()
    assert ends(filled, THEME) == (ago(9), TODAY)  # done for today
    today[0] += timedelta(days=1)
    keeper.look()
    assert ends(filled, THEME) == (ago(2), TODAY)


def test_metric_without_a_retention_is_kept(filled: Store, tmp_path: Path) -> None:
    housekeeper(tmp_path, "theme = 3 days", [TODAY]).look()
    assert (ends(filled, THEME), ends(filled, MOBILE)) == ((ago(3), TODAY), (ago(9), TODAY))
    assert by_kind(filled, "") == {"malformed": 10}


def test_a_clock_that_jumps_by_years_has_a_day_to_be_set_right(
    filled: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    today = [TODAY + timedelta(days=3650)]
    filled.commit([upload()], today[0], SHARD)
    keeper = housekeeper(tmp_path, "400 days", today)
    keeper.look()
    assert "is the clock right?" in caplog.text
    assert filled.tally(THEME).total == 33
    today[0] = TODAY
    keeper.look()
    assert filled.tally(THEME).total == 33
    today[0] += timedelta(days=3650)  # a clock that stays ahead is believed, as after a long silence
    keeper.look()
    today[0] += timedelta(days=1)
    keeper.look()
    assert filled.tally(THEME).total == 3


def test_retention_that_fails_is_tried_again(filled: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    url, tries = url_of(tmp_path), []

    def opened() -> Store:
        tries.append(1)
        if len(tries) == 1:
            raise StoreError("database: locked")
        return Store(url, create=False)

    keeper = Housekeeper(Retention.read("3 days", ""), opened, lambda: TODAY, 45)
    keeper.look()
    assert (filled.tally(THEME).total, "not removed or closed: database: locked" in caplog.text) == (30, True)
    keeper.look()
    assert filled.tally(THEME).total == 12


def test_collector_removes_old_days_at_its_start(
    filled: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = threading.Event()
    look = Housekeeper.look

    def watched(self: Housekeeper) -> None:
        look(self)
        looked.set()

    monkeypatch.setattr(Housekeeper, "look", watched)
    app = create_app(config(tmp_path, retention=Retention.read("3 days", "")))
    with closing(collector_of(app)) as collector:
        collector.start()
        collector.start()
        assert looked.wait(60)
        names = [thread.name for thread in threading.enumerate()]
        assert names.count("dither-housekeeper") == 1
    assert "dither-housekeeper" not in [thread.name for thread in threading.enumerate()]
    assert ends(filled, THEME) == (ago(3), TODAY)


def test_check_names_metrics_that_retention_misspells(filled: Store, tmp_path: Path) -> None:
    (tmp_path / "metrics.toml").write_text('[metrics.mobile]\ntype = "boolean"\nepsilon = 1.0\n', encoding="utf-8")
    settings = {**environment(tmp_path), "DITHER_RETENTION": "400 days, theem = 3 days, theme = 3 days"}
    said = CliRunner().invoke(cli, ["doctor", "--before-start"], env=settings).stdout
    assert "configuration: retention: theem is not a metric here; known are *, mobile, open, theme, version" in said
    assert said.count("retention:") == 1


def test_commits_proceed_between_two_days_of_a_removal(filled: Store) -> None:
    counted: list[UploadOutcome] = []

    class Pauses(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            """Count a report where another process would: the database is free."""
            assert timeout is not None
            counted.extend(filled.commit([upload()], TODAY, SHARD))
            if len(counted) == 4:
                self.set()
            return self.is_set()

    (removal,) = removals(filled, "mobile", None, TODAY)
    assert len(removal.days) == 9
    removal.carry_out(filled, Pauses())
    assert counted == [COUNTED] * 4
    assert ends(filled, MOBILE) == (ago(5), TODAY)  # four days are removed
    removal.carry_out(filled)
    assert ends(filled, MOBILE) == (TODAY, TODAY)
