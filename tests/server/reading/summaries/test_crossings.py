"""Crossings: the API's object, exports, the terminal, comparison, trend, and the grids of a page."""

import csv
import io
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flask.testing import FlaskClient

from dither_server.analysis.columns import names_of
from dither_server.app import collector_of
from dither_server.reading.analysis_limiter import effort
from dither_server.reading.query import Query
from dither_server.reading.sources import Subgroup
from dither_server.reading.summaries.crossings import COLUMNS, MOST_COLUMNS, MOST_LINES
from dither_server.reading.summaries.view import PageRequest
from dither_server.tally.arrays import Floats
from dither_shared import KeyedEntropy, Metric, Report, parse_metrics
from server.cli.invoking import invoke
from server.collecting import TODAY, collector, upload
from server.dashboard.shown import Page

DEFINITION = """
[metrics.both]
type = "cross"
cross = {theme = ["light", "dark"], device = ["phone", "desktop"]}
epsilon = 3.0
"""
BOTH = parse_metrics(DEFINITION)["both"]
WIDE = parse_metrics(
    f'[metrics.wide]\ntype = "cross"\nepsilon = 4.0\ncross = {{a = {[f"a{n}" for n in range(40)]}, b = '
    f"{['<b>', *(f'b{n}' for n in range(19))]}}}\n"
)["wide"]
TRUE = np.array([0.1, 0.3, 0.0, 0.5, 0.1, 0.0, 0.0, 0.0, 0.0])


def sent(metric: Metric, reports: int, seed: int, shares: Floats = TRUE) -> bytes:
    """Rows of devices that hold pairs by these shares."""
    entropy, rows = KeyedEntropy(str(seed).encode()), b""
    for item in np.random.default_rng(seed).choice(len(shares), reports, p=shares).tolist():
        cohort = metric.mechanism.draw_cohort(entropy)
        rows += Report(cohort, metric.mechanism.randomize(item, entropy, cohort)).encode(metric.mechanism)
    return rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("crossings")


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[FlaskClient]:
    """Both on two days, and a wide crossing on one."""
    (folder / "metrics.toml").write_text(DEFINITION)
    with collector(folder, metrics={"both": BOTH, "wide": WIDE}) as app:
        store = collector_of(app).store
        for day in range(2):
            store.commit([upload(BOTH, sent(BOTH, 2000, day))], TODAY + timedelta(days=day), b"s" * 16)
        uneven = np.arange(1, (WIDE.question.size or 0) + 1, dtype=np.float64)
        store.commit([upload(WIDE, sent(WIDE, 2000, 2, uneven / uneven.sum()))], TODAY, b"s" * 16)
        yield app.test_client()


def test_answer_has_marginals_and_shares_within_answers(client: FlaskClient) -> None:
    answer = client.get("/v1/metrics/both/estimate").get_json()
    assert answer["reports"] == 4000
    shares = [row["frequency"] for row in answer["values"]]
    for part, axis, sums in zip(
        answer["marginals"],
        BOTH.question.axes,  # type: ignore[attr-defined]  # it is a crossing
        (np.reshape(shares, (3, 3)).sum(axis=1), np.reshape(shares, (3, 3)).sum(axis=0)),
        strict=True,
    ):
        assert (part["axis"], tuple(row["value"] for row in part["values"])) == (axis.name, axis.labels)
        assert [row["frequency"] for row in part["values"]] == pytest.approx(list(sums))
        assert [row["count"] for row in part["values"]] == pytest.approx(list(4000 * sums))
        for row in part["values"]:
            assert row["low"] <= max(row["frequency"], 0) <= row["high"]
            assert row["noise_error"] < row["standard_error"] or row["frequency"] <= 0
        assert sum(row["consistent"] for row in part["values"]) == pytest.approx(1)
    ways = [(part["of"], part["given"]) for part in answer["conditional"]]
    assert ways == [("theme", "device"), ("device", "theme")]
    by_pair = {row["value"]: row["frequency"] for row in answer["values"]}
    phone = answer["marginals"][1]["values"][0]["frequency"]
    (dark,) = (row for row in answer["conditional"][0]["values"] if (row["given"], row["value"]) == ("phone", "dark"))
    assert dark["share"] == pytest.approx(by_pair["dark / phone"] / phone)
    assert dark["low"] < 5 / 6 < dark["high"]
    assert dark["verdict"] == "ok"
    nobody = [row for row in answer["conditional"][0]["values"] if row["given"] == "other"]
    known = answer["marginals"][1]["values"][2]["low"] > 0
    assert known or {(row["share"], row["low"], row["verdict"]) for row in nobody} == {(None, None, "too-few")}


def test_choosing_values_changes_no_marginal(client: FlaskClient) -> None:
    whole = client.get("/v1/metrics/both/estimate").get_json()
    some = client.get("/v1/metrics/both/estimate?values=dark / phone").get_json()
    assert [row["value"] for row in some["values"]] == ["dark / phone"]
    assert (some["marginals"], some["conditional"]) == (whole["marginals"], whole["conditional"])


def test_simultaneous_intervals_are_wider(client: FlaskClient) -> None:
    each, together = (
        client.get(f"/v1/metrics/both/estimate{query}").get_json() for query in ("", "?simultaneous=true")
    )
    assert together["simultaneous"] == "bonferroni"
    for part, other in zip(each["marginals"][0]["values"], together["marginals"][0]["values"], strict=True):
        assert other["high"] > part["high"]


def test_exports_hold_cells_marginals_and_conditionals(client: FlaskClient) -> None:
    rows = list(csv.DictReader(io.StringIO(client.get("/v1/metrics/both/estimate?format=csv").text)))
    answer = client.get("/v1/metrics/both/estimate").get_json()
    assert [row["part"] for row in rows] == ["cell"] * 9 + ["marginal"] * 6 + ["conditional"] * 18
    assert set(names_of(COLUMNS)) <= set(rows[0])
    cell, first, second = rows[3], rows[10], rows[12]
    assert (cell["value"], cell["first"], cell["second"], cell["given"]) == ("dark / phone", "dark", "phone", "")
    assert (first["value"], first["first"], first["second"]) == ("dark", "dark", "")
    assert (second["value"], second["first"], second["second"]) == ("phone", "", "phone")
    assert float(second["low"]) == answer["marginals"][1]["values"][0]["low"]
    within = {(row["first"], row["second"], row["given"]): row for row in rows if row["part"] == "conditional"}
    share = answer["conditional"][1]["values"][3]
    assert (share["given"], share["value"]) == ("dark", "phone")
    assert float(within["dark", "phone", "theme"]["frequency"]) == share["share"]
    assert within["dark", "phone", "device"]["frequency"] != within["dark", "phone", "theme"]["frequency"]


def test_terminal_shows_pairs_marginals_and_shares_within_answers(client: FlaskClient, folder: Path) -> None:
    run = invoke(folder, "estimate", "both")
    names = [line[:36].strip() for line in run.output.splitlines()]
    for name in ("dark / phone", "theme = dark", "device = phone", "theme = dark, of device = phone"):
        assert name in names


def test_marginals_without_reports_are_null(tmp_path: Path) -> None:
    with collector(tmp_path, metrics={"both": BOTH}) as app:
        answer = app.test_client().get("/v1/metrics/both/estimate").get_json()
        assert "No reports yet" in app.test_client().get("/m/both").text
    known = {name: cell for name, cell in answer["marginals"][0]["values"][0].items() if cell is not None}
    assert known == {"value": "light", "low": 0, "high": 1, "noise_low": 0, "noise_high": 1, "verdict": "too-few"}
    assert {row["verdict"] for part in answer["conditional"] for row in part["values"]} == {"too-few"}


def test_marginals_and_conditionals_count_as_cost_however_few_values_are_chosen(tmp_path: Path) -> None:
    both = parse_metrics(DEFINITION.replace("3.0", "9.0"))
    free = effort(both["both"]) + 1
    marginals, within = 3 + 3, 2 * 9
    for limit, status in ((free + marginals + within, 200), (free + marginals + within - 1, 413)):
        with collector(tmp_path, metrics=both, estimates_limit=limit) as app:
            assert app.test_client().get("/v1/metrics/both/estimate?top=1").status_code == status


def test_crossing_costs_more_where_covariances_take_transforms() -> None:
    axes = f"cross = {{a = {[str(n) for n in range(29)]}, b = {[str(n) for n in range(33)]}}}"
    wide = f'[metrics.both]\ntype = "cross"\nepsilon = 1.0\n{axes}\n'
    names = ("subset-selection", "bit-flip", "hadamard-response", "local-hashing")
    costs = [effort(parse_metrics(f'{wide}mechanism = "{name}"\n')["both"]) for name in names]
    assert costs == sorted(costs)
    assert 10 * costs[0] < costs[-2]


def view_of(client: FlaskClient, name: str) -> Any:
    metric = {"both": BOTH, "wide": WIDE}[name]
    return collector_of(client.application).reader.estimate_view(metric, Query(), Subgroup(), PageRequest("", 1, 50))


def test_page_shows_the_numbers_of_the_api(client: FlaskClient) -> None:
    shown, answer = view_of(client, "both"), client.get("/v1/metrics/both/estimate").get_json()
    grid = shown.grid
    assert (grid.down, grid.across, list(grid.heads)) == ("theme", "device", ["phone", "desktop", "other"])
    assert [cell["value"] for line in grid.lines for cell in line.cells] == list(BOTH.labels)
    assert [dict(line.whole or {}) for line in grid.lines] == answer["marginals"][0]["values"]
    assert [dict(foot) for foot in grid.feet] == answer["marginals"][1]["values"]
    for part, within in zip(answer["conditional"], shown.within, strict=True):
        assert (part["given"], part["of"]) == (within.down, within.across)
        assert [dict(cell) for line in within.lines for cell in line.cells] == part["values"]
        assert [line.label for line in within.lines] == [*dict.fromkeys(row["given"] for row in part["values"])]


def test_page_shows_the_most_frequent_of_many_answers_in_their_order(client: FlaskClient) -> None:
    shown = view_of(client, "wide")
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


def test_shades_grow_with_shares_and_words_say_the_same(client: FlaskClient) -> None:
    shown = view_of(client, "both")
    assert [shown.shade(share, 0.5) for share in (None, -0.1, 0.0, 0.25, 0.5, 0.7)] == [0, 0, 0, 4, 9, 9]
    assert shown.darkest == max(row["frequency"] for row in shown.table.rows())
    page = client.get("/m/both").text
    elements = Page(page)
    assert elements.count("td", **{"class": "shade-9"}) >= 1
    for said in ("theme ↓", "too few", "theme, by device", "device, by theme", "Every pair"):
        assert said in page.replace("<bdi>", "").replace("</bdi>", "")
    assert elements.count("div", role="region", tabindex="0") == 3


def test_hostile_labels_of_a_grid_are_text(client: FlaskClient) -> None:
    page = client.get("/m/wide").text
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert "Only the most frequent answers are shown; the CSV has all." in page
    assert client.get("/").status_code == 200
