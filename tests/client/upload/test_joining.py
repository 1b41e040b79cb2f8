"""Neither the answers of a collector nor their timing link two reports of a device."""

import math
import random

import pytest

import dither
from client.joining import DEVICES, SCORES, Plan, Reply, Score, Together, Waiting, following, matched, observe
from dither.upload import uploader
from dither.upload.schedule import UploadSchedule

FLEETS = 3
BOUND = 18
"""By chance 1 match per fleet is right; the total of 3 is about Poisson(3): P[X >= 18] < 1e-8 for each score."""


@pytest.fixture(autouse=True)
def _no_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploader, "_LOOK", math.inf)  # nothing new comes, and a simulated look takes real time


def busy(wish: float | None, seconds: float = 0.0) -> Reply:
    return Reply(dither.Answer(503, wish), seconds)


def schedule(metric: str, visit: int, seeded: random.Random) -> Reply:
    """Put each report of one metric off for a different time, and let the others come as often as possible."""
    return busy(seeded.uniform(1, 30_000)) if metric == "mobile" else busy(None)


def once(metric: str, visit: int, seeded: random.Random) -> Reply:
    """Put off the first upload of each report, of either metric, and accept the second."""
    return Reply(dither.Answer(202)) if visit else busy(seeded.uniform(1, 20_000))


def stall(metric: str, visit: int, seeded: random.Random) -> Reply:
    """Delay each answer until just before a client's timeout."""
    return busy(1.0, 19.9) if metric == "mobile" else busy(None, 0.1)


def refuse(metric: str, visit: int, seeded: random.Random) -> Reply:
    """Refuse one metric, so that its reports come again in hours."""
    return Reply(dither.Answer(seeded.choice((401, 403, 404, 409, 500, 302)))) if metric == "mobile" else busy(None)


def total(kind: type[UploadSchedule], plan: Plan, score: Score, fleets: int) -> int:
    seeded = random.Random(1)
    return sum(matched(*observe(kind, plan, seed), score, seeded) for seed in range(fleets))


@pytest.mark.parametrize(
    "plan",  # the two slow plans hold reports by other answers than ``once``
    [once, stall, pytest.param(schedule, marks=pytest.mark.slow), pytest.param(refuse, marks=pytest.mark.slow)],
)
def test_no_plan_of_a_collector_links_reports_of_a_device(plan: Plan) -> None:
    seeded = random.Random(2)
    right = dict.fromkeys(SCORES, 0)
    for seed in range(FLEETS):
        collector, pairs = observe(UploadSchedule, plan, seed)
        assert len(pairs) == DEVICES
        for score in SCORES:
            right[score] += matched(collector, pairs, score, seeded)
    assert max(right.values()) < BOUND, {score.__name__: count for score, count in right.items()}


def test_attack_finds_a_client_that_pauses_all_its_reports_together() -> None:
    """By chance 1 match would be right."""
    assert total(Together, once, following, 1) > BOUND


def test_attack_finds_a_client_whose_reports_wait_for_each_other() -> None:
    """In the 20 s that an answer takes, some of the others become due, most of them in the first 300 s of a fleet."""
    assert total(Waiting, stall, following, FLEETS) > BOUND
