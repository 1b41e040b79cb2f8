"""The command ``dither-sim error --type selection``, from options to table, files and picture."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from dither_simulations.experiments.error.selections import expected_sets, run_set_trial
from dither_simulations.mechanism_by_name import SELECTIONS, named_selection
from dither_simulations.sweeps import mean
from dither_simulations.users.sets import ItemChances
from simulations.lab import lab

SMALL = ("--epsilon", "1", "--repeats", "2", "-n", "1000")


run = partial(lab, "error --type selection")


def test_without_a_limit_privset_is_left_out_and_cannot_be_asked_for() -> None:
    names = {row["asked"] for row in json.loads(run(*SMALL, "--json").stdout)}
    assert names == {"set-response", "boolean"}
    names = {row["asked"] for row in json.loads(run(*SMALL, "--json", "--at-most", "2").stdout)}
    assert names == {"set-response", "privset", "boolean"}
    assert "at_most: missing" in run(*SMALL, "--mechanism", "privset").stderr


def test_selections_are_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text('used\nexport;save\nsave\n""\nsave;export;print\nsave\n')
    rows = json.loads(run("--epsilon", "1", "--repeats", "2", "--input", path, "--column", "used", "--json").stdout)
    assert {(row["size"], row["users"], row["distribution"]) for row in rows} == {(3, 5, "csv")}
    rows = json.loads(run(*SMALL, "--input", path, "--column", "used", "--separator", "v", "--json").stdout)
    assert {row["size"] for row in rows} == {4}


@pytest.mark.parametrize("content", ["used\nsave\nsave\n", "other\nsave;export\n"])
def test_a_file_without_sets_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "people.csv"
    path.write_text(content)
    result = run(*SMALL, "--input", path, "--column", "used")
    assert result.exit_code == 2
    assert "column" in result.stderr


PEOPLE = ItemChances("geometric", ratio=0.7, greatest=0.6).people(6, 3)


@pytest.mark.parametrize("name", SELECTIONS)
def test_the_squared_error_and_the_coverage_are_those_of_theory(name: str) -> None:
    """150 trials of 6 items: a mean 5.5 standard errors off has probability below 1e-7, and so has the coverage.

    Both are of trials whose items are positively dependent at worst, which the standard error over trials measures.
    """
    mechanism = named_selection(name, 6, 3, 2.0)
    scores = [run_set_trial(mechanism, PEOPLE, 20_000, seed) for seed in np.random.SeedSequence(2).spawn(150)]
    theory = expected_sets(mechanism, PEOPLE, 20_000, 0.95)
    error, spread = mean([score["mse"] for score in scores])
    assert abs((error or 0) - theory["mse_theory"]) < 5.5 * (spread or 0)
    held, spread = mean([score["coverage"] for score in scores])
    assert abs((held or 0) - 0.95) < 5.5 * (spread or 0) + 0.002
    width, _ = mean([score["width"] for score in scores])
    assert abs((width or 0) / theory["width_theory"] - 1) < 0.15  # intervals end at 0


def test_devices_are_as_far_off_as_the_sampler() -> None:
    """60 trials each: both means within 6 standard errors of their difference, out with probability below 1e-8."""
    mechanism = named_selection("privset", 6, 3, 2.0)
    seeds = np.random.SeedSequence(5).spawn(60)
    one, one_se = mean([run_set_trial(mechanism, PEOPLE, 400, seed, law="joint")["mse"] for seed in seeds])
    two, two_se = mean([run_set_trial(mechanism, PEOPLE, 400, seed, law="device")["mse"] for seed in seeds])
    assert abs((one or 0) - (two or 0)) < 6 * np.hypot(one_se or 0, two_se or 0)
