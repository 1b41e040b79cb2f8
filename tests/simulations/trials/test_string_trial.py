"""Trials of questions for strings: what is found, and what of it is false."""

from dataclasses import replace

import numpy as np
import pytest

from dither_server.estimation.strings.reach import reach
from dither_server.tally.tally import Tally
from dither_shared import DiscoveryQuestion
from dither_simulations.choices import Law
from dither_simulations.trials.mechanism_by_name import STRING_MECHANISMS, named, named_discovery
from dither_simulations.trials.string_trial import Found, StringSetting, found_in, run_string_trial, string_scores
from dither_simulations.users.populations import zipf
from dither_simulations.users.strings import listed, made_up, spelled

HELD = made_up(200, "abcd", 6)
SHARES = zipf(200, 1.3) / zipf(200, 1.3).sum()
QUESTION = DiscoveryQuestion("a-d", 6)


def looked_up(name: str, users: int, epsilon: float = 4.0) -> StringSetting:
    return StringSetting(named(name, 0, epsilon), HELD, SHARES, users, listed(HELD, 2_000))


def discovered(users: int, epsilon: float = 4.0) -> StringSetting:
    mechanism = named_discovery("prefix-sketch", QUESTION, epsilon)
    people = spelled(QUESTION, mechanism, HELD, SHARES)
    return StringSetting(mechanism, people.labels, people.shares, users, (), QUESTION)


@pytest.mark.parametrize("name", STRING_MECHANISMS)
def test_frequent_strings_are_found_in_a_list(name: str) -> None:
    """Of 3 trials: the 16 most frequent have 1% and more, many times the reach."""
    setting = looked_up(name, 10**6)
    scores = [run_string_trial(setting, seed) for seed in np.random.SeedSequence(3).spawn(3)]
    assert all(score["recall_16"] == 1 and score["f1"] > 0.85 for score in scores)
    assert np.mean([score["false"] for score in scores]) < 0.15
    assert np.mean([score["missed"] for score in scores]) < 0.15


def test_frequent_strings_are_discovered() -> None:
    setting = discovered(10**6)
    assert reach(setting.mechanism, 10**6) < SHARES[15] / 2
    scores = [run_string_trial(setting, seed) for seed in np.random.SeedSequence(3).spawn(3)]
    assert all(score["recall_16"] == 1 for score in scores)
    assert np.mean([score["false"] for score in scores]) < 0.15


@pytest.mark.parametrize("law", ["joint", "device"])
def test_trial_with_few_people_finds_no_string(law: Law) -> None:
    seed = np.random.SeedSequence(1)
    for setting in (looked_up(STRING_MECHANISMS[0], 20, 0.5), discovered(20, 0.5)):
        few = replace(setting, law=law)
        score = run_string_trial(few, seed)
        assert score["recall_8"] <= 0.25
        assert score == run_string_trial(few, np.random.SeedSequence(1)), "a trial depends on its seed alone"


def test_scores_count_hits_ghosts_and_misses() -> None:
    setting = looked_up(STRING_MECHANISMS[0], 10)
    found = Found((HELD[1], "ghost", HELD[0], HELD[30]), np.array([0.0, 0.1, 0.9, 0.0]), np.array([1.0, 0.2, 1.0, 1.0]))
    score = string_scores(setting, found)
    assert (score["recall_8"], score["recall_16"], score["recall_32"]) == (2 / 8, 2 / 16, 3 / 32)
    assert score["f1"] == 2 * 2 / (4 + 16)
    assert (score["found"], score["false"]) == (4, 1 / 4)
    assert score["missed"] == 2 / 4, "of the ghost, and of the first"
    nothing = string_scores(setting, Found((), np.zeros(0), np.zeros(0)))
    assert (nothing["found"], nothing["false"], nothing["missed"], nothing["f1"]) == (0, 0, 0, 0)


def test_without_reports_nothing_is_found() -> None:
    for setting in (looked_up(STRING_MECHANISMS[0], 10), discovered(10)):
        assert found_in(setting, Tally.zero(setting.mechanism)).labels == ()
