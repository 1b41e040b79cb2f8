"""A device with the app's token, and a collector process that lets nobody report without one."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import dither

PROGRAM = str(Path(sys.executable).with_name("dither-server"))
METRICS = '[metrics.theme]\ntype = "choice"\nvalues = ["light", "dark"]\nepsilon = 1.0\n'


@pytest.fixture
def metrics(tmp_path: Path) -> Path:
    path = tmp_path / "metrics.toml"
    path.write_text(METRICS)
    return path


@pytest.fixture
def database(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/dither.db"


@pytest.fixture
def collector(metrics: Path, database: str) -> Iterator[str]:
    """Run a collector that does not even trust this machine, and return its URL."""
    command = [PROGRAM, "run", "--metrics", str(metrics), "--db", database, "--port", "0", "--no-trust-loopback"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        yield re.findall(r"http://[\d.:]+", process.stdout.readline())[0]
        process.terminate()
        assert process.wait(60) == 0


def device(metrics: Path, collector: str, token: str | None) -> dither.Client:
    """Return a client that has recorded an answer and tried to send it."""
    client = dither.Client(
        metrics, collector, "notes", dither.MemoryState("on"), token=token, background=False, environ={}
    )
    client.record("theme", "dark")
    assert client.flush(60) is bool(client.status().sent)
    client.close()
    return client


def test_the_apps_token_opens_a_collector_that_is_closed(metrics: Path, collector: str, database: str) -> None:
    create = [PROGRAM, "token", "create", "--db", database, "--role", "report"]
    token = subprocess.run(create, capture_output=True, text=True, check=True).stdout.split()[-1]
    outcomes = {known: device(metrics, collector, known).status() for known in (None, token[:-1], token)}
    assert [(status.sent, status.queued) for status in outcomes.values()] == [(0, 1), (0, 1), (1, 0)], "kept for later"
    counted = [PROGRAM, "estimate", "theme", "--metrics", str(metrics), "--db", database, "--json"]
    told = subprocess.run(counted, capture_output=True, text=True, check=True).stdout
    assert '"reports": 1,' in told
