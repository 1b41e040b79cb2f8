"""How well strings are found that nobody listed when the app shipped: ``python -m tests.benchmarks.strings``.

Three tables, each of Zipf's law with exponent 1.1 (``--runs``, ``--part lists|discoveries|rappor``; ``--small`` is a
quick test):

- a sketch and a list of a million strings, of which 100,000 are held;
- a discovery: words of 12 characters of 39, drawn at random, and words of Python's own library;
- the users that a sketch and RAPPOR need to find as many of the most frequent strings on a list of ten thousand.

The columns are the share found of the most frequent 8, 16 and 32, the number of found strings, the share of these that
nobody holds (mean over the runs, and its standard error), the share of intervals that miss, and the CPU seconds of an
estimate without hashing the list.
"""

import argparse
import re
import sysconfig
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dither_server.estimation.estimate import estimate
from dither_server.estimation.hashing import buckets_of
from dither_server.estimation.strings.discovery import Spelling, discover
from dither_shared import Mechanism, PrefixSketch, ProjectiveSketch, Rappor
from dither_simulations.samplers import sample_tally
from dither_simulations.users.populations import Population

from .tables import Table, add_option, write

Floats = NDArray[np.float64]
Row = list[str]

SEED = 20261122
TOPS = (8, 16, 32)
LENGTH, ALPHABET = 12, "abcdefghijklmnopqrstuvwxyz0123456789._-"


@dataclass(frozen=True)
class Sizes:
    """How many strings are held and listed, and how often which surveys are run; ``few`` where RAPPOR stands beside."""

    runs: int = 60
    held: int = 100_000
    listed: int = 1_000_000
    surveys: Sequence[tuple[int, float]] = ((10**6, 1.0), (10**6, 2.0), (10**6, 4.0), (10**7, 1.0))
    few_runs: int = 8
    few_held: int = 1_000
    few_listed: int = 10_000
    epsilons: Sequence[float] = (1.0, 2.0, 4.0)


SMALL = Sizes(1, 50, 200, ((2_000, 4.0),), 1, 20, 30, (4.0,))


class Found(NamedTuple):
    """Findings of a run: places of the strings (-1: held by nobody), which intervals missed, and the seconds."""

    places: Sequence[int]
    missed: Sequence[bool]
    seconds: float


def zipf(size: int) -> Floats:
    """Return the shares of a number of strings."""
    weights = np.arange(1.0, size + 1) ** -1.1
    return np.asarray(weights / weights.sum())


def looked_up(mechanism: Mechanism, labels: tuple[str, ...], shares: Floats, users: int, seed: int) -> Found:
    """Look for the labels in the reports of users who hold the first of them."""
    rng = np.random.default_rng([SEED, users, seed])
    people = Population.drawn(labels[: len(shares)], shares, users, rng)
    tally = sample_tally(mechanism, people, rng)
    start = time.process_time()
    result = estimate(mechanism, labels, tally)
    seconds = time.process_time() - start
    assert result.found is not None
    places = np.flatnonzero(result.found)
    truth = np.where(places < len(shares), shares[np.minimum(places, len(shares) - 1)], 0.0)
    held = [place if place < len(shares) and people.counts[place] else -1 for place in places.tolist()]
    return Found(held, ((truth < result.low[places]) | (truth > result.high[places])).tolist(), seconds)


def discovered(mechanism: PrefixSketch, items: tuple[bytes, ...], shares: Floats, users: int, seed: int) -> Found:
    """Discover what users hold, whose strings are these items."""
    rng = np.random.default_rng([SEED, users, seed])
    people = Population.drawn([item.decode("ascii") for item in items], shares, users, rng)
    tally = sample_tally(mechanism, people, rng)
    spelling = Spelling(bytes(range(1, len(ALPHABET) + 1)), bytes((0, len(ALPHABET) + 1)))
    start = time.process_time()
    result = discover(mechanism, spelling, tally)
    seconds = time.process_time() - start
    where = {item: place for place, item in enumerate(items) if people.counts[place]}
    places = [where.get(item, -1) for item in result.items]
    truth = np.array([shares[place] if place >= 0 else 0.0 for place in places])
    return Found(places, ((truth < result.low) | (truth > result.high)).tolist(), seconds)


def cells(name: str, epsilon: float, users: int, runs: Sequence[Found]) -> Row:
    """Return the cells of some runs, and print their line."""
    recalls = [np.mean([len(set(range(top)) & set(run.places)) / top for run in runs]) for top in TOPS]
    number = np.mean([len(run.places) for run in runs])
    false = [float(np.mean(np.array(run.places) < 0)) if run.places else 0.0 for run in runs]
    missed = np.mean([np.mean(run.missed) if run.missed else 0.0 for run in runs])
    numbers = [f"{recall:.2f}" for recall in recalls]
    error = np.std(false) / len(runs) ** 0.5
    seconds = np.median([run.seconds for run in runs])
    judged = [f"{number:.1f}", f"{np.mean(false):.3f}", f"{error:.3f}", f"{missed:.3f}", f"{seconds:.2f}"]
    row = [name, f"{epsilon:g}", f"{users:,}", *numbers, *judged]
    print("".join(map(format, row, _WIDTHS)), flush=True)
    return row


def lists(sizes: Sizes) -> Iterator[Row]:
    """Yield the rows of lists of up to a million."""
    labels = tuple(f"string-{place}" for place in range(sizes.listed))
    for users, epsilon in sizes.surveys:
        sketch = ProjectiveSketch.calibrate(None, epsilon)
        buckets_of(labels, sketch.rows, sketch.buckets)
        runs = [looked_up(sketch, labels, zipf(sizes.held), users, seed) for seed in range(sizes.runs)]
        yield cells("list", epsilon, users, runs)


@cache
def random_words(held: int) -> tuple[tuple[bytes, ...], Floats]:
    """Return random words with Zipf's shares."""
    drawn = np.random.default_rng(SEED).integers(1, len(ALPHABET) + 1, (held, LENGTH)).astype(np.uint8)
    items = tuple(dict.fromkeys(bytes(row) for row in drawn))
    return items, zipf(len(items))


@cache
def library_words() -> tuple[tuple[bytes, ...], Floats]:
    """Return the words of Python's own library, cut to the length and filled up, with their shares there."""
    counts: Counter[bytes] = Counter()
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        for word in re.findall(r"[a-z0-9._-]+", path.read_text(encoding="utf-8", errors="replace").lower()):
            symbols = bytes(ALPHABET.index(character) + 1 for character in word[:LENGTH])
            counts[symbols.ljust(LENGTH, b"\0")] += 1
    items, numbers = zip(*counts.most_common(), strict=True)
    return items, np.array(numbers) / sum(numbers)


def discoveries(sizes: Sizes) -> Iterator[Row]:
    """Yield the rows of discoveries."""
    for name, (items, shares) in (("random", random_words(sizes.held)), ("library", library_words())):
        for users, epsilon in sizes.surveys:
            sketch = PrefixSketch.calibrate(None, epsilon, characters=len(ALPHABET), length=LENGTH)
            runs = [discovered(sketch, items, shares, users, seed) for seed in range(sizes.runs)]
            yield cells(name, epsilon, users, runs)


def needed(mechanism: Mechanism, top: int, labels: tuple[str, ...], held: int, runs: int) -> int:
    """Return how many users it takes until 9 in 10 of the ``top`` most frequent strings are found, to an eighth."""

    def enough(eighths: int) -> bool:
        users = round(1000 * 2 ** (eighths / 8))
        found = [looked_up(mechanism, labels, zipf(held), users, seed) for seed in range(runs)]
        return bool(np.mean([len(set(range(top)) & set(run.places)) for run in found]) >= 0.9 * top)

    low, high = 0, 16 * 8
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return round(1000 * 2 ** (high / 8))


def beside_rappor(sizes: Sizes) -> Iterator[Row]:
    """Yield the users that each method needs."""
    labels = tuple(f"string-{place}" for place in range(sizes.few_listed))
    for epsilon in sizes.epsilons:
        rivals: dict[str, Callable[[float], Mechanism]] = {
            "sketch": lambda loss: ProjectiveSketch.calibrate(None, loss),
            "RAPPOR, as usual": lambda loss: Rappor.calibrate(None, loss),
            "RAPPOR, 1 hash, 256 bits": lambda loss: Rappor.calibrate(
                None, loss, min(8 * loss, 24.0), bits=256, hashes=1
            ),
        }
        for name, rival in rivals.items():
            mechanism = rival(epsilon)
            users = [needed(mechanism, top, labels, sizes.few_held, sizes.few_runs) for top in TOPS[:2]]
            row = [name, f"{epsilon:g}", str(mechanism.row_bytes), *(f"{number:,}" for number in users)]
            print("".join(map(format, row, _FEW_WIDTHS)), flush=True)
            yield row


HEAD = ("", "eps", "users", *(f"top {top}" for top in TOPS), "found", "false", "+-", "missed", "s")
FEW_HEAD = ("", "eps", "bytes", *(f"top {top}" for top in TOPS[:2]))
_WIDTHS = ("10", ">5", ">12", ">7", ">7", ">7", ">8", ">8", ">7", ">8", ">8")
_FEW_WIDTHS = ("26", ">5", ">6", ">12", ">12")

_TOLD = {"": "of", "eps": "ε", "bytes": "bytes a report", "+-": "standard error", "s": "s of CPU"}
"""Heads of columns in the documentation, by the printed ones."""

PARTS = {
    "lists": (lists, HEAD, _WIDTHS),
    "discoveries": (discoveries, HEAD, _WIDTHS),
    "rappor": (beside_rappor, FEW_HEAD, _FEW_WIDTHS),
}


def main() -> None:
    """Print the tables, a line as soon as it is measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int)
    parser.add_argument("--part", choices=PARTS, action="append")
    parser.add_argument("--small", action="store_true", help="few strings and users, once")
    add_option(parser)
    options = parser.parse_args()
    sizes = SMALL if options.small else Sizes()
    sizes = replace(sizes, runs=options.runs or sizes.runs)
    tables = []
    for name in options.part or PARTS:
        part, head, widths = PARTS[name]
        print("".join(map(format, head, widths)), flush=True)
        heads = [_TOLD.get(word, word) for word in head]
        tables.append(Table(f"strings-{name}", heads, list(part(sizes))))
    write(options.tables, *tables)


if __name__ == "__main__":
    main()
