"""The rooms that are mutated, and the tests that hold each; the quickest tests stand first."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["ROOMS", "Room"]

_VECTORS = "tests/vectors/test_vectors.py"


@dataclass(frozen=True)
class Room:
    """Sources, as patterns from the project's folder, and the files of their tests."""

    sources: tuple[str, ...]
    tests: tuple[str, ...]

    def files(self, folder: Path) -> Iterator[Path]:
        """Yield the sources, in an order that is always the same."""
        for pattern in self.sources:
            yield from sorted(path for path in folder.glob(pattern) if path.name != "__init__.py")


def _named(folder: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{folder}/{name}.py" for name in names)


def _tests(folder: str, *names: str) -> tuple[str, ...]:
    return _named(f"tests/{folder}", *(f"test_{name}" for name in names))


_SHARED, _CLIENT, _SERVER = "shared/dither_shared", "client/dither", "server/dither_server"

ROOMS: dict[str, Room] = {
    "mechanisms": Room(
        (
            f"{_SHARED}/mechanisms/*.py",
            *_named(
                _SHARED,
                "mechanism",
                "entropy",
                "probability",
                "channel",
                "galois",
                "bloom",
                "choice",
                "answers",
                "rows",
            ),
        ),
        (
            _VECTORS,
            *_tests("shared", "mechanisms", "entropy", "probability", "galois", "choice", "metric", "answers"),
            *_tests("contract", "rows", "facts", "privacy", "law"),
        ),
    ),
    "keys": Room(
        _named(_CLIENT, "keys", "memory"),
        (_VECTORS, *_tests("client", "permanent", "budget", "lost_secret", "format1")),
    ),
    "ledger": Room(
        (*_named(_CLIENT, "ledger", "account", "recorder"), f"{_SHARED}/privacy.py"),
        (
            *_tests("shared", "privacy"),
            *_tests("client", "budget", "permanent", "answers", "lost_secret", "periods", "clock", "foul_state"),
            *_tests("client", "format1", "reasons", "trouble"),
        ),
    ),
    "store": Room(
        _named(f"{_SERVER}/store", "store", "counting", "disabled", "estimates", "hot")
        + _named(f"{_SERVER}/store", "refusals", "tokens", "url"),
        _tests("server", "store", "hot", "database_url", "refusals", "refresh", "tokens", "purge"),
    ),
    "ids": Room(
        _named(f"{_SERVER}/store", "days", "filters", "ids", "purge"), _tests("server", "store", "purge", "ids")
    ),
    "intervals": Room(
        _named(_SERVER, "intervals", "boundary", "exact", "chebyshev"), _tests("server", "intervals", "exact")
    ),
    "health": Room(_named(f"{_SERVER}/analysis", "health", "patterns"), _tests("server", "health")),
    "audit": Room(_named(_SHARED, "audit", "binomial"), _tests("shared", "audit")),
    "collisions": Room(_named(_SERVER, "collisions"), _tests("server", "collisions", "support", "intervals")),
}
