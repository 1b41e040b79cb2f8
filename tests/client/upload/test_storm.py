"""After an outage thousands of clients do not come back together. Pure simulation; no sockets, no clock."""

import heapq
import random
from collections.abc import Callable

import pytest

from dither.state.journal_records import Queued
from dither.upload.schedule import BUSY, UploadSchedule

CLIENTS = 5_000
BIN = 10.0
ENTRY = Queued("0", "theme", 1, 0, b"{}")


Failed = Callable[[float], float]
"""Takes the moment of a failure, and returns that of the next try."""


def client(seeded: random.Random, wish: float | None, *, answers: bool) -> Failed:
    """Return a function that gives the next try of a client that cannot connect or, if ``answers``, gets a 503."""
    now = [0.0]
    departures = UploadSchedule(uniform=seeded.random, clock=lambda: now[0])

    def failed(moment: float) -> float:
        now[0] = moment
        if answers:
            departures.put_off(ENTRY, wish, BUSY)
        else:
            departures.pause()
        return moment + departures.next_due([ENTRY])[1]

    return failed


def storm(outage: float, wish: float | None, *, answers: bool, seed: int = 1) -> list[int]:
    """Return the number of first successes in each bin of ten seconds after an outage of ``outage`` seconds.

    Each client has a report at some moment of the outage, tries at once, and retries until the server is back.
    """
    seeded = random.Random(seed)
    arrivals = [(seeded.uniform(0, outage), number, client(seeded, wish, answers=answers)) for number in range(CLIENTS)]
    heapq.heapify(arrivals)
    bins: list[int] = []
    while arrivals:
        moment, number, failed = heapq.heappop(arrivals)
        if moment < outage:
            heapq.heappush(arrivals, (failed(moment), number, failed))
            continue
        place = int((moment - outage) // BIN)
        bins += [0] * (place + 1 - len(bins))
        bins[place] += 1
    return bins


@pytest.mark.parametrize(
    "outage",  # long ones are slow: each client tries again and again
    [60.0, *(pytest.param(seconds, marks=pytest.mark.slow) for seconds in (300.0, 900.0, 3600.0, 6 * 3600.0))],
)
@pytest.mark.parametrize(
    ("wish", "answers"), [(None, False), (None, True), (120.0, True)], ids=["unreachable", "busy", "Retry-After"]
)
def test_after_an_outage_the_peak_is_at_most_three_times_the_mean(
    outage: float, wish: float | None, answers: bool
) -> None:
    """Compare with the mean until half of the clients succeeded (the last may be late), or with that without outage."""
    bins = storm(outage, wish, answers=answers)
    assert sum(bins) == CLIENTS
    half = next(number for number in range(len(bins)) if 2 * sum(bins[: number + 1]) >= CLIENTS)
    assert max(bins) <= 3 * max(CLIENTS / 2 / (half + 1), CLIENTS * BIN / outage)


def test_without_jitter_all_clients_come_back_together() -> None:
    """All clients that fail together come back together."""
    schedules = [UploadSchedule(uniform=lambda: 1.0, clock=lambda: 0.0) for _ in range(3)]
    for schedule in schedules:
        schedule.pause()
    assert len({schedule.next_due([ENTRY])[1] for schedule in schedules}) == 1
