"""The command ``dither-sim error --type number``, from options to table, files and picture."""

import json
import math
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from dither_server.estimation.numeric.estimate import Quantile
from dither_simulations.experiments.error.numbers import (
    NumberAccuracy,
    _ranked,
    cut_mse,
    expected_numbers,
    least_mean_mse,
    least_variance,
    run_number_trial,
    spread_in,
)
from dither_simulations.mechanism_by_name import NUMERIC, named_numeric
from dither_simulations.sweeps import sweep
from dither_simulations.users.numbers import NumberDistribution
from simulations.lab import lab

PLAN = NumberAccuracy(names=NUMERIC, epsilons=(1.0, 4.0), users=(2_000,), source=NumberDistribution("beta"), repeats=1)
SMALL = ("--mechanism", "dithered-response", "--epsilon", "1", "--repeats", "2", "-n", "1000")


run = partial(lab, "error --type number")


def test_each_row_is_of_the_mean_of_the_distribution_or_of_a_quantile() -> None:
    rows = sweep(PLAN)
    assert [(row["asked"], row["epsilon"], row["what"]) for row in rows] == [
        *product(NUMERIC, (1.0, 4.0), ("mean", "distribution", "p50", "p95"))
    ]
    for row in rows:
        assert (row["mse_bound"] is None) == (row["what"] != "mean")
        # only the dithered response has raw shares below a point
        assert (row["mse"] is None) == (row["what"] == "distribution" and "dithered" not in row["asked"])
    assert (rows[0]["mse_bound"] or 0) <= (rows[0]["mse_theory"] or 0) < 1.1 * (rows[0]["mse_bound"] or 0)


def test_column_of_numbers_is_read_as_a_population(tmp_path: Path) -> None:
    path = tmp_path / "ages.csv"
    path.write_text("age,people\n10,30\n20,50\nunknown,5\n200,15\n")
    common = ("--mechanism", "dithered-response", "--epsilon", "8", "--repeats", "1", "--json", "--input", path)
    result = run(*common, "--column", "age", "--weights", "people", "--low", "0", "--high", "100", "--quantile", "0.5")
    rows = json.loads(result.stdout)
    assert [row["what"] for row in rows] == ["mean", "distribution", "p50"]
    assert {row["users"] for row in rows} == {100}
    assert run(*common, "--column", "age").exit_code == 2
    assert "--low" in run(*common, "--column", "age").stderr


def test_devices_can_be_run_one_by_one_and_remember() -> None:
    (row, *_) = json.loads(run(*SMALL, "-n", "200", "--law", "device", "--permanent-epsilon", "2", "--json").stdout)
    assert (row["law"], row["points"]) == ("device", 33)


def test_errors_and_intervals_of_numbers_are_those_of_theory() -> None:
    """Of 60 trials fewer than 41 intervals contain the mean with probability below 1e-9; those of quantiles are wider.

    Seven standard errors: at 60 repeats Student's t is farther out with probability below 3e-9. Shares below a point
    have a twentieth more, for phases that few devices happen to have.
    """
    assert stats.binom.cdf(40, 60, 0.95) < 1e-9
    mechanism, users = named_numeric("dithered-response", 1.0), 10_000
    shares = NumberDistribution("spikes").shares(mechanism.size)
    trials = [run_number_trial(mechanism, shares, users, seed) for seed in np.random.SeedSequence(5).spawn(60)]
    theories = expected_numbers(mechanism, shares, users, 0.95)[0], cut_mse(mechanism, shares, users) or 0.0
    for what, theory in enumerate(theories):
        errors = [scores[what]["mse"] or 0.0 for scores in trials]
        assert abs(np.mean(errors) - theory) < 7 * stats.sem(errors) + what * theory / 20
    mean, distribution, median, high = (np.array([scores[what]["coverage"] for scores in trials]) for what in range(4))
    assert min(mean.sum(), median.sum(), high.sum()) >= 41
    assert distribution.mean() > 0.95


@pytest.mark.parametrize(("point", "rank"), [(0, 0.25), (1, 0.0), (2, 0.0), (3, 0.0), (4, 0.25)])
def test_a_quantile_is_off_in_value_and_in_rank(point: int, rank: float) -> None:
    """Shares 1/4, 1/4, 0, 1/4, 1/4: half lie up to point 1, 2, and below 3; the median is the first, point 1."""
    shares = np.array([0.25, 0.25, 0.0, 0.25, 0.25])
    (scores,) = _ranked([Quantile(0.5, point, 1, 3, "ok")], shares)
    assert scores["error"] == abs(point - 1) / 4
    assert scores["rank"] == rank
    assert (scores["coverage"], scores["width"]) == (1.0, 0.5)


EVEN = np.array([0.5, *[1.0] * 63, 0.5]) / 64


@pytest.mark.parametrize(("epsilon", "average"), [(1, 3.886), (4, 0.105)])
def test_the_least_variance_is_that_of_larger_programmes(epsilon: float, average: float) -> None:
    """The published values are on [-1, 1], for 41 to 81 answers and 161 to 221 scores, to three digits."""
    assert 4 * least_variance(epsilon, EVEN) == pytest.approx(average, rel=5e-3)


@pytest.mark.parametrize("name", [name for name in NUMERIC if name != "discrete-gaussian"])
def test_no_mechanism_is_better_than_the_least_variance(name: str) -> None:
    """The tolerance of one in a thousand is for the size of the linear program."""
    assert float(named_numeric(name, 4.0).average_mean_variance) > 0.999 * least_variance(4.0, EVEN)


def test_expected_error_of_the_mean_includes_noise_and_sampling() -> None:
    """V + Var x: at ε = 1 with one step e/(e-1)² + 1/12 whatever the answers (64 phases: 1/12 less 1/(12·64²))."""
    mechanism, shares = named_numeric("dithered-response-mean", 1.0), NumberDistribution("beta").shares(65)
    mse, width = expected_numbers(mechanism, shares, 1000, 0.95)
    noise = math.e / (math.e - 1) ** 2 + 1 / 12 - 1 / (12 * 64**2)
    assert mse == pytest.approx((noise + spread_in(shares)) / 1000, rel=1e-12)
    assert width == pytest.approx(2 * 1.959964 * math.sqrt(mse), rel=1e-6)
    assert 0 < least_mean_mse(1.0, shares, 1000) <= mse
    assert spread_in(shares) == pytest.approx(2 * 5 / (49 * 8), rel=1e-2)


def test_raw_shares_below_a_point_use_the_reports_of_one_phase() -> None:
    """m = 1 and nobody above 0: σ = p in every phase, so d p(1-p)/(p-q)²/n at every cut."""
    mechanism, shares = named_numeric("dithered-response-mean", 1.0), np.eye(1, 65)[0]
    p = float(mechanism.p)
    assert cut_mse(mechanism, shares, 500) == pytest.approx(64 * p * (1 - p) / (2 * p - 1) ** 2 / 500)
    assert cut_mse(named_numeric("exponential", 1.0), shares, 500) is None
