"""Put multi-freq-ldpy behind the bench's interface; its environment runs this."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import xxhash  # type: ignore[import-not-found]
from multi_freq_ldpy.pure_frequency_oracles import GRR, LH, SS, UE  # type: ignore[import-not-found]
from numba import njit  # type: ignore[import-not-found]

from .driver import Case, Floats, serve

_unclipped: list[Floats] = []
"""The frequencies of the library's inversion just before it clips and renormalizes."""


def _listen(module: Any) -> None:
    """Let a module's estimators note the frequencies that they invert, and change nothing else."""
    clip = module.MI

    def invert(counts: Floats, users: int, p: float, q: float) -> Any:
        _unclipped.append((np.asarray(counts) / users - q) / (p - q))
        return clip(counts, users, p, q)

    module.MI = invert


@dataclass(frozen=True)
class MultiFreqLdpy:
    """One of its client functions and its aggregator."""

    size: int
    client: Callable[[int], Any]
    aggregator: Callable[[list[Any]], Any]
    place: Callable[[Any, int], int]
    declared: float

    def report(self, value: int) -> Any:
        """Return the report of its client."""
        return self.client(value)

    def estimate(self, reports: list[Any]) -> Floats:
        """Return the result of its aggregator by matrix inversion, before it is clipped."""
        _unclipped.clear()
        self.aggregator(reports)
        return _unclipped[-1]


def _direct(size: int, epsilon: float) -> MultiFreqLdpy:
    return MultiFreqLdpy(
        size,
        lambda value: GRR.GRR_Client(value, size, epsilon),
        lambda reports: GRR.GRR_Aggregator_MI(reports, size, epsilon),
        lambda report, value: int(report == value),
        epsilon,
    )


def _unary(size: int, epsilon: float) -> MultiFreqLdpy:
    return MultiFreqLdpy(
        size,
        lambda value: UE.UE_Client(value, size, epsilon),
        lambda reports: UE.UE_Aggregator_MI(reports, epsilon),
        lambda report, value: int(report[value]),
        epsilon,
    )


def _local_hashing(size: int, epsilon: float) -> MultiFreqLdpy:
    symbols = round(float(np.exp(epsilon))) + 1

    def place(report: Any, value: int) -> int:
        symbol, seed = report
        return int(xxhash.xxh32(str(value), seed=seed).intdigest() % symbols == symbol)

    return MultiFreqLdpy(
        size,
        lambda value: LH.LH_Client(value, size, epsilon),
        lambda reports: LH.LH_Aggregator_MI(reports, size, epsilon),
        place,
        epsilon,
    )


def _subset(size: int, epsilon: float) -> MultiFreqLdpy:
    """Return subset selection as it is: the place of a value in the report's list is 0 (first), 1 (later) or -1."""

    def place(report: Any, value: int) -> int:
        return 0 if report[0] == value else 1 if value in report else -1

    return MultiFreqLdpy(
        size,
        lambda value: SS.SS_Client(value, size, epsilon),
        lambda reports: SS.SS_Aggregator_MI(reports, size, epsilon),
        place,
        epsilon,
    )


_MAKERS = {"GRR": _direct, "OUE": _unary, "OLH": _local_hashing, "SS": _subset}


@njit  # type: ignore[untyped-decorator]
def _seed_compiled(seed: int) -> None:
    np.random.seed(seed)  # noqa: NPY002 - compiled clients draw from a global generator of their own


def make(case: Case) -> MultiFreqLdpy:
    """Return the mechanism of a case, with every generator that the library draws from seeded."""
    seed = case.seed % (1 << 32)
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - the library draws from the global generator
    _seed_compiled(seed)
    return _MAKERS[case.mechanism](case.size, case.epsilon)


if __name__ == "__main__":
    for each in (GRR, UE, LH, SS):
        _listen(each)
    serve(make)
