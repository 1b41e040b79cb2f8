"""Trials of selections: errors are what theory says, however reports are drawn."""

import numpy as np
import pytest

from dither_simulations.choices import Law
from dither_simulations.experiments.error.selections import expected_sets, run_set_trial
from dither_simulations.mechanism_by_name import SELECTIONS, named_selection
from dither_simulations.sweeps import mean
from dither_simulations.users.sets import ItemChances

LAWS: tuple[Law, ...] = ("joint", "device")
PEOPLE = ItemChances("geometric", ratio=0.7, greatest=0.6).people(6, 3)


@pytest.mark.parametrize("epsilon", [pytest.param(0.5, marks=pytest.mark.slow), 2.0])
@pytest.mark.parametrize("name", SELECTIONS)
def test_the_squared_error_and_the_coverage_are_those_of_theory(name: str, epsilon: float) -> None:
    """Slow at the smaller ε, where the same is said of more noise.

    150 trials of 6 items: a mean 5.5 standard errors off has probability below 1e-7, and so has the coverage.

    Both are of trials whose items are positively dependent at worst, which the standard error over trials measures.
    """
    mechanism = named_selection(name, 6, 3, epsilon)
    scores = [run_set_trial(mechanism, PEOPLE, 20_000, seed) for seed in np.random.SeedSequence(2).spawn(150)]
    theory = expected_sets(mechanism, PEOPLE, 20_000, 0.95)
    error, spread = mean([score["mse"] for score in scores])
    assert abs((error or 0) - theory["mse_theory"]) < 5.5 * (spread or 0)
    held, spread = mean([score["coverage"] for score in scores])
    assert abs((held or 0) - 0.95) < 5.5 * (spread or 0) + 0.002
    width, _ = mean([score["width"] for score in scores])
    assert abs((width or 0) / theory["width_theory"] - 1) < 0.15  # intervals end at 0


@pytest.mark.parametrize("name", ["set-response", "privset"])
def test_devices_are_as_far_off_as_the_sampler(name: str) -> None:
    """60 trials each: both means within 6 standard errors of their difference, out with probability below 1e-8."""
    mechanism = named_selection(name, 6, 3, 2.0)
    seeds = np.random.SeedSequence(5).spawn(60)
    both = [mean([run_set_trial(mechanism, PEOPLE, 400, seed, law=law)["mse"] for seed in seeds]) for law in LAWS]
    (one, one_se), (two, two_se) = both
    assert abs((one or 0) - (two or 0)) < 6 * np.hypot(one_se or 0, two_se or 0)


def test_a_trial_depends_on_its_seed_alone() -> None:
    mechanism = named_selection("privset", 6, 3, 1.0)
    one, again, other = (run_set_trial(mechanism, PEOPLE, 1000, np.random.SeedSequence(seed)) for seed in (1, 1, 2))
    assert one == again != other
