"""How well strings are found that nobody listed when the app shipped, ours beside PEM and RAPPOR.

``python -m tests.benchmarks.strings [--part peers|lists|discoveries|rappor] [--runs N]``. People hold 100,000 random
strings of 12 characters of 40 (the end is one of them) by Zipf's law of exponent 1.1, and are drawn afresh in each run;
so are the tallies of all methods, from their exact laws. ``peers`` compares, at the same ε of each device's one report:

- ``rappor`` and ``list``: RAPPOR and ours, which look for the same 10,000 candidates, the most frequent strings;
- ``long list``: ours, with a list of a million strings, those held among them;
- ``discover``: ours, with nothing listed;
- ``PEM``: the prefix extending method (Wang, Li and Jha, TDSC 2021), 4 bits a step, the best 64 kept; ``PEM 1`` with
  the step of its authors' code, 1 bit. It says of nothing that it is not there: "false" is out of all that is left,
  F1 that of its 16 best.

``lists`` and ``discoveries`` repeat ``long list`` and ``discover`` often enough to tell how many of the found strings
nobody holds. ``rappor`` searches for the users that it takes to find the most frequent strings of a list of ten
thousand. Seconds are those of a processor that decodes, once the strings of the list are hashed.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from dither_server.estimation.hashing import buckets_of
from dither_shared import DiscoveryQuestion, Mechanism, ProjectiveSketch, Rappor
from dither_simulations.experiments.error.strings import TOPS, Found, found_in, string_scores
from dither_simulations.mechanism_by_name import named, named_discovery
from dither_simulations.samplers import sample_tally
from dither_simulations.users.populations import Counts, Floats, Population, listed, made_up, spelled, zipf

from .peers.prefix_extending import Codes, PrefixExtending
from .tables import Part, run

QUESTION = DiscoveryQuestion("a-z0-9._-", 12)
SEED = 20261122

Scores = dict[str, float]
"""The scores of a run, by name, and the seconds of decoding."""


class Sizes(NamedTuple):
    """How many strings are held and listed, beside RAPPOR in the last table, and how many users there are."""

    held: int = 100_000
    listed: int = 1_000_000
    short: int = 10_000
    held_of_short: int = 1_000
    users: tuple[int, ...] = (10**6, 10**7)


class People(NamedTuple):
    """The strings that users hold in a run, with their shares in the population."""

    labels: tuple[str, ...]
    shares: Floats
    counts: Counts
    candidates: tuple[str, ...]
    few: int

    def scores(self, found: Found, seconds: float, labels: tuple[str, ...] | None = None) -> Scores:
        """Return the scores of the strings found; a string that no user of this run holds is false."""
        named_shares = zip(labels or self.labels, self.shares.tolist(), self.counts.tolist(), strict=True)
        held = {label: share for label, share, count in named_shares if count}
        return {**string_scores(held, found), "seconds": seconds}


def look_up(people: People, mechanism: Mechanism, candidates: Sequence[str], rng: np.random.Generator) -> Scores:
    """Look for candidates."""
    tally = sample_tally(mechanism, Population(people.labels, people.counts), rng)
    start = time.process_time()
    found = found_in(mechanism, tally, candidates)
    return people.scores(found, time.process_time() - start)


def look_long_up(people: People, epsilon: float, rng: np.random.Generator) -> Scores:
    """Look for a long list, hashed before."""
    sketch = ProjectiveSketch.calibrate(None, epsilon)
    buckets_of(people.candidates, sketch.rows, sketch.buckets, 0)
    return look_up(people, sketch, people.candidates, rng)


def discover(people: People, epsilon: float, rng: np.random.Generator) -> Scores:
    """Look for whatever strings there are."""
    mechanism = named_discovery("prefix-sketch", QUESTION, epsilon)
    labels = spelled(QUESTION, mechanism, people.labels, people.shares).labels
    tally = sample_tally(mechanism, Population(labels, people.counts), rng)
    start = time.process_time()
    found = found_in(mechanism, tally, QUESTION)
    return people.scores(found, time.process_time() - start, labels)


def extend(people: People, epsilon: float, step: int, rng: np.random.Generator) -> Scores:
    """Extend prefixes."""
    codes, start = _codes(people.labels), time.process_time()
    strings = PrefixExtending(64, epsilon, step).discover(codes, people.counts, rng)
    seconds = time.process_time() - start
    names = dict(zip(codes.tolist(), people.labels, strict=True))
    labels = tuple(names.get(code, f"ghost {code}") for code in strings.codes.tolist())
    nothing = np.zeros(len(labels))
    return people.scores(Found(labels, nothing, nothing), seconds)


Method = Callable[[People, float, np.random.Generator], Scores]
METHODS: dict[str, Method] = {
    "rappor": lambda people, epsilon, rng: look_up(
        people, named("rappor", 0, epsilon), people.candidates[: people.few], rng
    ),
    "list": lambda people, epsilon, rng: look_up(
        people, ProjectiveSketch.calibrate(None, epsilon), people.candidates[: people.few], rng
    ),
    "long list": look_long_up,
    "discover": discover,
    "PEM": lambda people, epsilon, rng: extend(people, epsilon, 4, rng),
    "PEM 1": lambda people, epsilon, rng: extend(people, epsilon, 1, rng),
}


@cache
def _codes(labels: tuple[str, ...]) -> Codes:
    """Return strings as numbers in base 40, below 2^64."""
    base = len(QUESTION.characters) + 1
    place = {character: number for number, character in enumerate(QUESTION.characters, 1)}
    codes = []
    for label in labels:
        number = 0
        for character in label:
            number = number * base + place[character]
        codes.append(number)
    return np.array(codes, dtype=np.uint64)


def scored(methods: Sequence[str], users: int, epsilon: float, sizes: Sizes, runs: int) -> dict[str, list[Scores]]:
    """Return the scores of methods in some runs; all methods of a run have the same people."""
    labels = made_up(sizes.held, QUESTION.characters, QUESTION.length)
    shares = zipf(len(labels), 1.1) / zipf(len(labels), 1.1).sum()
    candidates = listed(labels, sizes.listed)
    found: dict[str, list[Scores]] = {name: [] for name in methods}
    for seed in np.random.SeedSequence(SEED).spawn(runs):
        rng = np.random.default_rng(seed)
        people = People(labels, shares, rng.multinomial(users, shares), candidates, sizes.short)
        for name in methods:
            found[name].append(METHODS[name](people, epsilon, rng))
    return found


def peers(users: int, epsilon: float, sizes: Sizes, runs: int) -> Iterator[list[str]]:
    """Yield the mean scores of every method."""
    for name, some in scored(list(METHODS), users, epsilon, sizes, runs).items():
        mean = {score: float(np.mean([one[score] for one in some])) for score in some[0]}
        recalls = [f"{mean[score]:.2f}" for score in (*_RECALLS, "f1")]
        rest = [f"{mean['found']:.1f}", f"{mean['false']:.2f}", f"{mean['seconds']:.1f}"]
        yield [f"{users:,}", f"{epsilon:g}", name, *recalls, *rest]


def false(name: str, users: int, epsilon: float, sizes: Sizes, runs: int) -> Iterator[list[str]]:
    """Yield how many of a method's strings are false, and how many of their intervals miss."""
    some = scored([name], users, epsilon, sizes, runs)[name]
    mean = {score: float(np.mean([one[score] for one in some])) for score in some[0]}
    error = np.std([one["false"] for one in some]) / runs**0.5
    seconds = np.median([one["seconds"] for one in some])
    recalls = [f"{mean[score]:.2f}" for score in _RECALLS]
    rest = [f"{mean['false']:.3f}", f"{error:.3f}", f"{mean['missed']:.3f}", f"{seconds:.2f}"]
    yield [name, f"{epsilon:g}", f"{users:,}", *recalls, f"{mean['found']:.1f}", *rest]


RIVALS: dict[str, Callable[[float], Mechanism]] = {
    "sketch": lambda loss: ProjectiveSketch.calibrate(None, loss),
    "RAPPOR, as usual": lambda loss: Rappor.calibrate(None, loss),
    "RAPPOR, 1 hash, 256 bits": lambda loss: Rappor.calibrate(None, loss, min(8 * loss, 24.0), bits=256, hashes=1),
}


def beside_rappor(name: str, epsilon: float, sizes: Sizes, runs: int) -> Iterator[list[str]]:
    """Yield the users, to an eighth of a doubling, until 9 in 10 of the 8 or 16 most frequent strings are found."""
    mechanism = RIVALS[name](epsilon)
    labels = tuple(f"string-{place}" for place in range(sizes.short))
    shares = zipf(sizes.held_of_short, 1.1) / zipf(sizes.held_of_short, 1.1).sum()

    def enough(eighths: int, top: int) -> bool:
        users, recalls = round(1000 * 2 ** (eighths / 8)), []
        for run_number in range(runs):
            rng = np.random.default_rng([SEED, users, run_number])
            people = People(labels[: len(shares)], shares, rng.multinomial(users, shares), labels, len(labels))
            recalls.append(look_up(people, mechanism, labels, rng)[f"recall_{top}"])
        return bool(np.mean(recalls) >= 0.9)

    needed = []
    for top in TOPS[:2]:
        low, high = 0, 16 * 8
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if enough(middle, top) else (middle, high)
        needed.append(f"{round(1000 * 2 ** (high / 8)):,}")
    yield [name, f"{epsilon:g}", str(mechanism.row_bytes), *needed]


_RECALLS = [f"recall_{top}" for top in TOPS]
_TOPS = [f"top {top}" for top in TOPS]
_PEERS = ("users", "ε", "method", *_TOPS, "F1 of 16", "found", "false", "seconds")
_FALSE = ("of", "ε", "users", *_TOPS, "found", "false", "standard error", "missed", "s of CPU")


def parts(sizes: Sizes) -> dict[str, Part]:
    """Return what is measured, for numbers of strings."""
    losses = (1.0, 2.0, 4.0)
    compared = [(users, epsilon, sizes) for users in sizes.users for epsilon in losses]
    repeated = [(users, epsilon, sizes) for users, epsilon, _ in compared[:4]]
    rivals = [(name, epsilon, sizes) for epsilon in losses for name in RIVALS]
    return {
        "peers": Part("string-peers", _PEERS, compared, peers, 4, words=3),
        "lists": Part("strings-lists", _FALSE, [("long list", *cell) for cell in repeated], false, 16),
        "discoveries": Part("strings-discoveries", _FALSE, [("discover", *cell) for cell in repeated], false, 60),
        "rappor": Part("strings-rappor", ("of", "ε", "bytes a report", *_TOPS[:2]), rivals, beside_rappor, 8),
    }


if __name__ == "__main__":
    run(__doc__, **parts(Sizes()))
