"""``python -m dither compile``: definitions for clients that cannot read TOML, written completely or not at all."""

import json
import os
import stat
import threading
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from dither import __main__ as program
from dither.cli.compile import FORMAT, compiled, write_whole
from dither.consent.rules import terms
from dither.reporting.ledger import Price
from dither_shared import ParameterError, parse_metrics

KINDS = """\
[metrics.theme]
description = "Which theme do people use, \u00eb?"
type = "choice"
values = ["light", "dark", "\U0001f600"]
epsilon = 1.0
cap = 20.0
why = "To drop themes that nobody uses"
owner = "ui@example.org"
expires = 2027-06-30
tier = "technical"
strata = {platform = ["linux", "mac"]}

[metrics]
mobile = {type = "boolean", truth = 0.75, period = "week"}
used = {type = "selection", values = ["export", "search", "print"], at_most = 2, epsilon = 1.0}
startup = {type = "number", low = 0.05, high = 60.0, log = true, unit = "s", epsilon = 1.0}
browser = {type = "string", epsilon = 2.0, candidates = ["Firefox"]}
crash = {type = "string", discover = {alphabet = "a-z0-9._-", length = 12}, epsilon = 2.0}
both = {type = "cross", cross = ["theme", "mobile"], epsilon = 2.0}
"""
REFUSED = """\
lasting = {type = "boolean", epsilon = 1.0, permanent_epsilon = 2.0, period = "once"}
asked = {type = "boolean", epsilon = 1.0, one_of = "looks"}
load = {type = "number", mechanism = "discrete-laplace", low = 0, high = 100, epsilon = 1.0}
bits = {type = "string", mechanism = "rappor", epsilon = 1.0}
sketch = {type = "string", mechanism = "count-mean-sketch", epsilon = 1.0}
"""
"""More of the table ``metrics``."""


def main(*arguments: object) -> int:
    return program.main(["compile", *map(str, arguments)], environ={})


@pytest.fixture
def definitions(tmp_path: Path) -> Path:
    path = tmp_path / "metrics.toml"
    path.write_text(KINDS, encoding="utf-8")
    return path


def test_every_kind_is_compiled_to_a_line(definitions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(definitions) == 0
    output = capsys.readouterr()
    assert output.err == ""
    assert output.out.isascii()
    assert output.out.endswith("}\n]}\n")
    metrics = parse_metrics(KINDS)
    assert [line.startswith('{"name":') for line in output.out.splitlines()] == [False, *[True] * len(metrics), False]
    file = json.loads(output.out)
    assert file.keys() == {"format", "language", "sentences", "metrics"}
    assert file["format"] == FORMAT == "dither-compiled-1"
    for each, metric in zip(file["metrics"], metrics.values(), strict=True):
        assert (each["name"], each["version"], each["terms"]) == (metric.name, metric.version, terms(metric))
        assert (each["epsilon"], each["period"]) == (metric.mechanism.epsilon, metric.period)
        assert (each["law"], each["question"]["kind"]) == (metric.mechanism.compiled, metric.question.kind)
        assert metric.item(each["example"]) == metric.item(metric.question.example)
    assert [each["question"]["kind"] for each in file["metrics"]] == [
        *("choice", "boolean", "selection", "number", "string", "discovery", "cross")
    ]


def test_a_compiled_metric_contains_the_words_of_consent(definitions: Path) -> None:
    metric = parse_metrics(KINDS)["theme"]
    compiled_metric: dict[str, Any] = json.loads(compiled(metric))
    assert [*compiled_metric] == [
        *("name", "version", "terms", "period", "expires", "epsilon", "reports", "question", "law"),
        *("strata", "example", "description", "words"),
    ]
    assert date.fromisoformat(compiled_metric["expires"]) == metric.expires
    assert compiled_metric["strata"] == [["platform", ["linux", "mac", "other"]]]
    assert (compiled_metric["description"], compiled_metric["example"]) == (metric.description, "light")
    words = dict(compiled_metric["words"])
    assert [*words] == [
        *("Why", "Read by", "About", "Until", "How often", "Answers", "Sent in the clear, not changed at random"),
        *("What a report reveals", "Privacy loss"),
    ]
    assert words["Why"] == metric.why
    assert words["Until"] == compiled_metric["expires"]
    assert words["Privacy loss"].startswith("epsilon 1 for one report")
    assert json.loads(compiled(parse_metrics(KINDS)["mobile"]))["expires"] is None


@pytest.mark.parametrize(
    ("epsilon", "cap", "reports"), [("1.0", None, None), ("1.0", "1.0", 1), ("0.1", "0.3", 2), ("0.3", "3.0", 10)]
)
def test_a_cap_allows_as_many_reports_as_the_ledger_pays_for(epsilon: str, cap: str | None, reports: int) -> None:
    """Count exactly: 0.1 as a double is more than a third of 0.3, and the cost of a report is rounded up."""
    capped = "" if cap is None else f"cap = {cap}\n"
    metric = parse_metrics(f'[metrics.m]\ntype = "boolean"\nepsilon = {epsilon}\n{capped}')["m"]
    compiled_reports = json.loads(compiled(metric))["reports"]
    assert compiled_reports == (None if cap is None else Price.of(metric).most)
    assert compiled_reports == reports


def test_compile_writes_the_same_bytes_each_time_and_to_standard_output(
    definitions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "metrics.json"
    assert main(definitions) == 0
    printed = capsys.readouterr().out
    for _ in range(2):
        assert main(definitions, "-o", output) == 0
        assert output.read_bytes() == printed.encode("ascii")
    assert capsys.readouterr() == ("", "")


def test_compile_names_all_refusals_together_and_writes_nothing(
    definitions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    definitions.write_text(KINDS + REFUSED, encoding="utf-8")
    output = tmp_path / "metrics.json"
    output.write_bytes(b"before")
    assert main(definitions, "-o", output) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert output.read_bytes() == b"before"
    *lines, advice = printed.err.splitlines()
    places = [line.removeprefix(f"dither: {definitions}: metrics.").partition(": ")[0] for line in lines]
    assert places == [
        *("lasting.period", "lasting.permanent_epsilon", "asked.one_of", "load.mechanism", "bits.mechanism"),
        "sketch.mechanism",
    ]
    said = dict(zip(places, lines, strict=True))
    assert 'set period = "day", "week" or "month"' in said["lasting.period"]
    assert said["lasting.permanent_epsilon"].endswith("leave permanent_epsilon out")
    assert "SHAKE-256" in said["lasting.permanent_epsilon"]
    assert said["asked.one_of"].endswith("leave one_of out")
    assert "leave mechanism out" in said["load.mechanism"]
    assert "repeats a permanent draw" in said["bits.mechanism"]
    assert "uses SHA-256" in said["sketch.mechanism"]
    assert "into a separate file" in advice
    with pytest.raises(ParameterError, match=r"metrics\.lasting\.period: "):
        compiled(parse_metrics(KINDS + REFUSED)["lasting"])


def test_compile_does_not_overwrite_the_definitions(definitions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    link = definitions.with_name("link")
    link.symlink_to(definitions)
    for output in (definitions, link):
        assert main(definitions, "-o", output) == 2
        assert capsys.readouterr().err.startswith("dither: --output: ")
    assert main(definitions, "-o", definitions.with_name("n" * 300)) == 2
    assert "cannot be written" in capsys.readouterr().err
    assert definitions.read_text(encoding="utf-8") == KINDS


def test_compile_writes_a_large_file_and_names_its_largest_metric(
    definitions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = [f"value number {number}" for number in range(4000)]
    long = f'[metrics.long]\ntype = "choice"\nvalues = {values}\nepsilon = 1.0\n'
    definitions.write_text(KINDS + long, encoding="utf-8")
    output = tmp_path / "metrics.json"
    assert main(definitions, "-o", output) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert f"the file has {output.stat().st_size / 1024:.0f} KiB" in line
    assert "the largest metric is long, with " in line
    assert line.endswith("fewer or shorter values make it smaller")


def test_sealed_metrics_are_not_compiled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "metrics.toml"
    path.write_text(f'[seal]\nkey = "x25519:{"B" * 42}A"\n{KINDS}', encoding="utf-8")
    assert program.main(["compile", str(path)], environ={}) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.count("seal: WebCrypto in browsers has neither HPKE nor ChaCha20-Poly1305") == 1
    assert "leave [seal] out" in output.err


def test_of_after_and_months_are_compiled_only_where_they_are_set() -> None:
    text = '[metrics.exports]\ntype = "number"\nlow = 0\nhigh = 50\nepsilon = 1.0\nperiod = "month"\n'
    plain = json.loads(compiled(parse_metrics(text)["exports"]))
    formed = json.loads(compiled(parse_metrics(text + 'of = "count"\nafter = "7 days"')["exports"]))
    assert (plain["period"], formed["period"]) == ("month", "month")
    assert not {"of", "after"} & plain.keys()
    assert (formed["of"], formed["after"]) == ("count", 7)
    assert formed.keys() - plain.keys() == {"of", "after"}
    assert ["Kept on this device", "the number of events of the current month, unchanged, until it is reported"] in (
        formed["words"]
    )


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.skipif(os.name == "nt", reason="there are no such modes")
def test_a_new_file_has_the_mode_that_the_umask_leaves_and_an_old_one_keeps_its_own(tmp_path: Path) -> None:
    path = tmp_path / "metrics.json"
    before = os.umask(0o027)
    try:
        write_whole(path, b"one\n")
        assert (path.read_bytes(), mode_of(path)) == (b"one\n", 0o640)
        path.chmod(0o664)
        write_whole(path, b"two\n")
    finally:
        os.umask(before)
    assert (path.read_bytes(), mode_of(path)) == (b"two\n", 0o664)
    assert [*tmp_path.iterdir()] == [path], "no draft is left"


def test_writing_through_a_link_keeps_the_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "metrics.json", tmp_path / "metrics.json"
    link.symlink_to(target)
    for content in (b"one\n", b"two\n"):
        write_whole(link, content)
        assert link.is_symlink()
        assert target.read_bytes() == content


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe, received = tmp_path / "pipe", list[bytes]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()))
    reader.start()
    write_whole(pipe, b"one\n")
    reader.join(60)
    assert received == [b"one\n"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize("name", [".", "missing/metrics.json", "n" * 300, "circle", "file/metrics.json"])
def test_failed_write_is_reported_and_changes_nothing(name: str, tmp_path: Path) -> None:
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "file").write_bytes(b"before")
    with pytest.raises(ParameterError, match="cannot be written: "):
        write_whole(tmp_path / name, b"one\n")
    assert {path.name for path in tmp_path.iterdir()} == {"circle", "file"}
    assert (tmp_path / "file").read_bytes() == b"before"


def test_failure_while_writing_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "metrics.json"
    path.write_bytes(b"before")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ParameterError, match=r"metrics\.json: cannot be written: No space left on device"):
        write_whole(path, b"after")
    assert {each: each.read_bytes() for each in tmp_path.iterdir()} == {path: b"before"}
