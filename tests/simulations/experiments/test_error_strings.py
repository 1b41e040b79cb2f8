"""The command ``dither-sim error --type string``, from options to table, files and picture."""

import json
from pathlib import Path

from click.testing import CliRunner, Result

from dither_simulations.cli import main

SMALL = ("--epsilon", "4", "--repeats", "2", "-n", "1e5", "-k", "20")


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["error", "--type", "string", *map(str, arguments)])


def test_frequent_strings_of_a_list_are_found() -> None:
    rows = json.loads(run(*SMALL, "--json").stdout)
    assert [row["mechanism"] for row in rows] == ["projective-count-mean-sketch", "rappor"]
    for row in rows:
        assert (row["size"], row["listed"], row["discover"], row["repeats"]) == (20, 200, None, 2)
        assert row["recall_8"] == 1, "of 20 strings by Zipf's law the eighth has 3 %"
    assert rows[0]["reach"] < 0.01
    assert rows[1]["reach"] is None


def test_strings_are_discovered_and_drawn(tmp_path: Path) -> None:
    result = run(*SMALL, "--discover", "a-d/5", "--plot", tmp_path / "found.svg", "--out", tmp_path / "rows.json")
    assert result.exit_code == 0, result.output
    (row,) = json.loads((tmp_path / "rows.json").read_bytes())
    assert (row["mechanism"], row["listed"], row["discover"]) == ("prefix-sketch", None, "a-d/5")
    assert row["recall_8"] == 1
    assert (tmp_path / "found.svg").read_bytes().startswith(b"<?xml")
    assert "nothing listed" in result.stdout


def test_strings_of_a_file_are_discovered(tmp_path: Path) -> None:
    path = tmp_path / "queries.csv"
    path.write_text("query\n" + "maps\n" * 6 + "news\n" * 3)
    arguments = ("--input", path, "--column", "query", "--discover", "a-z/4", "-n", "1e6", "--epsilon", "4", "--json")
    (row,) = json.loads(run(*arguments, "--repeats", "1").stdout)
    assert row["distribution"] == "csv"
    assert row["recall_8"] == 1
