"""Sealed reports of up to 5,000 clients, over a relay to the collector's sums: the data of three processes.

The relay's memory and disk are searched for reports in the clear, the collector's for addresses.
"""

import base64
import http.client
import json
import re
import secrets
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

import dither
from dither.reporting import bodies
from dither.reporting.bodies import sealed
from dither.state.state import MemoryState
from dither_server.tally.tally import Tally
from dither_shared import Batch, Metric, load_metrics
from dither_shared.sealed import SealedReport
from end_to_end.searching import PIECE, Needles, disk, memory
from forkserver import run
from relay.relaying import running as relaying
from relay.relaying import until_ready, url_of
from server.cli.invoking import invoke
from server.collecting import running, same
from server.test_process import PATIENCE, tally

pytest.importorskip("cryptography.hazmat.primitives.hpke")

FEW, BATCH = 20, 100
TOML = """
[metrics.fonts]
type = "choice"
values = [{values}]
mechanism = "optimized-unary"
epsilon = 1.0
period = "once"

[metrics.rare]
type = "boolean"
epsilon = 1.0
period = "once"

[seal]
key = "{key}"
"""
VALUES = [f"font {number}" for number in range(127)]
"""With "other" 128 bits: 16 bytes of noise, which stand nowhere by chance."""

ADDRESS = re.compile(rb"127\.9\.\d{1,2}\.\d{1,3}")

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="memory is searched as Linux shows it")


class FromAddress(NamedTuple):
    """A transport that sends from a loopback address that no other device has."""

    url: str
    address: str

    def send(self, body: bytes) -> dither.Answer:
        relay = urlsplit(self.url)
        connection = http.client.HTTPConnection(
            relay.hostname or "", relay.port, timeout=PATIENCE, source_address=(self.address, 0)
        )
        with closing(connection):
            connection.request("POST", "/v1/sealed", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            return dither.Answer(answer.status)


def address(number: int) -> str:
    return f"127.9.{number // 250}.{number % 250 + 1}"


def forms(row: bytes) -> list[bytes]:
    """Return the forms in which a row could be stored."""
    return [row, base64.b64encode(row), row.hex().encode()]


def addresses(contents: Iterable[bytes]) -> set[bytes]:
    return {found for content in contents for found in ADDRESS.findall(content)}


def answer_all(metrics: dict[str, dither.Metric], relay: str, clients: int) -> None:
    """Act as all devices, which know only the relay; a few of them answer a second question, too."""

    def answer(number: int) -> None:
        state, transport = MemoryState("on"), FromAddress(relay, address(number))
        client = dither.Client(
            metrics, relay, f"app{number}", state, transport=transport, background=False, strict=True, environ={}
        )
        with closing(client):
            client.record("fonts", VALUES[number % 3])
            if number < FEW:
                client.record("rare", True)
            assert client.flush(PATIENCE)

    with ThreadPoolExecutor(8) as devices:
        list(devices.map(answer, range(clients)))


def command(folder: Path, name: str, *options: str) -> str:
    """Run a command of the relay beside it; return its output."""
    words = ["-m", "dither_relay", name, "--db", url_of(folder), "--batch", str(BATCH), *options]
    return run(*words, check=True, timeout=600).stdout


@on_linux
@pytest.mark.parametrize("clients", [BATCH, pytest.param(50 * BATCH, marks=pytest.mark.slow)])  # 20 core-seconds
def test_the_relay_sees_no_report_and_the_collector_no_address(
    clients: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collecting, relayed = tmp_path / "collector", tmp_path / "relay"
    collecting.mkdir()
    relayed.mkdir()
    key = tomllib.loads(invoke(collecting, "key", "create").stdout)["seal"]["key"]
    toml = TOML.format(key=key, values=", ".join(f'"{value}"' for value in VALUES))
    sent: dict[str, list[tuple[bytes, bytes]]] = {"fonts": [], "rare": []}

    def watched(batch: Batch, metric: Metric, today: int) -> bytes:
        """Seal as the client does, and keep the plaintext and the ciphertext for the test."""
        body = sealed(batch, metric, today)
        sent[batch.metric].append((batch.reports, SealedReport.decode(body).sealed))
        return body

    monkeypatch.setattr(bodies, "sealed", watched)
    hour = f"{datetime.now(UTC) - timedelta(hours=2):%H:%M}"  # none comes while this runs
    with (
        running(collecting, toml=toml) as (collector, counting),
        relaying(relayed, collector, "--batch", str(BATCH), "--at", hour) as (relay, holding),
    ):
        metrics = load_metrics(collecting / "metrics.toml")
        fonts = metrics["fonts"]
        until_ready(relay)
        answer_all(metrics, relay, clients)
        rows, ciphertexts = (set(some) for some in zip(*sent["fonts"], strict=True))
        held = {one for _, one in sent["rare"]}
        assert (len(rows), len(ciphertexts), len(held)) == (clients, clients, FEW)
        closed = ciphertexts | held
        sought = Needles(closed.union(*map(forms, rows)))
        assert sought.found(disk(relayed)) == closed  # the search finds the ciphertexts, and no plaintext
        assert set() < sought.found(memory(holding)) <= closed
        assert addresses(disk(relayed)) == set()
        assert tally(collecting, fonts).total == 0  # at which moment a device reports the collector does not see
        assert command(relayed, "forward", "--collector", collector).startswith(f"{clients:,} reports forwarded")
        assert tally(collecting, fonts).total == clients
        counted = memory(counting)
        assert any(fonts.version.encode() in content for content in counted), "the search finds what is in memory"
        assert addresses([*counted, *disk(collecting)]) == set()
        assert sought.found(disk(relayed)) == held  # too few to leave
        status = json.loads(command(relayed, "status", "--json"))
        assert {pool["pool"]: pool["waiting"] for pool in status["pools"] if pool["waiting"]} == {
            f"rare/{metrics['rare'].version}/1": FEW
        }
        for process in (holding, counting):
            process.terminate()
            outputs = process.communicate(timeout=PATIENCE)
            assert process.returncode == 0
            assert addresses(output.encode() for output in outputs) == set()
    assert addresses([*disk(relayed), *disk(collecting)]) == set()
    assert same(tally(collecting, fonts), Tally.fold(fonts.mechanism, b"".join(row for row, _ in sent["fonts"])))
    assert tally(collecting, metrics["rare"]).total == 0


HOLD = "import sys; held = sys.stdin.buffer.read(); print('held', flush=True); import signal; signal.pause()"


@on_linux
def test_the_search_finds_bytes_in_a_process_and_in_a_folder(tmp_path: Path) -> None:
    needles = Needles(form for _ in range(50 * BATCH) for form in forms(secrets.token_bytes(16)))
    planted = [secrets.token_bytes(size) for size in (8, 9, 16, 50, 100)]
    places = [5, PIECE - 3, 2 * PIECE - 7, 2 * PIECE + 33, 3 * PIECE - 100]
    content = bytearray(secrets.token_bytes(3 * PIECE))
    for one, place in zip(planted, places, strict=True):
        content[place : place + len(one)] = one
    content[77:90] = b" 127.9.19.250"
    (tmp_path / "deep").mkdir()
    file = tmp_path / "deep" / "file"
    file.write_bytes(content)
    with (
        file.open("rb") as given,
        subprocess.Popen([sys.executable, "-c", HOLD], stdin=given, stdout=subprocess.PIPE, text=True) as process,
    ):
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            for contents in (disk(tmp_path), memory(process)):
                assert Needles(planted).found(contents) == set(planted)
                assert needles.found(contents) == set()
                assert b"127.9.19.250" in addresses(contents)
        finally:
            process.kill()
