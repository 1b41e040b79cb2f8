"""Every command gives the same rows on every channel, the same numbers for one seed, and one line per refusal."""

import csv
import json
from pathlib import Path

import pytest

from dither_simulations.choices import KINDS, SPREADS
from simulations.lab import lab

DRAWN = {
    "error --mechanism auto --epsilon 1,2 -k 8 -n 1000 --repeats 2 --step all": "svg",
    "error --mechanism optimized-unary --permanent-epsilon 2 --epsilon 1 --days 3 -k 4 -n 1000 --repeats 2": "png",
    "error --type number --mechanism dithered-response --epsilon 1 -n 100 --repeats 2": "pdf",
    "error --type selection --epsilon 1,2 -k 4,8 -n 1000 --repeats 2": "svg",
    "error --type string --discover a-d/5 --epsilon 4 -k 20 -n 1e5 --repeats 2": "svg",
    "attack averaging --devices 8 --repeats 1 --reports 1,2 --mechanism randomized-response": "png",
    "attack poisoning --mechanism optimized-unary --share 0.01,0.2 -k 8 -n 500 --repeats 2": "svg",
    "attack poisoning --type number --mechanism dithered-response --share 0.01,0.1 -n 1e4 --repeats 2": "svg",
    "attack poisoning --type string --mechanism projective-count-mean-sketch --share 0.02 -k 20 -n 1e4": "png",
    "compose --part 1x30 --part 0.5x52": "svg",
    "shuffle --mechanism randomized-response --mechanism discrete-laplace -n 100": "svg",
}
"""Commands that draw, and the format in which they do so here."""

LISTED = (
    "attack linkage --devices 8 --repeats 1 --reports 1,2 --mechanism rappor",
    "attack change --devices 8 --repeats 1 --reports 1,2 --mechanism randomized-response",
    "audit --draws 300 --mechanism bit-flip",
    "plan -k 16 --epsilon 1",
    "plan --type number --epsilon 1,2 -n 50000",
    "plan --type string -k 1000 --epsilon 2",
    "plan --type selection -k 8 --at-most 2 --epsilon 1",
)
"""Commands that only list rows, and are quick."""

SEEDLESS = ("plan", "compose", "shuffle")
MAGIC = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}


@pytest.mark.parametrize("command", [*DRAWN, *LISTED])
def test_terminal_files_and_pictures_are_of_the_same_rows(command: str, tmp_path: Path) -> None:
    """CSV and JSON hold the same; a seed gives the same numbers again, and another seed others."""
    plot = ("--plot", tmp_path / f"picture.{DRAWN[command]}") if command in DRAWN else ()
    result = lab(command, "--json", "--out", tmp_path / "rows.csv", *plot)
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)
    with (tmp_path / "rows.csv").open(newline="") as stream:
        assert [*csv.DictReader(stream)] == [
            {key: "" if value is None else str(value) for key, value in row.items()} for row in rows
        ]
    again = lab(command, "--out", tmp_path / "rows.json")
    assert json.loads((tmp_path / "rows.json").read_text()) == rows
    assert again.stdout.splitlines()[0]
    if plot:
        assert (tmp_path / f"picture.{DRAWN[command]}").read_bytes().startswith(MAGIC[DRAWN[command]])
    assert len([*tmp_path.iterdir()]) == 2 + bool(plot), "a temporary file is left"
    if not command.startswith(SEEDLESS):
        other = json.loads(lab(command, "--seed", "4", "--json").stdout)
        assert other != [row | {"seed": 4} for row in rows]


REFUSED = r"""
error --epsilon 0 | --epsilon
error --epsilon 1,nan | --epsilon
error --epsilon 4:1:5 | --epsilon
error --epsilon 1:4 | --epsilon
error --epsilon 26 | epsilon: 26
error --epsilon 1e-17 | epsilon: 1e-17 is below 0.0001
error --permanent-epsilon 0.1 --mechanism rappor --epsilon 1 | permanent_epsilon
error -n 0 | --users
error -n 1e16 | --users
error -n many | --users
error -n 5.000 | '5.000' is ambiguous, because many people separate thousands by a point; write 5000 or 5_000
error -n 100:10:3 | LOW:HIGH:COUNT, such as 1e3:1e6:4
error -n 10:100:1 | LOW:HIGH:COUNT
error -n 10:1.000:3 | write 1000 or
error -k 1 | --size
error -k 16,one | --size
error --mechanism laplace | --mechanism
error --law marginal --mechanism rappor | law:
error --law joint --mechanism bit-flip -k 20000 --epsilon 1 | size: 20000
error --repeats 0 | --repeats
error --distribution csv | --input
error --zipf-s nan | distribution
error --confidence 1 | --confidence
error --confidence 0.9999999999999999 | between 0.000001 and 0.999999999
error --out rows.txt | --out
error --out no-such-folder/rows.csv | --out
error --plot error.gif | --plot
error --input nowhere.csv --column job | nowhere.csv
error --weights users | --input
error --quantile 0.9 | --quantile
error --shape 1,2 | --shape
error --mechanism exponential | --mechanism
error --type number -k 16 | --size: needs --type share
error --type number --distribution zipf | --distribution: zipf
error --type number --distribution beta --shape 1,x | --shape
error --type number --low 1 | --low: needs --input
error --type number --mechanism rappor | --mechanism: rappor
error --type number --quantile 1 | --quantile
error --type number --law marginal | --law
error --type number --column age | --input
error --collector http://127.0.0.1:9 --repeats 2 | --collector
error --mechanism rappor --epsilon 1 -n 40,80 --collector auto | would ask lab-rappor-64-1 twice
error --mechanism auto --epsilon 1 --collector auto --scheduler tcp://127.0.0.1:9 | auto cannot be used with --scheduler
error --type selection -k 1 | from 2 to
error --type selection -k 8 --at-most 9 | at_most: 9 must lie between 1 and the 8 items
error --type selection --mechanism privset | at_most: missing
error --type selection --greatest 1.5 | --greatest
error --type selection --separator ' ' | --separator
error --type selection --law marginal | the items of a report are dependent
error --type selection --law device --mechanism boolean | one by one
error --type selection --discover a-z/3 | --discover: needs --type string
error --type string -k 100 --candidates 50 | fewer than the 100 strings
error --type string --discover a-z/4 --candidates 50 | cannot be used with --discover
error --type string --discover a-b/3 -k 100 | more than the 8
error --type string --discover a-z | an alphabet and a length
error --type string --discover a-z/0 | length
error --type string --discover a-z/4 --mechanism rappor | does not fit this --type; use prefix-sketch
error --type string --law marginal | share buckets
attack averaging --mechanism rappor | --mechanism
attack linkage --permanent-epsilon 0.5 | permanent_epsilon
attack change --devices 1 | --devices
attack poisoning --share 1 | --share
attack poisoning --mechanism optimized-unary -k 8 -n 100 --share 0.001 --repeats 2 --plot gain.svg | no gain is above
attack poisoning --targets 65 | --targets
attack poisoning --at-most 9 | --at-most: needs --type selection
attack poisoning --type number -k 16 | --size
attack poisoning --type number --targets 2 | --targets
attack poisoning --type selection --at-most 9 -k 6 | --at-most: 9 is more than the 6 items
attack poisoning --type string --discover a-b/2 -k 20 | leave no string
attack poisoning --type string --targets 2 | --targets: needs --type
audit --epsilon 30 | epsilon: 30
audit --permanent-epsilon 0.5 | permanent_epsilon
audit --draws 100 --reports 99 | draws: 100
compose | --epsilon: missing
compose --reports 3 | --reports: needs --epsilon
compose --epsilon -1 | '-1': not a number
compose --epsilon 1e999999999 | --epsilon
compose --epsilon 1e-99 | epsilon: 1e-99 is not from 1e-30
compose --epsilon 1 --group 20000 | --group
compose --epsilon 20 --group 1000 | epsilon: 20000
compose --part 1y | --part': '1y': not εxREPORTS
compose --part 1x0 | reports: 0
compose --part 1:1x3 | delta: 1 is not in [0, 1)
compose --part 1:1e-3x1000 | delta: together they have 1
compose --part 5:1e-3 --group 3 | delta: 22.2 is not in [0, 1)
compose --epsilon 1 --delta 1 | delta: together they have 1
compose --epsilon 1 --delta 1e-31 | delta: 1e-31 is neither 0 nor
compose --epsilon 1 --days 3 | --days: goes with --metrics
compose --metrics nowhere.toml | nowhere.toml: cannot be read
compose --epsilon 0 --plot p.png | --plot: no ε is above 0
demo --repeats 2 | --repeats
demo --no-http --out charts | --out
demo --column job | --input
demo --input nowhere.csv | --column
demo --input nowhere.csv --column job | nowhere.csv
demo --input nowhere.csv --column job --devices 9 | --devices
demo --out /dev/null/charts | --out
demo --browser --no-http | --browser
demo --browser --input x.csv --column a | --browser
demo --browser --column a | --browser
plan --epsilon 1 | --size
plan -k 16 --epsilon 1 --permanent-epsilon 0.5 | permanent_epsilon: 0.5
plan -k 1000 --epsilon 1 --report-budget 1 | report_budget: a report about 1000
plan -k 16 --error 1 | --error
plan -k 16 --aim p95 | --aim: needs --type number
plan -k 4 --at-most 2 | --at-most: needs --type selection
plan --type number --aim median | --aim
plan --type number --aim p100 | --aim
plan --type number --report-budget 8 | --report-budget: needs --type share
plan --type string | --size: or --discover is needed
plan --type string --discover a-z/3 -k 9 | --size: or --discover is needed
plan --type string -k 9 --error 0.1 | --error: needs
plan --type selection -k 4 --at-most 5 | --at-most: 5 is more than the 4 items
plan --type selection | --size: missing
plan --relay -k 3 --permanent-epsilon 2 | --permanent-epsilon: a permanent draw links reports
plan --relay -k 3 --epsilon 1,4 | --epsilon: must be below 4 with --relay
shuffle --forged 100% | --forged
shuffle --forged x | --forged
shuffle --delta 0 | --delta
shuffle -n 100,1e11 | -n
shuffle --mechanism bit-flip -n 1000 --plot none.svg | no amplification
"""
"""A command that is refused, and what its last line names."""


def test_wrong_arguments_are_named_in_one_line_with_status_2() -> None:
    for line in REFUSED.strip().splitlines():
        command, named = line.split(" | ")
        result = lab(command)
        assert result.exit_code == 2, (command, result.output)
        assert named.strip() in result.stderr.splitlines()[-1], (command, result.stderr)
        assert "Traceback" not in result.output, command


@pytest.mark.parametrize(("kind", "distributions"), [("share", KINDS), ("number", SPREADS)])
def test_every_distribution_is_drawn_and_named(kind: str, distributions: tuple[str, ...]) -> None:
    mechanism = {"share": "randomized-response", "number": "dithered-response"}[kind]
    for distribution in distributions:
        few = f"--mechanism {mechanism} --epsilon 1 -n 100 --repeats 1 --json"
        rows = json.loads(lab(f"error --type {kind} --distribution {distribution} {few}").stdout)
        assert all(row["distribution"].startswith(distribution) for row in rows), distribution
