"""Every command refuses an invalid database URL in one line, and none shows its password."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from dither_server.cli.main import cli
from dither_server.config.settings import Config
from dither_server.store import database_url, without_password
from dither_shared import ParameterError
from server.cli.invoking import invoke

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


@pytest.mark.parametrize("command", ["run --port=0", "estimate theme", "token list"])
def test_command_refuses_a_wrong_database_url_in_one_line(command: str, tmp_path: Path) -> None:
    (tmp_path / "metrics.toml").write_text('[metrics.theme]\ntype = "boolean"\nepsilon = 1.0\n')
    for url in WRONG:
        result = invoke(tmp_path, *command.split(), "--db", url)
        assert isinstance(result.exception, SystemExit), result.exception
        assert SECRET not in result.output
        assert (result.exit_code, result.output.count("\n"), "db: " in result.output) == (2, 1, True), url
    examined = invoke(tmp_path, "doctor", "--db", WRONG[-1])  # which goes on to say what else is wrong
    assert (examined.exit_code, "problem  configuration: db: " in examined.output) == (2, True)


def test_configuration_refuses_a_wrong_database_url_and_shows_no_password() -> None:
    for url in WRONG:
        result = CliRunner().invoke(cli, ["doctor", "--settings", "--metrics", "metrics.toml", "--db", url])
        assert result.exit_code == 0
        assert SECRET not in result.output.replace(f"port={SECRET}", "")
        if "?" not in url:
            with pytest.raises(ParameterError, match=r"^db: "):
                Config(metrics={}, db=url)


def test_database_urls_are_read_and_shown_without_their_password() -> None:
    assert database_url("sqlite:///x.db").database == "x.db"
    for name in ("postgres", "postgresql", "postgresql+psycopg"):
        assert database_url(f"{name}://user:p%40ss@host:5432/x").drivername == "postgresql+psycopg"
    assert database_url("postgresql:///x?host=/run/postgresql").host is None
    assert [database_url(f"postgresql://user@host:{port}/x").port for port in (1, 65535)] == [1, 65535]
    assert without_password("postgresql://u:a@b:c@host/x") == "postgresql://u:***@host/x"
    shown = without_password("postgresql://host/x?user=u&password=abc&x=1")
    assert shown == "postgresql://host/x?user=u&password=***&x=1"
    assert without_password("sqlite:///x.db") == "sqlite:///x.db"
