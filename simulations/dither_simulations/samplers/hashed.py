"""Samplers of mechanisms whose cohort says which bits a value marks: RAPPOR, the count mean sketch, bit flip."""

from functools import lru_cache

import numpy as np

from dither_server.estimation.hashing import marks_of
from dither_server.tally.tally import Tally
from dither_shared import BitFlip, CountMeanSketch, Mechanism, ParameterError, Rappor
from dither_shared.mechanisms.count_mean_sketch import Sketch

from ..users.populations import Counts, Floats, Population, items_of
from .registry import bits, collision_bias, joint_draws, sample_tally

MAX_TABLE = 1 << 26
"""The largest table of values by cohorts: 512 MiB of counters."""


@sample_tally.register(Rappor)
@sample_tally.register(CountMeanSketch)
def _(mechanism: Rappor | CountMeanSketch, population: Population, rng: np.random.Generator) -> Tally:
    """Split each value's users over the cohorts, mark their bits, and flip: exact for one report from each user.

    n_(v,c) ~ Multinomial(n_v, 1/m); t_(c,b) is the number of users of cohort c whose value marks bit b; and
    C_(c,b) ~ Bin(t, a) + Bin(n_c - t, b), independent over c and b, a and b being those of the chain of the permanent
    and the instantaneous flip. (Several reports of one user share a permanent draw; that is another law.)
    """
    users = over_cohorts(mechanism, population, rng)
    marked = np.zeros((mechanism.cohorts, mechanism.cells), dtype=np.int64)
    cohorts = np.arange(mechanism.cohorts)[:, np.newaxis]
    np.add.at(marked, (cohorts, positions(mechanism, population.labels)), users[:, :, np.newaxis])
    reports = users.sum(axis=0)
    return Tally(reports, bits(float(mechanism.a), float(mechanism.b), marked, reports[:, np.newaxis], rng))


@sample_tally.register
def _(mechanism: BitFlip, population: Population, rng: np.random.Generator) -> Tally:
    """Split each value's users over the windows; the bits of a window are then independent.

    Bit i of window c is marked by its users of value c + i, so t_(c,i) = n_(c+i, c).
    """
    users = over_cohorts(mechanism, population, rng)
    windows = np.arange(mechanism.cohorts)[:, np.newaxis]
    marked = users[(windows + np.arange(mechanism.bits)) % mechanism.size, windows]
    reports = users.sum(axis=0)
    return Tally(reports, bits(float(mechanism.a), float(mechanism.b), marked, reports[:, np.newaxis], rng))


@joint_draws.register(Rappor)
@joint_draws.register(CountMeanSketch)
@joint_draws.register(BitFlip)
def _(mechanism: Mechanism, population: Population) -> float:
    return mechanism.cohorts * (mechanism.cells + len(population.labels))


def over_cohorts(mechanism: Mechanism, population: Population, rng: np.random.Generator) -> Counts:
    """Return how many users of each value are in each cohort, by its ``cohort_law``; shape (values, cohorts).

    Raises ParameterError if that is too large a table.
    """
    cohorts = mechanism.cohorts
    if cohorts * len(population.labels) > MAX_TABLE:
        many = f"{len(population.labels)} values by {cohorts} cohorts"
        raise ParameterError("size", f"{many} are too many for the joint law of {mechanism.name}")
    return rng.multinomial(population.counts, cohort_shares(mechanism))


def cohort_shares(mechanism: Mechanism) -> Floats:
    """Return P[a report is of each cohort], shape (cohorts,)."""
    law = mechanism.cohort_law
    return np.full(mechanism.cohorts, 1 / mechanism.cohorts) if law is None else np.array([float(each) for each in law])


def expected_tally(mechanism: Mechanism, population: Population) -> Tally:
    """Return the expected tally of any mechanism: n_c (b + (a - b) Σ_v f_v [j ∈ marked(v, c)]), rounded.

    Most of the work is to find the cells that every value marks in every cohort.
    """
    shares = cohort_shares(mechanism)
    marked = np.zeros((mechanism.cohorts, mechanism.cells))
    for item, users in zip(items_of(mechanism, population.labels), population.counts.tolist(), strict=True):
        for cohort, share in enumerate(shares.tolist()):
            marked[cohort, list(mechanism.marked(item, cohort))] += users * share
    reports = np.rint(population.users * shares).astype(np.int64)
    a, b = float(mechanism.a), float(mechanism.b)
    return Tally(reports, np.rint(reports[:, np.newaxis] * b + (a - b) * marked).astype(np.int64))


@collision_bias.register
def _(mechanism: Sketch, population: Population) -> Floats:
    return bias_in(positions(mechanism, population.labels)[:, :, 0], mechanism.bits, population.shares)


def bias_in(buckets: Counts, size: int, shares: Floats) -> Floats:
    """Return m/(m-1) Σ_(u≠v) f_u (share of rows in which u and v collide - 1/m), m being the ``size`` of a row.

    ``buckets`` are those of each value in each row; shape (values, rows).
    """
    rows = np.arange(buckets.shape[1])
    load = np.zeros((len(rows), size))
    np.add.at(load, (rows, buckets), shares[:, np.newaxis])
    others = load[rows, buckets].mean(axis=1) - shares
    chance = 1 / size
    return np.asarray((others - chance * (1 - shares)) / (1 - chance))


@lru_cache(maxsize=8)
def positions(mechanism: Rappor | Sketch, labels: tuple[str, ...]) -> Counts:
    """Return the hash positions of each value, shape (values, cohorts, hash functions of a cohort).

    Cached, because hashing is most of the work and every trial of a sweep needs the same positions.
    """
    marks = marks_of(labels, mechanism.cohorts, mechanism.bits, mechanism.hashes)
    table = np.ascontiguousarray(marks.transpose(2, 0, 1), dtype=np.int64)
    table.setflags(write=False)
    return table
