"""Daily estimates in the database: what the API says, computed again only where something changed, read by SQL."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import duckdb
import duckdb_extension_sqlite_scanner  # type: ignore[import-untyped]
import pytest
from click.testing import CliRunner

from dither_server.analysis.estimate_table import estimate_table
from dither_server.cli.main import cli
from dither_server.reading.exports import refresh
from dither_server.reading.summaries.shares import Shares
from dither_server.store import Store
from dither_shared import parse_metrics
from server.collecting import METRICS, METRICS_TOML, OPEN, THEME, TODAY, VERSION, environment, rows_of, upload
from server.database import execute, url_of

SHARD = b"s" * 16
TOMORROW = TODAY + timedelta(days=1)
SELECT = "SELECT day, value, reports, frequency, count, noise_error, standard_error, low, high FROM daily_estimates"


def add(store: Store, day: date, count: int, shard: bytes = SHARD) -> None:
    store.commit([upload(THEME, rows_of(THEME, count)), upload(VERSION, rows_of(VERSION, count))], day, shard)


def expected(store: Store, day: date) -> list[tuple[Any, ...]]:
    """The view's rows of a day, from the tally."""
    answer = estimate_table(THEME, store.tally(THEME, day, day)).whole()
    names = ("frequency", "count", "noise_error", "standard_error", "low", "high")
    return [(row["value"], answer["reports"], *(row[name] for name in names)) for row in answer["values"]]


def recipes() -> list[str]:
    """The SQL queries of the guide: one for any program, one for Grafana."""
    guide = (Path(__file__).parents[3] / "docs/how-to/read-elsewhere.md").read_text(encoding="utf-8")
    return re.findall(r"^```(?:sql\n-- shares.sql|text)\n(SELECT day.*?)^```$", guide, re.MULTILINE | re.DOTALL)


@pytest.fixture
def view(store: Store, tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """Another program's connection to the same file."""
    with closing(sqlite3.connect(tmp_path / "dither.db")) as connection:
        yield connection


def test_only_changed_days_are_computed_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    add(store, TODAY, 30)
    add(store, TOMORROW, 30)
    assert list(refresh(store, THEME)) == [TODAY, TOMORROW]
    assert list(refresh(store, THEME)) == []
    add(store, TOMORROW, 1, b"t" * 16)
    assert list(refresh(store, THEME)) == [TOMORROW]
    assert list(refresh(store, THEME, everything=True)) == [TODAY, TOMORROW]
    monkeypatch.setattr(Shares, "table", None)  # nothing is even computed
    assert list(refresh(store, THEME)) == []


def test_other_candidates_change_every_day(store: Store, view: sqlite3.Connection) -> None:
    add(store, TODAY, 50)
    assert list(refresh(store, VERSION)) == [TODAY]
    more = parse_metrics(METRICS_TOML.replace('["1.0", "2.0"]', '["1.0", "2.0", "3.0"]'))["version"]
    assert more.version == VERSION.version
    assert list(refresh(store, more)) == [TODAY]
    assert view.execute("SELECT count(*) FROM daily_estimates").fetchone() == (3,)
    assert list(refresh(store, OPEN)) == []


def test_failed_write_leaves_the_former_estimates(store: Store, view: sqlite3.Connection) -> None:
    add(store, TODAY, 50)
    list(refresh(store, THEME))
    before = view.execute(SELECT).fetchall()
    basis = store.estimates.bases(THEME.version)[TODAY]
    with pytest.raises(KeyError):
        store.estimates.write(THEME.version, TODAY, (51, basis[1]), "shares", [{"value": "no numbers"}])
    assert view.execute(SELECT).fetchall() == before
    assert store.estimates.bases(THEME.version) == {TODAY: basis}


def test_refresh_prints_how_many_days_it_wrote(tmp_path: Path) -> None:
    with closing(Store(f"sqlite:///{tmp_path}/dither.db")) as store:
        store.register(METRICS.values())
        add(store, TODAY, 40)
        add(store, TOMORROW, 40)
    for days in ("2 days", "0 days"):
        result = CliRunner().invoke(cli, ["refresh"], env=environment(tmp_path))
        assert result.exit_code == 0, result.output
        assert f"theme {THEME.version}: {days} written\n" in result.stdout
    missing = CliRunner().invoke(cli, ["refresh", "--db", "sqlite:///missing.db"], env=environment(tmp_path))
    assert (missing.exit_code, missing.stdout) == (2, "")
    assert "does not exist" in missing.stderr


def test_refresh_skips_a_version_that_it_cannot_read(store: Store, tmp_path: Path) -> None:
    add(store, TODAY, 40)
    execute(url_of(tmp_path), "UPDATE metrics SET definition = replace(definition, 'rappor', 'other')")
    result = CliRunner().invoke(cli, ["refresh"], env=environment(tmp_path))
    assert "version is left out: " in result.stderr
    assert f"theme {THEME.version}: 1 day written" in result.stdout


def test_duckdb_reads_from_the_view_what_the_api_says(store: Store, tmp_path: Path) -> None:
    for day, count, shard in ((TODAY, 300, SHARD), (TOMORROW, 500, SHARD), (TOMORROW, 200, b"t" * 16)):
        add(store, day, count, shard)
    assert list(refresh(store, THEME)) == [TODAY, TOMORROW]
    folder = Path(duckdb_extension_sqlite_scanner.__file__).parent
    (extension,) = folder.glob("**/sqlite_scanner.duckdb_extension")
    with duckdb.connect() as connection:
        connection.execute(f"LOAD '{extension}'")
        connection.execute(f"ATTACH '{tmp_path}/dither.db' (TYPE sqlite, READ_ONLY); USE dither")
        rows = connection.execute(f"{SELECT} WHERE metric = 'theme' AND version = ?", [THEME.version]).fetchall()
        of_guide = connection.execute(recipes()[0]).fetchall()
    for day, reports in ((TODAY, 300), (TOMORROW, 700)):
        shown = sorted(row[1:] for row in rows if row[0] == day)
        assert shown == [pytest.approx(row) for row in sorted(expected(store, day))]
        assert {row[1] for row in shown} == {reports}
    assert [row[:3] for row in of_guide] == [(TODAY, "dark", 300), (TOMORROW, "dark", 700)]
