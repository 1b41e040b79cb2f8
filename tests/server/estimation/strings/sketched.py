"""Rows and tallies of people whose strings are known, for tests of discovery and lookup."""

from collections.abc import Sequence

import numpy as np

from dither_server.estimation.hashing import Buckets
from dither_server.estimation.strings.rows import Rows
from dither_server.tally.tally import Tally
from dither_shared import Mechanism
from dither_simulations.samplers import sample_tally
from dither_simulations.users.populations import Population


def zipf(labels: Sequence[str], users: int, rng: np.random.Generator, exponent: float = 1.1) -> Population:
    """Draw people; the share who hold the i-th string is proportional to i^-exponent."""
    return Population.drawn(labels, np.arange(1.0, len(labels) + 1) ** -exponent, users, rng)


def tally_of(mechanism: Mechanism, population: Population, rng: np.random.Generator) -> Tally:
    """Draw the tally of their reports from its law."""
    return sample_tally(mechanism, population, rng)


def noiseless(marks: Buckets, shares: Sequence[float], buckets: int, reports: int = 10**6) -> Rows:
    """Return rows in which each string of ``marks``, shape (rows, strings), has just its share, and nobody else is."""
    rows = np.array([np.bincount(row, np.asarray(shares), buckets) for row in marks])
    return Rows(rows, np.full(len(marks), reports // len(marks), dtype=np.int64), 0.5, 0.25)
