"""Permanent draws of selections, numbers and texts: one draw and one charge for all answers of one key."""

import dataclasses
from collections.abc import Container
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import pytest

from client.devices import Calendar, Make, Script
from client.reporting.test_permanent import VALUES, question
from dither.reporting.keys import Keys
from dither.reporting.ledger import cap_of
from dither_shared import (
    Batch,
    DiscoveryQuestion,
    DitheredResponse,
    Metric,
    NumberQuestion,
    PrefixSketch,
    PrivSet,
    ProjectiveSketch,
    Report,
    SelectionQuestion,
    SetResponse,
    StringQuestion,
)
from dither_shared.mechanism import Item

CALM = 1.0, 1.000000001
"""Reports show the permanent draw: what is drawn for each report changes one in a billion."""

LETTERS = tuple("abcdef")
SELECTIONS = [list(chosen) for size in range(3) for chosen in combinations(LETTERS, size)]
TEXTS = [first + second + rest for first in "abc" for second in "abc" for rest in ("", "a", "bc", "bcc")]
SECONDS = NumberQuestion(0, 60, False, "s")


class Case(NamedTuple):
    """A metric, answers to it, and the possible numbers of their keys on a device (it may depend on hashes)."""

    metric: Metric
    answers: list[object]
    keys: Container[int]


def number(steps: int, resolution: int) -> Case:
    metric = Metric("asked", SECONDS, DitheredResponse.calibrate(None, *CALM, steps=steps, resolution=resolution))
    grid = SECONDS.grid(metric.mechanism)
    return Case(metric, [grid.value(point) for point in (0.999, *range(steps * resolution + 1))], {steps + 1})


def text(question: StringQuestion | DiscoveryQuestion, mechanism: ProjectiveSketch | PrefixSketch) -> Case:
    return Case(Metric("asked", question, mechanism), [*TEXTS], range(6, 9))


CASES = {
    "set-response": Case(
        Metric("asked", SelectionQuestion(LETTERS), SetResponse.calibrate(6, *CALM, window=2)), [*SELECTIONS], {4}
    ),
    "privset": Case(
        Metric("asked", SelectionQuestion(LETTERS, 2), PrivSet.calibrate(6, *CALM, at_most=2)),
        [*SELECTIONS],
        {len(SELECTIONS)},
    ),
    **{f"number {steps} x {each}": number(steps, each) for steps, each in ((1, 1), (1, 16), (2, 4), (3, 5), (20, 16))},
    "listed texts": text(StringQuestion(), ProjectiveSketch.calibrate(None, *CALM, buckets=8)),
    "found texts": text(
        DiscoveryQuestion("a-c", 4), PrefixSketch.calibrate(None, *CALM, characters=3, length=4, buckets=8)
    ),
    **{
        name: Case(question(name)["asked"], [*VALUES], range(2, most + 1))
        for name, most in (("local-hashing", 7), ("bit-flip", 5), ("rappor", 28))
    },
    **{name: Case(question(name)["asked"], [*VALUES], {71}) for name in ("randomized-response", "optimized-unary")},
}


def item_of(metric: Metric, answer: object, keys: Keys) -> Item:
    return keys.rounded(metric, metric.answers.encode(answer))


def key_of(metric: Metric, answer: object, keys: Keys) -> tuple[int, ...]:
    return tuple(sorted(metric.mechanism.permanent_key(item_of(metric, answer, keys), keys.of(metric).cohort)))


@pytest.mark.parametrize("name", CASES)
def test_exactly_answers_of_one_key_share_tag_and_draw(name: str) -> None:
    metric, answers, possible = CASES[name]
    for device in range(4):
        keys = Keys(bytes([device]) * 32)
        by_key: dict[tuple[int, ...], set[tuple[str, int]]] = {}
        for answer in answers:
            item = item_of(metric, answer, keys)
            drawn = keys.of(metric).tag(item), keys.of(metric).draw(item)
            by_key.setdefault(key_of(metric, answer, keys), set()).add(drawn)
        assert len(by_key) in possible
        assert all(len(drawn) == 1 for drawn in by_key.values())
        assert len({tag for drawn in by_key.values() for tag, _ in drawn}) == len(by_key)


def test_a_device_rounds_all_numbers_by_one_draw_and_devices_differ() -> None:
    """700 of 1,000 devices are expected to round 0.7 of a step up; 76 are 5.2 deviations, and the secrets are fixed."""
    metric = number(2, 16).metric
    step, up = 60 / 32, 0
    for device in range(1000):
        keys = Keys(device.to_bytes(32, "big"))
        point = item_of(metric, 0.7 * step, keys)
        assert isinstance(point, int)
        assert [item_of(metric, (whole + 0.7) * step, keys) for whole in (0, 9, 31)] == [point, 9 + point, 31 + point]
        assert item_of(metric, 0.2 * step, keys) in range(point + 1), (
            "a larger number is never rounded to a lower point"
        )
        assert item_of(metric, 60, keys) == 32
        up += point
    assert abs(up - 700) < 76


@pytest.mark.parametrize("name", [name for name in CASES if name != "optimized-unary"])  # its reports stay noisy
def test_a_device_pays_once_for_each_key_and_its_reports_repeat_the_draw(
    name: str, make: Make, folder: Path, calendar: Calendar
) -> None:
    metric, answers, _ = CASES[name]
    metric, sent = dataclasses.replace(metric, cap=100 * metric.charge), Script()
    client = make(folder, metrics={"asked": metric}, transport=sent)
    keys = Keys(bytes.fromhex((folder / "secret").read_text().split()[2]))
    charged: set[tuple[int, ...]] = set()
    for answer in [*answers[:9], *answers[8::-1]]:
        client.record("asked", answer)
        calendar.pass_days(1)
        assert client.flush()
        report = Report.decode(Batch.decode(sent.bodies[-1]).reports, metric.mechanism)
        drawn = keys.of(metric).draw(item_of(metric, answer, keys))
        assert (report.cohort, int.from_bytes(report.payload, "big")) == (keys.of(metric).cohort, drawn)
        charged.add(key_of(metric, answer, keys))
        assert client.status().metrics[0].spent == pytest.approx(len(charged) * metric.charge)
    assert client.status().trouble == {}


def test_the_cap_pays_for_all_keys_up_to_ten(make: Make, calendar: Calendar) -> None:
    assert cap_of(CASES["set-response"].metric) == pytest.approx(4 * CASES["set-response"].metric.charge)
    for epsilon, steps in ((0.7, 9), (4.0, 30)):
        mechanism = DitheredResponse.calibrate(None, epsilon, 1.7 * epsilon, steps=steps, resolution=2)
        metric = Metric("startup", SECONDS, mechanism)
        ranges = min(steps + 1, 10)
        assert cap_of(metric) == pytest.approx(ranges * metric.charge)
        assert cap_of(dataclasses.replace(metric, cap=2 * metric.charge)) == 2 * metric.charge
        client = make(metrics={"startup": metric})
        for value in range(0, 61, 1 if steps > 10 else 3):
            client.record("startup", value)
            calendar.pass_days(1)
        assert client.status().metrics[0].spent == pytest.approx(ranges * metric.charge), steps
        assert client.status().trouble == {}


def test_mistakes_and_numbers_beyond_an_end_are_charged_like_the_end(make: Make, calendar: Calendar) -> None:
    client = make(metrics={"asked": CASES["number 2 x 4"].metric}, strict=False)
    for value in (0, -5, None, float("nan"), "7", True, float("-inf")):
        client.record("asked", value)
        calendar.pass_days(1)
    status = client.status()
    assert (status.outside, status.mistakes) == (6, 4)
    assert status.metrics[0].spent == pytest.approx(status.metrics[0].epsilon, rel=1e-6)
