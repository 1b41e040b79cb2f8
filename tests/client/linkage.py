"""How well two series of uploads can be told to come from one device: ``python -m client.linkage`` in tests/.

An adversary (a collector that turned bad and keeps what it should not) holds a series of uploads of one metric from
each of 1,000 devices, with their names, and a later series of each, without. For every later series it names the device
whose earlier series is the most similar: top-1 re-identification. All devices have the same value, so that whatever it
finds out, it finds out from the noise; guessing is right once in 1,000.

Without a permanent part nothing joins two reports of one value, but each of them spends epsilon anew. With it the loss
is bounded for ever, and the price is that the permanent draw is a feature of the device: the longer the series, the
better it shows. That is why an upload carries nothing else that could join it to another.
"""

from typing import Any

import numpy as np

from dither.reporting.draws.keys import Keys
from dither.reporting.report import build
from dither_shared import (
    Batch,
    ChoiceQuestion,
    Metric,
    RandomizedResponse,
    Rappor,
    Report,
    StringQuestion,
    SymmetricUnary,
    SystemEntropy,
)

__all__ = ["QUESTIONS", "top_one"]

_FOUR, _MANY = (ChoiceQuestion(tuple(f"answer {number}" for number in range(count))) for count in (3, 15))

QUESTIONS = {
    "4 answers, no permanent part": Metric("theme", _FOUR, RandomizedResponse.calibrate(4, 1.0)),
    "4 answers, permanent part": Metric(
        "theme", _FOUR, RandomizedResponse.configure(4, {"epsilon": 1.0, "permanent_epsilon": 2.0})
    ),
    "16 answers as bits, no permanent part": Metric("editor", _MANY, SymmetricUnary.calibrate(16, 1.0)),
    "any text, RAPPOR, 128 bits": Metric("browser", StringQuestion(), Rappor.calibrate(None, 1.0, 2.0)),
    "any text, RAPPOR, 128 bits, a fresh secret each day": Metric(
        "browser", StringQuestion(), Rappor.calibrate(None, 1.0, 2.0)
    ),
}


def top_one(metric: Metric, uploads: int, devices: int = 1000, *, lasting: bool = True) -> float:
    """Return the share of devices whose later ``uploads`` are matched to their earlier ones.

    ``lasting=False`` gives a device another secret for each upload, as if it remembered nothing.
    """
    secrets = [Keys(SystemEntropy().take(32)) for _ in range(devices)]
    earlier, later = (
        np.array([_profile(metric, keys if lasting else None, uploads) for keys in secrets]) for _ in range(2)
    )
    earlier, later = earlier - earlier.mean(axis=0), later - later.mean(axis=0)
    similar = later @ earlier.T
    best = similar.max(axis=1, keepdims=True)
    ties = similar >= best - 1e-9
    return float((ties.diagonal() / ties.sum(axis=1)).mean())  # of equally similar devices it takes any


def _profile(metric: Metric, keys: Keys | None, uploads: int) -> "np.ndarray[Any, Any]":
    """Return what a series of uploads shows: how often each cell was reported, cohort by cohort."""
    mechanism = metric.mechanism
    seen = np.zeros(mechanism.cohorts * mechanism.cells)
    item = 1 if mechanism.size else b"firefox"
    for _ in range(uploads):
        entropy = SystemEntropy()
        body = build(metric, item, keys or Keys(entropy.take(32)), entropy, 1, local=False).body
        report = Report.decode(Batch.decode(body).reports, mechanism)
        seen[[report.cohort * mechanism.cells + cell for cell in report.cells(mechanism)]] += 1
    return seen


def main() -> None:
    """Print the figures."""
    print(f"{'top-1 of 1,000 devices after this many uploads each':52}{'1':>8}{'7':>8}{'30':>8}")
    for name, metric in QUESTIONS.items():
        shares = [top_one(metric, uploads, lasting="fresh" not in name) for uploads in (1, 7, 30)]
        print(f"{name:52}" + "".join(f"{share:8.1%}" for share in shares))


if __name__ == "__main__":
    main()
