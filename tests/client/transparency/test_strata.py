"""Attributes that are sent in the clear are named before consent, in the status, and for each upload."""

from pathlib import Path

import pytest

from client.devices import METRICS, Make
from dither.__main__ import main
from dither.transparency.explain import catalogue, reading
from dither_shared import Batch, parse_metrics

TOML = """
[metrics.theme]
description = "Which theme?"
type = "choice"
values = ["light", "dark"]
epsilon = 1.0
strata = {platform = ["linux", "windows"], channel = ["stable", "beta"]}

[metrics]
startup = {type = "number", low = 0, high = 10, unit = "s", epsilon = 1.0, strata = {platform = ["linux", "windows"]}}
mobile = {type = "boolean", epsilon = 1.0}
"""
STRATIFIED = parse_metrics(TOML)
CLEAR = "Sent in the clear, not changed at random: platform (linux, windows or other), channel (stable, beta or other)"


@pytest.fixture(name="arguments")
def _arguments(tmp_path: Path, folder: Path) -> list[str]:
    (tmp_path / "metrics.toml").write_text(TOML)
    return ["--metrics", str(tmp_path / "metrics.toml"), "--app", "tests", "--state", str(folder)]


def examples(text: str) -> list[Batch]:
    lines = [line for line in text.splitlines() if "An upload, for example" in line]
    return [Batch.decode(line.partition(": ")[2].encode()) for line in lines]


def test_consent_text_names_the_attributes_sent_in_the_clear(make: Make) -> None:
    text = make(metrics=STRATIFIED, mode=None, strata={"channel": "beta"}).consent_text()
    head, theme, startup, mobile = text.split("\n\n")
    assert "What is sent in the clear is not changed." in head
    assert CLEAR in theme
    assert "Sent in the clear, not changed at random: platform (linux, windows or other)\n" in startup
    assert "n the clear" not in mobile
    assert "It says: in the clear: platform linux, channel beta" in theme
    assert "; in the clear: platform linux" in startup
    assert [batch.stratum for batch in examples(text)] == ["linux/beta", "linux", None]


def test_the_example_has_the_stratum_of_this_device(make: Make) -> None:
    client = make(metrics=STRATIFIED, mode=None, strata={"platform": "plan9", "channel": "stable"})
    assert [batch.stratum for batch in examples(client.consent_text())] == ["other/stable", "other", None]
    assert client.status().unlisted == {}, "an example is no report"


def test_consent_text_without_strata_mentions_no_attribute_in_the_clear(make: Make) -> None:
    client = make(metrics=METRICS, mode=None)
    assert "in the clear" not in client.consent_text() + catalogue(METRICS.values())
    assert {metric.in_the_clear for metric in client.status().metrics} == {""}


def test_the_status_names_strata_as_sent_in_the_clear(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", *arguments]) == 0
    assert f"    {CLEAR[0].lower()}{CLEAR[1:]}\n" in capsys.readouterr().out
    assert main(["status", *arguments, "--json"]) == 0
    assert '"in_the_clear": "platform (linux, windows or other)"' in capsys.readouterr().out


def test_a_preview_names_the_stratum(
    arguments: list[str], folder: Path, make: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    client = make(folder, metrics=STRATIFIED, strata={"platform": "windows"})
    client.record("theme", "dark", channel="beta")
    client.record("mobile", True)
    theme, mobile = (body.decode() for body in client.preview())
    assert main(["preview", *arguments]) == 0
    assert capsys.readouterr().out == f"{theme}\n    in the clear: platform windows, channel beta\n{mobile}\n"
    assert main(["preview", *arguments[2:]]) == 0, "without the questions"
    assert capsys.readouterr().out == f"{theme}\n    in the clear: windows/beta\n{mobile}\n"


def test_preview_shows_the_meaning_and_the_stratum_of_a_number_together(make: Make) -> None:
    client = make(metrics=STRATIFIED)
    client.record("startup", 3, platform="linux")
    (body,) = client.preview()
    assert client.explain(body).endswith("; in the clear: platform linux")
    assert reading(STRATIFIED, body.replace(b"linux", b"linu")).endswith("; in the clear: platform linu")
