"""Answers for other programs: the same rows in every format, inert where a spreadsheet would run them."""

import csv
import io
import json
import os
import re
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from click.testing import CliRunner, Result
from flask import Flask
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st

from dither_server.analysis.answers import SHARES
from dither_server.analysis.columns import names_of
from dither_server.app import collector_of
from dither_server.cli.main import cli
from dither_server.reading import exports
from dither_server.reading.exports import FORMATS, columns, escape_formula, unescape_formula
from dither_server.reading.summaries import summary_of
from dither_server.store import Store, StoreError
from server.collecting import (
    METRICS,
    METRICS_TOML,
    MOBILE,
    THEME,
    TODAY,
    VERSION,
    environment,
    problem,
    rows_of,
    upload,
)

URL = "/v1/metrics/theme/estimate"
ARROW = FORMATS["arrow"].media_type
COLUMNS = list(columns([summary_of(THEME)]))


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    collector_of(app).store.commit([upload(THEME, rows_of(THEME, 800))], TODAY, b"s" * 16)
    return app.test_client()


def test_every_format_holds_the_same_rows(client: FlaskClient) -> None:
    answer = client.get(URL).json
    assert answer is not None
    rows = [json.loads(line) for line in client.get(f"{URL}?format=ndjson").text.splitlines()]
    assert [{name: row[name] for name in names_of(SHARES)} for row in rows] == answer["values"]
    assert {name: rows[0][name] for name in ("metric", "since", "reports")} == {
        "metric": "theme",
        "since": "2026-11-20",
        "reports": 800,
    }
    table = pa.ipc.open_stream(client.get(f"{URL}?format=arrow").data).read_all()
    days = {"since": TODAY, "until": TODAY}
    assert table.to_pylist() == [row | days for row in rows]
    assert table.column_names == COLUMNS
    text = list(csv.DictReader(io.StringIO(client.get(f"{URL}?format=csv").text)))
    assert [row["value"] for row in text] == ["dark", "light", "'=1+1", "other"]
    assert [float(row["low"]) for row in text] == [row["low"] for row in rows]
    assert list(text[0]) == list(rows[0]) == COLUMNS


def test_what_is_found_is_true_or_false_in_every_format(app: Flask) -> None:
    collector_of(app).store.commit([upload(VERSION, rows_of(VERSION, 2000, value="1.0"))], TODAY, b"s" * 16)
    url, client = "/v1/metrics/version/estimate", app.test_client()
    found = [json.loads(line)["found"] for line in client.get(f"{url}?format=ndjson").text.splitlines()]
    assert found == [True, False]
    table = pa.ipc.open_stream(client.get(f"{url}?format=arrow").data).read_all()
    assert table.schema.field("found").type == pa.bool_()
    assert table["found"].to_pylist() == found
    text = csv.DictReader(io.StringIO(client.get(f"{url}?format=csv").text))
    assert [row["found"] for row in text] == ["true", "false"]
    listed = pa.ipc.open_stream(client.get(f"{URL}?format=arrow").data).read_all()
    assert set(listed["found"].to_pylist()) == {None}


def test_days_are_answered_one_by_one(app: Flask, client: FlaskClient) -> None:
    later = TODAY + timedelta(days=2)
    collector_of(app).store.commit([upload(THEME, rows_of(THEME, 60))], later, b"s" * 16)
    each = client.get(f"{URL}?by_day=true").json
    assert each == [client.get(f"{URL}?since={day}&until={day}").json for day in (TODAY, later)]
    for form in ("csv", "ndjson"):
        parts = [client.get(f"{URL}?format={form}&since={day}&until={day}").text for day in (TODAY, later)]
        header = parts[1].partition("\n")[0] + "\n" if form == "csv" else ""
        assert client.get(f"{URL}?by_day=true&format={form}").text == parts[0] + parts[1].removeprefix(header)
    table = pa.ipc.open_stream(client.get(f"{URL}?by_day=true&format=arrow").data).read_all()
    assert table["since"].to_pylist() == [TODAY] * 4 + [later] * 4
    assert client.get(f"{URL}?by_day=true&since=2027-01-01").json == []
    empty = pa.ipc.open_stream(client.get(f"{URL}?by_day=true&format=arrow&since=2027-01-01").data).read_all()
    assert (empty.num_rows, empty.column_names) == (0, COLUMNS)
    assert problem(client.get("/v1/metrics/theme/combined?by_day=true")) == (400, "parameter")


def test_what_is_not_defined_is_empty_or_null(client: FlaskClient) -> None:
    first = client.get("/v1/metrics/mobile/estimate?format=csv").text.splitlines()[1]
    assert first.startswith(f"mobile,{MOBILE.version},,,0,0.95,,false,,,")
    table = pa.ipc.open_stream(client.get("/v1/metrics/mobile/estimate?format=arrow").data).read_all()
    assert table["frequency"].to_pylist() == table["since"].to_pylist() == [None, None]
    assert table.schema.field("frequency").type == pa.float64()
    assert table.schema.field("since").type == pa.date32()


@pytest.mark.parametrize(
    ("accept", "given"),
    [
        ("text/csv", "text/csv"),
        (ARROW, ARROW),
        ("application/x-ndjson, application/json;q=0.9", "application/x-ndjson"),
        ("text/html,application/xhtml+xml,*/*;q=0.8", "application/json"),
        ("*/*", "application/json"),
        ("", "application/json"),
    ],
)
def test_accept_chooses_the_format(accept: str, given: str, client: FlaskClient) -> None:
    assert client.get(URL, headers={"Accept": accept}).mimetype == given
    named = client.get(f"{URL}?format=ndjson", headers={"Accept": accept})
    assert named.mimetype == "application/x-ndjson"


def test_a_format_that_cannot_be_had_is_told(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    assert problem(client.get(URL, headers={"Accept": "image/png"})) == (406, "not-acceptable")
    monkeypatch.setattr(exports, "find_spec", lambda _name: None)
    for response in (client.get(f"{URL}?format=arrow"), client.get(URL, headers={"Accept": ARROW})):
        assert problem(response) == (406, "not-acceptable")
        assert "pip install 'dither[arrow]'" in response.json["detail"]  # type: ignore[index]
    both = client.get(URL, headers={"Accept": f"{ARROW}, text/csv;q=0.5"})
    assert both.mimetype == "text/csv"


@pytest.mark.parametrize(
    ("label", "written"),
    [
        ("=1", "'=1"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@a", "'@a"),
        ("\t=1", "'\\t=1"),
        ("\r=1", "'\\r=1"),
        ("\n=1", "'\\n=1"),
        (" =1", "' =1"),
        ("\u3000=1", "'\u3000=1"),
        ("＝1", "'＝1"),
        ("＋1", "'＋1"),
        ("－1", "'－1"),
        ("＠a", "'＠a"),
        ("a;=1", "'a\\u003b=1"),
        ("a; ＝1", "'a\\u003b ＝1"),
        ("a\n@b", "'a\\n@b"),
        ("'=1", "''=1"),
        ("'", "''"),
        (r'="\u003b"', r"""'=\"\\u003b\""""),
        *((label, label) for label in ("a=1", "", "1-2", "é", "a;b", "a, -b", 'say "no"', "\\u003b", "it's")),
    ],
)
def test_formulas_are_inert_and_can_be_told_from_what_was_meant(label: str, written: str) -> None:
    assert escape_formula(label) == written
    assert unescape_formula(written) == label


@given(st.text(st.sampled_from("=+-@＝＋－＠;,'\"\\ \t\r\na\x00\u3000u0é"), max_size=8))
def test_whatever_a_label_is_no_cell_of_it_is_a_formula(label: str) -> None:
    """However a spreadsheet parts the cells; and reading gives back the label."""
    text = io.StringIO()
    csv.writer(text).writerow(["theme", escape_formula(label)])
    for cell in re.split("[;\t\r\n]", text.getvalue()):
        assert not re.match('[\\s\\x00"]*[=+\\-@＝＋－＠]', cell.removeprefix("theme,"))
    ((_, written),) = csv.reader(io.StringIO(text.getvalue(), newline=""))
    assert unescape_formula(written) == label


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a collector has run for three days, on two of which something came."""
    (tmp_path / "metrics.toml").write_text(METRICS_TOML, encoding="utf-8")
    with closing(Store(f"sqlite:///{tmp_path}/dither.db")) as store:
        store.register(METRICS.values())
        for day, count in ((0, 300), (2, 500)):
            uploads = [upload(THEME, rows_of(THEME, count)), upload(MOBILE, rows_of(MOBILE, 200, value="true"))]
            store.commit(uploads, TODAY + timedelta(days=day), b"s" * 16)
    return tmp_path


def run(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(cli, ["export", *arguments], env=environment(folder))


def test_the_command_writes_one_table_of_all(folder: Path) -> None:
    result = run(folder)
    assert result.exit_code == 0, result.output
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [row["metric"] for row in rows] == ["theme"] * 4 + ["mobile"] * 2 + ["version"] * 2
    assert {row["reports"] for row in rows if row["metric"] == "theme"} == {"800"}
    assert result.stderr == "open is left out: it takes any string and lists no candidates\n"


def test_the_command_writes_a_day_at_a_time_to_a_file(folder: Path) -> None:
    path = folder / "table.arrow"
    assert run(folder, "theme", "--by-day", "--format", "arrow", "--output", str(path)).output == ""
    table = pa.ipc.open_stream(path.read_bytes()).read_all()
    last = TODAY + timedelta(days=2)
    assert table["since"].to_pylist() == table["until"].to_pylist() == [TODAY] * 4 + [last] * 4
    assert table["reports"].to_pylist() == [300] * 4 + [500] * 4
    later = json.loads(run(folder, "theme", "--by-day", "--format", "json", "--since", "2026-11-21").stdout)
    assert [(one["since"], one["reports"]) for one in later] == [(last.isoformat(), 500)]
    assert date.fromisoformat(later[0]["until"]) == last


def test_a_file_is_there_only_when_it_is_whole(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "table.csv"
    path.write_text("before", encoding="utf-8")

    def fail(*_: object) -> None:
        raise StoreError("database: gone")

    monkeypatch.setattr(Store, "history", fail)
    result = run(folder, "theme", "--output", str(path))
    assert (result.exit_code, result.stderr) == (2, "dither-server: database: gone\n")
    assert path.read_text(encoding="utf-8") == "before"
    assert not list(folder.glob("*.part"))


def test_what_is_no_file_is_written_to_and_not_replaced(folder: Path) -> None:
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    with closing(os.fdopen(os.open(pipe, os.O_RDWR), "rb", buffering=0)) as end:  # holds some kilobytes by itself
        assert run(folder, "mobile", "--output", str(pipe)).exit_code == 0
        assert end.read(6) == b"metric"
    assert pipe.is_fifo()


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["nothing"], "no such metric"),
        (["open"], "list candidates in its definition"),
        (["--since", "soon"], "--since: not a date"),
        (["--since", "2026-11-21", "--until", "2026-11-20"], "later than until"),
        (["--output", "/nowhere/table"], "cannot be written"),
        (["--format", "xml"], "'xml' is not one of"),
    ],
)
def test_mistakes_get_one_clear_line(arguments: list[str], what: str, folder: Path) -> None:
    result = run(folder, *arguments)
    assert result.exit_code == 2
    assert what in result.stderr
    assert result.stdout == ""


def test_without_pyarrow_the_command_names_the_extra(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exports, "find_spec", lambda _name: None)
    assert "pip install 'dither[arrow]'" in run(folder, "--format", "arrow").stderr
