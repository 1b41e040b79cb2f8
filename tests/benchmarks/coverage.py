"""How often intervals contain the truth: ``python -m tests.benchmarks.coverage [--surveys N] [--part few|long]``.

Every mechanism, at three numbers of reports. A survey draws people from a population of 16 values, of which two are
common, four rare and six absent, and their tally from its exact law. The noise interval should contain the shares among
those people, the other the population's. An entry is the mean over the values of a kind. In an open domain each survey
asks for strings of its own: a sketch's bias is fixed by its strings, and so is RAPPOR's power to separate them.

Of 1,000 and of 16,384 values, ten are common (4 in 100), 40 rare (5 in 1,000) and nearly all absent, and the second
interval should contain the population's shares. The support of a listed value is then drawn by itself, in fewer
surveys.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither_server.estimation.estimate import Estimate, estimate
from dither_shared import MECHANISMS, Mechanism
from dither_simulations.mechanism_by_name import NAMES
from dither_simulations.samplers import Marginal, has_marginal, sample_support, sample_tally
from dither_simulations.users.populations import Population

from .tables import Part, run

SIZES = (1_000, 30_000, 1_000_000)
EPSILON = 1.0
SURVEYS = 4_000
SEED = 20261120

SHARES = np.array([0.3, 0.2, *[0.01] * 4, *[0.115] * 4, *[0.0] * 6])
KINDS = {"rare": slice(2, 6), "common": slice(0, 2), "absent": slice(10, 16)}
"""By their place in ``SHARES``; the other four are there so that shares sum to 1."""

LONG = {1_000: 20, 16_384: 80}
"""Sizes of long lists, and of how many of all surveys they get one."""

LONG_KINDS = {"rare": slice(10, 50), "common": slice(0, 10), "absent": slice(54, None)}

_SKETCH, _LONG_SKETCH = {"bits": 16, "cohorts": 512}, {"bits": 64, "cohorts": 64}
_SHAPES = {"bit-flip": {"bits": 8}, "count-mean-sketch": _SKETCH, "hadamard-count-mean-sketch": _SKETCH}
"""Where it is not the default shape: a report speaks of half of the values; a sketch is quick to draw, and its columns
are so few that the bias of its collisions outweighs the noise of a million reports."""

_LONG_SHAPES = {
    "bit-flip": {"bits": 64},
    "count-mean-sketch": _LONG_SKETCH,
    "hadamard-count-mean-sketch": _LONG_SKETCH,
}

Covered = NDArray[np.bool_]


def mechanism_named(name: str, size: int = len(SHARES), shapes: Mapping[str, Mapping[str, Any]] = _SHAPES) -> Mechanism:
    """Return the mechanism that is measured: for ``size`` values, or for strings."""
    family = MECHANISMS[name]
    return family.configure(None if family.items.open else size, {"epsilon": EPSILON, **shapes.get(name, {})})


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


def few(name: str, reports: int, surveys: int) -> Iterator[list[str]]:
    """Yield how often the intervals of few values hold the shares of the sample, and of the population, by kind."""
    mechanism, rng = mechanism_named(name), np.random.default_rng([SEED, reports, *name.encode()])
    both = np.mean([surveyed(mechanism, reports, number, rng) for number in range(surveys)], axis=0)
    yield _row(name, reports, [row[places].mean() for row in both for places in KINDS.values()])


def long(name: str, reports: int, surveys: int) -> Iterator[list[str]]:
    """Yield how often the intervals of long lists hold the shares of the population, by kind."""
    held: list[float] = []
    for size, fewer in LONG.items():
        rng, some = np.random.default_rng([SEED, size, reports, *name.encode()]), max(2, surveys // fewer)
        shares = np.array([*[0.04] * 10, *[0.005] * 40, *[0.1] * 4, *[0.0] * (size - 54)])
        found = np.zeros(size)
        for number in range(some):
            result = _long_survey(mechanism_named(name, size, _LONG_SHAPES), shares, reports, number, rng)
            found += (result.low <= shares) & (result.high >= shares)
        held += [found[places].mean() / some for places in LONG_KINDS.values()]
    yield _row(name, reports, held)


def _long_survey(
    mechanism: Mechanism, shares: NDArray[np.float64], reports: int, strings: int, rng: np.random.Generator
) -> Estimate:
    labels = tuple(f"{strings}/{value}" for value in range(len(shares)))
    people = Population(labels, rng.multinomial(reports, shares))
    if has_marginal(mechanism):
        return estimate(Marginal(whole=mechanism), labels, sample_support(mechanism, people, rng))
    return estimate(mechanism, labels, sample_tally(mechanism, people, rng))


def _row(name: str, reports: int, held: list[float]) -> list[str]:
    return [f"`{name}`", f"{reports:,}", *(f"{100 * share:.1f}" for share in held)]


def _head(groups: Iterable[str]) -> list[str]:
    return ["mechanism", "reports", *(f"{of}: {kind}" for of in groups for kind in KINDS)]


CELLS = [(name, reports) for name in NAMES[1:] for reports in SIZES]
LISTS = [cell for cell in CELLS if cell[0] != "rappor"]  # its lists have a benchmark of their own, of the strings found
PARTS = {
    "few": Part("coverage-few", _head(("sample", "population")), CELLS, few, SURVEYS),
    "long": Part("coverage-long", _head(f"k = {size:,}" for size in LONG), LISTS, long, SURVEYS),
}

if __name__ == "__main__":
    run(__doc__, **PARTS)
