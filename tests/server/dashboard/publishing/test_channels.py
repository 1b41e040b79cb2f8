"""Every channel shows the same numbers: JSON, NDJSON, CSV, Arrow, terminal, page, published tables and page."""

import csv
import io
import json
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from click.testing import CliRunner
from flask.testing import FlaskClient

from dither_server.app import collector_of, create_app
from dither_server.cli.main import cli
from dither_server.reading.exports import unescape_formula
from dither_server.reading.summaries import summary_of
from server.collecting import config, environment
from server.dashboard.publishing.sites import KINDS, KINDS_TOML, LAST, MONDAY, copied
from server.dashboard.shown import Page

FIRST = {"theme": MONDAY + timedelta(days=14)}
"""The first day with reports of a metric's current version, if it is not that of the others."""


@pytest.fixture(scope="module")
def folder(url: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("channels")
    copied(url, folder)
    (folder / "metrics.toml").write_text(KINDS_TOML, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[FlaskClient]:
    with closing(collector_of(app := create_app(config(folder, metrics=KINDS)))):
        yield app.test_client()


def plain(cell: Any) -> str:
    """A cell as CSV writes it, without its escapes."""
    if cell is None or isinstance(cell, bool):
        return {None: "", True: "true", False: "false"}[cell]
    return str(cell)


def numbers_of(answer: dict[str, Any]) -> list[float | None]:
    """The numbers that a page shows of an answer, at least: its estimates."""
    if "mean" in answer:
        return [answer["mean"]["value"], *(row["value"] for row in answer["quantiles"])]
    return [row["frequency"] for row in answer["values"]]


@pytest.mark.parametrize("name", ["theme", "hostile", "mobile", "plugins", "start", "version", "both"])
def test_every_channel_shows_the_same_numbers(name: str, client: FlaskClient, folder: Path, site: Path) -> None:
    since = FIRST.get(name, MONDAY + timedelta(days=2))
    question, summary = f"since={since}&until={LAST}", summary_of(KINDS[name])
    url = f"/v1/metrics/{name}/estimate?{question}"
    if summary.needs_simultaneous_intervals(KINDS[name]):  # as pages have them
        url += "&simultaneous=true"
    answer = client.get(url).get_json()
    rows = [json.loads(line) for line in client.get(f"{url}&format=ndjson").text.splitlines()]
    names = [column.name for column in summary.columns]
    assert all(list(row)[-len(names) :] == names for row in rows)

    arrow = pa.ipc.open_stream(client.get(f"{url}&format=arrow").data).read_all().to_pylist()
    written = list(csv.DictReader(io.StringIO(client.get(f"{url}&format=csv").text)))
    assert list(written[0]) == list(rows[0]) == list(arrow[0])
    assert [{key: unescape_formula(cell) for key, cell in row.items() if key in names} for row in written] == [
        {key: plain(row[key]) for key in names} for row in rows
    ]
    assert arrow == [row | {"since": since, "until": LAST} for row in rows]

    published = site / "metrics" / name
    (of_site,) = json.loads((published / f"{name}.json").read_text(encoding="utf-8"))
    assert of_site == answer
    lines = (published / f"{name}.ndjson").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == rows

    expected = {str(number) for number in numbers_of(answer) if number is not None}
    for text in (
        client.get(f"/m/{name}?{question}").text,
        (published / "index.html").read_text(encoding="utf-8"),
    ):
        assert expected <= set(Page(text).attributes("data", "value"))
    options = ["--since", str(since), "--until", str(LAST)]
    printed = CliRunner().invoke(cli, ["estimate", name, *options], env=dict(environment(folder)))
    for number in numbers_of(answer):
        assert number is None or (f"{number:.3g}" if "mean" in answer else f"{100 * number:.2f}") in printed.output
