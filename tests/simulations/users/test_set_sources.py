"""Where sets come from: made-up items, and the cells of a file."""

import numpy as np
import pytest

from dither_shared import ParameterError
from dither_simulations.users.columns import EMPTY
from dither_simulations.users.set_sources import ItemChances, SetColumn
from dither_simulations.users.sets import ListedSets


def test_the_most_frequent_item_has_the_greatest_chance_and_the_others_fall_from_it() -> None:
    chances = ItemChances("zipf", exponent=1.0, greatest=0.6).chances(4)
    assert np.allclose(chances, [0.6, 0.3, 0.2, 0.15])
    assert np.allclose(ItemChances("uniform", greatest=0.2).people(5, None).shares, 0.2)
    assert ItemChances("zipf").name == "zipf 1.1, up to 0.5"


def test_limit_of_items_per_set_lowers_every_share() -> None:
    source = ItemChances("uniform", greatest=0.5)
    assert (source.people(6, 2).shares < source.people(6, None).shares).all()


def test_cells_are_split_counted_and_ranked() -> None:
    labels = ("save; export", EMPTY, "export", "search;export;;export")
    column = SetColumn.of(labels, np.array([5, 2, 2, 1]), ";")
    assert column.items == ("export", "save", "search")
    assert column.users == 10
    people = column.people(3, None)
    assert isinstance(people, ListedSets)
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
