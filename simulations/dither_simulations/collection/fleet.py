"""Run thousands of devices, each with a real client that sends real reports."""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

import dither
from dither_shared import Metric

Person = Mapping[str, object]

_PATIENCE = 30.0
"""Seconds for a device's reports to be acknowledged."""


def send_all(
    metrics: Mapping[str, Metric],
    url: str,
    people: Iterable[Person],
    workers: int = 32,
    step: Callable[[], object] = int,
) -> bool:
    """Give each person a device of their own, let it report every answer, and return whether all of them could.

    ``step`` is called after each device. Answers travel over HTTP to ``url``, from ``workers`` devices at a time: a
    device mostly waits for a commit, and the collector commits together all that has arrived until then.
    """

    def one(person: Person) -> bool:
        sent = _report(metrics, url, person)
        step()
        return sent

    pool = ThreadPoolExecutor(workers)
    try:
        return all(pool.map(one, people))
    finally:
        pool.shutdown(cancel_futures=True)  # after a failure or an interruption no one waits for the rest


def _report(metrics: Mapping[str, Metric], url: str, person: Person) -> bool:
    # Without the environment: a simulated device is not the user's own, who may have DO_NOT_TRACK set.
    # It uploads when it is asked to, at the end, and not in the background while it still records.
    client = dither.Client(
        metrics, endpoint=url, app="dither-demo", state=dither.MemoryState(), background=False, environ={}
    )
    try:
        client.consent("on")
        for metric, value in person.items():
            client.record(metric, value)
        return client.flush(_PATIENCE)
    finally:
        client.close()
