"""Run the devices of a population, and draw its people: the tally of reports one by one, or by its joint law."""

from collections.abc import Iterable, Iterator
from itertools import islice, repeat

import numpy as np

from dither_server.tally.tally import Tally
from dither_shared import Entropy, KeyedEntropy, Mechanism, Report
from dither_shared.mechanism import Item

from ..choices import Law
from ..users.populations import Floats, Population, items_of
from .registry import sample_tally

_BLOCK = 1 << 14
"""Reports held in memory at a time, whatever the number of users."""


def drawn_tally(
    mechanism: Mechanism, labels: tuple[str, ...], shares: Floats, users: int, law: Law, seed: np.random.SeedSequence
) -> Tally:
    """Draw ``users`` people from a population, and return the tally of their reports."""
    rng = np.random.default_rng(seed)
    people = Population.drawn(labels, shares, users, rng)
    if law == "device":
        return device_tally(mechanism, people, device_entropy(seed))
    return sample_tally(mechanism, people, rng)


def device_entropy(seed: np.random.SeedSequence) -> KeyedEntropy:
    """Return a reproducible stream for devices, keyed by 256 bits of ``seed``.

    Only for simulations: a real device draws from the operating system.
    """
    return KeyedEntropy(seed.generate_state(4, np.uint64).tobytes(), b"dither-simulations")


def device_tally(mechanism: Mechanism, population: Population, entropy: Entropy) -> Tally:
    """Return the tally of one report from each user of ``population``.

    Every user draws a cohort and runs ``mechanism.randomize``; the rows are folded as a collector folds them.
    """
    held = zip(items_of(mechanism, population.labels), population.counts.tolist(), strict=True)
    users = (each for item, count in held for each in repeat(item, count))
    rows = _rows(mechanism, users, entropy)
    tally = Tally.zero(mechanism)
    while block := b"".join(islice(rows, _BLOCK)):
        tally += Tally.fold(mechanism, block)
    return tally


def _rows(mechanism: Mechanism, users: Iterable[Item], entropy: Entropy) -> Iterator[bytes]:
    for item in users:
        cohort = mechanism.draw_cohort(entropy)
        yield Report(cohort, mechanism.randomize(item, entropy, cohort)).encode(mechanism)
