"""Vectors of the mechanisms: their laws, and reports from given entropy."""

from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from dither_shared import Mechanism, Report, Shape
from dither_shared.errors import ParameterError
from dither_shared.mechanism import SETS, Item
from dither_shared.mechanisms.auto import choose
from dither_shared.primitives.bloom import bloom_positions
from dither_shared.primitives.buckets import bucket_digest, bucket_in
from dither_shared.primitives.probability import ONE

from .catalogue import ENTRIES, VALUES, exact, mechanism, written
from .rendering import Case, File
from .scripts import Below, Prefixed, Reached, Recorded

_BEYOND = 3
"""Spare bytes of entropy, so that an implementation that takes too many is noticed and does not run out."""

_SMALL_TABLE = 50
_WIDEST_EDGE = 32
_MOST_TOLD = 16
_WIDE = 256
"""Rows of bits up to which the rare paths are walked: all 64 slices of lanes, and chosen first bytes. Wider ones take
much room and differ in nothing."""


def _laws() -> Iterator[Case]:
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
    if not one.items.ordered or hasattr(one, "a"):
        return {"table": None, "table_sha256": None}
    rows = [[int(chance * ONE) for chance in one.cell_law(item)] for item in range(one.size or 0)]
    digest = sha256(b"".join(weight.to_bytes(8, "big") for row in rows for weight in row)).hexdigest()
    small = len(rows) * len(rows[0]) <= _SMALL_TABLE
    return {"table": [[str(weight) for weight in row] for row in rows] if small else None, "table_sha256": digest}


MECHANISMS = File(
    "Mechanisms: what a definition asks for, the exact parameters that follow, and the law of one report. The other"
    " files name these mechanisms by their id.",
    {
        "id": "a name for this mechanism in these files; it is on no wire",
        "mechanism": "the name of its family, as a definition gives it",
        "size": "how many answers are listed, the catch-all among them; null if it takes any string, or numbers",
        "configured": "the keys of the definition with their numbers as TOML has them, and for a prefix sketch how many"
        " characters a text can have, and its greatest length; a number with a point or an"
        " exponent is read"
        " as the nearest IEEE 754 double, and that double is then the exact rational that is meant",
        "parameters": "what determines the law, and enters the version: whole numbers in decimal, fractions in lowest"
        " terms (without /1), None for an optional one that is absent",
        "shape": "how a payload is written: symbol, bits or list",
        "cohorts": "how many cohorts there are",
        "cells": "how many cells a row has",
        "listed": "how many cells a list names; 0 for the other shapes",
        "cohort_bytes": "the bytes of a row's cohort, big-endian; 0 if there is one cohort",
        "payload_bytes": "the bytes of a row's payload, which follow",
        "a": "the probability that a marked cell is reported; null, as b, p and q, if there is a table",
        "b": "the probability that a cell which is not marked is reported",
        "p": "the probability that a report supports the user's value",
        "q": "the probability that a report supports another value",
        "coverage": "the probability that a cohort speaks of a value",
        "ratio": "the worst-case ratio of the probabilities of one report under two values",
        "permanent_ratio": "the same for all reports of one value together; null if each report adds to it",
        "epsilon": "the logarithm of ratio, rounded up to an IEEE 754 double, as the exact rational that this is",
        "permanent_epsilon": "likewise of permanent_ratio, or null",
        "delta": "by how much the probability of an event under one value may exceed ratio times that under another",
        "table": "for each item the probabilities of the cells, times 2^64: a cell is drawn by choice among their sums;"
        " null if it is large, or there is none",
        "table_sha256": "the SHA-256 of all rows of the table, each number in 8 bytes, big-endian; or null",
    },
    _laws,
)


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


def _reports() -> Iterator[Case]:
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


REPORTS = File(
    "Reports: one row of each mechanism from given entropy. Where a mechanism has a permanent part, its draw is taken"
    " from the same entropy, before that of the report.",
    {
        "mechanism": "an id of mechanisms.json",
        "item": "the answer: its index, a list of the indices of a set, the point of a number, or the bytes of a string"
        " in hex",
        "cohort": "the cohort, chosen beforehand",
        "path": "why the case is here: random entropy; zeros or ones first; reached, every word that is compared with"
        " a threshold equals it, and a uniform integer is drawn twice if its first word can be rejected; below, every"
        " such word is the threshold less one",
        "entropy": "the bytes of entropy, in hex, and a few more",
        "used": "how many of these are used",
        "row": "the row, in hex",
    },
    _reports,
)


def _bloom() -> Iterator[Case]:
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


def _buckets() -> Iterator[Case]:
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


BUCKETS = File(
    "Buckets: where a string, or a prefix of one, is in the rows of a sketch by projective geometry response.",
    {
        "value": "the bytes that are hashed, in hex",
        "level": "the level, 0 where there are none",
        "digest": "the digest, in hex",
        "buckets": "the buckets in rows 0 and 1, of 65536",
        "fewer": "the same, of 32",
    },
    _buckets,
)


BLOOM = File(
    "Bloom positions: the bits that a string marks in a cohort (one hash makes the column of a sketch).",
    {
        "value": "the bytes of the string, in hex",
        "cohort": "the cohort",
        "bits": "the bits of the filter",
        "hashes": "how many positions there are, no two of them alike",
        "positions": "the positions, in the order drawn",
    },
    _bloom,
)


def _choices() -> Iterator[Case]:
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


CHOICES = File(
    "Choices: the mechanism of a definition that names none (or auto), for listed answers and for selections.",
    {
        "size": "how many answers are listed, the catch-all among them",
        "at_most": "of a selection, how many values may be chosen, or null if all may; other cases have no such field",
        "epsilon": "epsilon of one report, as TOML has it",
        "permanent_epsilon": "epsilon of all reports of one value, as TOML has it, or null",
        "report_budget": "the most bytes that a row may take",
        "mechanism": "the name of the mechanism, or null if the definition is refused",
        "parameters": "its parameters, as in mechanisms.json",
        "refused": "the key that cannot be met, or null",
    },
    _choices,
)
