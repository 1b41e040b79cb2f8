"""What a shuffle truly hides: the exact δ of the multiset of a few reports, whatever the others hold."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, permutations

from contract.test_two_level import laws
from dither_shared import Mechanism
from dither_shared.mechanism import Item

Table = Sequence[Sequence[int]]
"""P[y | x] of value x and report y, over a common denominator that is the sum of each row."""

Counts = Mapping[tuple[int, ...], int]


def table_of(mechanism: Mechanism, items: Iterable[Item]) -> Table:
    """Return the law of a report; reports whose probabilities are in proportion tell the same, and are one."""
    found = [laws(mechanism, item) for item in items]
    merged: dict[tuple[Fraction, ...], list[Fraction]] = {}
    for row in found[0]:
        chances = [law[row] for law in found]
        key = tuple(chance / chances[0] for chance in chances)
        merged[key] = [one + two for one, two in zip(merged.get(key, [Fraction(0)] * len(found)), chances, strict=True)]
    common = math.lcm(*(chance.denominator for column in merged.values() for chance in column))
    return [[int(column[place] * common) for column in merged.values()] for place in range(len(found))]


def exact_delta(
    table: Table, reports: int, odds: Fraction, pairs: Iterable[tuple[int, int]] | None = None, own: int = 1
) -> Fraction:
    """Return the least δ with which a report is (ln odds, δ)-private among ``reports``, by enumeration.

    That is over all ordered ``pairs`` of its values, and all values of the other reports. ``own`` reports of one device
    have any values each or, if pairs are given, all the same.
    """
    values, total = range(len(table)), sum(table[0]) ** reports
    delta = Fraction(0)
    mine = combinations_with_replacement(values, own)
    wanted = [*(permutations(mine, 2) if pairs is None else (((one,) * own, (two,) * own) for one, two in pairs))]
    for others in combinations_with_replacement(values, reports - own):
        seen = _with_reports({(0,) * len(table[0]): 1}, [table[value] for value in others])
        compared = {each for pair in wanted for each in pair}
        after = {held: _with_reports(seen, [table[value] for value in held]) for held in compared}
        for one, two in wanted:
            excess = sum(
                max(0, chance * odds.denominator - after[two][counts] * odds.numerator)
                for counts, chance in after[one].items()
            )
            delta = max(delta, Fraction(excess, odds.denominator * total))
    return delta


def _with_reports(seen: Counts, laws: Iterable[Sequence[int]]) -> Counts:
    for law in laws:
        seen = _with_report(seen, law)
    return seen


def _with_report(seen: Counts, law: Sequence[int]) -> Counts:
    more: dict[tuple[int, ...], int] = defaultdict(int)
    for counts, weight in seen.items():
        for place, chance in enumerate(law):
            more[(*counts[:place], counts[place] + 1, *counts[place + 1 :])] += weight * chance
    return more
