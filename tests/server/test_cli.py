"""The command line, in this process."""

import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dither_server.cli import cli
from dither_server.config import Config
from dither_server.store import Store
from dither_server.table import as_table
from dither_shared import ParameterError
from server.collecting import METRICS, METRICS_TOML, OPEN, THEME, TODAY, environment, rows_of, upload


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a collector has run."""
    (tmp_path / "metrics.toml").write_text(METRICS_TOML, encoding="utf-8")
    with closing(Store(f"sqlite:///{tmp_path}/dither.db")) as store:
        store.register(METRICS.values())
        store.commit(
            [upload(THEME, rows_of(THEME, 2000)), upload(OPEN, rows_of(OPEN, 900, value="é"))], TODAY, b"s" * 16
        )
    return tmp_path


def invoke(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments, env=environment(folder))


def told(result: Result) -> str:
    """The one line that a mistake gets."""
    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit)
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    return result.stderr


def test_estimates_are_a_table(folder: Path) -> None:
    result = invoke(folder, "estimate", "theme")
    assert result.exit_code == 0, result.output
    head, privacy, blank, *lines = result.stdout.splitlines()
    assert head == "theme: randomized-response, 2,000 reports, 2026-11-20 to 2026-11-20, 95% intervals"
    assert privacy == "ε = 1 for each report"
    assert blank == ""
    assert lines[0].split() == ["value", "share", "%", "±", "interval", "consistent", "verdict"]
    assert [line.split()[0] for line in lines[1:]] == ["dark", "light", "=1+1", "other"]
    assert len({line.rindex(line.split()[-1]) for line in lines}) == 1  # the last column is straight


def test_estimates_are_the_apis_json(folder: Path) -> None:
    answer = json.loads(invoke(folder, "estimate", "theme", "--json", "--confidence", "0.5").stdout)
    assert (answer["metric"], answer["reports"], answer["confidence"]) == ("theme", 2000, 0.5)
    assert answer["values"][1]["value"] == "light"
    assert json.loads(invoke(folder, "estimate", "theme", "--json", "--until", "2026-11-19").stdout)["reports"] == 0


def test_candidates_come_from_a_file(folder: Path) -> None:
    (folder / "candidates").write_text("é\r\n\nz\né\n", encoding="utf-8")
    answer = json.loads(invoke(folder, "estimate", "open", "--json", "--candidates", str(folder / "candidates")).stdout)
    assert [row["value"] for row in answer["values"]] == ["é", "z"]
    assert answer["values"][0]["frequency"] > 0.5


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["estimate", "nothing"], "no such metric; "),
        (["estimate", "theme", "--metrics", "missing.toml"], "missing.toml: cannot be read"),
        (["estimate", "theme", "--db", "sqlite:///missing.db"], "missing.db does not exist"),
        (["estimate", "theme", "--db", "what?"], "not a database URL"),
        (["estimate", "theme", "--since", "soon"], "--since: not a date"),
        (["estimate", "theme", "--confidence", "2"], "confidence: not a number strictly between"),
        (["estimate", "open"], "give candidates"),
        (["estimate", "open", "--candidates", "missing"], "missing: cannot be read"),
        (["estimate", "theme", "--candidates", "/dev/null"], "holds no strings"),
        (["estimate", "theme", "--candidates", __file__], "lists its answers"),
        (["run", "--metrics", "missing.toml"], "missing.toml: cannot be read"),
        (["run", "--host", "0.0.0.0"], "not loopback"),  # noqa: S104
        (["run", "--host", "example.org"], "not loopback"),
    ],
)
def test_mistakes_get_one_clear_line(arguments: list[str], what: str, folder: Path) -> None:
    line = told(invoke(folder, *arguments))
    assert what in line
    assert line.count("\n") == 1


def test_arguments_that_click_refuses(folder: Path) -> None:
    assert "Missing option '--db'" in told(CliRunner().invoke(cli, ["run", "--metrics", "m.toml"]))
    assert "--port" in told(invoke(folder, "run", "--port", "70000"))
    assert "No such command" in told(invoke(folder, "runn"))


def test_a_corrupt_database_is_told(folder: Path) -> None:
    (folder / "dither.db").write_bytes(b"no database\n" * 500)
    for wal in folder.glob("dither.db-*"):
        wal.unlink()
    assert "database: file is not a database" in told(invoke(folder, "estimate", "theme"))


def test_labels_cannot_steer_the_terminal() -> None:
    row = {"frequency": None, "standard_error": None, "low": 0.0, "high": 1.0, "consistent": None, "verdict": "ok"}
    answer = {
        "metric": "m", "mechanism": "r", "privacy": "", "reports": 0, "since": None, "until": None,
        "confidence": 0.95, "version": "", "values": [row | {"value": "\x1b[2J\n"}],
    }  # fmt: skip
    table = as_table(answer)  # type: ignore[arg-type]
    assert "\x1b" not in table
    assert r"\x1b[2J\n" in table


def test_without_the_extra_the_command_says_what_to_install() -> None:
    block = "import sys; sys.modules['flask'] = None; from dither_server.__main__ import main; main()"
    ended = subprocess.run([sys.executable, "-c", block], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr == "dither-server needs: pip install 'dither[server]'\n"


def test_limits_that_cannot_be() -> None:
    with pytest.raises(ParameterError, match="queue_limit: 0 is not positive"):
        Config(metrics=METRICS, db="sqlite:///x.db", queue_limit=0)


def test_the_environment_configures_the_wsgi_app(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment(folder).items():
        monkeypatch.setenv(name, value)
    config = Config.from_environment()
    assert set(config.load()) == set(METRICS)
    monkeypatch.delenv("DITHER_DB")
    with pytest.raises(ParameterError, match="DITHER_DB: not set"):
        Config.from_environment()


def test_the_wsgi_module_is_an_app_that_ends_cleanly(folder: Path) -> None:
    ask = (
        "from dither_server.wsgi import app; print(app.test_client().get('/v1/metrics/theme/estimate').json['reports'])"
    )
    command = [sys.executable, "-W", "error", "-c", ask]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=environment(folder))
    assert (ended.stdout, ended.stderr, ended.returncode) == ("2000\n", "", 0)
