"""A lost secret is not silently replaced: the user is asked again, and what was spent stays spent."""

from pathlib import Path

import pytest

from client.devices import BROWSER, METRICS, Calendar, Make, Script
from dither.consent.rules import LOST


def lose(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).unlink()


@pytest.mark.parametrize("lost", [("secret", "journal"), ("secret",)])
def test_consent_without_its_secret_does_not_count(make: Make, folder: Path, lost: tuple[str, ...]) -> None:
    make(folder).record("browser", "firefox")
    lose(folder, *lost)
    sent = Script()
    client = make(folder, mode=None, transport=sent, background=True)
    client.record("browser", "firefox")
    client.flush(1)
    status = client.status()
    assert (status.mode, status.decided_by) == ("off", LOST)
    assert client.pending() == list(METRICS)
    assert sent.bodies == []
    assert not (folder / "secret").exists()


@pytest.mark.parametrize("lost", [("secret", "journal"), ("secret",)])
def test_consent_after_a_lost_secret_covers_only_the_metrics_shown(
    make: Make, folder: Path, lost: tuple[str, ...]
) -> None:
    make(folder).record("browser", "firefox")
    lose(folder, *lost)
    client = make(folder, mode=None)
    client.consent("on", ["theme"])
    assert client.status().mode == "on"
    assert client.pending() == [name for name in METRICS if name != "theme"], "earlier acceptance does not count"
    client.consent("on")
    assert client.pending() == []
    assert make(folder, mode=None).pending() == []
    assert (folder / "secret").exists()


def test_spend_outlives_the_secret(make: Make, folder: Path, calendar: Calendar) -> None:
    make(folder).record("browser", "firefox")
    lose(folder, "secret")
    client = make(folder)
    calendar.pass_days(1)
    for _ in range(2):
        client.record("browser", "firefox")
        calendar.pass_days(1)
    browser = next(metric for metric in client.status().metrics if metric.name == "browser")
    assert browser.reports == 3
    assert browser.spent == pytest.approx(2 * BROWSER.charge), "once under each secret"
    assert client.status().trouble == {}


def test_running_client_uses_a_secret_that_another_client_has_replaced(make: Make, folder: Path) -> None:
    make(folder).record("browser", "firefox")
    lose(folder, "secret", "journal")
    running = make(folder, mode=None)
    assert running.status().mode == "off"
    make(folder)
    assert running.status().mode == "on"
    running.record("theme", "dark")
    assert running.status().queued == 1


@pytest.mark.parametrize(
    ("by", "other"),
    [("DITHER", {"environ": {"DITHER": "on"}}), ("policy", {})],
)
def test_neither_environment_nor_policy_replaces_a_lost_secret(
    make: Make, folder: Path, tmp_path: Path, by: str, other: dict[str, object]
) -> None:
    make(folder).record("browser", "firefox")
    lose(folder, "secret", "journal")
    policy = tmp_path / "policy.toml"
    policy.write_text('mode = "on"\n')
    client = make(folder, mode=None, **(other or {"policy": policy}))
    assert by in client.status().decided_by
    client.record("browser", "firefox")
    assert client.status().queued == client.status().shown == 0
    assert client.status().trouble
    assert not (folder / "secret").exists()
    client.consent("on")
    client.record("browser", "firefox")
    assert client.status().queued + client.status().shown == 1


def test_interrupted_consent_is_asked_for_again(make: Make, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Death between the choice and the secret: nothing was drawn, but it looks like a lost secret."""
    monkeypatch.setattr("dither.reporting.journal.Journal.begin", lambda _: None)
    make(folder)
    monkeypatch.undo()
    assert not (folder / "secret").exists()
    client = make(folder, mode=None)
    assert client.pending() == list(METRICS)
    client.consent("on")
    assert client.pending() == []
