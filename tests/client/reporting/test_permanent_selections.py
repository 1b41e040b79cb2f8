"""Permanent draws of a selection: one and one charge for what is the same in the device's window, or the same set."""

from itertools import combinations

import pytest

from client.devices import Calendar, Make, Script
from dither.reporting.account import cap_of
from dither.reporting.draws.keys import Keys
from dither_shared import Batch, Mechanism, Metric, PrivSet, Report, SelectionQuestion, SetResponse

VALUES = tuple("abcdef")
CALM = 1.0, 1.000000001
"""Reports show the permanent draw: what is drawn for each report changes one in a billion."""

MECHANISMS: dict[str, Mechanism] = {
    "set-response": SetResponse.calibrate(6, *CALM, window=2),
    "privset": PrivSet.calibrate(6, *CALM, at_most=2),
}
ANSWERS = [list(chosen) for size in range(3) for chosen in combinations(VALUES, size)]


def asked(name: str, cap: float | None = None) -> Metric:
    at_most = 2 if name == "privset" else None
    return Metric("used", SelectionQuestion(VALUES, at_most), MECHANISMS[name], cap=cap)


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("number", range(4))
def test_selections_that_mark_the_same_share_a_tag_and_a_draw_and_no_others_do(name: str, number: int) -> None:
    metric, keys = asked(name), Keys(bytes([number]) * 32)
    by_cells: dict[tuple[int, ...], set[tuple[str, int]]] = {}
    for answer in ANSWERS:
        item = metric.item(answer)
        cells = tuple(sorted(metric.mechanism.marked(item, keys.cohort(metric))))
        by_cells.setdefault(cells, set()).add((keys.tag(metric, item), keys.draw(metric, item)))
    assert len(by_cells) == (4 if name == "set-response" else len(ANSWERS))
    assert all(len(drawn) == 1 for drawn in by_cells.values())
    assert len({tag for drawn in by_cells.values() for tag, _ in drawn}) == len(by_cells)


@pytest.mark.parametrize("name", MECHANISMS)
def test_reports_repeat_the_draw_and_a_budget_ends_new_ones(make: Make, calendar: Calendar, name: str) -> None:
    """Each answer twice; when the budget is used up the last draw is repeated."""
    metric, sent = asked(name, cap=3.5 * MECHANISMS[name].epsilon_after(1)), Script()
    client = make(metrics={"used": metric}, transport=sent)
    for answer in ANSWERS:
        for _ in range(2):
            client.record("used", answer)
            calendar.pass_days(1)
            assert client.flush()
    rows = [Report.decode(Batch.decode(body).reports, metric.mechanism) for body in sent.bodies]
    assert len({report.cohort for report in rows}) == 1
    assert [report.payload for report in rows[::2]] == [report.payload for report in rows[1::2]]
    assert client.status().metrics[0].spent == pytest.approx(3 * metric.charge)
    assert client.status().trouble == {}


def test_the_cap_pays_for_all_patterns_of_a_small_window() -> None:
    assert cap_of(asked("set-response")) == pytest.approx(4 * asked("set-response").charge)
    assert cap_of(asked("privset")) == pytest.approx(10 * asked("privset").charge)
