import csv
import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from dither_simulations.cli import main
from dither_simulations.options.common import users_list
from dither_simulations.trials.mechanism_by_name import NAMES, named

PEOPLE = "job,age\n" + "clerk,30\n" * 60 + "farmer,40\n" * 30 + "smith,50\n" * 10


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text(PEOPLE)
    return path


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["error", *map(str, arguments)])


def test_the_table_has_a_line_for_every_mechanism_and_epsilon() -> None:
    names = ("--mechanism", "randomized-response", "--mechanism", "symmetric-unary")
    result = run(*names, "--epsilon", "0.5,2", "-n", "1e9", "-k", "16", "--repeats", "3")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    header = "mechanism law ε MSE theory ratio bound L1 max error KL top-10 recall coverage width"
    assert lines[0].split() == header.split()
    assert [line.split()[:3] for line in lines[2:]] == [
        [name, "joint", epsilon] for name in ("randomized-response", "symmetric-unary") for epsilon in ("0.5", "2")
    ]
    assert result.stderr == ""  # no progress bar where there is no terminal


def test_every_mechanism_is_simulated_unless_told_otherwise() -> None:
    result = run("--epsilon", "2", "-n", "1000", "-k", "4", "--repeats", "1")
    assert result.exit_code == 0, result.output
    assert [line.split()[0] for line in result.stdout.splitlines()[2:]] == list(NAMES[1:])


def test_a_law_can_be_asked_for() -> None:
    few = ("--mechanism", "auto", "--epsilon", "1", "-n", "100", "-k", "16", "--repeats", "1")
    for law in ("joint", "marginal", "device"):
        result = run(*few, "--law", law)
        assert result.exit_code == 0, result.output
        assert result.stdout.splitlines()[2].split()[:3] == ["auto:", "subset-selection", law]


def test_the_same_seed_prints_the_same_table() -> None:
    small = ("--mechanism", "auto", "--epsilon", "1", "-k", "8", "--repeats", "2")
    assert run(*small, "--seed", "3").stdout == run(*small, "--seed", "3").stdout
    assert run(*small, "--seed", "3").stdout != run(*small, "--seed", "4").stdout


def test_devices_can_be_run_one_by_one() -> None:
    result = run("--device", "--epsilon", "1", "-n", "200", "-k", "4", "--repeats", "2", "--mechanism", "rappor")
    assert result.exit_code == 0, result.output
    assert "rappor" in result.stdout


@pytest.mark.parametrize("distribution", ["uniform", "zipf", "geometric", "step"])
def test_results_are_written_as_csv_and_json_alike(tmp_path: Path, distribution: str) -> None:
    arguments = ("--mechanism", "auto", "--epsilon", "1,2", "-k", "8", "--repeats", "2", "--distribution", distribution)
    for name in ("rows.csv", "rows.json"):
        assert run(*arguments, "--out", tmp_path / name).exit_code == 0
    from_json = json.loads((tmp_path / "rows.json").read_text())
    with (tmp_path / "rows.csv").open(newline="") as stream:
        from_csv = list(csv.DictReader(stream))
    written = [{key: "" if value is None else str(value) for key, value in row.items()} for row in from_json]
    assert written == from_csv
    assert all(row["distribution"].startswith(distribution) for row in from_json)
    assert {path.name for path in tmp_path.iterdir()} == {"rows.csv", "rows.json"}  # no temporary file is left


@pytest.mark.parametrize(("suffix", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_a_picture_is_drawn(tmp_path: Path, suffix: str, magic: bytes) -> None:
    path = tmp_path / f"error.{suffix}"
    few = ("--mechanism", "auto", "--mechanism", "rappor")
    assert run(*few, "--epsilon", "1,2", "-k", "8", "--repeats", "2", "--plot", path).exit_code == 0
    assert path.read_bytes().startswith(magic)


def test_the_users_of_a_column_are_its_rows_unless_told_otherwise(people: Path, tmp_path: Path) -> None:
    out = tmp_path / "rows.json"
    common = (
        "--mechanism",
        "symmetric-unary",
        "--input",
        people,
        "--column",
        "job",
        "--epsilon",
        "1",
        "--repeats",
        "1",
        "--out",
        out,
    )
    assert run(*common).exit_code == 0
    assert [(row["users"], row["size"]) for row in json.loads(out.read_text())] == [(100, 3)]
    assert run(*common, "-n", "10^6", "-k", "2").exit_code == 0
    assert [(row["users"], row["size"]) for row in json.loads(out.read_text())] == [(1_000_000, 2)]


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


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--epsilon", "0"), "--epsilon"),
        (("--epsilon", "1,nan"), "--epsilon"),
        (("--epsilon", "inf"), "--epsilon"),
        (("--epsilon", "4:1:5"), "--epsilon"),
        (("--epsilon", "1:4:1"), "--epsilon"),
        (("--epsilon", "1:4"), "--epsilon"),
        (("--epsilon", "26"), "epsilon: 26"),
        (("-n", "0"), "--users"),
        (("-n", "1.5"), "--users"),
        (("-n", "1e16"), "--users"),
        (("-n", "many"), "--users"),
        (("-n", "5.000"), "'5.000' is not clear, for many set thousands apart by a point; write 5000 or 5_000"),
        (("-n", "1e4,1.234.567"), "write 1234567 or 1_234_567"),
        (("-n", "100:10:3"), "LOW:HIGH:COUNT, such as 1e3:1e6:4"),
        (("-n", "10:100"), "LOW:HIGH:COUNT"),
        (("-n", "10:100:1"), "LOW:HIGH:COUNT"),
        (("-n", "10:1.000:3"), "write 1000 or"),
        (("-k", "1"), "--size"),
        (("--mechanism", "laplace"), "--mechanism"),
        (("--law", "normal"), "--law"),
        (("--law", "marginal", "--mechanism", "rappor"), "law: "),
        (("--law", "joint", "--mechanism", "bit-flip", "-k", "20000", "--epsilon", "1"), "size: 20000"),
        (("--repeats", "0"), "--repeats"),
        (("--seed", "-1"), "--seed"),
        (("--distribution", "csv"), "--input"),
        (("--ratio", "0"), "--ratio"),
        (("--zipf-s", "nan"), "distribution"),
        (("--out", "rows.txt"), "--out"),
        (("--plot", "error.gif"), "--plot"),
        (("--out", "no-such-folder/rows.csv"), "--out"),
        (("--input", "nowhere.csv", "--column", "job"), "nowhere.csv"),
    ],
)
def test_what_is_wrong_is_named_and_the_status_is_2(arguments: tuple[str, ...], named: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert named in result.stderr.splitlines()[-1]
    assert "Traceback" not in result.output


def test_a_column_must_be_named_and_be_there(people: Path) -> None:
    missing = run("--input", people)
    assert missing.exit_code == 2
    assert "--column" in missing.stderr
    unknown = run("--input", people, "--column", "wage")
    assert unknown.exit_code == 2
    assert "'wage'" in unknown.stderr
    assert "job, age" in unknown.stderr


def test_rows_are_printed_as_json_for_programs(tmp_path: Path) -> None:
    small = ("--mechanism", "auto", "--epsilon", "1", "-k", "4,8", "-n", "100,1e3", "--repeats", "2", "--step", "all")
    told = run(*small, "--json", "--out", tmp_path / "rows.json")
    rows = json.loads(told.stdout)
    assert rows == json.loads((tmp_path / "rows.json").read_text())
    assert [(row["size"], row["users"], row["step"]) for row in rows] == [
        (size, users, step)
        for size in (4, 8)
        for users in (100, 1000)
        for step in ("raw", "consistent", "shift", "clip", "rescale")
    ]


def test_a_histogram_is_a_population(tmp_path: Path) -> None:
    path = tmp_path / "histogram.csv"
    path.write_text("browser,users\na,700\nb,200\nc,100\n")
    common = ("--input", path, "--column", "browser", "--mechanism", "auto", "--epsilon", "1", "--json")
    (row,) = json.loads(run(*common, "--weights", "users").stdout)
    assert (row["users"], row["size"], row["distribution"]) == (1000, 3, "csv")
    (row,) = json.loads(run(*common, "--weights", "users", "-n", "1e6").stdout)
    assert row["users"] == 1_000_000


def test_days_are_told_with_what_was_spent(tmp_path: Path) -> None:
    several = ("--mechanism", "optimized-unary", "--permanent-epsilon", "2", "--epsilon", "1", "--days", "3", "-k", "4")
    result = run(*several, "--drift", "0.1", "--repeats", "2", "--plot", tmp_path / "days.png")
    assert result.exit_code == 0, result.output
    lines = [line.split()[:5] for line in result.stdout.splitlines()]
    assert lines[0] == ["mechanism", "law", "day", "ε", "ε"]
    mechanism = named("optimized-unary", 4, 1.0, 2.0)
    assert [line[2:5] for line in lines[2:]] == [
        [f"{day}", "1", f"{mechanism.epsilon_after(day):.4g}"] for day in (1, 2, 3)
    ]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--weights", "users"), "--input"),
        (("--drift", "2"), "--drift"),
        (("--step", "smooth"), "--step"),
        (("--jobs", "-1"), "--jobs"),
        (("-k", "16,one"), "--size"),
        (("-n", "100,many"), "--users"),
        (("--days", "0"), "--days"),
        (("--top", "0"), "--top"),
        (("--confidence", "1"), "--confidence"),
        (("--confidence", "0.9999999999999999"), "between 0.000001 and 0.999999999"),
        (("--confidence", "nan"), "--confidence"),
        (("--epsilon", "1e-17"), "epsilon: 1e-17 is below 0.0001"),
        (("--epsilon", "1e-300", "--mechanism", "local-hashing"), "epsilon: 1e-300 is below"),
        (("--epsilon", "1", "--permanent-epsilon", "inf"), "--permanent-epsilon"),
        (("--permanent-epsilon", "0.1", "--mechanism", "rappor", "--epsilon", "1"), "permanent_epsilon"),
    ],
)
def test_of_a_wrong_grid_the_culprit_is_named(arguments: tuple[str, ...], named: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert named in result.stderr.splitlines()[-1]


def test_shells_complete_commands_and_choices() -> None:
    def completed(words: str, number: int) -> list[str]:
        environment = {"_DITHER_SIM_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(number)}
        result = CliRunner().invoke(main, prog_name="dither-sim", env=environment)
        return [line.partition(",")[2] for line in result.stdout.splitlines()]

    assert completed("dither-sim att", 1) == ["attack"]
    assert completed("dither-sim error --law dev", 3) == ["device"]


@pytest.mark.parametrize(("setting", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_no_colour_is_used_where_none_is_wanted(
    setting: dict[str, str], coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An audit that fails says so in red, on a terminal."""
    monkeypatch.setattr("dither_shared.privacy.audit.Finding.passed", property(lambda _: False))
    told = CliRunner().invoke(
        main, ["audit", "--draws", "200", "--mechanism", "bit-flip"], env={"NO_COLOR": "", **setting}, color=True
    )
    assert told.exit_code == 1
    assert ("\x1b[" in told.stdout) is coloured
