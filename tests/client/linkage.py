"""How well two series of uploads can be linked to one device: ``python -m client.linkage`` in tests/.

An adversary (a collector that stores more than it should) holds a series of uploads of one metric from each of 1,000
devices with their names, and a later series of each without names. For every later series it names the device with the
most similar earlier series: top-1 re-identification. All devices have the same value, so that only the noise can reveal
a device; a guess is right once in 1,000.

Without a permanent part nothing links two reports of one value, but each of them spends epsilon again. With it the loss
is bounded permanently, at the price that the permanent draw is a feature of the device, which shows better the longer
the series is. Therefore an upload carries nothing else that could link it to another.

Behind a relay the adversary has no names either. It has the reports of two days, each in the order in which they were
forwarded, and names for each later report an earlier one: the most similar, the one at the nearest place, or among the
most similar the one at the nearest place. Without a permanent draw that is guessing. A relay does not hide a permanent
draw: it removes the address, not the feature.
"""

import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from client.seals import KEY, opened, sealing
from dither.reporting.bodies import build
from dither.reporting.keys import Keys
from dither_relay.store import Arrival, ListedPool, RelayStore
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
from dither_shared.sealed import Pool, SealedBatch, SealedReport
from relay.fake_collector import collecting
from relay.relaying import TODAY, rounds, url_of

__all__ = ["QUESTIONS", "Linked", "top_one", "top_one_relayed"]

Matrix = np.ndarray[Any, np.dtype[np.float64]]

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
    return _right(_best(_similar(later, earlier)), np.arange(devices))


class Linked(NamedTuple):
    """Shares of later reports whose earlier one is found: by content, by place, by content and then by place."""

    content: float
    place: float
    both: float


def top_one_relayed(metric: Metric, devices: int = 1000, *, relay: bool = True) -> Linked:
    """Return the shares of devices that are found again from one day to the next, in what a relay forwards.

    The devices report in the same order each day. ``relay=False`` is a collector without one, which sees that order.
    """
    secrets = [Keys(SystemEntropy().take(32)) for _ in range(devices)]
    (earlier, names), (later, wanted) = (_day(metric, secrets, relay) for _ in range(2))
    places = np.arange(devices)
    near = -np.abs(places[:, None] - places)
    alike = _best(_similar(later, earlier))
    right = np.argsort(names)[wanted]
    return Linked(
        _right(alike, right), _right(_best(near), right), _right(_best(np.where(alike, near, -devices)), right)
    )


def _similar(later: Matrix, earlier: Matrix) -> Matrix:
    """Return how similar each later profile (rows) is to each earlier one (columns)."""
    similar: Matrix = (later - later.mean(axis=0)) @ (earlier - earlier.mean(axis=0)).T
    return similar


def _best(similar: "np.ndarray[Any, Any]") -> "np.ndarray[Any, np.dtype[np.bool_]]":
    """Return for each later profile which earlier ones are the most similar."""
    best: np.ndarray[Any, np.dtype[np.bool_]] = similar >= similar.max(axis=1, keepdims=True) - 1e-9
    return best


def _right(best: "np.ndarray[Any, np.dtype[np.bool_]]", right: "np.ndarray[Any, np.dtype[np.intp]]") -> float:
    """Return how often the right profile is named; the adversary breaks ties at random."""
    return float((best[np.arange(len(right)), right] / best.sum(axis=1)).mean())


def _profile(metric: Metric, keys: Keys | None, uploads: int) -> Matrix:
    """Return the profile of a series of uploads: how often each cell was reported, by cohort."""
    entropy = SystemEntropy()
    bodies = [_body(metric, keys or Keys(entropy.take(32))) for _ in range(uploads)]
    return sum((_cells(metric, Batch.decode(body).reports) for body in bodies), np.zeros(()))


def _body(metric: Metric, keys: Keys) -> bytes:
    """Return the uploads of a device; all devices have the same answer."""
    return build(metric, 1 if metric.mechanism.size else b"firefox", keys, SystemEntropy(), 1, local=False).body


def _cells(metric: Metric, row: bytes) -> Matrix:
    mechanism = metric.mechanism
    report = Report.decode(row, mechanism)
    seen = np.zeros(mechanism.cohorts * mechanism.cells)
    seen[[report.cohort * mechanism.cells + cell for cell in report.cells(mechanism)]] = 1
    return seen


def _day(metric: Metric, secrets: Sequence[Keys], relay: bool) -> "tuple[Matrix, np.ndarray[Any, np.dtype[np.intp]]]":
    """Return the profile of each report of a day, in the order in which the collector sees them, and whose each is."""
    (sealing_metric,) = sealing({metric.name: replace(metric, period="once")}).values()
    pool = Pool(metric.name, metric.version)
    arrived = [SealedReport.decode(_body(sealing_metric, keys)).sealed for keys in secrets]
    seen = _forwarded(pool, metric.mechanism.row_bytes, arrived) if relay else arrived
    whose = {sealed: device for device, sealed in enumerate(arrived)}
    rows = [opened(SealedReport(pool, sealed).encode()) for sealed in seen]
    return np.array([_cells(metric, row) for row in rows]), np.array([whose[sealed] for sealed in seen])


def _forwarded(pool: Pool, width: int, arrived: Sequence[bytes]) -> list[bytes]:
    """Let a relay hold and forward these, in ten bodies; return them in the order in which the collector gets them."""
    length = len(arrived[0])
    with collecting([(pool.series, KEY.suite.name, length)], len(arrived) // 10) as collector:
        collector.row_bytes = width
        with tempfile.TemporaryDirectory() as folder, closing(RelayStore(url_of(Path(folder)))) as store:
            limits = {"batch_limit": collector.batch_limit, "body_limit": collector.body_limit}
            store.list_pools([ListedPool(pool.digest, KEY.suite, length)], limits)
            for start in range(0, len(arrived), 500):
                some = [Arrival(1, pool, row) for row in arrived[start : start + 500]]
                store.commit(some, TODAY, b"")
            round_ = rounds(store, collector.url)
            round_.freeze()
            assert round_.post({}).reports == len(arrived)
        return [sealed for body in collector.bodies for sealed in SealedBatch.decode(body).split(width)]


def main() -> None:
    """Print the figures."""
    print(f"{'top-1 of 1,000 devices after this many uploads each':52}{'1':>8}{'7':>8}{'30':>8}")
    for name, metric in QUESTIONS.items():
        shares = [top_one(metric, uploads, lasting="fresh" not in name) for uploads in (1, 7, 30)]
        print(f"{name:52}" + "".join(f"{share:8.1%}" for share in shares))
    print(f"\n{'over a relay, from one day to the next: by':52}{'content':>8}{'place':>8}{'both':>8}")
    for name, metric in QUESTIONS.items():
        if "fresh" not in name:
            print(f"{name:52}" + "".join(f"{share:8.1%}" for share in top_one_relayed(metric)))


if __name__ == "__main__":
    main()
