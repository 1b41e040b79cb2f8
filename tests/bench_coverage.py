"""How often intervals hold the truth: ``python -m tests.bench_coverage [--surveys N] [--markdown]``.

Every mechanism, at three numbers of reports. A survey draws people from a population of 16 values, of which two are
common, four rare and six absent, and their tally from its exact law. The noise interval is held to the shares among
those people, the other to the population's. An entry is the mean over the values of a kind.
"""

import argparse
import sys
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

_LISTS = 100
"""A sketch's bias is fixed by its strings, and so is how well RAPPOR tells them apart: so many lists take turns."""

_SKETCH = {"bits": 16, "cohorts": 512}
_SHAPES = {"bit-flip": {"bits": 8}, "count-mean-sketch": _SKETCH, "hadamard-count-mean-sketch": _SKETCH}
"""Where it is not the default shape: a report speaks of half of the values; a sketch is quick to draw, and its columns
are so few that the bias of its collisions outweighs the noise of a million reports."""

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
    return family.configure(None if family.open_domain else len(SHARES), {"epsilon": epsilon, **_SHAPES.get(name, {})})


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


def coverage(name: str, reports: int, surveys: int) -> Coverage:
    """Measure a mechanism at a number of reports."""
    mechanism, rng = mechanism_named(name), np.random.default_rng([SEED, reports, *name.encode()])
    both = np.mean([surveyed(mechanism, reports, number * _LISTS // surveys, rng) for number in range(surveys)], axis=0)
    noise, total = ({kind: float(row[places].mean()) for kind, places in KINDS.items()} for row in both)
    return Coverage(name, reports, noise, total)


def lines(found: list[Coverage]) -> str:
    """Return the lines of a mechanism: one a size, in percent."""
    return "\n".join(
        f"{one.mechanism:27}{one.reports:>10,}  "
        + "".join(f"{100 * kinds[kind]:>8.1f}" for kinds in (one.noise, one.total) for kind in KINDS)
        for one in found
    )


def row(found: list[Coverage]) -> str:
    """Return the row of a mechanism in Markdown, the sizes in each cell."""
    cells = [
        " / ".join(f"{100 * kinds[kind]:.1f}" for kinds in sizes)
        for sizes in ([one.noise for one in found], [one.total for one in found])
        for kind in KINDS
    ]
    return f"| `{found[0].mechanism}` | {' | '.join(cells)} |"


def main() -> None:
    """Print the table, a mechanism as soon as it is measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--surveys", type=int, default=SURVEYS)
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--mechanism", action="append", choices=list(MECHANISMS))
    asked = parser.parse_args()
    sizes = " / ".join(f"{size:,}" for size in SIZES)
    print(
        f"Coverage of 95% intervals in percent: {asked.surveys:,} surveys of {sizes} reports, epsilon = {EPSILON:g}.\n"
    )
    if asked.markdown:
        heads = [f"{of}: {kind}" for of in ("sample", "population") for kind in KINDS]
        print(f"| mechanism | {' | '.join(heads)} |\n| --- {'| ---: ' * len(heads)}|")
    else:
        print(f"{'':39}{'of the sample':>24}{'of the population':>24}")
        print(f"{'':39}" + "".join(f"{kind:>8}" for kind in [*KINDS] * 2))
    for name in asked.mechanism or list(MECHANISMS):
        found = [coverage(name, size, asked.surveys) for size in SIZES]
        print(row(found) if asked.markdown else lines(found))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
