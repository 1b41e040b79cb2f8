"""The command line, in this process."""

import errno
import subprocess
import sys
from pathlib import Path

import click
from click.testing import CliRunner

from dither_server.cli.main import cli
from dither_server.cli.options import errors_as_lines
from server.cli.invoking import error_of, invoke
from server.collecting import THEME, environment


def test_mistakes_of_a_command_are_answered_in_one_line(collected: Path) -> None:
    for arguments, what in (
        (["estimate", "nothing"], "no metric has this name; "),
        (["estimate", "theme", "--metrics", "missing.toml"], "missing.toml: cannot be read"),
        (["estimate", "theme", "--db", "sqlite:///missing.db"], "missing.db does not exist"),
        (["estimate", "theme", "--since", "soon"], "--since: not a date"),
        (["estimate", "theme", "--top", "0"], "--top: not a whole number of at least 1"),
        (["estimate", "theme", "--value", "drak"], "does not list; listed is, for example, 'dark'; "),
        (["estimate", "theme", "--confidence", "2"], "confidence: not a number between 0.000001 and 0.999999999"),
        (["estimate", "open"], "give candidates"),
        (["estimate", "theme", "--forged", "all"], "--forged: not a number strictly between"),
        (["compare", "nothing"], "no metric has this name; "),
        (["compare", "theme", "--other", "mobile"], "share no values to compare"),
        (["compare", "theme", "--other-version", "0"], "--version: not collected here; known: "),
        (["trend", "open"], "list candidates in its definition"),
        (["estimate", "open", "--candidates", "missing"], "missing: cannot be read"),
        (["estimate", "theme", "--candidates", "/dev/null"], "holds no strings"),
        (["estimate", "theme", "--candidates", __file__], "lists its answers"),
        (["run", "--metrics", "missing.toml"], "missing.toml: cannot be read"),
        (["run", "--port", "70000"], "--port: 70000 is not between 0 and 65535"),
        (["run", "--open", "report,write"], "--open: names a role that is not one of report, read, admin"),
        (["run", "--horizon", "30"], "--horizon: 30 is not above 30"),
        (["token", "revoke", "0123"], "names no token"),
    ):
        line = error_of(invoke(collected, *arguments))
        assert what in line, arguments
        assert line.count("\n") == 1
    assert "DITHER_DB: not set; set it, --db" in error_of(CliRunner().invoke(cli, ["run", "--metrics", "m.toml"]))
    assert "--role" in error_of(invoke(collected, "token", "create", "--role", "owner"))
    assert "No such command" in error_of(invoke(collected, "runn"))


def test_wsgi_module_is_an_app_that_ends_cleanly(collected: Path) -> None:
    ask = "from dither_server.wsgi import app; print(app.test_client().get('/v1/metrics').status_code)"
    command = [sys.executable, "-W", "error", "-c", ask]
    surroundings = {**environment(collected), "DITHER_OPEN": "read"}
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=surroundings)
    assert (ended.stdout, ended.stderr, ended.returncode) == ("200\n", "", 0)


def test_metric_is_disabled_enabled_and_listed_as_such(folder: Path) -> None:
    version = THEME.version
    for _ in range(2):
        assert invoke(folder, "metric", "disable", "theme").stdout == f"{version}  disabled  theme\n"
    lines = invoke(folder, "metric", "list").stdout.splitlines()
    assert [line.split()[1] for line in lines if line.endswith("  theme")] == ["disabled"]
    assert [line.split()[1] for line in lines if not line.endswith("  theme")] == ["enabled"] * 3
    assert invoke(folder, "metric", "enable", "theme", "--version", version).stdout == f"{version}  enabled  theme\n"
    assert "disabled" not in invoke(folder, "metric", "list").stdout
    for arguments, why in (
        (["disable", "nothing"], "NAME: 'nothing' is not registered; dither-server"),
        (["disable", "thme"], "NAME: 'thme' is not registered; did you mean 'theme'?"),
        (["enable", "theme", "--version", "0" * 16], f"'{'0' * 16}' of theme is not registered; known: {version}"),
    ):
        assert why in error_of(invoke(folder, "metric", *arguments))


def test_file_of_another_user_is_named_in_one_line() -> None:
    @click.command("one")
    @errors_as_lines()
    def one() -> None:
        raise PermissionError(errno.EACCES, "Permission denied", "/var/lib/dither/dither.db")

    line = error_of(CliRunner().invoke(one), 1)
    assert line.endswith(": /var/lib/dither/dither.db: Permission denied; run this as the user whose file it is\n")
