"""Vectors of the mechanisms: their laws, and reports from given entropy."""

from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from dither_shared import Mechanism, Report, Shape
from dither_shared.errors import ParameterError
from dither_shared.mechanism import NUMBERS, SETS, Item
from dither_shared.mechanisms.auto import choose
from dither_shared.primitives.bloom import bloom_positions
from dither_shared.primitives.buckets import bucket_digest, bucket_in
from dither_shared.primitives.probability import ONE

from .catalogue import ENTRIES, VALUES, exact, mechanism, written
from .rendering import Case
from .scripts import Below, Prefixed, Reached, Recorded

_BEYOND = 3
"""Spare bytes of entropy, so that an implementation that takes too many is noticed and does not run out."""

_SMALL_TABLE = 50
_WIDEST_EDGE = 32
_MOST_TOLD = 16
_WIDE = 256
"""Rows of bits up to which the rare paths are walked: all 64 slices of lanes, and chosen first bytes. Wider ones take
much room and differ in nothing."""


def laws() -> Iterator[Case]:
    for entry in ENTRIES.values():
        one = entry.mechanism
        yield {
            "id": entry.id,
            "mechanism": entry.family,
            "size": entry.size,
            "configured": dict(entry.configured),
            "parameters": one.parameters(),
            "shape": one.shape.value,
            "cohorts": one.cohorts,
            "cells": one.cells,
            "listed": one.listed,
            "cohort_bytes": one.row_format.cohort_bytes,
            "payload_bytes": one.row_format.payload_bytes,
            **{name: exact(getattr(one, name, None)) for name in ("a", "b", "p", "q", "coverage", "ratio")},
            "permanent_ratio": exact(one.permanent_ratio),
            "epsilon": exact(one.epsilon),
            "permanent_epsilon": exact(one.permanent_epsilon),
            "delta": exact(one.delta),
            **_table(one),
        }


def _table(one: Mechanism) -> Case:
    """Return the laws of a mechanism that these laws define: a row for each item, in 2^-64."""
    if one.items != NUMBERS or hasattr(one, "a"):
        return {"table": None, "table_sha256": None}
    rows = [[int(chance * ONE) for chance in one.cell_law(item)] for item in range(one.size or 0)]
    digest = sha256(b"".join(weight.to_bytes(8, "big") for row in rows for weight in row)).hexdigest()
    small = len(rows) * len(rows[0]) <= _SMALL_TABLE
    return {"table": [[str(weight) for weight in row] for row in rows] if small else None, "table_sha256": digest}


def _items(one: Mechanism) -> list[Item]:
    if one.size is None:
        return list(VALUES)
    if one.items.sets:  # none, one, and as many as may be at either end, but not very many
        most = (1 << min(one.largest, _MOST_TOLD)) - 1
        return sorted({0, 1, most, most << one.size - most.bit_length()})
    return sorted({0, 1, one.size // 2, one.size - 1})


def _cohorts(one: Mechanism) -> list[int]:
    return sorted({0, one.cohorts // 3, one.cohorts - 1})


def _paths(one: Mechanism, label: str, first: bool) -> Iterator[tuple[str, Recorded]]:
    symbol = one.shape is Shape.SYMBOL
    yield "random", Recorded(label)
    if first and (symbol or one.cells <= _WIDE):
        yield "zeros", Prefixed(label, bytes(16))
        yield "ones", Prefixed(label, b"\xff" * 16)
    if first and (symbol or one.cells <= _WIDEST_EDGE):
        yield "reached", Reached(label)
        yield "below", Below(label)


def reports() -> Iterator[Case]:
    for name in ENTRIES:
        one = mechanism(name)
        items = _items(one)[:2] if one.shape is Shape.BITS and one.cells > _WIDE else _items(one)
        for place, item in enumerate(items):
            cohorts = _cohorts(one)
            cohort = cohorts[place % len(cohorts)]
            for path, entropy in _paths(one, f"{name}/{item!r}/{cohort}", first=place == 0):
                row = Report(cohort, one.randomize(item, entropy, cohort)).encode(one)
                yield {
                    "mechanism": name,
                    "item": written(item, one.items),
                    "cohort": cohort,
                    "path": path,
                    "entropy": (entropy.given + entropy.beyond(_BEYOND)).hex(),
                    "used": len(entropy.given),
                    "row": row.hex(),
                }


def bloom() -> Iterator[Case]:
    shapes = [(128, 2), (8, 1), (3, 2), (1, 1), (2, 1), (32, 1), (100, 4), (2048, 8), (4096, 16), (16, 15), (3, 3)]
    for bits, hashes in shapes:
        for value in VALUES:
            for cohort in (0, 1, 7, 8, 63, 65535) if (bits, hashes) == (128, 2) else (0, 9):
                positions = list(bloom_positions(value, cohort, bits, hashes))
                yield {
                    "value": value.hex(),
                    "cohort": cohort,
                    "bits": bits,
                    "hashes": hashes,
                    "positions": positions,
                }


def buckets() -> Iterator[Case]:
    for value in VALUES:
        for level in (0, 1, 32):
            digest = bucket_digest(value, level)
            yield {
                "value": value.hex(),
                "level": level,
                "digest": digest.hex(),
                "buckets": [bucket_in(digest, row, 1 << 16) for row in range(2)],
                "fewer": [bucket_in(digest, row, 1 << 5) for row in range(2)],
            }


def choices() -> Iterator[Case]:
    for size in (2, 3, 4, 10, 100, 256, 1000, 4096):
        for epsilon in ("0.1", "0.5", "1.0", "2.0", "4.0", "8.0"):
            for permanent in (None, "16.0"):
                for budget in (1, 8, 64):
                    yield {
                        "size": size,
                        "epsilon": epsilon,
                        "permanent_epsilon": permanent,
                        "report_budget": budget,
                        **_chosen(size, float(epsilon), None if permanent is None else float(permanent), budget),
                    }
    for size in (8, 64):
        for epsilon in ("0.5", "4.0"):
            for at_most in (None, 1, size // 4, size // 2):
                for permanent, budget in ((None, 64), ("16.0", 1)):
                    promises = {} if at_most is None else {"at_most": at_most}
                    forever = None if permanent is None else float(permanent)
                    yield {
                        "size": size,
                        "at_most": at_most,
                        "epsilon": epsilon,
                        "permanent_epsilon": permanent,
                        "report_budget": budget,
                        **_chosen(size, float(epsilon), forever, budget, items=SETS, promises=promises),
                    }


def _chosen(size: int, epsilon: float, permanent: float | None, budget: int, **sets: Any) -> Case:
    try:
        one = choose(size, epsilon, permanent, budget, **sets)
    except ParameterError as error:
        return {"mechanism": None, "parameters": None, "refused": error.place}
    return {"mechanism": one.name, "parameters": one.parameters(), "refused": None}
