"""Texts about reports that go through a relay: before consent, for each upload, and for a device."""

import dataclasses
import json
from pathlib import Path

import pytest

from client.devices import METRICS, Make
from client.seals import KEY, KEYS, opened, take_package
from dither import __main__ as program
from dither.cli.users import run
from dither.consent.rules import terms
from dither.reporting.bodies import read
from dither.transparency.explain import catalogue
from dither_shared import Report, Strata
from dither_shared.metrics.metric import Mixed

WHO = (
    "The relay sees this device's address, the time, the question and what is sent in the clear, but not the report.",
    "The collector sees the report, but not the address.",
    "This holds unless the two work together.",
)


@pytest.mark.parametrize("suite", KEYS)
def test_consent_text_for_a_relay_says_who_sees_what(make: Make, suite: str) -> None:
    text = make(seal=KEYS[suite]).consent_text(["browser"])
    for sentence in WHO:
        assert sentence in text
    assert f"Sealed for: the collector's key {KEYS[suite].fingerprint}" in text
    clear, shut = (
        text.partition(f"    {name}: ")[2].partition("\n")[0].encode()
        for name in ("An upload, for example", "Sealed, as the relay gets it")
    )
    assert opened(shut, suite) == read(clear).row, "it is the same report"
    Report.decode(read(clear).row, METRICS["browser"].mechanism)


def test_without_a_key_no_text_mentions_relays_or_seals(make: Make) -> None:
    client = make()
    client.record("mobile", True)
    assert "relay" not in client.consent_text() + catalogue(METRICS.values())
    assert "seal" not in client.consent_text().lower()
    assert (client.status().relayed, {metric.sealed_for for metric in client.status().metrics}) == ("", {""})


def test_the_status_names_relay_and_key(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    client = make(seal=KEY, endpoint="https://relay.example.org/t")
    client.record("browser", "firefox")
    status = client.status()
    assert "(https://relay.example.org/t)" in status.relayed
    assert all(sentence in status.relayed for sentence in WHO)
    assert {metric.sealed_for for metric in status.metrics} == {KEY.fingerprint}
    assert run(client) == 0
    output = capsys.readouterr().out
    assert status.relayed in output
    assert output.count(f"sealed for the collector's key {KEY.fingerprint}") == len(METRICS)


def test_sealed_upload_is_shown_as_unreadable_on_this_device(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    client = make(seal=KEY)
    client.record("browser", "firefox")
    (body,) = client.preview()
    assert client.explain(body) == "sealed: only the collector can open it, not even this device"
    assert run(client, ["preview"]) == 0
    assert capsys.readouterr().out == f"{body.decode()}\n    {client.explain(body)}\n"
    assert client.explain(b'{"pool":"x"}') == ""


def test_sealed_reports_are_counted_without_the_apps_definitions(
    home: Path, make: Make, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = make(home / "notes", app="notes", seal=KEY)
    notes.record("mobile", True)
    notes.record("theme", "dark")
    take_package(monkeypatch)
    assert program.main(["status", "--app", "notes"], environ={}) == 0
    assert "2 of the waiting reports are sealed: only the collector can read them" in (capsys.readouterr().out)
    assert program.main(["status", "--app", "notes", "--json"], environ={}) == 0
    assert json.loads(capsys.readouterr().out)["sealed"] == 2
    assert program.main(["preview", "--app", "notes"], environ={}) == 0
    output = capsys.readouterr().out
    assert output.count("sealed: only the collector can open it") == 2
    assert [line.encode() for line in output.splitlines()[::2]] == notes.preview(), "reading has dropped no report"


def test_a_sealed_upload_names_its_stratum(make: Make) -> None:
    metric = dataclasses.replace(METRICS["mobile"], strata=Strata.of([("platform", ["linux", "mac os"])]))
    client = make(metrics={"mobile": metric}, seal=KEY, strata={"platform": "mac os"})
    client.record("mobile", True)
    (body,) = client.preview()
    assert client.explain(body).endswith("not even this device; in the clear: platform mac os")


def test_consent_text_states_the_loss_of_a_batch_and_with_a_colluding_relay(make: Make) -> None:
    mixed = dataclasses.replace(METRICS["theme"], mixed=Mixed(0.25, 1000))
    text = make(metrics={"theme": mixed}, seal=KEY).consent_text()
    assert (
        "Mixed by the relay: if relay and collector keep apart, epsilon 0.25 for each report, because it is mixed with "
        "those of at least 999 other devices (except with a probability of about 1e-06); if they work together, "
        "epsilon 1\n"
    ) in text
    assert '"pool":"theme/' in text
    assert "/1000" in text
    assert "Mixed by the relay" not in make(seal=KEY).consent_text()


def test_promise_of_a_batch_changes_the_version_and_needs_new_consent() -> None:
    metrics = [dataclasses.replace(METRICS["theme"], mixed=one) for one in (None, Mixed(0.25, 1000), Mixed(0.25, 999))]
    assert len({metric.version for metric in metrics}) == len({terms(metric) for metric in metrics}) == 3
    assert metrics[0].version == METRICS["theme"].version
