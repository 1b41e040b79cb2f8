"""The rooms that are mutated, the tests of each, the quickest first, and the mutants that compute the same."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

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
    return _named(f"tests/{folder}", *(name if "/" in name else f"test_{name}" for name in names))


_SHARED, _CLIENT, _SERVER = "shared/dither_shared", "client/dither", "server/dither_server"

ROOMS: dict[str, Room] = {
    "mechanisms": Room(
        (
            f"{_SHARED}/mechanisms/*.py",
            f"{_SHARED}/primitives/*.py",
            f"{_SHARED}/questions/*.py",
            *_named(_SHARED, "mechanism", "rows"),
        ),
        (
            _VECTORS,
            *_tests("shared/mechanisms", "mechanisms", "auto", "dithered_response", "decaying"),
            *_tests("shared/mechanisms", "discrete_gaussian", "privset", "set_response", "projective_sketch"),
            *_tests("shared/mechanisms", "prefix_levels", "sums", "registry"),
            *_tests("shared/primitives", "entropy", "probability", "galois", "tabulated", "elimination"),
            *_tests("shared/primitives", "digests", "projective"),
            *_tests("shared", "metrics/test_metric", "plain"),
            *_tests("shared/questions", "questions", "number", "selection", "discovery", "cross", "grid"),
            *_tests("contract", "rows", "facts", "privacy", "law", "joint", "two_level", "numeric"),
        ),
    ),
    "keys": Room(
        _named(f"{_CLIENT}/reporting", "keys"),
        (
            _VECTORS,
            *_tests("client/reporting", "permanent", "survey_draws", "permanent_questions", "ledger"),
            *_tests("client/state", "lost_secret"),
        ),
    ),
    "ledger": Room(
        (*_named(f"{_CLIENT}/reporting", "ledger", "recorder"), f"{_SHARED}/privacy/composition.py"),
        (
            *_tests("shared/privacy", "composition"),
            *_tests("client/reporting", "ledger", "permanent", "recorder", "survey_draws"),
            *_tests("client/reporting", "app_name_clash", "strata", "permanent_questions", "events"),
            *_tests("client/state", "lost_secret", "clock", "forged_files"),
            *_tests("client", "consent/test_permission", "upload/test_reasons", "host"),
        ),
    ),
    "store": Room(
        (
            *_named(f"{_SERVER}/store", "store", "uploads", "engine"),
            *_named(f"{_SERVER}/store", "definitions", "tallies", "tokens"),
        ),
        (
            *_tests("server/store", "engine", "store", "migrate", "removal", "closing", "definitions"),
            *_tests(
                "server",
                "cli/test_database_url",
                "ingest/test_refusal_counts",
                "reading/test_materialize",
                "reading/test_answer_cache",
            ),
            *_tests("server", "former", "access/test_known_tokens", "store/test_postgresql"),
        ),
    ),
    "ids": Room(
        _named(f"{_SERVER}/store", "batch_ids"),
        _tests("server/store", "store", "removal", "closing", "batch_ids"),
    ),
    "spool": Room(
        _named("server/dither_spool", "records", "manifest", "ids", "bucket", "fold", "workers"),
        _tests("spool", "records", "manifest", "ids", "bucket", "fold", "workers", "clocks", "killed"),
    ),
    "intervals": Room(
        _named(f"{_SERVER}/estimation/intervals", "score", "feldman_cousins", "exact"),
        _tests("server/estimation", "intervals/test_score", "intervals/test_exact", "repeats", "estimate"),
    ),
    "health": Room(
        (f"{_SERVER}/analysis/health.py",),
        _tests("server/analysis", "health", "poisoning"),
    ),
    "audit": Room((f"{_SHARED}/privacy/audit.py",), _tests("shared/privacy", "audit")),
    "composition": Room(
        (f"{_SERVER}/analysis/composition.py", f"{_SHARED}/privacy/composition.py"),
        ("tests/server/analysis/test_composition.py", "tests/shared/privacy/test_composition.py"),
    ),
    "estimates": Room(
        (f"{_SERVER}/estimation/estimate.py",),
        _tests(
            *("server/estimation", "estimate", "collisions", "decoders/test_support", "intervals/test_score"),
            *("strings/test_lookup", "repeats", "sets", "decoders/test_rappor"),
        ),
    ),
    "numbers": Room(
        (
            f"{_SERVER}/estimation/numeric/*.py",
            *_named(f"{_SERVER}/estimation", "transform", "fit", "confidence", "planning"),
        ),
        (
            *_tests("server/estimation/numeric", "cuts", "tabulated", "likelihood", "dithered", "estimate"),
            *_tests("server/estimation", "fit", "planning", "decoders/test_support", "estimate", "repeats"),
            *_tests("server/estimation", "strings/test_discovery", "numeric/test_mean", "decoders/test_rappor"),
        ),
    ),
    "decoders": Room(
        (
            *_named(f"{_SERVER}/estimation/decoders", "decoder", "linear_system", "rappor", "support"),
            f"{_SERVER}/estimation/hashing.py",
            f"{_SERVER}/estimation/strings/*.py",
        ),
        (
            *_tests("server/estimation/decoders", "linear_system", "windows", "support"),
            *_tests("server/estimation/strings", "cells", "rows", "selection"),
            *_tests("server/estimation", "collisions", "decoders/test_rappor", "repeats"),
            *_tests("server/estimation/strings", "lookup", "discovery"),
        ),
    ),
    "sets": Room(
        (
            *_named(f"{_SERVER}/estimation", "sets", "sums", "decoders/set_decoders"),
            *_named(f"{_SERVER}/analysis", "weighted", "trend", "compare", "combine", "sequential", "spread"),
        ),
        (
            *_tests("server/estimation", "decoders/test_windows", "sets", "sums"),
            *_tests("server/analysis", "weighted", "trend", "sequential", "compare", "combine"),
        ),
    ),
}


def equivalents() -> dict[tuple[str, str], str]:
    """Return the reason of each equivalent mutant, by its file and line; see ``equivalent.txt``."""
    file = reason = ""
    found = {}
    for line in Path(__file__).with_name("equivalent.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("    "):
            found[file, line.strip()] = reason
        elif line.startswith("  # "):
            reason = line.removeprefix("  # ")
        elif not line.startswith("#"):
            file = line
    return found
