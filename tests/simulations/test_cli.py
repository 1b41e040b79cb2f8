import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from dither_simulations.cli import main
from dither_simulations.mechanism_by_name import NAMES
from dither_simulations.options import users_list
from server.cli.test_lazy import HEAVY, imported
from simulations.lab import lab

PEOPLE = "job,age\n" + "clerk,30\n" * 60 + "farmer,40\n" * 30 + "smith,50\n" * 10


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text(PEOPLE)
    return path


run = partial(lab, "error")


def test_the_table_has_a_line_for_every_mechanism_law_and_epsilon() -> None:
    few = ("-n", "100", "-k", "16", "--repeats", "1")
    result = run("--epsilon", "0.5,2", *few)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    header = "mechanism law ε MSE theory ratio bound L1 max error KL top-10 recall coverage width"
    assert lines[0].split() == header.split()
    assert [line.split()[:3] for line in lines[2:]] == [
        [name, "joint", epsilon] for name in NAMES[1:] for epsilon in ("0.5", "2")
    ]
    assert result.stderr == ""  # no progress bar where there is no terminal
    for law in ("joint", "marginal", "device"):
        line = run("--mechanism", "auto", "--epsilon", "1", *few, "--law", law).stdout.splitlines()[2]
        assert line.split()[:3] == ["auto:", "subset-selection", law]


def test_users_of_a_column_default_to_its_rows(people: Path) -> None:
    few = ("--input", people, "--column", "job", "--mechanism", "auto", "--epsilon", "1", "--repeats", "1", "--json")
    (row,) = json.loads(run(*few).stdout)
    assert (row["users"], row["size"], row["distribution"]) == (100, 3, "csv")
    (row,) = json.loads(run(*few, "-n", "10^6", "-k", "2").stdout)
    assert (row["users"], row["size"]) == (1_000_000, 2)
    assert "missing; it says which column" in run("--input", people).stderr
    unknown = run("--input", people, "--column", "wage")
    assert unknown.exit_code == 2
    assert "'wage'" in unknown.stderr
    assert "job, age" in unknown.stderr


@pytest.mark.parametrize(
    ("text", "users"),
    [
        ("1000:1e5:3", [1_000, 10_000, 100_000]),
        ("12345:123456:2", [12_345, 123_456]),
        ("1:3:4", [1, 2, 3]),
        ("5_000,5e3,10^4", [5_000, 10_000]),
        ("5.0", [5]),
    ],
)
def test_numbers_of_users_are_a_list_or_lie_even_on_a_log_scale(text: str, users: list[int]) -> None:
    assert users_list(click.Context(click.Command("error")), click.Option(["-n"]), text) == tuple(users)


@pytest.mark.parametrize(("setting", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_output_has_colour_only_if_the_terminal_and_settings_allow_it(
    setting: dict[str, str], coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An audit that fails says so in red, on a terminal."""
    monkeypatch.setattr("dither_shared.privacy.audit.Finding.passed", property(lambda _: False))
    result = CliRunner().invoke(
        main, ["audit", "--draws", "200", "--mechanism", "bit-flip"], env={"NO_COLOR": "", **setting}, color=True
    )
    assert result.exit_code == 1
    assert ("\x1b[" in result.stdout) is coloured


HEAVY_HERE = HEAVY | {"dither", "distributed", "jinja2", "multiprocessing", "tqdm"}


def test_help_and_completion_import_no_command() -> None:
    ((output, packages),) = imported("simulations", ["--help"])
    assert all(f"  {name} " in output for name in main.commands)
    assert not packages & HEAVY_HERE
    variables = {"_DITHER_SIM_COMPLETE": "bash_complete", "COMP_WORDS": "dither-sim a", "COMP_CWORD": "1"}
    ((output, packages),) = imported("simulations", [], **variables)
    assert output.splitlines() == ["plain,attack", "plain,audit"]
    assert not packages & HEAVY


HELP = f"""
import sys
from dither_simulations.cli import main
for words in (*([name] for name in main.commands), ["attack", "poisoning"]):
    main([*words, "--help"], standalone_mode=False)
    heavy = {{name.partition(".")[0] for name in sys.modules}} & {HEAVY_HERE!r}
    assert not heavy, (words, heavy)
"""


def test_help_of_commands_imports_no_heavy_package() -> None:
    """All run in one process: a module that one command imports stays loaded for the others."""
    ended = subprocess.run([sys.executable, "-c", HELP], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("Usage: ") == len(main.commands) + 1
