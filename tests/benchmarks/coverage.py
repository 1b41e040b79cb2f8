"""How often intervals hold the truth: ``python -m tests.benchmarks.coverage [--surveys N]``.

Every mechanism, at three numbers of reports. A survey draws people from a population of 16 values, of which two are
common, four rare and six absent, and their tally from its exact law. The noise interval is held to the shares among
those people, the other to the population's. An entry is the mean over the values of a kind.

Of 1,000 and of 16,384 values, ten are common (4 in 100), 40 rare (5 in 1,000) and nearly all absent, and the second
interval is held to the population's shares. The support of a listed value is then drawn by itself, in fewer surveys.
"""

import argparse
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dither_server.estimation.estimate import Estimate, estimate
from dither_shared import MECHANISMS, Mechanism
from dither_simulations.samplers import Marginal, has_marginal, sample_support, sample_tally
from dither_simulations.trials.mechanism_by_name import NAMES
from dither_simulations.users.populations import Population

from .tables import Table, add_option, write

SIZES = (1_000, 30_000, 1_000_000)
EPSILON = 1.0
SURVEYS = 4_000
SEED = 20261120

SHARES = np.array([0.3, 0.2, *[0.01] * 4, *[0.115] * 4, *[0.0] * 6])
KINDS = {"rare": slice(2, 6), "common": slice(0, 2), "absent": slice(10, 16)}
"""By their place in ``SHARES``; the other four are there so that shares sum to 1."""

MANY = {1_000: 20, 16_384: 80}
"""Sizes of long lists, and of how many of all surveys they get one."""

MANY_KINDS = {"rare": slice(10, 50), "common": slice(0, 10), "absent": slice(54, None)}

_LISTS, _LONG_LISTS = 100, 2
"""A sketch's bias is fixed by its strings, and so is how well RAPPOR tells them apart: so many lists take turns."""

_SKETCH = {"bits": 16, "cohorts": 512}
_SHAPES = {"bit-flip": {"bits": 8}, "count-mean-sketch": _SKETCH, "hadamard-count-mean-sketch": _SKETCH}
"""Where it is not the default shape: a report speaks of half of the values; a sketch is quick to draw, and its columns
are so few that the bias of its collisions outweighs the noise of a million reports."""

_LONG_SKETCH = {"bits": 64, "cohorts": 64}
_LONG_SHAPES = {
    "bit-flip": {"bits": 64},
    "count-mean-sketch": _LONG_SKETCH,
    "hadamard-count-mean-sketch": _LONG_SKETCH,
}

GROUPS = ("sample", "population", *(f"k = {size:,}" for size in MANY))
"""Of columns, each with a column a kind."""

Covered = NDArray[np.bool_]


class Coverage(NamedTuple):
    """The share of surveys whose interval held the truth: of the sample by noise alone, of the population by both."""

    mechanism: str
    reports: int
    noise: dict[str, float]
    total: dict[str, float]
    many: dict[int, dict[str, float]]


def mechanism_named(name: str, epsilon: float = EPSILON) -> Mechanism:
    """Return the mechanism that is measured: for 16 values, or for strings."""
    family = MECHANISMS[name]
    return family.configure(None if family.items.open else len(SHARES), {"epsilon": epsilon, **_SHAPES.get(name, {})})


def surveyed(mechanism: Mechanism, reports: int, strings: int, rng: np.random.Generator) -> tuple[Covered, Covered]:
    """Return of each value whether its noise interval and its other interval hold the truth, in one survey.

    ``strings`` is the number of a list of values; which one it is matters to an open domain only.
    """
    labels = tuple(f"{strings}/{value}" for value in range(len(SHARES)))
    people = Population(labels, rng.multinomial(reports, SHARES))
    found = estimate(mechanism, labels, sample_tally(mechanism, people, rng))
    return (
        (found.noise_low <= people.shares) & (people.shares <= found.noise_high),
        (found.low <= SHARES) & (found.high >= SHARES),
    )


def many_shares(size: int) -> NDArray[np.float64]:
    """Return the population's shares of a long list."""
    return np.array([*[0.04] * 10, *[0.005] * 40, *[0.1] * 4, *[0.0] * (size - 54)])


def long_survey(name: str, size: int, reports: int, strings: int, rng: np.random.Generator) -> Estimate:
    """Return the estimate of one survey of a long list."""
    family = MECHANISMS[name]
    shape = {"epsilon": EPSILON, **_LONG_SHAPES.get(name, {})}
    mechanism = family.configure(None if family.items.open else size, shape)
    labels = tuple(f"{strings}/{value}" for value in range(size))
    people = Population(labels, rng.multinomial(reports, many_shares(size)))
    if has_marginal(mechanism):
        return estimate(Marginal(whole=mechanism), labels, sample_support(mechanism, people, rng))
    return estimate(mechanism, labels, sample_tally(mechanism, people, rng))


def long_coverage(name: str, size: int, reports: int, surveys: int) -> dict[str, float]:
    """Return how often the intervals of a long list hold the shares of the population, by kind."""
    rng, shares, held = np.random.default_rng([SEED, size, reports, *name.encode()]), many_shares(size), np.zeros(size)
    for number in range(surveys):
        found = long_survey(name, size, reports, number * _LONG_LISTS // surveys, rng)
        held += (found.low <= shares) & (found.high >= shares)
    return {kind: float(held[places].mean()) / surveys for kind, places in MANY_KINDS.items()}


def coverage(name: str, reports: int, surveys: int) -> Coverage:
    """Measure a mechanism at a number of reports."""
    mechanism, rng = mechanism_named(name), np.random.default_rng([SEED, reports, *name.encode()])
    both = np.mean([surveyed(mechanism, reports, number * _LISTS // surveys, rng) for number in range(surveys)], axis=0)
    noise, total = ({kind: float(row[places].mean()) for kind, places in KINDS.items()} for row in both)
    many = {
        size: long_coverage(name, size, reports, max(2, surveys // fewer))
        for size, fewer in MANY.items()
        if name != "rappor"  # whose long lists have a bench of their own, for they say what is found
    }
    return Coverage(name, reports, noise, total, many)


def columns(one: Coverage) -> list[dict[str, float]]:
    """Return the entries of a mechanism at one number of reports: a group of kinds each."""
    return [one.noise, one.total, *one.many.values()]


def lines(found: list[Coverage]) -> str:
    """Return the lines of a mechanism: one a size, in percent."""
    return "\n".join(
        f"{one.mechanism:27}{one.reports:>10,}  "
        + "".join(f"{100 * kinds[kind]:>8.1f}" for kinds in columns(one) for kind in KINDS)
        for one in found
    )


def row(found: list[Coverage], groups: slice) -> list[str]:
    """Return the row of a mechanism for the documentation: some groups of kinds, the sizes in each cell."""
    cells = [
        " / ".join(f"{100 * kinds[kind]:.1f}" for kinds in sizes)
        for sizes in list(zip(*map(columns, found), strict=True))[groups]
        for kind in KINDS
    ]
    return [f"`{found[0].mechanism}`", *cells]


def tables(found: list[list[Coverage]]) -> list[Table]:
    """Return the table of few values, and that of long lists."""
    few, many = (
        ["mechanism", *(f"{of}: {kind}" for of in some for kind in KINDS)] for some in (GROUPS[:2], GROUPS[2:])
    )
    lists = [row(one, slice(2, None)) for one in found if one[0].many]
    return [Table("coverage", few, [row(one, slice(2)) for one in found]), Table("coverage-long-lists", many, lists)]


def main() -> None:
    """Print the table, a mechanism as soon as it is measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--surveys", type=int, default=SURVEYS)
    parser.add_argument("--mechanism", action="append", choices=NAMES[1:])
    add_option(parser)
    asked = parser.parse_args()
    sizes = " / ".join(f"{size:,}" for size in SIZES)
    print(
        f"Coverage of 95% intervals in percent: {asked.surveys:,} surveys of {sizes} reports, epsilon = {EPSILON:g}.\n"
    )
    print(" " * 39 + "".join(f"{of:>24}" for of in GROUPS))
    print(" " * 39 + "".join(f"{kind:>8}" for kind in [*KINDS] * len(GROUPS)))
    all_of_them = []
    for name in asked.mechanism or NAMES[1:]:
        all_of_them.append([coverage(name, size, asked.surveys) for size in SIZES])
        print(lines(all_of_them[-1]), flush=True)
    write(asked.tables, *tables(all_of_them))


if __name__ == "__main__":
    main()
