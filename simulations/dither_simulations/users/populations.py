"""Populations of users: how many hold each value, from a distribution or from a column of a CSV file."""

import csv
import gzip
import io
import math
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Self, TextIO

import numpy as np
from numpy.typing import NDArray

from dither_shared import DiscoveryQuestion, Mechanism, ParameterError
from dither_shared.mechanism import SPELLED, Item

from ..choices import MAX_USERS, SEPARATOR, Kind

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Population:
    """Users by the value they hold: ``counts[v]`` of them hold ``labels[v]``; int64 of shape (k,)."""

    labels: tuple[str, ...]
    counts: Counts

    name: ClassVar[str] = "csv"
    """The name of a file's population in results."""

    @classmethod
    def spread(cls, labels: Sequence[str], weights: Floats, users: int) -> Self:
        """Return ``users`` shared out in proportion to ``weights``, to whole users, by largest remainder."""
        return cls(tuple(labels), apportion(weights, users))

    @classmethod
    def drawn(cls, labels: Sequence[str], weights: Floats, users: int, rng: np.random.Generator) -> Self:
        """Return ``users`` independent draws from the distribution proportional to ``weights``."""
        return cls(tuple(labels), rng.multinomial(_checked_users(users), weights / weights.sum()))

    @property
    def users(self) -> int:
        """The number of users in all."""
        return int(self.counts.sum())

    @property
    def shares(self) -> Floats:
        """The true share of each value among these users, shape (k,)."""
        return self.counts / self.users

    @property
    def size(self) -> int:
        """The number of values."""
        return len(self.labels)

    @property
    def contents(self) -> object:
        """Everything that results depend on."""
        return self.labels, self.counts.tolist()

    @lru_cache(maxsize=2)  # noqa: B019 - a command has one source
    def population(self, size: int, users: int, day: int = 1) -> "Population":
        """Return a population of ``users`` with the ``size`` - 1 most frequent values and the rest under one label.

        If ``size`` is the number of values, it has all of them. It is the same on every day. Raises ParameterError if
        there are fewer values.
        """
        if size > self.size:
            raise ParameterError("--size", f"{size} is more than the {self.size} values of {self.name}")
        population = self if size == self.size else self.top(size - 1)
        if users == population.users:
            return population
        return Population.spread(population.labels, population.shares, users)

    def top(self, size: int, other: str = "other") -> "Population":
        """Return the ``size`` most frequent values (ties in the order given), the rest under ``other``, last.

        ``other`` is always included, because it is the catch-all of the question that will be asked. A value with the
        same name is counted under it.
        """
        listed = [index for index in np.argsort(-self.counts, kind="stable") if self.labels[index] != other][:size]
        labels = (*(self.labels[index] for index in listed), other)
        return Population(labels, np.array([*self.counts[listed], self.users - self.counts[listed].sum()]))


def apportion(weights: Floats, users: int) -> Counts:
    """Return whole numbers, in proportion to ``weights``, that add up to ``users``, by the largest-remainder method.

    Computed in integers, and so exact for any number of users; ties go to the earlier value.
    Raises ParameterError for a number of users that is negative or too large, or weights that are not a distribution.
    """
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise ParameterError("distribution", "its weights must be finite, not negative and not all zero")
    whole = [int(weight) for weight in np.rint(weights / weights.max() * 2.0**53)]
    total = sum(whole)
    shares = [divmod(weight * _checked_users(users), total) for weight in whole]
    counts = np.array([share for share, _ in shares], dtype=np.int64)
    by_remainder = sorted(range(len(shares)), key=lambda index: -shares[index][1])
    counts[by_remainder[: users - int(counts.sum())]] += 1
    return counts


def zipf(size: int, exponent: float = 1.1) -> Floats:
    """Return weights 1/rank^exponent (Zipf's law over ``size`` values)."""
    return np.arange(1, size + 1, dtype=np.float64) ** -exponent


def numbered(size: int) -> tuple[str, ...]:
    """Return the labels v0, v1, … of a generated population."""
    return tuple(f"v{index}" for index in range(size))


def items_of(mechanism: Mechanism, labels: tuple[str, ...]) -> tuple[Item, ...]:
    """Return the item that the mechanism randomizes for each label.

    That is its index, its UTF-8 bytes in an open domain, or the set that it names (``set_label``). The label of a
    string spelled in an alphabet has one character per symbol, with the symbol's number as its code point.
    """
    if mechanism.items == SPELLED:
        return tuple(label.encode("latin-1") for label in labels)
    if mechanism.items.sets:
        return tuple(map(set_item, labels))
    if mechanism.items.open:
        return tuple(label.encode("utf-8") for label in labels)
    return tuple(range(len(labels)))


def set_label(item: int) -> str:
    """Return the label of a set of items, an integer with bit j for item j: "0;2", or "" for the empty set."""
    return SEPARATOR.join(str(place) for place in range(item.bit_length()) if item >> place & 1)


def set_item(label: str) -> int:
    """Return the set of a label."""
    return sum(1 << int(place) for place in label.split(SEPARATOR) if place)


def _checked_users(users: int) -> int:
    if not 0 <= users <= MAX_USERS:
        raise ParameterError("users", f"{users} is out of range; it must lie between 0 and {MAX_USERS:.0e}")
    return users


@dataclass(frozen=True)
class Distribution:
    """A distribution over values v0, v1, …, of which a share of ``drift`` moves to its mirror image each day.

    On day t the weights are (1 - w) f_v + w f_(k-1-v) with w = min(1, drift·(t - 1)): rare values become frequent.
    """

    kind: Kind = "zipf"
    exponent: float = 1.1
    ratio: float = 0.9
    drift: float = 0.0

    @property
    def name(self) -> str:
        """The name in results: its kind, and its parameter, if it has one."""
        parameter = {"zipf": f" {self.exponent:g}", "geometric": f" {self.ratio:g}"}.get(self.kind, "")
        return f"{self.kind}{parameter}"

    @lru_cache(maxsize=2)  # noqa: B019 - frozen, and trials of a cell ask for the same
    def population(self, size: int, users: int, day: int = 1) -> Population:
        """Return ``users`` over ``size`` values, as they are on a day; the first day is 1."""
        weights = self.weights(size)
        if not 0 < weights.sum() < float("inf"):
            raise ParameterError("distribution", f"the weights of {self.name} over {size} values do not add up")
        moved = min(1.0, self.drift * (day - 1))
        mixed = weights if moved == 0 else (1 - moved) * weights + moved * weights[::-1]
        return Population.spread(numbered(size), mixed, users)

    def weights(self, size: int) -> Floats:
        """Return the weights of the first day; of a step, the first tenth weigh ten times as much as the others."""
        places = np.arange(size)
        match self.kind:
            case "uniform":
                return np.ones(size)
            case "zipf":
                return zipf(size, self.exponent)
            case "geometric":
                return np.power(self.ratio, places.astype(np.float64))
            case "step":
                return np.where(places < max(1, size // 10), 10.0, 1.0)


Source = Distribution | Population
"""Makes the population of each cell of a sweep; that of a file makes those with its values."""

WORDS = "abcdefghijklmnopqrstuvwxyz0123456789"
"""The characters of generated strings, unless an alphabet is given."""

_SEED = 20261122
"""The seed of generated strings, which are the same in every trial."""


def made_up(count: int, characters: str = WORDS, length: int = 12) -> tuple[str, ...]:
    """Return ``count`` different random strings of one length, or all possible ones if these are fewer."""
    rng = np.random.default_rng(_SEED)
    alphabet, strings = np.array(list(characters)), dict[str, None]()
    count = min(count, len(characters) ** length)
    while len(strings) < count:
        rows = alphabet[rng.integers(len(alphabet), size=(count - len(strings), length))]
        strings.update(dict.fromkeys(map("".join, rows.tolist())))
    return tuple(strings)[:count]


def listed(held: Sequence[str], count: int) -> tuple[str, ...]:
    """Return a list of ``count`` candidates: the strings that people hold, and others that nobody holds."""
    more = count - len(held)
    return (*held, *(f"nobody-{number}" for number in range(more)))


def spelled(question: DiscoveryQuestion, mechanism: Mechanism, labels: Sequence[str], shares: Floats) -> Population:
    """Return the symbols of strings as labels, with their shares of the people in parts of 2^53.

    Strings with the same spelling, such as all that the alphabet cannot spell, count together.
    """
    answers = question.answers(mechanism)
    held: dict[str, float] = {}
    for label, share in zip(labels, shares.tolist(), strict=True):
        item = answers.encode(label).item
        name = item.decode("latin-1") if isinstance(item, bytes) else ""
        held[name] = held.get(name, 0.0) + share
    return Population(tuple(held), np.rint(np.array(list(held.values())) * 2.0**53).astype(np.int64))


EMPTY = "(empty)"
"""The label of an empty cell, which is an answer, too."""

_GZIP_MAGIC = b"\x1f\x8b"


def read_column(path: Path, column: str) -> Population:
    """Return how often each value of ``column`` occurs, one row being one user; most frequent first, ties by name.

    Raises ParameterError that names the file, or the column and the existing columns.
    """
    with _rows(path) as rows:
        (index,) = _find(path, next(rows, []), (column,))
        counted = Counter(_cell(path, line, row, index) for line, row in enumerate(rows, start=2) if row)
    if not counted:
        raise ParameterError("column", f"{column!r} of {path} is empty; it has no row under its name")
    ranked = sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))
    return Population(tuple(label for label, _ in ranked), np.array([count for _, count in ranked], dtype=np.int64))


def read_histogram(path: Path, column: str, weights: str) -> tuple[tuple[str, ...], Floats]:
    """Return the values of ``column``, each with the sum of its numbers in column ``weights`` (shares or counts).

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
    """Yield the rows of a CSV file; any error becomes a ParameterError that names the file."""
    try:
        with _text(path) as stream:
            yield csv.reader(stream)
    except OSError as error:  # a damaged gzip is an OSError, too
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
