"""The metrics of a relay, and its alerts, which use only these."""

import re
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from dither_relay.relay import Relay
from dither_relay.store import RelayStore
from dither_server.store import StoreError
from relay.fake_collector import FakeCollector
from relay.relaying import LAYOUT, NOON, THEME, TODAY, config, hold, rows, stored
from server.test_monitoring import ALERTS, promtool
from server.test_prometheus import samples

POOL = f'{{pool="{THEME.series}",suite="x25519"}}'


@pytest.fixture
def relay(tmp_path: Path, collector: FakeCollector) -> Iterator[Relay]:
    """A relay that knows the pools, and holds seven reports of one of them."""
    with stored(tmp_path) as store:
        hold(store, rows(7))
    with Relay(config(tmp_path, collector.url)) as one:
        yield one


def text(relay: Relay) -> bytes:
    return relay.numbers.text(relay.families())


def values_of(relay: Relay) -> dict[str, float]:
    return samples(text(relay))


def test_alerts_name_only_metrics_that_a_relay_exports(relay: Relay) -> None:
    named = set(re.findall(r"\bdither_relay_\w+", ALERTS.read_text(encoding="utf-8")))
    families = {name for name, _ in re.findall(r"^# TYPE (\S+) (\S+)$", text(relay).decode(), re.MULTILINE)}
    assert len(named) > 8
    assert named <= families
    shared = {"dither_database_up", "dither_disk_free_bytes", "dither_disk_bytes", "dither_commit_failures_total"}
    assert shared <= families  # by which the collectors' alerts are its own, too
    assert b'dither_relay_answers_total{status="202"} 0.0' in text(relay)  # so that the first is a rise


def test_promtool_parses_the_relays_metrics(relay: Relay) -> None:
    read = subprocess.run([promtool(), "check", "metrics"], input=text(relay), capture_output=True, check=False)
    assert read.returncode == 0, read.stdout + read.stderr


def test_metrics_show_only_pools_sizes_and_kinds_of_answers(relay: Relay) -> None:
    relay.numbers.answered(202)
    relay.numbers.refused("crowded")
    labels = {label for name in values_of(relay) for label in re.findall(r'(\w+)="', name)}
    assert labels == {"pool", "suite", "status", "reason", "le"}
    assert not any("_created" in name for name in values_of(relay))  # of the first report, to the microsecond


def test_healthy_relay_exports_its_counts(relay: Relay) -> None:
    relay.pools.refresh()
    numbers = values_of(relay)
    assert numbers["dither_relay_ready"] == numbers["dither_database_up"] == 1
    assert not numbers["dither_relay_trouble"]
    assert not numbers["dither_relay_overdue"]
    assert not numbers["dither_relay_rejected_bodies"]
    assert numbers[f"dither_relay_waiting{POOL}"] == 7
    assert not any(word in name for name in numbers for word in (LAYOUT.series, LAYOUT.digest))  # no report has come
    assert 0 < numbers["dither_disk_free_bytes"] <= numbers["dither_disk_bytes"]


def test_missed_forwarding_hour_is_exported_as_overdue(tmp_path: Path, collector: FakeCollector) -> None:
    with stored(tmp_path) as store:
        store.use_hour(TODAY - timedelta(days=1))
    with Relay(config(tmp_path, collector.url)) as relay:
        assert values_of(relay)["dither_relay_overdue"] == 1
    with Relay(config(tmp_path, collector.url, now=lambda: NOON.replace(hour=2))) as relay:
        assert values_of(relay)["dither_relay_overdue"] == 0  # it comes at three


def test_rejected_bodies_are_counted_in_metrics(tmp_path: Path, collector: FakeCollector) -> None:
    collector.answers.append(400)
    with stored(tmp_path) as store:
        hold(store, rows(7))
        store.use_hour(TODAY - timedelta(days=1))
    with Relay(config(tmp_path, collector.url)) as relay:
        assert not values_of(relay)["dither_relay_rejected_bodies"]
        relay.forwarder.beat()
        assert values_of(relay)["dither_relay_rejected_bodies"] == 1
    with Relay(config(tmp_path, collector.url)) as relay:  # the values of the first are at most ten seconds old
        numbers = values_of(relay)
        assert (numbers[f"dither_relay_frozen{POOL}"], numbers["dither_relay_trouble"]) == (7, 1)


def test_a_relay_whose_database_is_gone_says_so(relay: Relay, monkeypatch: pytest.MonkeyPatch) -> None:
    """It still answers: a monitor that cannot reach it would take it for dead."""

    def fails(_: RelayStore) -> None:
        raise StoreError("database: disk I/O error")

    for name in ("held", "state", "disk"):
        monkeypatch.setattr(RelayStore, name, fails)
    numbers = values_of(relay)
    assert numbers["dither_database_up"] == numbers["dither_relay_ready"] == 0
    assert not any(name.startswith(("dither_relay_trouble", "dither_disk")) for name in numbers)


def test_relay_without_pools_is_not_ready(tmp_path: Path) -> None:
    with Relay(config(tmp_path, "http://127.0.0.1:1")) as relay:
        numbers = values_of(relay)
        assert (numbers["dither_relay_ready"], numbers["dither_database_up"]) == (0, 1)
