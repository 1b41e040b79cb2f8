"""Strings that people hold, and strings that are looked for: made up, or those of a file."""

from collections.abc import Sequence

import numpy as np

from dither_shared import DiscoveryQuestion, Mechanism

from .populations import Counts, Floats, Population

WORDS = "abcdefghijklmnopqrstuvwxyz0123456789"
"""The characters of made-up strings, where no alphabet is given."""

_SEED = 20261122
"""The seed of made-up strings, which are the same in every trial."""


def made_up(count: int, characters: str = WORDS, length: int = 12) -> tuple[str, ...]:
    """Return ``count`` different random strings of one length, or all there are if these are fewer."""
    rng = np.random.default_rng(_SEED)
    alphabet, found = np.array(list(characters)), dict[str, None]()
    count = min(count, len(characters) ** length)
    while len(found) < count:
        rows = alphabet[rng.integers(len(alphabet), size=(count - len(found), length))]
        found.update(dict.fromkeys(map("".join, rows.tolist())))
    return tuple(found)[:count]


def listed(held: Sequence[str], count: int) -> tuple[str, ...]:
    """Return a list of ``count`` candidates: the strings that people hold, and others that nobody does."""
    more = count - len(held)
    return (*held, *(f"nobody-{number}" for number in range(more)))


def spelled(question: DiscoveryQuestion, mechanism: Mechanism, labels: Sequence[str], shares: Floats) -> Population:
    """Return the symbols of strings as labels, with their shares of the people in parts of 2^53.

    Strings that are spelled alike, such as those that the alphabet does not spell, count together.
    """
    answers = question.answers(mechanism)
    held: dict[str, float] = {}
    for label, share in zip(labels, shares.tolist(), strict=True):
        item = answers.encode(label).item
        name = item.decode("latin-1") if isinstance(item, bytes) else ""
        held[name] = held.get(name, 0.0) + share
    counts: Counts = np.rint(np.array(list(held.values())) * 2.0**53).astype(np.int64)
    return Population(tuple(held), counts)
