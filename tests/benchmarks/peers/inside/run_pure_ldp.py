"""Put pure-ldp behind the bench's interface; its environment runs this."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import xxhash  # type: ignore[import-not-found]
from pure_ldp import frequency_oracles as theirs  # type: ignore[import-not-found]

from .driver import Case, Floats, serve

_BLOOM_BITS = 64


@dataclass(frozen=True)
class PureLdp:
    """One of its clients and a way to make its server."""

    size: int
    client: Any
    server: Callable[[], Any]
    place: Callable[[Any, int], int]
    declared: float

    def report(self, value: int) -> Any:
        """Return the result of ``privatise``."""
        return self.client.privatise(value)

    def estimate(self, reports: list[Any]) -> Floats:
        """Return the result of ``estimate_all`` without its normalization, as frequencies."""
        server = self.server()
        server.aggregate_all(reports)
        return np.asarray(server.estimate_all(range(self.size), suppress_warnings=True) / len(reports))


def _same(value: int) -> int:
    return value


def _local_hashing(size: int, epsilon: float) -> PureLdp:
    mapped = {"use_olh": True, "index_mapper": _same}
    client = theirs.LHClient(epsilon, size, **mapped)

    def place(report: Any, value: int) -> int:
        symbol, seed = report
        return int(xxhash.xxh32(str(value), seed=seed).intdigest() % client.g == symbol)

    return PureLdp(size, client, lambda: theirs.LHServer(epsilon, size, **mapped), place, epsilon)


def _unary(size: int, epsilon: float) -> PureLdp:
    mapped = {"use_oue": True, "index_mapper": _same}
    client = theirs.UEClient(epsilon, size, **mapped)
    return PureLdp(
        size,
        client,
        lambda: theirs.UEServer(epsilon, size, **mapped),
        lambda report, value: int(report[value]),
        epsilon,
    )


def _direct(size: int, epsilon: float) -> PureLdp:
    client = theirs.DEClient(epsilon, size, _same)
    return PureLdp(
        size,
        client,
        lambda: theirs.DEServer(epsilon, size, _same),
        lambda report, value: int(report == value),
        epsilon,
    )


def _rappor(size: int, epsilon: float) -> PureLdp:
    """Return one cohort and one hash function, with f as its own method has it for ε."""
    noise = theirs.RAPPORClient(0.5, _BLOOM_BITS, []).convert_eps_to_f(epsilon)
    server = theirs.RAPPORServer(noise, _BLOOM_BITS, 1, size, num_of_cohorts=1, index_mapper=_same)
    hashes = server.get_hash_funcs()
    client = theirs.RAPPORClient(noise, _BLOOM_BITS, hashes, num_of_cohorts=1, index_mapper=_same)

    def place(report: Any, value: int) -> int:
        return int(report[0][hashes[0][0](str(value))])

    return PureLdp(size, client, lambda: server, place, float(server.epsilon))


_MAKERS = {"DE": _direct, "OUE": _unary, "OLH": _local_hashing, "RAPPOR": _rappor}


def make(case: Case) -> PureLdp:
    """Return the mechanism of a case, with every generator that the library draws from seeded."""
    random.seed(case.seed)
    np.random.seed(case.seed % (1 << 32))  # noqa: NPY002 - the library draws from the global generator
    return _MAKERS[case.mechanism](case.size, case.epsilon)


if __name__ == "__main__":
    serve(make)
