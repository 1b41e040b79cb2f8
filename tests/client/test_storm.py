"""After an outage: ten thousand clients do not come back together. Pure simulation; no sockets, no clock."""

import heapq
import random

import pytest

from dither.retry import Backoff

CLIENTS = 10_000
BIN = 10.0


def storm(outage: float, retry_after: float | None, seed: int = 1) -> list[int]:
    """Return how many first successes fall into each bin of ten seconds after an outage of that many seconds.

    Each client has a report at some moment of the outage, tries at once, and goes on until the server is back.
    """
    seeded = random.Random(seed)
    arrivals = [(seeded.uniform(0, outage), client, Backoff(seeded.random)) for client in range(CLIENTS)]
    heapq.heapify(arrivals)
    bins: list[int] = []
    while arrivals:
        moment, client, backoff = heapq.heappop(arrivals)
        if moment < outage:
            heapq.heappush(arrivals, (moment + backoff.delay(retry_after), client, backoff))
            continue
        place = int((moment - outage) // BIN)
        bins += [0] * (place + 1 - len(bins))
        bins[place] += 1
    return bins


@pytest.mark.parametrize("outage", [60.0, 300.0, 900.0, 3600.0, 6 * 3600.0])
@pytest.mark.parametrize("retry_after", [None, 120.0])
def test_the_peak_is_at_most_three_times_the_mean(outage: float, retry_after: float | None) -> None:
    """The mean until all are through or, after a short outage, at which they come when there is none."""
    bins = storm(outage, retry_after)
    assert sum(bins) == CLIENTS
    assert max(bins) <= 3 * max(CLIENTS / len(bins), CLIENTS * BIN / outage)


def test_without_jitter_there_would_be_a_storm() -> None:
    together = [Backoff(lambda: 1.0) for _ in range(3)]
    moments = [sum(backoff.delay() for _ in range(8)) for backoff in together]
    assert len(set(moments)) == 1
