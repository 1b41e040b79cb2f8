"""Crossings on a page: the grid with both marginals, shares within answers, and large ones cut to what is frequent."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from flask.testing import FlaskClient

from dither_server.app import collector_of, create_app
from dither_server.reading.query import Query
from dither_server.reading.strata import Part
from dither_server.reading.summaries.crossings.page import MOST_COLUMNS, MOST_LINES, CrossingsExhibit
from dither_server.reading.summaries.window import Look
from dither_shared import parse_metrics
from server.collecting import TODAY, config, upload
from server.dashboard.shown import Elements
from server.reading.summaries.crossings.test_summary import BOTH, DEFINITION, sent

WIDE = parse_metrics(
    f'[metrics.wide]\ntype = "cross"\nepsilon = 4.0\ncross = {{a = {[f"a{n}" for n in range(40)]}, b = '
    f"{['<b>', *(f'b{n}' for n in range(19))]}}}\n"
)["wide"]


@pytest.fixture
def app_client(tmp_path: Path) -> Iterator[FlaskClient]:
    app = create_app(config(tmp_path, metrics={"both": BOTH, "wide": WIDE}))
    with closing(collector_of(app)):
        cells = WIDE.question.size or 0
        uneven = np.arange(1, cells + 1, dtype=np.float64)
        rows = [upload(BOTH, sent(BOTH, 3000, 1)), upload(WIDE, sent(WIDE, 2000, 2, uneven / uneven.sum()))]
        collector_of(app).store.commit(rows, TODAY, b"s" * 16)
        yield app.test_client()


def exhibit(client: FlaskClient, name: str) -> CrossingsExhibit:
    metric = {"both": BOTH, "wide": WIDE}[name]
    found = collector_of(client.application).reader.exhibit(metric, Query(), Part(), Look("", 1, 50))
    assert isinstance(found, CrossingsExhibit)
    return found


def test_the_grid_holds_what_the_api_tells(app_client: FlaskClient) -> None:
    shown, told = exhibit(app_client, "both"), app_client.get("/v1/metrics/both/estimate").get_json()
    grid = shown.grid
    assert (grid.down, grid.across, list(grid.heads)) == ("theme", "device", ["phone", "desktop", "other"])
    assert [cell["value"] for line in grid.lines for cell in line.cells] == list(BOTH.labels)
    assert [dict(line.whole or {}) for line in grid.lines] == told["marginals"][0]["values"]
    assert [dict(foot) for foot in grid.feet] == told["marginals"][1]["values"]
    for one, within in zip(told["conditional"], shown.within, strict=True):
        assert (one["given"], one["of"]) == (within.down, within.across)
        assert [dict(cell) for line in within.lines for cell in line.cells] == one["values"]
        assert [line.label for line in within.lines] == [*dict.fromkeys(row["given"] for row in one["values"])]


def test_of_many_answers_the_most_frequent_are_shown_in_their_order(app_client: FlaskClient) -> None:
    shown = exhibit(app_client, "wide")
    assert not shown.whole
    for grid, lines, columns in (
        (shown.grid, MOST_LINES, MOST_COLUMNS),
        (shown.within[0], MOST_COLUMNS, MOST_LINES),
        (shown.within[1], MOST_LINES, MOST_COLUMNS),
    ):
        assert (len(grid.lines), {len(line.cells) for line in grid.lines}) == (lines, {columns})
        for line in grid.lines:
            for name, cell in zip(grid.heads, line.cells, strict=True):
                assert {line.label, name} == set(cell.get("value", "").split(" / ")) or (
                    (cell.get("given"), cell["value"]) == (line.label, name)
                )


def test_shades_grow_with_shares_and_do_not_stand_alone(app_client: FlaskClient) -> None:
    shown = exhibit(app_client, "both")
    assert [shown.shade(share, 0.5) for share in (None, -0.1, 0.0, 0.25, 0.5, 0.7)] == [0, 0, 0, 4, 9, 9]
    assert shown.darkest == max(row["frequency"] for row in shown.table.rows())
    page = app_client.get("/m/both").text
    elements = Elements(page)
    assert elements.count("td", **{"class": "shade-9"}) >= 1
    for said in ("theme ↓", "too few", "Too few to tell", "theme, by device", "device, by theme", "Every pair"):
        assert said in page.replace("<bdi>", "").replace("</bdi>", "")
    assert elements.count("div", role="region", tabindex="0") == 3


def test_hostile_labels_are_texts(app_client: FlaskClient) -> None:
    page = app_client.get("/m/wide").text
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert "The most frequent answers; all are in the CSV." in page
    assert app_client.get("/").status_code == 200


def test_a_page_of_no_reports_says_what_it_takes(tmp_path: Path) -> None:
    app = create_app(config(tmp_path, metrics=parse_metrics(DEFINITION)))
    with closing(collector_of(app)):
        assert "No reports yet" in app.test_client().get("/m/both").text
