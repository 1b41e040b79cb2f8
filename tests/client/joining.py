"""A collector that tries to link the reports of a device by their timing; a simulation without sockets or sleep.

Each device of a fleet has a report of one metric and a report of another, both made at the same moment. For each
upload the collector chooses whether to accept it, which Retry-After to send, and how long to delay the answer. It sees
moments, batches and metrics. Then it guesses, for each report of the first metric, the report of the second metric from
the same device. By chance one guess per fleet is right.
"""

import heapq
import random
from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

import dither
from client.devices import parts_on, uploader_of
from dither.state.journal_records import Queued
from dither.upload.schedule import RetryWindow, UploadSchedule
from dither_shared import Batch

DEVICES = 60
HORIZON = 86400.0


class Reply(NamedTuple):
    """What the collector does with an upload."""

    answer: dither.Answer
    seconds: float = 0.0
    """The seconds that its answer takes."""


class Seen(NamedTuple):
    """An upload, as the collector saw it."""

    moment: float
    end: float
    until: float
    """The end of the wait that it asked for this report."""


Plan = Callable[[str, int, random.Random], Reply]
"""Replies to the n-th upload of a report of a metric."""


class Collector:
    """A collector that follows a plan and records the uploads that it sees."""

    def __init__(self, plan: Plan, seeded: random.Random) -> None:
        self.seen: dict[str, dict[str, list[Seen]]] = {"mobile": defaultdict(list), "theme": defaultdict(list)}
        self._plan = plan
        self._seeded = seeded

    def take(self, body: bytes, now: float) -> Reply:
        """Reply to one upload."""
        batch = Batch.decode(body)
        visits = self.seen[batch.metric][batch.batch]
        reply = self._plan(batch.metric, len(visits), self._seeded)
        end = now + reply.seconds
        visits.append(Seen(now, end, end + (reply.answer.retry_after or 0.0)))
        return reply


class Device:
    """The client's own parts, with a clock that only the collector's answers move."""

    def __init__(self, kind: type[UploadSchedule], collector: Collector, seeded: random.Random) -> None:
        self.now = 0.0
        self._collector = collector
        parts = parts_on(dither.MemoryState("on"))
        names = ["mobile", "theme"]
        seeded.shuffle(names)
        for name in names:
            parts.record(name, True)
        batches = map(Batch.decode, parts.preview())
        self.batches = {batch.metric: batch.batch for batch in batches}
        self.uploader = uploader_of(parts, self, kind(uniform=seeded.random, clock=lambda: self.now))

    def send(self, body: bytes) -> dither.Answer:
        reply = self._collector.take(body, self.now)
        self.now += reply.seconds
        return reply.answer


class Together(UploadSchedule):
    """A wrong client: a hold of one report silences its device, and missed reports leave at once."""

    def put_off(self, entry: Queued, retry_after: float | None, window: RetryWindow) -> bool:
        again = super().put_off(entry, retry_after, window)
        end = self._paused_until = self.held[entry.batch].moment
        self._due = {batch: moment for batch, moment in self._due.items() if moment > end}
        self._spread = 0.0
        return again

    def redraw_missed(self) -> None:
        pass


class Waiting(UploadSchedule):
    """A wrong client: a report that became due during another's upload leaves when that upload's answer comes."""

    def redraw_missed(self) -> None:
        pass


def observe(kind: type[UploadSchedule], plan: Plan, seed: int) -> tuple[Collector, dict[str, str]]:
    """Run a fleet; return what the collector saw, and which batches belong together."""
    seeded = random.Random(seed)
    collector = Collector(plan, seeded)
    devices = [Device(kind, collector, seeded) for _ in range(DEVICES)]
    agenda = [(0.0, number) for number in range(DEVICES)]
    while agenda:
        moment, number = heapq.heappop(agenda)
        device = devices[number]
        device.now = moment
        wait = device.uploader.step()
        if wait is not None and device.now + wait < HORIZON:
            heapq.heappush(agenda, (device.now + wait, number))
    return collector, {device.batches["mobile"]: device.batches["theme"] for device in devices}


Score = Callable[[list[Seen], list[Seen]], float]
"""How well two series of uploads match; more is better."""


def silence(first_series: list[Seen], second_series: list[Seen]) -> float:
    """Score that the second report stays away while the first is asked to wait."""
    return -sum(first.end < second.moment < first.until for first in first_series for second in second_series)


def resuming(first_series: list[Seen], second_series: list[Seen]) -> float:
    """Score that the second report comes soon after the first was to come again."""
    return max((-abs(second.moment - first.until) for first in first_series for second in second_series), default=-1e9)


def following(first_series: list[Seen], second_series: list[Seen]) -> float:
    """Score that the second report comes as soon as the first has its answer."""
    return sum(0 <= second.moment - first.end < 2 for first in first_series for second in second_series)


def excluding(first_series: list[Seen], second_series: list[Seen]) -> float:
    """Score that the second report stays away while the first waits for its answer."""
    return -sum(first.moment < second.moment < first.end for first in first_series for second in second_series)


def side_by_side(first_series: list[Seen], second_series: list[Seen]) -> float:
    """Score that the two reports repeatedly come close to each other."""
    return -sum(min(abs(second.moment - first.moment) for second in second_series) for first in first_series)


SCORES: tuple[Score, ...] = (silence, resuming, following, excluding, side_by_side)


def matched(collector: Collector, pairs: dict[str, str], score: Score, seeded: random.Random) -> int:
    """Return how many reports are matched with their partner; ties are broken at random."""
    right = 0
    for device, partner in pairs.items():
        series = collector.seen["mobile"][device]
        scores = {other: score(series, visits) for other, visits in collector.seen["theme"].items()}
        best = max(scores.values(), default=0.0)
        right += seeded.choice([other for other, value in scores.items() if value == best]) == partner
    return right
