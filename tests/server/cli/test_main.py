"""The command line, in this process."""

import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner

from dither_server.cli.main import cli
from server.cli.invoking import error_of, invoke
from server.collecting import THEME, environment


def test_mistakes_of_a_command_are_answered_in_one_line(collected: Path) -> None:
    for arguments, what in (
        (["estimate", "nothing"], "no metric has this name; "),
        (["estimate", "theme", "--metrics", "missing.toml"], "missing.toml: cannot be read"),
        (["estimate", "theme", "--db", "sqlite:///missing.db"], "missing.db does not exist"),
        (["estimate", "theme", "--db", "what?"], "not a database URL"),
        (["estimate", "theme", "--since", "soon"], "--since: not a date"),
        (["estimate", "theme", "--top", "0"], "--top: not a whole number of at least 1"),
        (["estimate", "theme", "--value", "drak"], "does not list; listed is, for example, 'dark'; "),
        (["estimate", "theme", "--confidence", "2"], "confidence: not a number between 0.000001 and 0.999999999"),
        (["estimate", "theme", "--confidence", "0.9999999999999999"], "confidence: not a number between"),
        (["trend", "theme", "--confidence", "nan"], "confidence: not a number between"),
        (["compare", "theme", "--confidence", "inf"], "confidence: not a number between"),
        (["export", "theme", "--confidence", "-1"], "confidence: not a number between"),
        (["estimate", "open"], "give candidates"),
        (["estimate", "theme", "--forged", "all"], "--forged: not a number strictly between"),
        (["compare", "nothing"], "no metric has this name; "),
        (["compare", "theme", "--other", "mobile"], "share no values to compare"),
        (["compare", "theme", "--other-version", "0"], "--version: not collected here; known: "),
        (["compare", "theme", "--change", "5"], "--change: not a number strictly between"),
        (["compare", "theme", "--since", "2026-11-20"], "both sides hold the same reports"),
        (["trend", "open"], "list candidates in its definition"),
        (["trend", "theme", "--until", "never"], "--until: not a date"),
        (["estimate", "open", "--candidates", "missing"], "missing: cannot be read"),
        (["estimate", "theme", "--candidates", "/dev/null"], "holds no strings"),
        (["estimate", "theme", "--candidates", __file__], "lists its answers"),
        (["run", "--metrics", "missing.toml"], "missing.toml: cannot be read"),
        (["run", "--port", "70000"], "--port: 70000 is not between 0 and 65535"),
        (["run", "--open", "report,write"], "--open: names a role that is not one of report, read, admin"),
        (["run", "--config", "missing.toml"], "missing.toml: cannot be read"),
        (["run", "--horizon", "30"], "--horizon: 30 is not above 30"),
        (["token", "revoke", "0123"], "names no token"),
    ):
        line = error_of(invoke(collected, *arguments))
        assert what in line, arguments
        assert line.count("\n") == 1
    assert "DITHER_DB: not set; set it, --db" in error_of(CliRunner().invoke(cli, ["run", "--metrics", "m.toml"]))
    assert "--role" in error_of(invoke(collected, "token", "create", "--role", "owner"))
    assert "No such command" in error_of(invoke(collected, "runn"))


def test_corrupt_database_is_named(folder: Path) -> None:
    (folder / "dither.db").write_bytes(b"no database\n" * 500)
    for wal in folder.glob("dither.db-*"):
        wal.unlink()
    result = invoke(folder, "estimate", "theme")
    assert "dither.db is not a SQLite database, or its header is damaged" in error_of(result, 1)


def test_without_the_server_extra_the_command_says_what_to_install() -> None:
    block = "import sys; sys.modules['flask'] = None; from dither_server.__main__ import main; main()"
    command = [sys.executable, "-c", block, "run", "--metrics", "metrics.toml", "--db", "sqlite:///dither.db"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr == "dither-server needs: pip install 'dither[server]'\n"


def test_wsgi_module_is_an_app_that_ends_cleanly(collected: Path) -> None:
    ask = (
        "from dither_server.wsgi import app; print(app.test_client().get('/v1/metrics/theme/estimate').json['reports'])"
    )
    command = [sys.executable, "-W", "error", "-c", ask]
    surroundings = {**environment(collected), "DITHER_OPEN": "read"}
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=surroundings)
    assert (ended.stdout, ended.stderr, ended.returncode) == ("2000\n", "", 0)


def test_metric_is_disabled_enabled_and_listed_as_such(folder: Path) -> None:
    version = THEME.version
    for _ in range(2):
        assert invoke(folder, "metric", "disable", "theme").stdout == f"{version}  disabled  theme\n"
    lines = invoke(folder, "metric", "list").stdout.splitlines()
    assert [line.split()[1] for line in lines if line.endswith("  theme")] == ["disabled"]
    assert [line.split()[1] for line in lines if not line.endswith("  theme")] == ["enabled"] * 3
    assert invoke(folder, "metric", "enable", "theme", "--version", version).stdout == f"{version}  enabled  theme\n"
    assert "disabled" not in invoke(folder, "metric", "list").stdout
    assert "NAME: 'nothing' is not registered; dither-server" in error_of(
        invoke(folder, "metric", "disable", "nothing")
    )
    assert "NAME: 'thme' is not registered; did you mean 'theme'?" in error_of(
        invoke(folder, "metric", "disable", "thme")
    )
    strange = error_of(invoke(folder, "metric", "enable", "theme", "--version", "0" * 16))
    assert f"--version: '{'0' * 16}' of theme is not registered; known: {version}" in strange
