"""Active devices are exact counts: the reports of each period, over all versions of a metric."""

from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path

import pytest

from dither_server.app import collector_of
from dither_server.reading.activity import ACTIVE, active
from dither_server.reading.query import ActiveQuery
from dither_server.store import Store
from dither_shared import parse_metrics
from server.collecting import KEPT, collect, collector

TOML = """
[metrics.daily]
type = "boolean"
truth = 0.75

[metrics.weekly]
type = "boolean"
truth = {truth}
period = "week"

[metrics.monthly]
type = "boolean"
truth = 0.75
of = "any"
period = "month"

[metrics.once]
type = "boolean"
truth = 0.75
period = "once"

[metrics.either]
type = "boolean"
truth = 0.75
one_of = "survey"
"""
OLD, METRICS = parse_metrics(TOML.format(truth=0.7)), parse_metrics(TOML.format(truth=0.75)) | {"kept": KEPT}
SENT = (
    *(("daily", 30, "2026-10-30"), ("daily", 10, "2026-11-01"), ("daily", 5, "2026-11-02")),
    *(("weekly", 7, "2026-11-01"), ("weekly", 3, "2026-11-02"), ("weekly", 2, "2026-11-08")),
    *(("monthly", 4, "2026-10-31"), ("monthly", 9, "2026-11-01")),
    *(("once", 8, "2026-11-02"), ("either", 8, "2026-11-02"), ("kept", 8, "2026-11-02")),
)
TODAY = date(2026, 11, 9)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    folder = tmp_path_factory.mktemp("devices")
    with collector(folder, metrics=OLD) as former:
        collect(collector_of(former).store, OLD["weekly"], 6, value=True, day=date(2026, 11, 3))
    with collector(folder, metrics=METRICS) as app:
        store = collector_of(app).store
        for name, number, day in SENT:
            collect(store, METRICS[name], number, "0" if name == "kept" else True, day=date.fromisoformat(day))
        yield store


def of(counts: list[dict[str, object]], name: str) -> Mapping[object, object]:
    return {row["since"]: row["devices"] for row in counts if row["metric"] == name}


def test_reports_of_a_period_are_added_over_its_days_and_the_versions_of_the_metric(store: Store) -> None:
    counts = active(store, METRICS.values(), ActiveQuery(), TODAY).rows()
    assert of(counts, "daily") == {"2026-10-30": 30, "2026-11-01": 10, "2026-11-02": 5}
    assert of(counts, "weekly") == {"2026-10-26": 7, "2026-11-02": 3 + 2 + 6}
    assert of(counts, "monthly") == {"2026-10-01": 4, "2026-11-01": 9}
    assert {row["metric"] for row in counts} == {"daily", "weekly", "monthly"}  # the others are not of all devices
    assert {(row["period"], row["until"], row["complete"]) for row in counts if row["metric"] != "daily"} == {
        *(("week", "2026-11-01", True), ("week", "2026-11-08", True)),
        *(("month", "2026-10-31", True), ("month", "2026-11-30", False)),
    }
    assert list(counts[0]) == [column.name for column in ACTIVE]


def test_period_that_begins_before_the_first_day_is_left_out(store: Store) -> None:
    for since, weeks, months in (
        ("2026-10-26", {"2026-10-26": 7, "2026-11-02": 11}, {"2026-11-01": 9}),
        ("2026-10-27", {"2026-11-02": 11}, {"2026-11-01": 9}),
        ("2026-11-02", {"2026-11-02": 11}, {}),
    ):
        counts = active(store, METRICS.values(), ActiveQuery(since=date.fromisoformat(since)), TODAY).rows()
        assert (of(counts, "weekly"), of(counts, "monthly")) == (weeks, months)


def test_former_versions_of_metrics_with_of_and_after_can_be_read(tmp_path: Path) -> None:
    """Their stored definitions keep ``of`` and ``after``, which are part of the version."""
    text = '[metrics.uses]\ntype = "number"\nlow = 0\nhigh = 9\nof = "count"\nafter = "7 days"\nepsilon = 1.0\n'
    former = parse_metrics(text + 'period = "week"')["uses"]
    with collector(tmp_path, metrics={"uses": former}):
        pass
    with collector(tmp_path, metrics={"uses": parse_metrics(text + 'period = "day"')["uses"]}) as app:
        read = collector_of(app).store.definitions.read("uses", former.version)
    assert read is not None
    assert (read.version, read.of, read.after, read.period) == (former.version, "count", 7, "week")
