"""Permanent draws of a number: one and one charge for each range of the device's own phase, by enumeration."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

import dither
from client.devices import Calendar, Make, Script
from dither.reporting.account import cap_of
from dither.reporting.draws.keys import Keys
from dither_shared import Batch, DitheredResponse, Metric, NumberQuestion, Report

QUESTION = NumberQuestion(0, 60, False, "s")


def metric(steps: int, resolution: int, **more: Any) -> Metric:
    mechanism = DitheredResponse.calibrate(None, 1.0, 1.000000001, steps=steps, resolution=resolution)
    return Metric("startup", QUESTION, mechanism, **more)


@pytest.mark.parametrize(("steps", "resolution"), [(1, 1), (1, 16), (2, 1), (2, 16), (3, 5), (20, 16)])
@pytest.mark.parametrize("number", range(4))
def test_points_of_one_range_share_a_tag_and_a_draw_and_no_others_do(steps: int, resolution: int, number: int) -> None:
    asked, keys = metric(steps, resolution), Keys(bytes([number]) * 32)
    phase, mechanism = keys.cohort(asked), asked.mechanism
    by_range: dict[int, set[tuple[str, int]]] = {}
    for point in range(steps * resolution + 1):
        cell = (point + phase) // resolution
        assert mechanism.marked(point, phase) == (cell,)
        by_range.setdefault(cell, set()).add((keys.tag(asked, point), keys.draw(asked, point)))
    assert set(by_range) == set(range(steps + 1)) == set(range(mechanism.permanent_draws or 0))
    assert all(len(drawn) == 1 for drawn in by_range.values())
    assert len(set().union(*by_range.values())) == len({tag for drawn in by_range.values() for tag, _ in drawn})
    assert len({tag for drawn in by_range.values() for tag, _ in drawn}) == steps + 1


def test_a_device_is_charged_for_each_range_once_and_its_reports_repeat_the_draw(
    make: Make, folder: Path, calendar: Calendar
) -> None:
    """A number goes up and down through all points of the grid; a report shows the permanent draw but for 1 in 10^9."""
    asked, sent = metric(2, 4), Script()
    client = make(folder, metrics={"startup": asked}, transport=sent)
    keys = Keys(bytes.fromhex((folder / "secret").read_text().split()[2]))
    phase = keys.cohort(asked)
    grid, last, seen = QUESTION.grid(asked.mechanism), None, set()
    for point in [*range(9), *range(8, -1, -1)]:
        cell = (point + phase) // 4
        before = client.status().metrics[0].spent
        client.record("startup", grid.value(point))
        calendar.pass_days(1)
        assert client.flush()
        report = Report.decode(Batch.decode(sent.bodies[-1]).reports, asked.mechanism)
        assert report.cohort == phase
        assert report.payload == bytes([keys.draw(asked, point)])
        charged = client.status().metrics[0].spent - before
        assert charged == (pytest.approx(asked.charge) if cell not in seen else 0)
        assert (cell == last) <= (not charged), "within one range nothing is new"
        seen.add(cell)
        last = cell
    status = client.status().metrics[0]
    assert status.reports == 18
    assert status.spent == status.cap == pytest.approx(3 * asked.charge)


@pytest.mark.parametrize("epsilon", [0.1, 0.7, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("steps", [1, 2, 6, 9, 10, 30])
def test_the_cap_pays_for_all_ranges_up_to_ten(make: Make, calendar: Calendar, epsilon: float, steps: int) -> None:
    mechanism = DitheredResponse.calibrate(None, epsilon, 1.7 * epsilon, steps=steps, resolution=2)
    asked = Metric("startup", QUESTION, mechanism)
    ranges = min(steps + 1, 10)
    assert cap_of(asked) == pytest.approx(ranges * asked.charge)
    assert cap_of(dataclasses.replace(asked, cap=2 * asked.charge)) == 2 * asked.charge
    client = make(metrics={"startup": asked})
    for value in range(0, 61, 1 if steps > 10 else 3):
        client.record("startup", value)
        calendar.pass_days(1)
    assert client.status().metrics[0].spent == pytest.approx(ranges * asked.charge)
    assert client.status().trouble == {}


def test_mistakes_and_numbers_beyond_an_end_pay_as_the_end_does(make: Make, calendar: Calendar) -> None:
    client = make(dither.MemoryState(), metrics={"startup": metric(2, 4)}, strict=False)
    for value in (0, -5, None, float("nan"), "7", True, float("-inf")):
        client.record("startup", value)
        calendar.pass_days(1)
    status = client.status()
    assert (status.outside, status.mistakes) == (6, 4)
    assert status.metrics[0].spent == pytest.approx(status.metrics[0].epsilon, rel=1e-6)
