"""A Prometheus that is set up as the pages say asks a collector and a relay, and answers what the dashboard asks it."""

import json
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from relay.relaying import running as relaying
from server.cli.invoking import invoke
from server.collecting import batch, running
from server.test_monitoring import ALERTS, QUERIES

PAGES = Path(__file__).parents[2] / "docs" / "how-to"
PATIENCE = 120.0


def jobs(page: str, address: str, url: str) -> str:
    """Return the jobs of a page's prometheus.yml, with this URL as their target."""
    (block,) = re.findall(
        r"```yaml\n# prometheus.yml\n.*?scrape_configs:\n(.*?)```", (PAGES / page).read_text(), re.DOTALL
    )
    assert address in block
    return str(block).replace(address, urlsplit(url).netloc)


@contextmanager
def prometheus(folder: Path, scrape: str) -> Iterator[int]:
    """Start a Prometheus that scrapes every two seconds; return it and its port."""
    program = shutil.which("prometheus")
    if program is None:
        pytest.skip("no Prometheus here: apt-get install prometheus")
    head = "global: {scrape_interval: 2s, evaluation_interval: 2s, scrape_timeout: 2s}\nrule_files: [alerts.yml]\n"
    (folder / "prometheus.yml").write_text(f"{head}scrape_configs:\n{scrape}", encoding="utf-8")
    shutil.copy(ALERTS, folder)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    options = [f"--web.listen-address=127.0.0.1:{port}", "--config.file=prometheus.yml", "--storage.tsdb.path=data"]
    with subprocess.Popen([program, *options], cwd=folder, stderr=subprocess.DEVNULL) as process:
        try:
            yield port
        finally:
            process.kill()


def answered(port: int, query: str) -> list[Any]:
    """Return the first answer of Prometheus that is not empty."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        time.sleep(0.1)  # Prometheus signals no scrape
        with closing(HTTPConnection("127.0.0.1", port, timeout=PATIENCE)) as connection:
            try:
                connection.request("GET", f"/api/v1/query?{urlencode({'query': query})}")
                response = connection.getresponse()
            except ConnectionError:
                continue  # it does not listen yet
            answer = response.read()
        if response.status == 503:
            continue  # it is not ready yet
        assert response.status == 200, answer
        if found := json.loads(answer)["data"]["result"]:
            return list(found)
    raise AssertionError(f"nothing answers {query}")


def some_of_everything(url: str, token: str) -> None:
    """Report, be refused, read, send bytes that are not HTTP, and open more connections than are allowed."""
    with closing(HTTPConnection(urlsplit(url).netloc, timeout=PATIENCE)) as connection:
        for body, status in ((batch().encode(), 202), (b"garbage", 400)):
            connection.request("POST", "/v1/reports", body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            response.read()
            assert response.status == status
        connection.request("GET", "/v1/metrics/theme/estimate", headers={"Authorization": f"Bearer {token}"})
        assert connection.getresponse().status == 200
    address = urlsplit(url)
    with socket.create_connection((address.hostname, address.port or 0), timeout=PATIENCE) as connection:
        connection.sendall(b"nonsense\r\n\r\n")
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 400")
    crowd = [socket.create_connection((address.hostname, address.port or 0), timeout=PATIENCE) for _ in range(20)]
    crowd[0].recv(1)  # which has waited longest
    for one in crowd:
        one.close()


@pytest.mark.slow  # Prometheus scrapes every two seconds, and each panel needs two scrapes; promtool parses the same
def test_prometheus_scrapes_collector_and_relay_and_each_panel_shows_something(tmp_path: Path) -> None:
    (tmp_path / "relay").mkdir()
    with (
        running(tmp_path, "--open", "report", "--connections", "10") as (url, _),
        relaying(tmp_path / "relay", url) as (relay, _),
    ):
        assert url
        token = invoke(tmp_path, "token", "create", "--role", "read").stdout
        (tmp_path / "dither.token").write_text(token, encoding="utf-8")
        scrape = jobs("upkeep.md", "127.0.0.1:8000", url) + jobs("relay.md", "127.0.0.1:8080", relay)
        some_of_everything(url, token.strip())
        with prometheus(tmp_path, scrape) as port:
            for job in ("dither", "dither-relay"):
                assert answered(port, f'up{{job="{job}"}} == 1')
            for query in QUERIES:
                assert answered(port, query.replace("$__rate_interval", "1m").replace("$instance", ".*"))
            assert answered(port, 'dither_relay_ready{job="dither-relay"} == 0')  # nothing is sealed there
            assert answered(port, 'ALERTS{alertname="DitherRelayNotReady"}')
