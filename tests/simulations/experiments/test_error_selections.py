"""The command ``dither-sim error --type selection``, from options to table, files and picture."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dither_simulations.cli import main
from dither_simulations.experiments.error.selections import SelectionAccuracy
from dither_simulations.mechanism_by_name import SELECTIONS
from dither_simulations.sweeps import sweep
from dither_simulations.users.sets import ItemChances

PLAN = SelectionAccuracy(
    names=SELECTIONS,
    epsilons=(1.0, 4.0),
    sizes=(6,),
    users=(2_000,),
    source=ItemChances("uniform"),
    at_most=3,
    repeats=3,
)
SMALL = ("--epsilon", "1", "--repeats", "2", "-n", "1000")


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["error", "--type", "selection", *map(str, arguments)])


def test_a_billion_people_cost_no_more_and_tell_more() -> None:
    few, many = (sweep(replace(PLAN, names=("privset",), users=(users,), repeats=10)) for users in (10**3, 10**9))
    for one, other in zip(few, many, strict=True):
        assert other["mse"] < one["mse"] / 1000
        assert other["width"] < one["width"] / 100


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


@pytest.mark.parametrize("content", ["", "used\n", "used\nsave\nsave\n", "other\nsave;export\n"])
def test_a_file_without_sets_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "people.csv"
    path.write_text(content)
    result = run(*SMALL, "--input", path, "--column", "used")
    assert result.exit_code == 2
    assert "column" in result.stderr
