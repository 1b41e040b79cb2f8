"""Active devices and retention on the command line."""

import json
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path

import pytest

from dither_server.store import Store
from dither_shared import load_metrics
from server.cli.invoking import error_of, invoke
from server.collecting import rows_of, upload

MONDAY = date(2026, 6, 1)
TOML = """
[metrics.kept]
type = "choice"
values = ["0", "1", "4"]
of = "weeks-since-first-use"
period = "week"
epsilon = 6.0

[metrics.exported]
type = "boolean"
of = "any"
period = "week"
epsilon = 1.0
"""


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where devices began in one week, and half of them came back in the next one."""
    folder = tmp_path_factory.mktemp("devices")
    (folder / "metrics.toml").write_text(TOML, encoding="utf-8")
    metrics = load_metrics(folder / "metrics.toml")
    with closing(Store(f"sqlite:///{folder}/dither.db")) as store:
        store.register(metrics.values())
        for week, name, reports, value in ((0, "kept", 900, "0"), (1, "kept", 450, "1"), (1, "exported", 450, False)):
            rows = rows_of(metrics[name], reports, value=value)
            store.commit([upload(metrics[name], rows)], MONDAY + timedelta(days=7 * week), b"s" * 16)
    return folder


def test_retention_is_a_table_with_an_interval(collected: Path) -> None:
    head, week_0, week_1, week_4 = invoke(collected, "retention", "kept").stdout.splitlines()[2:]
    assert head.split() == ["week", "retention", "95%", "interval", "devices", "of", "weeks", "added", "up"]
    assert week_0.split()[:2] == ["0", "100.0%"]
    assert float(week_1.split()[1].rstrip("%")) == pytest.approx(50, abs=10)
    assert week_1.split()[-1] == "1"
    assert week_4.split() == ["4", "too", "few", "0"]
    retention = json.loads(invoke(collected, "retention", "kept", "--json", "--confidence", "0.9").stdout)
    assert (retention["reports"], retention["since"], retention["until"]) == (1350, "2026-06-01", "2026-06-14")
    assert retention["weeks"][1]["low"] < 0.5 < retention["weeks"][1]["high"]


def test_active_devices_are_counted(collected: Path) -> None:
    lines = invoke(collected, "active").stdout.splitlines()
    assert [line.split() for line in lines] == [
        ["metric", "devices", "period", "from"],
        ["exported", "450", "week", "2026-06-08"],
    ]
    (row,) = json.loads(invoke(collected, "active", "exported", "--json").stdout)["periods"]
    assert (row["devices"], row["complete"]) == (450, True)
    assert invoke(collected, "active", "--since", "2026-06-09").stdout == "no reports that count devices\n"


def test_metrics_of_other_kinds_are_refused(collected: Path) -> None:
    assert "exported: has no retention; only a metric with" in error_of(invoke(collected, "retention", "exported"))
    assert "kept: does not count devices" in error_of(invoke(collected, "active", "kept"))
