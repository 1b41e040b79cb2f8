"""Devices in this process: what they would post, and a collector that counts it in one transaction."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from datetime import date

from flask import Flask

import dither
from dither_server.app import collector_of
from dither_server.ingest.ingest import PlainUpload
from dither_shared import KeyedEntropy, Metric
from server.collecting import TODAY


def bodies(
    metrics: Mapping[str, Metric],
    entropy: KeyedEntropy,
    answers: Mapping[str, object],
    strata: Mapping[str, str] = {},
    today: Callable[[], date] = lambda: TODAY,
) -> list[bytes]:
    """The bodies that a new device posts once its user has consented to all metrics and answered."""
    device = dither.Client(
        metrics, endpoint="http://localhost", app="devices", state=dither.MemoryState(), background=False, environ={},
        entropy=entropy, strata=strata, today=today,
    )  # fmt: skip
    with closing(device):
        assert device.consent("on")
        for name, answer in answers.items():
            device.record(name, answer)
        return device.preview()


def count(app: Flask, posted: Iterable[bytes], day: date = TODAY) -> None:
    """Count bodies on a day, read as the collector reads what is posted."""
    collector, plain = collector_of(app), PlainUpload(1)
    metrics = {metric.version: metric for metric in collector.metrics.values()}
    uploads = []
    for body in posted:
        with plain.reading({}, body) as sent:
            uploads.append(sent.upload(metrics[sent.version]))
    collector.store.commit(uploads, day, b"s" * 16)
