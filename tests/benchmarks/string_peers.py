"""Strings found, ours beside PEM and RAPPOR, in one run: ``python -m tests.benchmarks.string_peers [--runs N]``.

People hold 100,000 random strings of 12 characters of 40 (the end is one of them) by Zipf's law of exponent 1.1, and
are drawn afresh in each run. These are compared, at the same ε of the one report of each device:

- ``rappor`` and ``list``: RAPPOR and ours, which look for the same candidates, the most frequent strings (``--short``);
- ``long list``: ours, with a list of ``--candidates`` strings, those held among them;
- ``discover``: ours, with nothing listed;
- ``PEM``: the prefix extending method (Wang, Li and Jha, TDSC 2021), 4 bits a step, the best 64 kept; ``PEM 1`` with
  the step of its authors' code, 1 bit. It says of nothing that it is not there: "false" is out of all that is left,
  F1 that of its 16 best.

The tallies of all are drawn from their exact laws. ``seconds`` are those of a processor that decodes.
"""

import argparse
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dither_shared import DiscoveryQuestion, Mechanism
from dither_simulations.experiments.error.strings import Found, found_in, string_scores
from dither_simulations.mechanism_by_name import named, named_discovery
from dither_simulations.samplers import sample_tally
from dither_simulations.tables import render
from dither_simulations.users.populations import Counts, Floats, Population, listed, made_up, spelled, zipf

from .peers.prefix_extending import Codes, PrefixExtending
from .tables import Table, add_option, write

__all__ = ["main"]

ALPHABET, LENGTH = "a-z0-9._-", 12
QUESTION = DiscoveryQuestion(ALPHABET, LENGTH)
EPSILONS = (1.0, 2.0, 4.0)


class _Line(NamedTuple):
    """The strings that a method found in a run, and its time."""

    recalls: tuple[float, float, float]
    f1: float
    found: int
    false: float
    seconds: float


class _People(NamedTuple):
    """The strings that users hold in a run: ``codes`` are the strings as numbers in base 40, for PEM."""

    labels: tuple[str, ...]
    codes: Codes
    shares: Floats
    counts: Counts

    @property
    def users(self) -> int:
        return int(self.counts.sum())


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table for each number of users and ε."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--users", type=float, nargs="+", default=[1e6, 1e7])
    parser.add_argument("--held", type=int, default=100_000)
    parser.add_argument("--candidates", type=int, default=1_000_000)
    parser.add_argument("--short", type=int, default=10_000)
    add_option(parser)
    options = parser.parse_args(arguments)
    labels = made_up(options.held, QUESTION.characters, LENGTH)
    codes = _codes(labels)
    shares = zipf(len(labels), 1.1) / zipf(len(labels), 1.1).sum()
    candidates = listed(labels, max(options.candidates, len(labels)))
    rows: list[tuple[str, ...]] = []
    for users in map(int, options.users):
        for epsilon in EPSILONS:
            runs: dict[str, list[_Line]] = {}
            for seed in np.random.SeedSequence(20261122).spawn(options.runs):
                rng = np.random.default_rng(seed)
                people = _People(labels, codes, shares, rng.multinomial(users, shares))
                for name, line in _methods(people, epsilon, candidates, options.short, rng):
                    runs.setdefault(name, []).append(line)
            print(f"\n{users:,} users, ε = {epsilon:g}, {options.runs} run(s)")
            cells = [_cells(name, lines) for name, lines in runs.items()]
            print(render(_HEADER, cells), flush=True)
            rows += [(f"{users:,}", f"{epsilon:g}", *line) for line in cells]
    write(options.tables, Table("string-peers", ("users", "ε", *_HEADER), rows, words=3))


_HEADER = ("method", "top 8", "top 16", "top 32", "F1 of 16", "found", "false", "seconds")


def _methods(
    people: _People, epsilon: float, candidates: tuple[str, ...], few: int, rng: np.random.Generator
) -> list[tuple[str, _Line]]:
    some = candidates[: min(few, len(candidates))]
    return [
        ("rappor", _listed("rappor", people, epsilon, some, rng)),
        ("list", _listed("projective-count-mean-sketch", people, epsilon, some, rng)),
        ("long list", _listed("projective-count-mean-sketch", people, epsilon, candidates, rng)),
        ("discover", _discovered(people, epsilon, rng)),
        ("PEM", _extended(people, epsilon, 4, rng)),
        ("PEM 1", _extended(people, epsilon, 1, rng)),
    ]


def _listed(name: str, people: _People, epsilon: float, candidates: tuple[str, ...], rng: np.random.Generator) -> _Line:
    return _timed(named(name, 0, epsilon), Population(people.labels, people.counts), candidates, rng)


def _discovered(people: _People, epsilon: float, rng: np.random.Generator) -> _Line:
    mechanism = named_discovery("prefix-sketch", QUESTION, epsilon)
    held = spelled(QUESTION, mechanism, people.labels, people.shares)
    return _timed(mechanism, Population(held.labels, people.counts), QUESTION, rng)


def _timed(
    mechanism: Mechanism,
    people: Population,
    sought: tuple[str, ...] | DiscoveryQuestion,
    rng: np.random.Generator,
) -> _Line:
    tally = sample_tally(mechanism, people, rng)
    start = time.process_time()
    strings = found_in(mechanism, tally, sought)
    return _line(people, strings, time.process_time() - start)


def _extended(people: _People, epsilon: float, step: int, rng: np.random.Generator) -> _Line:
    start = time.process_time()
    strings = PrefixExtending(64, epsilon, step).discover(people.codes, people.counts, rng)
    seconds = time.process_time() - start
    names = dict(zip(people.codes.tolist(), people.labels, strict=True))
    labels = tuple(names.get(code, f"ghost {code}") for code in strings.codes.tolist())
    nothing = np.zeros(len(labels))
    return _line(Population(people.labels, people.counts), Found(labels, nothing, nothing), seconds)


def _line(people: Population, found: Found, seconds: float) -> _Line:
    scores = string_scores(dict(zip(people.labels, people.shares.tolist(), strict=True)), found)
    recalls = (scores["recall_8"], scores["recall_16"], scores["recall_32"])
    return _Line(recalls, scores["f1"], scores["found"], scores["false"], seconds)


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


def _cells(name: str, lines: Sequence[_Line]) -> tuple[str, ...]:
    recalls = np.mean([line.recalls for line in lines], axis=0)
    rest = np.mean([(line.f1, line.found, line.false, line.seconds) for line in lines], axis=0)
    f1, found, false, seconds = rest.tolist()
    return (name, *(f"{value:.2f}" for value in (*recalls, f1)), f"{found:.1f}", f"{false:.2f}", f"{seconds:.1f}")


if __name__ == "__main__":
    main()
