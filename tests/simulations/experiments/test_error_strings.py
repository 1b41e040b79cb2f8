"""The command ``dither-sim error --type string``, from options to table, files and picture."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from dither_server.tally.tally import Tally
from dither_shared import DiscoveryQuestion
from dither_simulations.experiments.error.strings import Found, found_in, string_scores
from dither_simulations.mechanism_by_name import STRING_MECHANISMS, named, named_discovery
from dither_simulations.users.populations import made_up, zipf
from simulations.lab import lab

SMALL = ("--epsilon", "4", "--repeats", "2", "-n", "1e5", "-k", "20")


run = partial(lab, "error --type string")


def test_frequent_strings_of_a_list_are_found() -> None:
    rows = json.loads(run(*SMALL, "--json").stdout)
    assert [row["mechanism"] for row in rows] == ["projective-count-mean-sketch", "rappor"]
    for row in rows:
        assert (row["size"], row["listed"], row["discover"], row["repeats"]) == (20, 200, None, 2)
        assert row["recall_8"] == 1, "of 20 strings by Zipf's law the eighth has 3 %"
    assert rows[0]["reach"] < 0.01
    assert rows[1]["reach"] is None


def test_strings_are_discovered() -> None:
    (row,) = json.loads(run(*SMALL, "--discover", "a-d/5", "--json").stdout)
    assert (row["mechanism"], row["listed"], row["discover"]) == ("prefix-sketch", None, "a-d/5")
    assert row["recall_8"] == 1
    assert "nothing listed" in run(*SMALL, "--discover", "a-d/5").stdout


def test_strings_of_a_file_are_discovered(tmp_path: Path) -> None:
    path = tmp_path / "queries.csv"
    path.write_text("query\n" + "maps\n" * 6 + "news\n" * 3)
    arguments = ("--input", path, "--column", "query", "--discover", "a-z/4", "-n", "1e6", "--epsilon", "4", "--json")
    (row,) = json.loads(run(*arguments, "--repeats", "1").stdout)
    assert row["distribution"] == "csv"
    assert row["recall_8"] == 1


@pytest.mark.parametrize("law", ["joint", "device"])
def test_trial_with_few_people_finds_no_string(law: str) -> None:
    for more in ((), ("--discover", "a-d/5")):
        rows = json.loads(
            run("--epsilon", "1", "--repeats", "1", "-n", "20", "-k", "20", "--law", law, *more, "--json").stdout
        )
        assert all(row["recall_8"] <= 0.25 for row in rows)


HELD = made_up(200, "abcd", 6)
SHARES = zipf(200, 1.3) / zipf(200, 1.3).sum()
QUESTION = DiscoveryQuestion("a-d", 6)


def test_scores_count_hits_ghosts_and_misses() -> None:
    held = dict(zip(HELD, SHARES.tolist(), strict=True))
    found = Found((HELD[1], "ghost", HELD[0], HELD[30]), np.array([0.0, 0.1, 0.9, 0.0]), np.array([1.0, 0.2, 1.0, 1.0]))
    score = string_scores(held, found)
    assert (score["recall_8"], score["recall_16"], score["recall_32"]) == (2 / 8, 2 / 16, 3 / 32)
    assert score["f1"] == 2 * 2 / (4 + 16)
    assert (score["found"], score["false"]) == (4, 1 / 4)
    assert score["missed"] == 2 / 4, "of the ghost, and of the first"
    nothing = string_scores(held, Found((), np.zeros(0), np.zeros(0)))
    assert (nothing["found"], nothing["false"], nothing["missed"], nothing["f1"]) == (0, 0, 0, 0)


def test_without_reports_nothing_is_found() -> None:
    discovery = named_discovery("prefix-sketch", QUESTION, 4.0)
    assert found_in(discovery, Tally.zero(discovery), QUESTION).labels == ()
    sketch = named(STRING_MECHANISMS[0], 0, 4.0)
    assert found_in(sketch, Tally.zero(sketch), HELD).labels == ()
