"""What the doctor reports about settings and their sources."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dither_server.cli.main import cli
from server.cli.invoking import error_of, invoke
from server.collecting import THEME, environment
from server.database import execute, url_of


def examined(folder: Path, *options: str) -> Result:
    return invoke(folder, "doctor", "--before-start", *options)


def test_settings_are_shown_with_their_sources(folder: Path) -> None:
    (folder / "c.toml").write_text('port = 9000\nthreads = 7\nhost = "::1"\n', encoding="utf-8")
    environment_of_it = {**environment(folder), "DITHER_PORT": "9001", "DITHER_DB": "postgresql://u:secret@h/d"}
    arguments = ["doctor", "--settings", "--json", "--host", "localhost", "--config", str(folder / "c.toml")]
    shown = json.loads(CliRunner().invoke(cli, arguments, env=environment_of_it).stdout)
    about = {name: setting.pop("about") for name, setting in shown.items()}
    assert shown["host"] == {"value": "localhost", "source": "--host"}
    assert shown["port"] == {"value": 9001, "source": "DITHER_PORT"}
    assert shown["threads"] == {"value": 7, "source": f"{folder}/c.toml: threads"}
    assert shown["open"] == {"value": [], "source": "default"}
    assert shown["db"] == {"value": "postgresql://u:***@h/d", "source": "DITHER_DB"}
    lines = invoke(folder, "doctor", "--settings").stdout.splitlines()
    assert len(lines) == 2 * len(shown)
    assert next(line for line in lines if line.startswith("port")).split(maxsplit=1)[1] == "8000  (default)"
    assert [line.strip() for line in lines[1::2]] == list(about.values())
    assert all(len(text) > 10 for text in about.values())


def test_doctor_names_errors_and_risky_settings(folder: Path) -> None:
    for options, level, text in (
        ("--open report,read", "ok", "4 metrics: theme, mobile, version, open"),
        ("--open report,read", "ok", "the database answers"),
        ("--host ::", "warning", "no token has the role report: nobody may report"),
        ("--host ::", "warning", "no token has the role read: only people with the address that is printed"),
        ("--no-local-token", "warning", "no token has the role read: nobody may read"),
        ("--no-trust-loopback", "warning", "no token has the role report: nobody may report"),
        ("", "warning", "no token has the role report: only this machine may report"),
        ("", "ok", "programs on this machine may report without a token; if a proxy"),
        ("", "ok", "a read token, valid until the server stops, is printed"),
        ("--open admin", "warning", "open: lists no candidates"),
        ("--open admin", "warning", "open: anyone"),
    ):
        shown = examined(folder, *options.split())
        assert (shown.exit_code, f"{level:9}configuration: {text}" in shown.stdout) == (0, True), shown.stdout
    new = examined(folder, "--db", f"sqlite:///{folder}/new.db")
    assert (new.exit_code, "warning  configuration: db: " in new.stdout) == (0, True)
    assert not (folder / "new.db").exists()
    invoke(folder, "metric", "disable", "theme")
    assert f"warning  configuration: theme: version {THEME.version} is disabled since" in examined(folder).stdout
    for schema, level, code in (("0000", "warning", 0), ("9999", "problem", 2)):
        execute(url_of(folder), f"UPDATE alembic_version SET version_num = '{schema}'")  # noqa: S608 - ours
        upgraded = examined(folder)
        said = f"{level}  configuration: db: has schema {schema}"
        assert (upgraded.exit_code, said in upgraded.stdout) == (code, True), upgraded.stdout
    (folder / "text").write_text("no database\n" * 100)
    wrong = examined(folder, "--metrics", "missing.toml", "--db", f"sqlite:///{folder}/text")
    assert wrong.exit_code == 2
    assert wrong.stdout.count("problem  ") == 2


def test_doctor_names_origins_whose_pages_cannot_report(folder: Path) -> None:
    pages = ("--origins", "https://app.example,http://localhost:3000")
    named = "https://app.example, http://localhost:3000"
    mute = f'configuration: origins: pages of {named} send no token, and are answered 401; set open = ["report"]'
    assert mute in examined(folder, *pages).stdout
    for role in ("report", "admin"):
        heard = examined(folder, *pages, "--open", role)
        assert f"configuration: pages of {named} may report; a page of any other origin may not" in heard.stdout
        assert "send no token" not in heard.stdout
    assert "pages of" not in examined(folder).stdout
    wrong = error_of(examined(folder, "--origins", "https://app.example/"))
    assert "--origins: 'https://app.example/' is not an origin as browsers write it" in wrong


def test_doctor_names_an_unknown_variable_and_a_database_that_it_cannot_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DITHER_RETENTON", "3 days")
    result = examined(folder)
    assert "DITHER_RETENTON: not a setting, and ignored; did you mean 'DITHER_RETENTION'?" in result.output
    (folder / "dither.db").write_bytes(b"no database\n" * 500)
    output = examined(folder).output
    assert "tokens: not known" in output
    assert "no token has the role" not in output
    (folder / "dither.db").unlink(missing_ok=True)
    (folder / "dither.db").mkdir()
    result = examined(folder)
    assert result.exit_code == 2
    assert "is a folder; name a file in it" in result.output
