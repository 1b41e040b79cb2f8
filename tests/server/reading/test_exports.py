"""Answers for other programs: the same rows in every format, with formulas escaped for spreadsheets."""

import csv
import errno
import io
import json
import os
import re
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from unittest.mock import Mock

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from click.testing import CliRunner, Result
from flask import Flask
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st

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
    collect,
    environment,
    problem,
)

URL = "/v1/metrics/theme/estimate"
ARROW = FORMATS["arrow"].media_type
COLUMNS = list(columns([summary_of(THEME)]))


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    collect(collector_of(app).store, THEME, 800)
    return app.test_client()


def test_truths_and_undefined_numbers_are_written_as_each_format_has_them(app: Flask, client: FlaskClient) -> None:
    collect(collector_of(app).store, VERSION, 2000, "1.0")
    url = "/v1/metrics/version/estimate"
    found = [json.loads(line)["found"] for line in client.get(f"{url}?format=ndjson").text.splitlines()]
    table = pa.ipc.open_stream(client.get(f"{url}?format=arrow").data).read_all()
    text = csv.DictReader(io.StringIO(client.get(f"{url}?format=csv").text))
    assert table.schema.field("found").type == pa.bool_()
    assert found == table["found"].to_pylist() == [True, False]
    assert [row["found"] for row in text] == ["true", "false"]
    first = client.get("/v1/metrics/mobile/estimate?format=csv").text.splitlines()[1]
    assert first.startswith(f"mobile,{MOBILE.version},,,0,0.95,,false,,,")
    table = pa.ipc.open_stream(client.get("/v1/metrics/mobile/estimate?format=arrow").data).read_all()
    for name, kind in (("frequency", pa.float64()), ("since", pa.date32()), ("found", pa.bool_())):
        assert (table[name].to_pylist(), table.schema.field(name).type) == ([None, None], kind)


def test_by_day_every_format_has_one_answer_for_each_day(app: Flask, client: FlaskClient) -> None:
    later = TODAY + timedelta(days=2)
    collect(collector_of(app).store, THEME, 60, day=later)
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


def test_format_is_chosen_by_name_or_by_accept_among_those_installed(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for accept, preferred in (
        ("text/csv", "text/csv"),
        (ARROW, ARROW),
        ("application/x-ndjson, application/json;q=0.9", "application/x-ndjson"),
        ("text/html,application/xhtml+xml,*/*;q=0.8", "application/json"),
        ("*/*", "application/json"),
        ("", "application/json"),
    ):
        assert client.get(URL, headers={"Accept": accept}).mimetype == preferred, accept
        named = client.get(f"{URL}?format=ndjson", headers={"Accept": accept})
        assert named.mimetype == "application/x-ndjson", accept
    assert problem(client.get(URL, headers={"Accept": "image/png"})) == (406, "not-acceptable")
    monkeypatch.setattr(exports, "find_spec", lambda _name: None)
    for response in (client.get(f"{URL}?format=arrow"), client.get(URL, headers={"Accept": ARROW})):
        assert problem(response) == (406, "not-acceptable")
        assert "pip install 'dither[arrow]'" in response.json["detail"]  # type: ignore[index]
    both = client.get(URL, headers={"Accept": f"{ARROW}, text/csv;q=0.5"})
    assert both.mimetype == "text/csv"


def test_formula_is_escaped_and_other_labels_are_not() -> None:
    for label in ("=1", "+1", "-1", "@a", " =1", "\u3000=1", "＝1", "＋1", "－1", "＠a", "'=1", "'"):
        assert escape_formula(label) == f"'{label}"
    for label, written in (
        ("\t=1", "\\t=1"),
        ("a;=1", "a\\u003b=1"),
        ("a\n@b", "a\\n@b"),
        (r'="\u003b"', r"=\"\\u003b\""),
    ):
        assert escape_formula(label) == f"'{written}"
    for label in ("a=1", "", "1-2", "é", "a;b", "a, -b", 'say "no"', "\\u003b", "it's"):
        assert escape_formula(label) == label


@given(st.text(st.sampled_from("=+-@＝＋－＠;,'\"\\ \t\r\na\x00\u3000u0é"), max_size=8))
def test_no_cell_of_any_label_is_a_formula_and_every_label_is_read_back(label: str) -> None:
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
        for ahead, count in ((0, 300), (2, 500)):
            collect(store, THEME, count, day=TODAY + timedelta(days=ahead))
            collect(store, MOBILE, 200, "true", day=TODAY + timedelta(days=ahead))
    return tmp_path


def run(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(cli, ["export", *arguments], env=environment(folder))


def test_export_writes_all_metrics_to_one_table(folder: Path) -> None:
    result = run(folder)
    assert result.exit_code == 0, result.output
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [row["metric"] for row in rows] == ["theme"] * 4 + ["mobile"] * 2 + ["version"] * 2
    assert {row["reports"] for row in rows if row["metric"] == "theme"} == {"800"}
    assert result.stderr == "open is left out: it takes any string and lists no candidates\n"


@pytest.mark.parametrize(
    ("place", "name", "error", "said"),
    [
        (Store, "history", StoreError("database: gone"), "database: gone"),
        (Path, "replace", OSError(errno.ENOSPC, "No space left on device"), "cannot be written: No space left"),
    ],
)
def test_failed_export_leaves_the_former_file(
    place: type, name: str, error: Exception, said: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "table.csv"
    path.write_text("before", encoding="utf-8")
    monkeypatch.setattr(place, name, Mock(side_effect=error))
    result = run(folder, "theme", "--output", str(path))
    assert (result.exit_code, said in result.stderr) == (1, True)
    assert path.read_text(encoding="utf-8") == "before"
    assert not list(folder.glob("*.part"))


def test_export_writes_into_a_pipe_and_does_not_replace_it(folder: Path) -> None:
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    with closing(os.fdopen(os.open(pipe, os.O_RDWR), "rb", buffering=0)) as end:  # holds some kilobytes by itself
        assert run(folder, "mobile", "--output", str(pipe)).exit_code == 0
        assert end.read(6) == b"metric"
    assert pipe.is_fifo()


def test_mistakes_in_an_export_are_refused_and_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for arguments, what in (
        (["nothing"], "no metric has this name"),
        (["open"], "list candidates in its definition"),
        (["--since", "soon"], "--since: not a date"),
        (["--since", "2026-11-21", "--until", "2026-11-20"], "later than until"),
        (["--output", "/nowhere/table"], "cannot be written"),
        (["--format", "xml"], "'xml' is not one of"),
    ):
        result = run(folder, *arguments)
        assert (result.exit_code, result.stdout, what in result.stderr) == (2, "", True), result.output
    monkeypatch.setattr(exports, "find_spec", lambda _name: None)
    assert "pip install 'dither[arrow]'" in run(folder, "--format", "arrow").stderr
