"""Samplers where a cohort says to which bucket a value is hashed, and the bucket is a point that is reported."""

from functools import lru_cache

import numpy as np

from dither_server.tally.tally import Tally
from dither_shared import PrefixSketch, ProjectiveSketch
from dither_shared.mechanisms.projective_buckets import ProjectiveBuckets
from dither_shared.primitives.buckets import MAX_ROWS
from dither_shared.primitives.projective import Points

from ..users.populations import Counts, Floats, Population, items_of
from .hashed import over_cohorts
from .linear import owned_points, with_uniform
from .registry import collision_bias, joint_draws, sample_tally, signal_probability

__all__ = ["buckets_of"]


@sample_tally.register
def _(mechanism: ProjectiveBuckets, population: Population, rng: np.random.Generator) -> Tally:
    """Split each value's users over the cohorts, count them by bucket, and draw points of the buckets' hyperplanes.

    With a permanent part or without, one report has the law of a and b.
    """
    users = over_cohorts(mechanism, population, rng)
    held = np.zeros((mechanism.cohorts, mechanism.buckets), dtype=np.int64)
    np.add.at(held, (np.arange(mechanism.cohorts), buckets_of(mechanism, population.labels)), users)
    certain = rng.binomial(held, signal_probability(mechanism))
    points = Points(mechanism.order, mechanism.length)
    return with_uniform(owned_points(points, certain, rng), users.sum(axis=0), rng)


@joint_draws.register
def _(mechanism: ProjectiveBuckets, population: Population) -> float:
    cells = mechanism.cells * mechanism.order * mechanism.length
    return mechanism.cohorts * (len(population.labels) + cells)


@collision_bias.register
def _(mechanism: ProjectiveSketch, population: Population) -> Floats:
    """Return B/(B-1) Σ_(u≠v) f_u (share of rows in which they collide - 1/B)."""
    return _bias(mechanism, population, np.arange(mechanism.cohorts))


@collision_bias.register
def _(mechanism: PrefixSketch, population: Population) -> Floats:
    """Return that of whole strings, in the rows of the confirming level."""
    return _bias(mechanism, population, np.arange(mechanism.cohorts)[-mechanism.rows :])


def _bias(mechanism: ProjectiveBuckets, population: Population, cohorts: Counts) -> Floats:
    buckets = buckets_of(mechanism, population.labels)[:, cohorts]
    rows = np.arange(len(cohorts))
    load = np.zeros((len(cohorts), mechanism.buckets))
    np.add.at(load, (rows, buckets), population.shares[:, np.newaxis])
    others = load[rows, buckets].mean(axis=1) - population.shares
    chance = 1 / mechanism.buckets
    return np.asarray((others - chance * (1 - population.shares)) / (1 - chance))


@lru_cache(maxsize=8)
def buckets_of(mechanism: ProjectiveBuckets, labels: tuple[str, ...]) -> Counts:
    """Return the bucket of each value in each cohort; shape (values, cohorts).

    Remembered, for hashing is most of the work and every trial of a sweep asks for the same.
    """
    items = items_of(mechanism, labels)
    levels = range(mechanism.cohorts // mechanism.rows)
    words = [np.frombuffer(b"".join([mechanism.digest(item, level) for item in items]), dtype=">u4") for level in levels]
    table = np.concatenate([each.reshape(-1, MAX_ROWS)[:, : mechanism.rows] for each in words], axis=1)
    table = np.asarray(table % mechanism.buckets, dtype=np.int64)
    table.setflags(write=False)
    return table
