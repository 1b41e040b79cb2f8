"""The relay's deployment files: their settings exist, they log no address, and they work behind nginx."""

import configparser
import shutil
import subprocess
from pathlib import Path

import click
import pytest

from dither_relay.cli import cli
from dither_relay.config import RELAY
from relay.fake_collector import collecting
from relay.relaying import POOLS, ask, bytes_of, rows, running, send, until_ready
from server.test_deploy import DEPLOY, sample, served


def test_sample_settings_file_is_valid() -> None:
    config = RELAY.configured(RELAY.resolve({}, {}, str(DEPLOY / "relay.toml")))
    assert (config.batch, config.at, config.proxies, config.token) == (500, "03:00", "127.0.0.1", "")


def test_compose_file_names_existing_commands_and_settings() -> None:
    file = pytest.importorskip("yaml").safe_load((DEPLOY / "compose.relay.yml").read_text(encoding="utf-8"))
    (service,) = file["services"].values()
    assert set(service["environment"]) <= {RELAY.variable_of(name) for name in RELAY.settings}
    assert (DEPLOY / service["build"]["context"]).resolve() == DEPLOY.parents[1]
    assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
    assert isinstance(cli.get_command(click.Context(cli), *service["command"]), click.Command)
    assert service["ports"] == [f"127.0.0.1:8080:{service['environment']['DITHER_RELAY_PORT']}"]


def test_the_relays_unit_is_as_strict_as_the_collectors() -> None:
    units = []
    for name in ("dither.service", "dither-relay.service"):
        unit = configparser.RawConfigParser(strict=False)
        unit.read(DEPLOY / name, encoding="utf-8")
        units.append(dict(unit["Service"]))
    differ = {key for key in units[0].keys() | units[1].keys() if units[0].get(key) != units[1].get(key)}
    assert differ == {"execstartpre", "execstart", "environmentfile", "statedirectory"}
    assert "RELAY_CONFIG=/etc/dither-relay/relay.toml" in (DEPLOY / "dither-relay.service").read_text("utf-8")


def test_nginx_logs_no_addresses_and_passes_only_the_upload_routes() -> None:
    lines = [line.partition("#")[0].strip() for line in (DEPLOY / "nginx-relay.conf").read_text("utf-8").splitlines()]
    assert "access_log off;" in lines
    assert [line for line in lines if "$remote_addr" in line] == ["proxy_set_header X-Forwarded-For $remote_addr;"]
    assert [line for line in lines if line.startswith("location")] == ["location = /v1/sealed {", "location / {"]


def test_nginx_accepts_the_sample_configuration(tmp_path: Path) -> None:
    whole = tmp_path / "nginx.conf"
    site = sample("nginx-relay.conf", tmp_path)
    whole.write_text(f"pid {tmp_path}/pid;\nevents {{}}\nhttp {{\n{site}\n}}\n", encoding="utf-8")
    command = [shutil.which("nginx") or "", "-t", "-c", str(whole)]
    read = subprocess.run(command, capture_output=True, text=True, check=False)
    assert read.returncode == 0, read.stderr


def test_devices_report_through_nginx(tmp_path: Path) -> None:
    """Each address has a limit of its own, because the proxy is named."""
    site = sample("nginx-relay.conf", tmp_path)
    # A device cannot come from elsewhere here: a header of ours stands for its address, with a port as some add it.
    site = site.replace("X-Forwarded-For $remote_addr", "X-Forwarded-For $http_from_where")
    options = ("--rate", "2", "--proxies", "127.0.0.1")
    with collecting(POOLS) as collector, running(tmp_path, collector.url, *options) as (url, process):
        until_ready(url)
        with served(site.replace("http://127.0.0.1:8080", url), tmp_path, url) as port:
            there, sealed = f"http://127.0.0.1:{port}", rows(8)
            for address, some in (("198.51.100.77:50123", sealed[:3]), ("[2001:db8::7]:443", sealed[3:6])):
                assert [send(there, row, From_Where=address) for row in some] == [202, 202, 429]
            assert ask(there, "GET", "/v1/sealed") == (200, b'{"relay": "dither"}')
            for hidden in ("/metrics", "/healthz", "/readyz", "/v1/reports", "/v1/sealed/"):
                assert ask(there, "GET", hidden)[0] == 404
        process.terminate()
        output = "".join(process.communicate()).encode() + bytes_of(tmp_path)
    logs = [path.read_bytes() for path in tmp_path.glob("*.log")]
    assert all(b"198.51" not in text for text in (output, *logs))
