"""Laws of sets, compared with the enumeration of all sets."""

from itertools import product

import numpy as np
import pytest

from dither_shared import ParameterError
from dither_simulations.users.populations import EMPTY
from dither_simulations.users.sets import IndependentSets, ItemChances, SetColumn, SetLaw, SetList

CHANCES = np.array([0.5, 0.3, 0.9, 0.1, 0.25])


def all_sets(at_most: int) -> dict[tuple[int, ...], float]:
    """Return the probability of each set of at most ``at_most`` items."""
    found = {
        bits: float(np.prod([chance if bit else 1 - chance for bit, chance in zip(bits, CHANCES, strict=True)]))
        for bits in product((0, 1), repeat=len(CHANCES))
        if sum(bits) <= at_most
    }
    total = sum(found.values())
    return {bits: chance / total for bits, chance in found.items()}


def listed(at_most: int) -> SetList:
    law = all_sets(at_most)
    numbers = [sum(bit << place for place, bit in enumerate(bits)) for bits in law]
    return SetList.of(numbers, len(CHANCES), np.array(list(law.values())))


@pytest.mark.parametrize("at_most", [1, 2, 4, 5])
def test_shares_windows_and_chain_are_those_of_all_sets(at_most: int) -> None:
    law = all_sets(at_most)
    laws: list[SetLaw] = [IndependentSets(CHANCES, at_most), listed(at_most)]
    for people in laws:
        assert np.allclose(people.shares, sum(chance * np.array(bits) for bits, chance in law.items()))
        for width in (1, 2, 3):
            windows = np.zeros((5, 1 << width))
            for bits, chance in law.items():
                for start in range(5):
                    windows[start, sum(bits[(start + place) % 5] << place for place in range(width))] += chance
            assert np.allclose(people.windows(width), windows)


@pytest.mark.parametrize(
    ("chances", "at_most", "place"),
    [
        ([0.5, 1.5], 1, "shares"),
        ([0.5, float("nan")], 1, "shares"),
        ([0.5, 0.5], 3, "at_most"),
        ([1.0, 1.0], 1, "at_most"),
    ],
)
def test_chances_that_make_no_sets_are_refused(chances: list[float], at_most: int, place: str) -> None:
    with pytest.raises(ParameterError, match=place):
        IndependentSets(np.array(chances), at_most)


def test_the_most_frequent_item_has_the_greatest_chance_and_the_others_fall_from_it() -> None:
    chances = ItemChances("zipf", exponent=1.0, greatest=0.6).chances(4)
    assert np.allclose(chances, [0.6, 0.3, 0.2, 0.15])
    assert np.allclose(ItemChances("uniform", greatest=0.2).people(5, None).shares, 0.2)
    assert ItemChances("zipf").name == "zipf 1.1, up to 0.5"


def test_cells_are_split_counted_and_ranked() -> None:
    labels = ("save; export", EMPTY, "export", "search;export;;export")
    column = SetColumn.of(labels, np.array([5, 2, 2, 1]), ";")
    assert column.items == ("export", "save", "search")
    assert column.users == 10
    people = column.people(3, None)
    assert isinstance(people, SetList)
    assert np.allclose(people.shares, [0.8, 0.5, 0.1])


def test_fewer_items_are_left_out_and_longer_sets_are_cut_to_their_first() -> None:
    column = SetColumn.of(("c;a", "a;b;c", "a"), np.array([3, 2, 5]), ";")
    assert column.items == ("a", "c", "b")
    assert np.allclose(column.people(2, None).shares, [1.0, 0.5])
    assert np.allclose(column.people(3, 1).shares, [0.7, 0.3, 0.0])


def test_set_source_with_too_few_items_is_refused() -> None:
    with pytest.raises(ParameterError, match="1 different item"):
        SetColumn.of(("a", EMPTY), np.array([1, 1]), ";")
    with pytest.raises(ParameterError, match="more than the 2 items"):
        SetColumn.of(("a;b",), np.array([1]), ";").people(3, None)
