"""Read a population from one column of a CSV file, plain or gzipped."""

import csv
import gzip
import io
import math
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import numpy as np

from dither_shared import ParameterError

from .populations import Floats, Population

EMPTY = "(empty)"
"""The label of an empty cell: that, too, is an answer."""

_GZIP_MAGIC = b"\x1f\x8b"


def read_column(path: Path, column: str) -> Population:
    """Return how often each value of ``column`` occurs, one row being one user; most frequent first, ties by name.

    Raises ParameterError that names the file, or the column and the columns there are.
    """
    with _rows(path) as rows:
        (index,) = _find(path, next(rows, []), (column,))
        counted = Counter(_cell(path, line, row, index) for line, row in enumerate(rows, start=2) if row)
    if not counted:
        raise ParameterError("column", f"{column!r} of {path} is empty; it has no row under its name")
    ranked = sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))
    return Population(tuple(label for label, _ in ranked), np.array([count for _, count in ranked], dtype=np.int64))


def read_histogram(path: Path, column: str, weights: str) -> tuple[tuple[str, ...], Floats]:
    """Return the values of ``column`` and, of each, the sum of its numbers in column ``weights`` (shares or counts).

    Raises ParameterError as ``read_column`` does, and for a weight that is not a finite number of at least 0.
    """
    sums: dict[str, float] = {}
    with _rows(path) as rows:
        of_value, of_weight = _find(path, next(rows, []), (column, weights))
        for line, row in enumerate(rows, start=2):
            if row:
                label = _cell(path, line, row, of_value)
                sums[label] = sums.get(label, 0.0) + _weight(path, line, _cell(path, line, row, of_weight))
    if not sums:
        raise ParameterError("column", f"{column!r} of {path} is empty; it has no row under its name")
    return tuple(sums), np.array(list(sums.values()))


@contextmanager
def _rows(path: Path) -> Iterator[Iterator[list[str]]]:
    """Yield the rows of a CSV file; whatever is wrong with it becomes a ParameterError that names it."""
    try:
        with _text(path) as stream:
            yield csv.reader(stream)
    except OSError as error:  # a damaged gzip is one, too
        raise ParameterError(str(path), f"cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ParameterError(str(path), "cannot be read: not UTF-8 text") from None
    except (EOFError, zlib.error, csv.Error) as error:
        raise ParameterError(str(path), f"cannot be read: {error}") from None


def _text(path: Path) -> TextIO:
    with path.open("rb") as start:
        zipped = start.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC
    if zipped:
        return io.TextIOWrapper(gzip.open(path), encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _find(path: Path, header: list[str], columns: tuple[str, ...]) -> list[int]:
    names = [name.strip() for name in header]
    for column in columns:
        if column not in names:
            raise ParameterError("column", f"{column!r} is not in {path}; its columns: {', '.join(names) or 'none'}")
    return [names.index(column) for column in columns]


def _cell(path: Path, line: int, row: list[str], index: int) -> str:
    if index >= len(row):
        raise ParameterError(str(path), f"row {line} has {len(row)} cell(s), too few for its column {index + 1}")
    return row[index].strip() or EMPTY


def _weight(path: Path, line: int, text: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = math.nan
    if not 0 <= weight < math.inf:
        raise ParameterError(str(path), f"row {line}: {text!r} is not a finite number of at least 0")
    return weight
