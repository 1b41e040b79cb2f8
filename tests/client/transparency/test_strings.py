"""Strings as a user sees them, from the question to the upload; and what their developer is told to mend."""

from datetime import date
from pathlib import Path

import pytest

import dither
from client.devices import Make
from dither import __main__ as program
from dither import testing
from dither.cli.lint import lint
from dither.transparency.explain import catalogue
from dither_shared import Batch, KeyedEntropy, Report, parse_metrics

DEFINITION = """
[metrics.crash]
description = "In which function did the app crash?"
type = "string"
discover = {alphabet = "a-z0-9._-", length = 12, fold = true}
epsilon = 1.0

[metrics.editor]
type = "string"
mechanism = "projective-count-mean-sketch"
epsilon = 1.0
permanent_epsilon = 2.0

[metrics.browser]
type = "string"
mechanism = "rappor"
epsilon = 1.0
"""
METRICS = parse_metrics(DEFINITION)
FITS = "a report fits your text 48 times in 100, any other text 25 times"


def test_the_text_before_consenting_says_what_becomes_of_a_text(make: Make) -> None:
    text = make(metrics=METRICS, mode=None, entropy=KeyedEntropy(b"an example")).consent_text(["crash"])
    for said in (
        "In which function did the app crash?",
        "any text of up to 12 of the characters -.0-9_a-z (capitals count as small letters); a longer one is cut",
        "a report speaks of the beginning of your text, or of all of it",
        "at most 73 in 100 sure after one report",
        "It says: it speaks of ",
        FITS,
    ):
        assert said in text


def test_a_waiting_report_is_shown_and_read(
    make: Make, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "metrics.toml"
    path.write_text(DEFINITION, "utf-8")
    client = make(folder, metrics=METRICS)
    client.record("crash", "Main.Loop")
    client.record("editor", "vim")
    client.record("browser", "Chrome")
    crash, editor, browser = client.preview()
    assert client.explain(crash).endswith(FITS)
    assert client.explain(editor) == FITS
    assert client.explain(browser) == ""
    report = Report.decode(Batch.decode(crash).reports, METRICS["crash"].mechanism)
    level = report.cohort // 2
    assert ("all of the text" in client.explain(crash)) == (level >= 9)
    assert len(Batch.decode(crash).reports) == 3
    program.main(["preview", "--metrics", str(path), "--app", "tests", "--state", str(folder)], environ={})
    assert client.explain(crash) in capsys.readouterr().out


def test_a_text_that_is_cut_or_left_out_is_counted_and_a_mistake_is_told(make: Make) -> None:
    for text, outside in (("main", 0), ("a" * 13, 1), ("a b", 1), ("", 0)):
        client = make(metrics=METRICS)
        client.record("crash", text)
        assert (client.status().outside, client.status().mistakes, client.status().queued) == (outside, 0, 1)
    client = make(metrics=METRICS, strict=False)
    client.record("crash", ["main"])
    assert (client.status().outside, client.status().mistakes) == (1, 1)
    with pytest.raises(dither.ParameterError, match=r"metrics\.crash: a value of type list that is no answer"):
        make(metrics=METRICS).record("crash", ["main"])


def test_status_and_catalogue_and_the_stand_in_for_tests(make: Make) -> None:
    told = catalogue(METRICS.values())
    assert "| Mechanism | prefix-sketch |" in told
    assert "| Mechanism | projective-count-mean-sketch |" in told
    status = make(metrics=METRICS).status()
    assert [metric.permanent_epsilon for metric in status.metrics][:2] == [None, pytest.approx(2.0)]
    telemetry = testing.Telemetry(METRICS)
    telemetry.record("crash", "main")
    telemetry.record("editor", "vim")
    assert telemetry.flush()
    assert telemetry.recorded("crash") == ["main"]
    assert [len(telemetry.collector.reports(name)) for name in METRICS] == [1, 1, 0]


def test_lint_speaks_of_capitals_and_of_what_cannot_be_found() -> None:
    metrics = parse_metrics(
        '[metrics.url]\ntype = "string"\ndiscover = {alphabet = "a-z0-9:/._-", length = 24}\nepsilon = 0.5\n'
        'period = "once"\n'
    )
    found = [finding for finding in lint(metrics.values(), date(2026, 11, 20)) if "discover" in finding]
    assert [finding.split(":")[0] for finding in found] == ["metrics.url.discover.fold", "metrics.url.discover.length"]
