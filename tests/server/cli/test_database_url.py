"""A database that cannot be is refused in one line, by every command, and its password is shown by none."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from dither_server.cli.main import cli
from dither_server.config.settings import Config
from dither_server.store import database_url, without_password
from dither_shared import ParameterError

SECRET = "s3cret"  # noqa: S105 - a made-up password, to look for

WRONG = [
    "foo",
    " ",
    "sqlite://",
    "sqlite:///:memory:",
    "sqlite://host/file.db",
    "sqlite:///\0",
    f"postgresql://user:{SECRET}@host:notaport/x",
    f"postgresql://user:{SECRET}@host:65536/x",
    f"postgresql://user:{SECRET}@host:0/x",
    f"postgresql://user:{SECRET}@[::1/x",
    f"postgresql://user:{SECRET}@{SECRET}@host/x",
    f"postgresql+asyncpg://user:{SECRET}@host/x",
    f"mysql://user:{SECRET}@host/x",
    f"foo://user:{SECRET}@host/x",
    f"postgresql://user:{SECRET}@host/x?port={SECRET}",
]

COMMANDS: dict[str, list[str]] = {
    "run": ["run", "--metrics", "metrics.toml", "--port", "0"],
    "check": ["check", "--metrics", "metrics.toml"],
    "estimate": ["estimate", "theme", "--metrics", "metrics.toml"],
    "trend": ["trend", "theme", "--metrics", "metrics.toml"],
    "compare": ["compare", "theme", "--metrics", "metrics.toml", "--since", "2026-01-01"],
    "export": ["export", "theme", "--metrics", "metrics.toml"],
    "token": ["token", "list"],
    "metric": ["metric", "list"],
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "metrics.toml").write_text('[metrics.theme]\ntype = "boolean"\nepsilon = 1.0\n')
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("url", WRONG)
def test_every_command_refuses_it_in_one_line(command: str, url: str) -> None:
    """Except that ``check`` goes on to say what else is wrong where only opening the database shows it."""
    result = CliRunner().invoke(cli, [*COMMANDS[command], "--db", url])
    assert isinstance(result.exception, SystemExit), result.exception
    assert SECRET not in result.output
    if command == "check" and "?" in url:
        assert (result.exit_code, "error: db: " in result.output) == (1, True)
    else:
        assert result.exit_code == 2
        assert len(result.output.splitlines()) == 1
        assert "db: " in result.output


@pytest.mark.parametrize("url", WRONG)
def test_settings_are_shown_without_the_password(url: str) -> None:
    result = CliRunner().invoke(cli, ["config", "--metrics", "metrics.toml", "--db", url])
    assert result.exit_code == 0
    assert SECRET not in result.output.replace(f"port={SECRET}", "")


@pytest.mark.parametrize("url", [url for url in WRONG if "?" not in url])
def test_a_configuration_with_it_cannot_be(url: str) -> None:
    with pytest.raises(ParameterError, match=r"^db: "):
        Config(metrics={}, db=url)


def test_what_can_be() -> None:
    assert database_url("sqlite:///x.db").database == "x.db"
    for name in ("postgres", "postgresql", "postgresql+psycopg"):
        assert database_url(f"{name}://user:p%40ss@host:5432/x").drivername == "postgresql+psycopg"
    assert database_url("postgresql:///x?host=/run/postgresql").host is None


def test_a_password_is_masked_wherever_it_stands() -> None:
    assert without_password("postgresql://u:a@b:c@host/x") == "postgresql://u:***@host/x"
    assert (
        without_password("postgresql://host/x?user=u&password=abc&x=1") == "postgresql://host/x?user=u&password=***&x=1"
    )
    assert without_password("sqlite:///x.db") == "sqlite:///x.db"


@pytest.mark.parametrize("port", [1, 65535])
def test_any_port_of_tcp_will_do(port: int) -> None:
    assert database_url(f"postgresql://user@host:{port}/x").port == port
