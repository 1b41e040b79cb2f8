"""The command line, in this process."""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dither_server.cli.main import cli
from dither_server.cli.terminal_tables import as_text
from dither_server.reading.summaries import SUMMARIES
from dither_server.store import Store
from server.collecting import METRICS, METRICS_TOML, OPEN, THEME, TODAY, VERSION, environment, rows_of, upload


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
    head, privacy, blank, *lines, _, rule, forged = result.stdout.splitlines()
    assert rule == "verdict, of the interval alone: ok lies above 0, noise contains 0, too-few says nothing yet"
    assert forged == "If 1% of the reports were forged, a share shown here could be off by 2.8 points."
    assert head == "theme: randomized-response, 2,000 reports, 2026-11-20 to 2026-11-20, 95% intervals"
    assert privacy == "ε = 1 for each report"
    assert blank == ""
    assert lines[0].split() == ["value", "share", "%", "±", "interval", "consistent", "verdict"]
    assert [line.split()[0] for line in lines[1:]] == ["dark", "light", "=1+1", "other"]
    assert len({line.rindex(line.split()[-1]) for line in lines}) == 1  # the last column is straight


def test_an_estimate_shows_what_is_asked_for_and_changes_no_number(folder: Path) -> None:
    def values(*options: str) -> list[dict[str, object]]:
        shown: list[dict[str, object]] = json.loads(invoke(folder, "estimate", "theme", "--json", *options).stdout)[
            "values"
        ]
        return shown

    everything = values()
    ranked = sorted(everything, key=lambda row: -float(str(row["frequency"])))
    assert values("--top", "2") == ranked[:2]
    assert values("--value", "=1+1", "--value", "dark") == [everything[2], everything[0]]
    assert (
        values("--top", "1", "--value", "=1+1", "--value", "dark")
        == [row for row in ranked if row["value"] in {"=1+1", "dark"}][:1]
    )
    assert len(invoke(folder, "estimate", "theme", "--top", "1").stdout.splitlines()) == 8


def test_strings_that_are_found_are_told_apart_from_the_verdict(folder: Path) -> None:
    with closing(Store(f"sqlite:///{folder}/dither.db", create=False)) as store:
        store.commit([upload(VERSION, rows_of(VERSION, 2000, value="1.0"))], TODAY, b"t" * 16)
    lines = invoke(folder, "estimate", "version").stdout.splitlines()
    header = next(line.split() for line in lines if line.startswith("value"))
    assert header[-2:] == ["found", "verdict"]
    assert [line.split()[-2] for line in lines if line.startswith(("1.0 ", "2.0 "))] == ["yes", "no"]
    assert "found, of all candidates: those that stand out; an expected 5% of them are not there" in lines


def test_estimates_are_the_apis_json(folder: Path) -> None:
    answer = json.loads(invoke(folder, "estimate", "theme", "--json", "--confidence", "0.5").stdout)
    assert (answer["metric"], answer["reports"], answer["confidence"]) == ("theme", 2000, 0.5)
    assert answer["values"][1]["value"] == "light"
    assert json.loads(invoke(folder, "estimate", "theme", "--json", "--until", "2026-11-19").stdout)["reports"] == 0


def test_intervals_that_hold_together(folder: Path) -> None:
    result = invoke(folder, "estimate", "theme", "--simultaneous")
    assert result.stdout.splitlines()[0].endswith(", 95% intervals, which hold all together")
    answer = json.loads(invoke(folder, "estimate", "theme", "--simultaneous", "--json").stdout)
    alone = json.loads(invoke(folder, "estimate", "theme", "--json").stdout)
    assert (answer["simultaneous"], alone["simultaneous"]) == ("bonferroni", None)
    assert answer["values"][1]["low"] < alone["values"][1]["low"]


def test_comparisons_are_a_table_or_the_apis_json(folder: Path) -> None:
    with closing(Store(f"sqlite:///{folder}/dither.db")) as store:
        store.commit([upload(THEME, rows_of(THEME, 2000, b"new", "dark"))], TODAY + timedelta(days=7), b"s" * 16)
    result = invoke(folder, "compare", "theme", "--change", "0.05")
    assert result.exit_code == 0, result.output
    first, second, notes, blank, *lines = result.stdout.splitlines()
    assert first == f"theme {THEME.version}: 2026-11-14 to 2026-11-20, 2,000 reports"
    assert second == f"theme {THEME.version}: 2026-11-21 to 2026-11-27, 2,000 reports"
    assert (notes, blank) == ("95% intervals; changed is what has p < 0.05, by Holm's method", "")
    assert [line.split()[0] for line in lines] == ["value", "dark", "light", "=1+1", "other"]
    assert lines[1].endswith("changed")
    assert "no change seen; 5 points take " in lines[4]
    days = ("--since", "2026-11-20", "--until", "2026-11-20", "--other-since", "2026-11-27", "--json")
    told = json.loads(invoke(folder, "compare", "theme", *days).stdout)
    assert [side["periods"] for side in told["sides"]] == [1, 1]
    assert told["values"][0]["changed"]


def test_trends_are_a_table_or_the_apis_json(folder: Path) -> None:
    with closing(Store(f"sqlite:///{folder}/dither.db")) as store:
        store.commit([upload(THEME, rows_of(THEME, 2000, b"new", "dark"))], TODAY + timedelta(days=7), b"s" * 16)
    result = invoke(folder, "trend", "theme")
    assert result.exit_code == 0, result.output
    head, notes, _, *lines = result.stdout.splitlines()
    assert head == "theme: 2026-11-20 to 2026-11-27, 2 steps, 4,000 reports"
    assert notes == "drift is told at p < 0.05, by Holm's method"
    assert lines[0].split() == ["value", "first", "%", "last", "%", "points", "a", "day", "±", "p"]
    assert [line.split()[-1] for line in lines[1:4]] == ["drifts", "drifts", "seen"]
    told = json.loads(invoke(folder, "trend", "theme", "--step", "week", "--json").stdout)
    assert [step["since"] for step in told["steps"]] == ["2026-11-16", "2026-11-23"]
    assert invoke(folder, "trend", "theme", "--until", "2026-11-01").stdout.startswith("theme: 0 steps, 0 reports")


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
        (["estimate", "theme", "--top", "0"], "--top: not a whole number from 1"),
        (["estimate", "theme", "--value", "drak"], "values: names one that the metric does not list"),
        (["estimate", "theme", "--confidence", "2"], "confidence: not a number between 0.000001 and 0.999999999"),
        (["estimate", "theme", "--confidence", "0.9999999999999999"], "confidence: not a number between"),
        (["trend", "theme", "--confidence", "nan"], "confidence: not a number between"),
        (["compare", "theme", "--confidence", "inf"], "confidence: not a number between"),
        (["export", "theme", "--confidence", "-1"], "confidence: not a number between"),
        (["estimate", "open"], "give candidates"),
        (["estimate", "theme", "--forged", "all"], "--forged: not a number strictly between"),
        (["compare", "nothing"], "no such metric; "),
        (["compare", "theme", "--other", "mobile"], "share no values to compare"),
        (["compare", "theme", "--other-version", "0"], "--version: not collected here; there are "),
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
    ],
)
def test_mistakes_get_one_clear_line(arguments: list[str], what: str, folder: Path) -> None:
    line = told(invoke(folder, *arguments))
    assert what in line
    assert line.count("\n") == 1


def test_arguments_that_click_refuses(folder: Path) -> None:
    assert "DITHER_DB: not set, nor --db" in told(CliRunner().invoke(cli, ["run", "--metrics", "m.toml"]))
    assert "--role" in told(invoke(folder, "token", "create", "--role", "owner"))
    assert "No such command" in told(invoke(folder, "runn"))


def test_a_corrupt_database_is_told(folder: Path) -> None:
    (folder / "dither.db").write_bytes(b"no database\n" * 500)
    for wal in folder.glob("dither.db-*"):
        wal.unlink()
    assert "database: file is not a database" in told(invoke(folder, "estimate", "theme"))


def test_labels_cannot_steer_the_terminal() -> None:
    row = {"frequency": None, "standard_error": None, "low": 0.0, "high": 1.0, "consistent": None, "verdict": "ok"}
    row |= {"found": None}
    row |= {"gain_up": None, "gain_down": None}
    answer = {
        "metric": "m", "mechanism": "r", "privacy": "", "reports": 0, "since": None, "until": None,
        "confidence": 0.95, "simultaneous": None, "version": "", "health": [],
        "unlisted": None, "values": [row | {"value": "\x1b[2J\n"}],
    }  # fmt: skip
    table = as_text(SUMMARIES["choice"].text(answer))
    assert "\x1b" not in table
    assert r"\x1b[2J\n" in table


def test_without_the_extra_the_command_says_what_to_install() -> None:
    block = "import sys; sys.modules['flask'] = None; from dither_server.__main__ import main; main()"
    command = [sys.executable, "-c", block, "run", "--metrics", "metrics.toml", "--db", "sqlite:///dither.db"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr == "dither-server needs: pip install 'dither[server]'\n"


def test_the_wsgi_module_is_an_app_that_ends_cleanly(folder: Path) -> None:
    ask = (
        "from dither_server.wsgi import app; print(app.test_client().get('/v1/metrics/theme/estimate').json['reports'])"
    )
    command = [sys.executable, "-W", "error", "-c", ask]
    surroundings = {**environment(folder), "DITHER_OPEN": "read"}
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=surroundings)
    assert (ended.stdout, ended.stderr, ended.returncode) == ("2000\n", "", 0)


def test_config_shows_each_value_and_its_source(folder: Path) -> None:
    (folder / "c.toml").write_text('port = 9000\nthreads = 7\nhost = "::1"\n', encoding="utf-8")
    environment_of_it = {**environment(folder), "DITHER_PORT": "9001", "DITHER_DB": "postgresql://u:secret@h/d"}
    arguments = ["config", "--json", "--host", "localhost", "--config", str(folder / "c.toml")]
    shown = json.loads(CliRunner().invoke(cli, arguments, env=environment_of_it).stdout)
    about = {name: one.pop("about") for name, one in shown.items()}
    assert shown["host"] == {"value": "localhost", "source": "--host"}
    assert shown["port"] == {"value": 9001, "source": "DITHER_PORT"}
    assert shown["threads"] == {"value": 7, "source": f"{folder}/c.toml: threads"}
    assert shown["open"] == {"value": [], "source": "default"}
    assert shown["db"] == {"value": "postgresql://u:***@h/d", "source": "DITHER_DB"}
    lines = invoke(folder, "config").stdout.splitlines()
    assert len(lines) == len(shown)
    assert next(line for line in lines if line.startswith("port")).split(maxsplit=1)[1] == "8000  (default)"
    explained = invoke(folder, "config", "--explain").stdout.splitlines()
    assert explained[::2] == lines
    assert [line.strip() for line in explained[1::2]] == list(about.values())
    assert all(len(one) > 10 for one in about.values())


def test_check_says_what_is_wrong_and_what_is_unwise(folder: Path) -> None:
    fine = invoke(folder, "check", "--open", "report,read")
    assert fine.exit_code == 0
    assert "ok: 4 metrics: theme, mobile, version, open" in fine.stdout
    assert "ok: the database answers" in fine.stdout
    unwise = invoke(folder, "check", "--host", "::")
    assert unwise.exit_code == 0
    assert "warning: no token has the role report: nobody may report" in unwise.stdout
    assert "warning: no token has the role read: only who has the address that is printed" in unwise.stdout
    assert "nobody may read" in invoke(folder, "check", "--no-local-token").stdout
    assert "nobody may report" in invoke(folder, "check", "--no-trust-loopback").stdout
    near = invoke(folder, "check")
    assert "warning: no token has the role report: only this machine may report" in near.stdout
    assert "ok: this machine reports without a token; behind a proxy" in near.stdout
    assert "ok: a token that reads is printed" in near.stdout
    assert "warning: open: lists no candidates" in unwise.stdout
    assert "warning: open: whoever" in invoke(folder, "check", "--open", "admin").stdout
    new = invoke(folder, "check", "--db", f"sqlite:///{folder}/new.db")
    assert (new.exit_code, "warning: db: " in new.stdout) == (0, True)
    assert not (folder / "new.db").exists()
    invoke(folder, "metric", "disable", "theme")
    assert f"warning: theme: version {THEME.version} is disabled since" in invoke(folder, "check").stdout
    for schema, level, code in (("0001", "warning: db: has schema 0001", 0), ("9999", "error: db: has schema 9999", 1)):
        with closing(sqlite3.connect(folder / "dither.db")) as connection, connection:
            connection.execute("UPDATE alembic_version SET version_num = ?", (schema,))
        upgraded = invoke(folder, "check")
        assert (upgraded.exit_code, level in upgraded.stdout) == (code, True), upgraded.stdout
    (folder / "text").write_text("no database\n" * 100)
    wrong = invoke(folder, "check", "--metrics", "missing.toml", "--db", f"sqlite:///{folder}/text")
    assert wrong.exit_code == 1
    assert wrong.stdout.count("error: ") == 2


def test_a_metric_is_disabled_and_enabled_while_collectors_run(folder: Path) -> None:
    version = THEME.version
    for _ in range(2):
        assert invoke(folder, "metric", "disable", "theme").stdout == f"{version}  disabled  theme\n"
    lines = invoke(folder, "metric", "list").stdout.splitlines()
    assert [line.split()[1] for line in lines if line.endswith("  theme")] == ["disabled"]
    assert [line.split()[1] for line in lines if not line.endswith("  theme")] == ["enabled"] * 3
    assert invoke(folder, "metric", "enable", "theme", "--version", version).stdout == f"{version}  enabled  theme\n"
    assert "disabled" not in invoke(folder, "metric", "list").stdout
    assert "NAME: 'nothing' is not registered; dither-server" in told(invoke(folder, "metric", "disable", "nothing"))
    assert "NAME: 'thme' is not registered; did you mean 'theme'?" in told(invoke(folder, "metric", "disable", "thme"))
    strange = told(invoke(folder, "metric", "enable", "theme", "--version", "0" * 16))
    assert f"--version: '{'0' * 16}' of theme is not registered; there are {version}" in strange


def test_a_variable_that_is_no_setting_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DITHER_RETENTON", "3 days")
    result = invoke(folder, "check")
    assert "DITHER_RETENTON: no such setting, and ignored; did you mean 'DITHER_RETENTION'?" in result.output


def test_tokens_of_a_database_that_cannot_be_read_are_not_known(folder: Path) -> None:
    (folder / "dither.db").write_bytes(b"no database\n" * 500)
    output = invoke(folder, "check").output
    assert "tokens: not known" in output
    assert "no token has the role" not in output


def test_a_folder_is_no_database(folder: Path) -> None:
    (folder / "dither.db").unlink(missing_ok=True)
    (folder / "dither.db").mkdir()
    result = invoke(folder, "check")
    assert result.exit_code == 1
    assert "is a folder; name a file in it" in result.output
