"""Trials of numbers come to what theory says, and their intervals hold the truth."""

import numpy as np
import pytest
from scipy import stats

from dither_server.estimation.numeric.quantiles import Quantile
from dither_simulations.choices import Law, Spread
from dither_simulations.trials.measures import Measures
from dither_simulations.trials.mechanism_by_name import NUMERIC, named_numeric
from dither_simulations.trials.number_theory import expected_numbers
from dither_simulations.trials.number_trial import NumberSetting, _ranked, run_number_trial
from dither_simulations.users.numbers import Numbers


def scored(setting: NumberSetting, seed: int, repeats: int) -> list[list[Measures]]:
    return [run_number_trial(setting, each) for each in np.random.SeedSequence(seed).spawn(repeats)]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name == "discrete-gaussian" else ()) for name in NUMERIC]
)
def test_the_mean_errs_as_theory_says(name: str) -> None:
    """Seven standard errors: at 50 repeats Student's t is farther out with probability below 7e-9.

    Slow is the law of Gaussian noise, which takes seconds to be computed exactly.
    """
    mechanism = named_numeric(name, 2.0)
    shares = Numbers("lognormal").shares(mechanism.size)
    setting = NumberSetting(mechanism, shares, 3_000, quantiles=(0.5,))
    errors = [scores[0]["mse"] or 0.0 for scores in scored(setting, 7, 50)]
    theory = expected_numbers(mechanism, shares, 3_000, 0.95).mean_mse
    assert abs(np.mean(errors) - theory) < 7 * stats.sem(errors)


@pytest.mark.parametrize(("law", "users"), [("joint", 100_000), ("device", 1_500)])
def test_raw_shares_below_err_as_theory_says(law: Law, users: int) -> None:
    """Six standard errors at 60 repeats (1.3e-7), and a twentieth for phases that few devices happen to have."""
    mechanism = named_numeric("dithered-response", 1.0)
    shares = Numbers("spikes").shares(mechanism.size)
    setting = NumberSetting(mechanism, shares, users, law=law, quantiles=(0.5,))
    errors = [scores[1]["mse"] or 0.0 for scores in scored(setting, 3, 60)]
    theory = expected_numbers(mechanism, shares, users, 0.95).cut_mse
    assert theory is not None
    assert abs(np.mean(errors) - theory) < 6 * stats.sem(errors) + theory / 20


@pytest.mark.parametrize("kind", ["zero-inflated", "spikes"])
def test_intervals_hold_the_population_as_often_as_they_say(kind: Spread) -> None:
    """Of 120 means at 95%, fewer than 97 hold the truth with probability below 1e-7; quantiles are surer, likewise."""
    assert stats.binom.cdf(96, 120, 0.95) < 1e-7
    mechanism = named_numeric("dithered-response", 1.0)
    setting = NumberSetting(mechanism, Numbers(kind).shares(mechanism.size), 10_000)
    outcomes = scored(setting, 5, 120)
    mean, distribution, median, high = (
        np.array([scores[what]["coverage"] for scores in outcomes]) for what in range(4)
    )
    assert min(mean.sum(), median.sum(), high.sum()) >= 97
    assert distribution.mean() > 0.95


def test_a_trial_depends_on_its_seed_alone() -> None:
    mechanism = named_numeric("discrete-laplace", 1.0)
    setting = NumberSetting(mechanism, Numbers("beta").shares(mechanism.size), 1_000)
    one, again, other = (run_number_trial(setting, np.random.SeedSequence(seed)) for seed in (1, 1, 2))
    assert one == again != other
    assert one[1]["mse"] is None  # a table tells no raw shares


@pytest.mark.parametrize(("point", "rank"), [(0, 0.25), (1, 0.0), (2, 0.0), (3, 0.0), (4, 0.25)])
def test_a_quantile_is_off_in_value_and_in_rank(point: int, rank: float) -> None:
    """Shares 1/4, 1/4, 0, 1/4, 1/4: half lie up to point 1, 2, and below 3; the median is the first, point 1."""
    shares = np.array([0.25, 0.25, 0.0, 0.25, 0.25])
    (scores,) = _ranked([Quantile(0.5, point, 1, 3, "ok")], shares)
    assert scores["error"] == abs(point - 1) / 4
    assert scores["rank"] == rank
    assert (scores["coverage"], scores["width"]) == (1.0, 0.5)
