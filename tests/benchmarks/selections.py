"""Errors of selections, ours beside others, in one run: ``python -m tests.benchmarks.selections [--runs N]``.

n·Var of the share of one item, averaged over items, measured at 10^6 users of whom each has w of d items at random (or
half of them, by chance, without a limit), and beside it the theory. Others are shown by theory:

- ``eps/d``: each item asked by itself, yes or no, at ε/d;
- ``1 bit``: one item drawn at random, and asked at the whole ε;
- ``pad, sample``: padding-and-sampling: the set is filled up to w with dummies, one of it drawn, and reported by the
  optimal oracle for d + w values (subset selection); the estimate is w times that (LDPMiner, Qin et al., CCS 2016;
  SVIM, Wang, Li and Jha, IEEE S&P 2018, who choose the length privately, and spend a part of the users on it).
"""

import math
from collections.abc import Iterator

import numpy as np

from dither_shared import PrivSet, SetResponse, SubsetSelection
from dither_simulations.experiments.error.selections import run_set_trial
from dither_simulations.mechanism_by_name import AUTO, named_selection
from dither_simulations.sweeps import mean
from dither_simulations.users.sets import IndependentSets, SetLaw, SetList

from .tables import Part, run

CASES = ((8, None), (8, 2), (16, None), (16, 3), (64, 4), (64, 12))
EPSILONS = (0.5, 1.0, 2.0, 4.0)
USERS = 1_000_000


def measured(size: int, most: int | None, epsilon: float, runs: int) -> Iterator[list[str]]:
    """Yield the row of a question and a privacy loss."""
    people, share = _people(size, most), 0.5 if most is None else most / size
    mechanism = named_selection(AUTO, size, most, epsilon)
    noise = [run_set_trial(mechanism, people, USERS, seed)["mse"] for seed in np.random.SeedSequence(7).spawn(runs)]
    found, error = mean(noise)
    sampled = share * (1 - share)
    noise_text = "-" if found is None else f"{USERS * found - sampled:.3g} ± {USERS * (error or 0):.1g}"
    window = SetResponse.calibrate(size, epsilon)
    listed = None if most is None else PrivSet.calibrate(size, epsilon, at_most=most)
    yield [
        str(size),
        "-" if most is None else str(most),
        f"{epsilon:g}",
        mechanism.name,
        noise_text,
        f"{mechanism.variance(share):.3g}",
        f"{window.variance(share):.3g} (s {window.window})",
        "-" if listed is None else f"{listed.variance(share):.3g} (r {listed.subset})",
        f"{_coin(epsilon / size):.3g}",
        f"{size * _coin(epsilon) + (size - 1) * sampled:.3g}",
        "-" if most is None else f"{_padded(size, most, epsilon, share):.3g}",
    ]


def _people(size: int, most: int | None) -> SetLaw:
    """Return sets of w neighbours on a circle, from anywhere, so that all are full; or of every item by chance."""
    if most is None:
        return IndependentSets(np.full(size, 0.5), size)
    runs = [sum(1 << (first + place) % size for place in range(most)) for first in range(size)]
    return SetList.of(runs, size, np.ones(size))


def _coin(epsilon: float) -> float:
    """Return n·Var of the noise of a yes or no at ε."""
    return math.exp(epsilon) / (math.exp(epsilon) - 1) ** 2


def _padded(size: int, most: int, epsilon: float, share: float) -> float:
    """Return w² V(f/w) + w² (f/w) (1 - f/w) - f (1 - f): the noise, and which of the w items is drawn."""
    drawn = share / most
    oracle = SubsetSelection.calibrate(size + most, epsilon).variance(drawn)
    return most**2 * (oracle + drawn * (1 - drawn)) - share * (1 - share)


HEAD = ("d", "w", "ε", "auto", "measured", "theory", "window", "privset", "eps/d", "1 bit", "pad, sample")
CELLS = [(*case, epsilon) for case in CASES for epsilon in EPSILONS]

if __name__ == "__main__":
    run(__doc__, selections=Part("selections", HEAD, CELLS, measured, 100, words=0))
