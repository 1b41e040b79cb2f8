"""The command ``dither-sim error --type number``, from options to table, files and picture."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
from click.testing import CliRunner, Result

from dither_simulations.cli import main
from dither_simulations.experiments.error.numbers import NumberAccuracy
from dither_simulations.mechanism_by_name import NUMERIC
from dither_simulations.sweeps import sweep
from dither_simulations.users.numbers import NumberColumn, NumberDistribution

PLAN = NumberAccuracy(
    names=("dithered-response",), epsilons=(1.0, 4.0), users=(2_000,), source=NumberDistribution("beta"), repeats=3
)
SMALL = ("--mechanism", "dithered-response", "--epsilon", "1", "--repeats", "2", "-n", "1000")


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["error", "--type", "number", *map(str, arguments)])


def test_every_mechanism_tells_mean_distribution_and_quantiles() -> None:
    result = run("--epsilon", "4", "-n", "1e9", "--repeats", "1")
    assert result.exit_code == 0, result.output
    lines = [line.split() for line in result.stdout.splitlines()]
    assert lines[0] == ["mechanism", "of", "ε", "MSE", "theory", "ratio", "bound", "error", "rank", "coverage", "width"]
    told = [line[:3] for line in lines[2 : 2 + 4 * len(NUMERIC)]]
    assert told == [[name, what, "4"] for name in NUMERIC for what in ("mean", "distribution", "p50", "p95")]


def test_each_row_is_of_the_mean_of_the_distribution_or_of_a_quantile() -> None:
    rows = sweep(PLAN)
    assert [(row["epsilon"], row["what"]) for row in rows] == [
        (epsilon, what) for epsilon in (1.0, 4.0) for what in ("mean", "distribution", "p50", "p95")
    ]
    assert all((row["mse_bound"] is None) == (row["what"] != "mean") for row in rows)
    assert (rows[0]["mse_bound"] or 0) <= (rows[0]["mse_theory"] or 0) < 1.1 * (rows[0]["mse_bound"] or 0)


def test_a_larger_epsilon_and_more_users_tell_more() -> None:
    """Over ten trials errors fall by a factor of 20 and more in theory: 1,000 times the users, and ε from 1 to 4."""
    few, many = (
        sweep(replace(PLAN, epsilons=(1.0,), repeats=10)),
        sweep(replace(PLAN, epsilons=(4.0,), users=(2_000_000,), repeats=10)),
    )
    for one, other in zip(few, many, strict=True):
        assert other["error"] < one["error"] / 3, one["what"]
        assert other["width"] < one["width"] / 2, one["what"]


def test_column_of_numbers_is_read_as_a_population(tmp_path: Path) -> None:
    path = tmp_path / "ages.csv"
    path.write_text("age,people\n10,30\n20,50\nunknown,5\n200,15\n")
    common = ("--mechanism", "dithered-response", "--epsilon", "8", "--repeats", "1", "--json", "--input", path)
    told = run(*common, "--column", "age", "--weights", "people", "--low", "0", "--high", "100", "--quantile", "0.5")
    rows = json.loads(told.stdout)
    assert [row["what"] for row in rows] == ["mean", "distribution", "p50"]
    assert {row["users"] for row in rows} == {100}
    assert run(*common, "--column", "age").exit_code == 2
    assert "--low" in run(*common, "--column", "age").stderr


def test_devices_can_be_run_one_by_one_and_remember() -> None:
    (row, *_) = json.loads(run(*SMALL, "-n", "200", "--law", "device", "--permanent-epsilon", "2", "--json").stdout)
    assert (row["law"], row["points"]) == ("device", 33)


def test_a_file_that_counts_otherwise_is_another_sweep() -> None:
    one, other = (NumberColumn.of(("1", "2"), np.array(counts), 0, 3, False) for counts in ([1, 2], [2, 1]))
    plan = replace(PLAN, source=one)
    assert plan.identity() == replace(plan, source=one).identity()
    assert plan.identity() != replace(plan, source=other).identity()
