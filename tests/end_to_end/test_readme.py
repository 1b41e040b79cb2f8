"""The README's commands and code run as they stand: a device, a collector process, a real socket, an estimate."""

import csv
import io
import json
import os
import re
import shlex
import signal
import sqlite3
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from dither_shared import load_metrics

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
PORT = "8000"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def commands(program: str, name: str | None = None, *, strata: bool = False) -> list[list[str]]:
    """Return the commands of a program, or of one of its own commands; with ``strata`` those about a platform."""
    lines = [line.partition("#")[0] for block in blocks("sh") for line in block.splitlines()]
    found = [shlex.split(line) for line in lines if line.startswith(program + " ") and ("platform" in line) == strata]
    return found if name is None else [words for words in found if words[1] == name]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Return a user's environment: the programs of this one, a home of its own, and consent asked for explicitly."""
    kept = {name: value for name, value in os.environ.items() if name not in {"DO_NOT_TRACK", "XDG_STATE_HOME"}}
    path = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
    return kept | {"HOME": str(tmp_path), "PATH": path, "DITHER": "on", "MPLCONFIGDIR": str(tmp_path / "matplotlib")}


@pytest.fixture
def collector(tmp_path: Path, environment: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Run the README's collector on a free port, and return its URL and the token that it prints."""
    with running(tmp_path, environment, "\n".join(blocks("toml")[:2])) as place:
        yield place


@contextmanager
def running(tmp_path: Path, environment: dict[str, str], metrics: str) -> Iterator[tuple[str, str]]:
    (tmp_path / "metrics.toml").write_text(metrics, encoding="utf-8")
    (command,) = commands("dither-server", "run")
    words = ["0" if word == PORT else word for word in command]
    with subprocess.Popen(words, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url, page = process.stdout.readline().strip(), process.stdout.readline().strip()
        yield url, re.findall(rf"{url}/\?token=(\S+)", page)[0]
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0


def test_the_whole_path_as_the_readme_tells_it(
    tmp_path: Path, collector: tuple[str, str], environment: dict[str, str]
) -> None:
    url, token = collector
    code = blocks("python")[0].replace(f"http://127.0.0.1:{PORT}", url)
    shown = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=tmp_path, env=environment, check=True, capture_output=True
    )
    assert (shown.stdout, shown.stderr) == (b"", b"")
    version = load_metrics(tmp_path / "metrics.toml")["theme"].version

    (line,) = commands("curl")
    headers = {"Authorization": f"Bearer {token}"}
    asked = urllib.request.Request(line[-1].replace(f"http://127.0.0.1:{PORT}", url), headers=headers)  # noqa: S310 - loopback
    with urllib.request.urlopen(asked, timeout=10) as answer:  # noqa: S310 - loopback
        told = json.load(answer)
    assert (told["metric"], told["version"], told["reports"]) == ("theme", version, 1)
    assert [row["value"] for row in told["values"]] == ["light", "dark", "system", "other"]
    assert {row["verdict"] for row in told["values"]} == {"too-few"}

    recipe = next(code for code in blocks("python") if "urllib" in code).replace(f"http://127.0.0.1:{PORT}", url)
    recipe = recipe.replace("Bearer TOKEN", f"Bearer {token}")
    printed = subprocess.check_output([sys.executable, "-W", "error", "-c", recipe], text=True)
    assert printed == f"{[(row['value'], row['frequency'], row['standard_error']) for row in told['values']]}\n"

    command, of_number = commands("dither-server", "estimate")
    assert "geometric mean" in subprocess.check_output(of_number, cwd=tmp_path, env=environment, text=True)
    read = subprocess.run([*command, "--json"], cwd=tmp_path, env=environment, check=True, capture_output=True)
    assert json.loads(read.stdout) == told

    for name, said in (("compare", "no change seen"), ("trend", "no drift seen")):
        (command,) = commands("dither-server", name)
        assert said in subprocess.check_output(command, cwd=tmp_path, env=environment, text=True)

    (command,) = commands("dither-server", "export")
    subprocess.run(command, cwd=tmp_path, env=environment, check=True)
    assert (tmp_path / command[-1]).read_text(encoding="utf-8").count(version) == 4  # no other has reports

    subprocess.run(["dither-server", "refresh", *command[-4:-2]], cwd=tmp_path, env=environment, check=True)
    with closing(sqlite3.connect(tmp_path / "dither.db")) as connection:
        ((_, value, reports, percent, low, high),) = connection.execute(blocks("sql")[0]).fetchall()
    assert (value, reports) == ("dark", 1)
    dark = told["values"][1]
    assert (percent, low, high) == pytest.approx([100 * dark[name] for name in ("frequency", "low", "high")])


def test_reading_by_stratum(tmp_path: Path, environment: dict[str, str]) -> None:
    theme = blocks("toml")[0].replace(
        "epsilon = 1.0", 'epsilon = 1.0\nstrata = {platform = ["linux", "windows", "macos"]}'
    )
    with running(tmp_path, environment, theme) as (url, _):
        for platform in ("linux", "windows", "beos"):
            app = f"""import dither
client = dither.Client("metrics.toml", endpoint="{url}", app="org.example.{platform}")
client.consent("on")
client.record("theme", "dark", platform="{platform}")
assert client.flush(5)"""
            subprocess.run([sys.executable, "-c", app], cwd=tmp_path, env=environment, check=True)
        estimate, compare, export = commands("dither-server", strata=True)
        shown = subprocess.check_output(estimate, cwd=tmp_path, env=environment, text=True)
        assert shown.count("dark") == 4, "three strata, and all"
        assert "no change seen" in subprocess.check_output(compare, cwd=tmp_path, env=environment, text=True)
        subprocess.run(export, cwd=tmp_path, env=environment, check=True)
        rows = list(csv.DictReader(io.StringIO((tmp_path / export[-1]).read_text(encoding="utf-8"))))
        theme_rows = [row for row in rows if row["metric"] == "theme" and row["value"] == "dark"]
        assert {(row["platform"], row["reports"]) for row in theme_rows} == {
            ("linux", "1"), ("windows", "1"), ("other", "1"), ("", "3")
        }  # fmt: skip


@pytest.mark.parametrize("command", commands("dither-sim"), ids=" ".join)
def test_the_simulators_commands(command: list[str], tmp_path: Path, environment: dict[str, str]) -> None:
    (tmp_path / "people.csv").write_text("occupation\n" + "clerk\n" * 30 + "cook\n" * 20, encoding="utf-8")
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    if "--plot" in command:
        assert (tmp_path / command[-1]).read_bytes().startswith(b"\x89PNG")
