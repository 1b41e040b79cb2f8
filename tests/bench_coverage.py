"""How often intervals hold the truth: ``python -m tests.bench_coverage [--surveys N] [--markdown]``.

Every mechanism, at three numbers of reports. A survey draws people from a population of 16 values, of which two are
common, four rare and six absent, and their tally from its exact law. The noise interval is held to the shares among
those people, the other to the population's. An entry is the mean over the values of a kind.
"""

import argparse
import sys
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dither_server.estimate import estimate
from dither_shared import MECHANISMS, Mechanism
from dither_simulations.populations import Population
from dither_simulations.samplers import sample_tally

SIZES = (1_000, 30_000, 1_000_000)
EPSILON = 1.0
SURVEYS = 4_000
SEED = 20261120

SHARES = np.array([0.3, 0.2, *[0.01] * 4, *[0.115] * 4, *[0.0] * 6])
KINDS = {"rare": slice(2, 6), "common": slice(0, 2), "absent": slice(10, 16)}
"""By their place in ``SHARES``; the other four are there so that shares sum to 1."""

_SHAPES = {
    "rappor": {"cohorts": 16, "bits": 32},
    "count-mean-sketch": {"cohorts": 64, "bits": 64},
    "hadamard-count-mean-sketch": {"cohorts": 64, "bits": 64},
}
_LISTS = 100
"""A sketch's bias is fixed by its strings, and so is how well RAPPOR tells them apart: so many lists take turns."""

Covered = NDArray[np.bool_]


class Coverage(NamedTuple):
    """The share of surveys whose interval held the truth: of the sample by noise alone, of the population by both."""

    mechanism: str
    reports: int
    noise: dict[str, float]
    total: dict[str, float]


def mechanism_named(name: str, epsilon: float = EPSILON) -> Mechanism:
    """Return the mechanism that is measured: for 16 values, or for strings."""
    family = MECHANISMS[name]
    if family.open_domain:
        return family.configure(None, {"epsilon": epsilon, **_SHAPES[name]})
    return family.configure(len(SHARES), {"epsilon": epsilon, **({"bits": 8} if name == "bit-flip" else {})})


def surveyed(mechanism: Mechanism, reports: int, number: int, rng: np.random.Generator) -> tuple[Covered, Covered]:
    """Return of each value whether its noise interval and its other interval hold the truth, in one survey."""
    labels = tuple(f"{number % _LISTS if mechanism.open_domain else ''}/{value}" for value in range(len(SHARES)))
    people = Population(labels, rng.multinomial(reports, SHARES))
    found = estimate(mechanism, labels, sample_tally(mechanism, people, rng))
    return (
        (found.noise_low <= people.shares) & (people.shares <= found.noise_high),
        (found.low <= SHARES) & (found.high >= SHARES),
    )


def coverage(name: str, reports: int, surveys: int) -> Coverage:
    """Measure a mechanism at a number of reports."""
    mechanism, rng = mechanism_named(name), np.random.default_rng([SEED, reports, *name.encode()])
    both = np.mean([surveyed(mechanism, reports, number, rng) for number in range(surveys)], axis=0)
    noise, total = ({kind: float(row[places].mean()) for kind, places in KINDS.items()} for row in both)
    return Coverage(name, reports, noise, total)


def measured(surveys: int, names: list[str]) -> Iterator[Coverage]:
    """Measure every mechanism at every size."""
    for name in names:
        for reports in SIZES:
            yield coverage(name, reports, surveys)


def line(found: Coverage, markdown: bool) -> str:
    """Return a line of the table, in percent."""
    shares = [f"{100 * kinds[kind]:.1f}" for kinds in (found.noise, found.total) for kind in KINDS]
    if markdown:
        return f"| `{found.mechanism}` | {found.reports:,} | {' | '.join(shares)} |"
    return f"{found.mechanism:27}{found.reports:>10,}  " + "".join(f"{share:>8}" for share in shares)


def main() -> None:
    """Print the table, a line as soon as it is measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--surveys", type=int, default=SURVEYS)
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--mechanism", action="append", choices=list(MECHANISMS))
    asked = parser.parse_args()
    print(f"Coverage of 95% intervals in {asked.surveys:,} surveys, in percent, at epsilon = {EPSILON:g}.")
    heads = [f"{of}: {kind}" for of in ("sample", "population") for kind in KINDS]
    if asked.markdown:
        print(f"\n| mechanism | reports | {' | '.join(heads)} |\n| --- {'| ---: ' * (len(heads) + 1)}|")
    else:
        print(
            f"{'':37}    of the sample          of the population\n{'':37}  " + "".join(f"{k:>8}" for k in [*KINDS] * 2)
        )
    for found in measured(asked.surveys, asked.mechanism or list(MECHANISMS)):
        print(line(found, asked.markdown))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
