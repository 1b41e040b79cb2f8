"""Strings that people hold, and those that are looked for."""

import numpy as np

from dither_shared import DiscoveryQuestion
from dither_simulations.trials.mechanism_by_name import named_discovery
from dither_simulations.users.populations import items_of
from dither_simulations.users.strings import listed, made_up, spelled


def test_made_up_strings_differ_and_are_always_the_same() -> None:
    words = made_up(5_000, "ab", 14)
    assert len(set(words)) == len(words) == 5_000
    assert {len(word) for word in words} == {14}
    assert made_up(100, "ab", 14) == words[:100]
    assert len(made_up(100, "ab", 2)) == 4, "there are no more"


def test_a_list_holds_what_people_hold_and_others() -> None:
    candidates = listed(("x", "y"), 5)
    assert candidates[:2] == ("x", "y")
    assert len(set(candidates)) == 5


def test_strings_that_are_spelled_alike_count_together() -> None:
    question = DiscoveryQuestion("a-c", 3)
    mechanism = named_discovery("prefix-sketch", question, 1.0)
    people = spelled(question, mechanism, ("ab", "x", "cab", "?"), np.array([0.5, 0.125, 0.25, 0.125]))
    assert np.allclose(people.shares, [0.5, 0.25, 0.25])
    items = items_of(mechanism, people.labels)
    assert [question.text(item) for item in items if isinstance(item, bytes)] == ["ab", "…", "cab"]
