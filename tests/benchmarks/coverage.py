"""How often intervals contain the truth: ``python -m tests.benchmarks.coverage [--surveys N] [--part few|long]``.

Every mechanism, at three numbers of reports. A survey draws people from a population of 16 values, of which two are
common, four rare and six absent, and their tally from its exact law. The noise interval should contain the shares among
those people, the other the population's. An entry is the mean over the values of a kind. In an open domain each survey
asks for strings of its own: a sketch's bias is fixed by its strings, and so is RAPPOR's power to separate them.

Of 1,000 and of 16,384 values, ten are common (4 in 100), 40 rare (5 in 1,000) and nearly all absent, and the second
interval should contain the population's shares. The support of a listed value is then drawn by itself, in fewer
surveys.
"""

import argparse
from collections.abc import Collection, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dither_server.estimation.estimate import Estimate, estimate
from dither_shared import MECHANISMS, Mechanism
from dither_simulations.mechanism_by_name import NAMES
from dither_simulations.samplers import Marginal, has_marginal, sample_support, sample_tally
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

FEW, LONG = ("sample", "population"), {f"k = {size:,}": size for size in MANY}
"""Groups of columns, each with a column a kind."""

PARTS = {"few": FEW, "long": tuple(LONG)}
"""What can be measured by itself."""

Covered = NDArray[np.bool_]


class Coverage(NamedTuple):
    """The share of surveys whose interval held the truth, by group and kind; the sample's by noise alone."""

    mechanism: str
    reports: int
    held: dict[str, dict[str, float]]


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
    result = estimate(mechanism, labels, sample_tally(mechanism, people, rng))
    return (
        (result.noise_low <= people.shares) & (people.shares <= result.noise_high),
        (result.low <= SHARES) & (result.high >= SHARES),
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
        result = long_survey(name, size, reports, number, rng)
        held += (result.low <= shares) & (result.high >= shares)
    return {kind: float(held[places].mean()) / surveys for kind, places in MANY_KINDS.items()}


def coverage(name: str, reports: int, surveys: int, groups: Collection[str]) -> Coverage:
    """Measure groups of a mechanism at a number of reports."""
    held = few_coverage(name, reports, surveys) if set(FEW) & set(groups) else {}
    for group, size in LONG.items():
        if group in groups and name != "rappor":  # its long lists have a benchmark of their own, of the strings found
            held[group] = long_coverage(name, size, reports, max(2, surveys // MANY[size]))
    return Coverage(name, reports, held)


def few_coverage(name: str, reports: int, surveys: int) -> dict[str, dict[str, float]]:
    """Return how often the intervals of few values hold the shares of the sample, and of the population, by kind."""
    mechanism, rng = mechanism_named(name), np.random.default_rng([SEED, reports, *name.encode()])
    both = np.mean([surveyed(mechanism, reports, number, rng) for number in range(surveys)], axis=0)
    rows = zip(FEW, both, strict=True)
    return {group: {kind: float(row[places].mean()) for kind, places in KINDS.items()} for group, row in rows}


def lines(found: list[Coverage]) -> str:
    """Return the lines of a mechanism: one a size, in percent."""
    return "\n".join(
        f"{one.mechanism:27}{one.reports:>10,}  "
        + "".join(f"{100 * kinds[kind]:>8.1f}" for kinds in one.held.values() for kind in KINDS)
        for one in found
    )


def table(part: str, found: Iterable[Coverage]) -> Table:
    """Return the documentation's table of a part: a row a mechanism and number of reports."""
    groups = PARTS[part]
    head = ["mechanism", "reports", *(f"{of}: {kind}" for of in groups for kind in KINDS)]
    rows = [
        [f"`{name}`", f"{reports:,}", *(f"{100 * held[of][kind]:.1f}" for of in groups for kind in KINDS)]
        for name, reports, held in found
        if set(groups) <= held.keys()
    ]
    return Table(f"coverage-{part}", head, rows)


def main() -> None:
    """Print the table, a mechanism as soon as it is measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--surveys", type=int, default=SURVEYS)
    parser.add_argument("--mechanism", action="append", choices=NAMES[1:])
    parser.add_argument("--part", action="append", choices=PARTS)
    add_option(parser)
    options = parser.parse_args()
    sizes = " / ".join(f"{size:,}" for size in SIZES)
    print(f"Coverage of 95% intervals in %: {options.surveys:,} surveys of {sizes} reports, epsilon = {EPSILON:g}.\n")
    parts = options.part or [*PARTS]
    groups = [of for part in parts for of in PARTS[part]]
    print(" " * 39 + "".join(f"{of:>24}" for of in groups))
    print(" " * 39 + "".join(f"{kind:>8}" for kind in [*KINDS] * len(groups)))
    found: list[Coverage] = []
    for name in options.mechanism or NAMES[1:]:
        found += (coverage(name, size, options.surveys, groups) for size in SIZES)
        print(lines(found[-len(SIZES) :]), flush=True)
    write(options.tables, *(table(part, found) for part in parts))


if __name__ == "__main__":
    main()
