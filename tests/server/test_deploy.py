"""The deployment files are accepted by their own programs, if installed, and keep their promises."""

import configparser
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from http.client import HTTPResponse
from pathlib import Path

import click
import pytest

from dither_relay.cli import cli as relay_cli
from dither_server.access.tokens import Role
from dither_server.cli.main import cli as collector_cli
from dither_server.config.sources import COLLECTOR
from ports import kept_port
from server.collecting import METRICS, METRICS_TOML, TODAY, at_once, batch, environment, running
from server.test_near import await_port, nginx
from server.test_process import PATIENCE, connect, tally
from torture.devices import post

DEPLOY = Path(__file__).parents[2] / "server" / "deploy"


def test_example_settings_file_is_valid(tmp_path: Path) -> None:
    config = COLLECTOR.configured(COLLECTOR.resolve({}, {}, str(DEPLOY / "collector.toml")))
    assert config.open == {Role.REPORT}
    assert not config.trust_loopback
    assert not config.local_token
    assert not config.origins.listed
    assert config.retention.before("theme", TODAY) == TODAY - timedelta(days=400)


def test_dockerfile_sets_existing_settings_and_does_not_run_as_root() -> None:
    text = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    variables = {word.partition("=")[0] for word in text.split() if word.startswith("DITHER_")}
    assert variables
    assert variables <= {COLLECTOR.variable_of(name) for name in COLLECTOR.settings}
    assert text.index("USER 10001") < text.index("ENTRYPOINT")
    kept = (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8").split()
    names = {name[1:] for name in kept if name.startswith("!")}
    assert names == {"pyproject.toml", "README.md", "shared", "client", "server", "simulations"}
    assert all((DEPLOY.parents[1] / name).exists() for name in names)


UNITS = sorted(path.name for path in DEPLOY.iterdir() if path.suffix in {".service", ".timer"})


def unit_of(name: str) -> configparser.RawConfigParser:
    unit = configparser.RawConfigParser(strict=False)
    unit.read(DEPLOY / name, encoding="utf-8")
    return unit


@pytest.mark.parametrize("name", UNITS)
def test_systemd_unit_passes_systemd_analyze(name: str) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd-analyze here: apt-get install systemd")
    command = ["systemd-analyze", "verify", str(DEPLOY / name)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    remarks = [line for line in result.stderr.splitlines() if "/opt/dither/bin/" not in line]  # is not installed here
    assert remarks == []


@pytest.mark.parametrize("name", [name for name in UNITS if name.endswith(".service")])
def test_each_systemd_service_keeps_its_files_private_and_starts_an_existing_command(name: str) -> None:
    """If a service that shares a folder does not set its mode, it opens the folder to everybody."""
    service = unit_of(name)["Service"]
    assert (service["DynamicUser"], service["StateDirectoryMode"], service["UMask"]) == ("yes", "0700", "0077")
    program, command = service["ExecStart"].split()[:2]
    cli = {"dither-server": collector_cli, "dither-relay": relay_cli}[Path(program).name]
    assert isinstance(cli.get_command(click.Context(cli), command), click.Command)


@pytest.mark.parametrize("name", ["dither.service", "dither-relay.service"])
def test_a_server_is_started_again_for_as_long_as_it_takes(name: str) -> None:
    """By default systemd gives up after five starts in ten seconds: a database may come up later than that."""
    unit = unit_of(name)
    assert unit["Service"]["ProtectSystem"] == "strict"
    assert (unit["Service"]["Restart"], unit["Service"]["RestartSec"]) == ("on-failure", "5s")
    assert unit["Unit"]["StartLimitIntervalSec"] == "0"


def test_commands_of_the_page_run_as_the_service_does() -> None:
    text = (DEPLOY.parents[1] / "docs" / "how-to" / "deploy-systemd.md").read_text(encoding="utf-8")
    service = unit_of("dither.service")["Service"]
    properties = dict(re.findall(r" -p (\w+)=(\S+)", text))
    assert properties.pop("User") == "dither"  # which systemd takes from the unit's name there
    assert properties.keys() == {"DynamicUser", "StateDirectory", "StateDirectoryMode", "UMask", "EnvironmentFile"}
    assert properties == {key: service[key] for key in properties}
    assert "-E DITHER_CONFIG=/etc/dither/collector.toml" in text
    commands = set(re.findall(r"^as_dither (\S+)", text, re.MULTILINE))
    assert "doctor" in commands
    assert commands <= collector_cli.commands.keys()


@pytest.mark.slow  # starts three cold processes
def test_gunicorn_runs_two_workers_on_one_file(tmp_path: Path) -> None:
    """The WSGI module, imported once and forked: each worker commits, shows the sums of both, and ends cleanly."""
    pytest.importorskip("gunicorn")
    (tmp_path / "metrics.toml").write_text(METRICS_TOML, encoding="utf-8")
    (tmp_path / "counts").mkdir()
    more = {"DITHER_OPEN": "report,read", "DITHER_LOCK_WAIT": "60", "PROMETHEUS_MULTIPROC_DIR": f"{tmp_path}/counts"}
    bodies, statuses = [batch().encode() for _ in range(20)], set[int | None]()
    with kept_port() as port:
        options = ["--preload", "-w", "2", "--threads", "8", "-b", f"127.0.0.1:{port}"]
        command = [sys.executable, "-m", "gunicorn", *options, "dither_server.wsgi:app"]
        with subprocess.Popen(command, env={**environment(tmp_path), **more}, stderr=subprocess.DEVNULL) as process:
            await_port(port)
            url = f"http://127.0.0.1:{port}"

            def device(body: bytes) -> None:
                statuses.add(None if (answer := post(url, body)) is None else answer.status)

            at_once(device, *(bodies * 3))
            lines = set[str]()
            for _ in range(10):  # each request may reach another worker
                with closing(connect(url)) as connection:
                    connection.request("GET", "/metrics")
                    lines.update(connection.getresponse().read().decode().splitlines())
            process.terminate()
            assert (statuses, process.wait(PATIENCE)) == ({202}, 0)
    names = ("dither_batch_ids ", 'dither_reports_acknowledged_total{metric="theme"')
    assert sorted(line for line in lines if line.startswith(names)) == [f"{names[0]}20.0", f"{names[1]}}} 180.0"]
    assert not (tmp_path / "dither.db-wal").exists()  # the file is whole by itself
    assert tally(tmp_path, METRICS["theme"]).total == 60


def test_granian_serves_the_same_app_and_lets_no_stranger_in(tmp_path: Path) -> None:
    pytest.importorskip("granian")
    (tmp_path / "metrics.toml").write_text(METRICS_TOML, encoding="utf-8")
    with kept_port() as port:
        accepted, status, code = _asked_granian(tmp_path, port)
    assert accepted is not None
    assert (accepted.status, status, code) == (202, 401, 0)
    assert not (tmp_path / "dither.db-wal").exists()  # the file is whole by itself
    assert tally(tmp_path, METRICS["theme"]).total == 3


def _asked_granian(folder: Path, port: int) -> tuple[HTTPResponse | None, int, int]:
    """Return the statuses that a report and a reader without a token get, and the exit status."""
    options = ["--interface", "wsgi", "--blocking-threads", "8", "--port", str(port)]
    command = [sys.executable, "-m", "granian", *options, "dither_server.wsgi:app"]
    quiet = subprocess.DEVNULL
    local = {"DITHER_LOCAL_ADDRESS": f"127.0.0.1:{port}"}  # without it no report would be local, either
    with subprocess.Popen(command, env={**environment(folder), **local}, stdout=quiet, stderr=quiet) as process:
        url, end = f"http://127.0.0.1:{port}", time.monotonic() + PATIENCE
        while (accepted := post(url, batch().encode())) is None and time.monotonic() < end:
            time.sleep(0.05)  # it does not say when it listens
        with closing(connect(url)) as connection:
            connection.request("GET", "/v1/metrics")
            status = connection.getresponse().status
        process.terminate()
        return accepted, status, process.wait(PATIENCE)


SITES = ("nginx.conf", "nginx-own-site.conf")


@pytest.mark.parametrize("name", SITES)
def test_nginx_keeps_no_addresses(name: str) -> None:
    lines = [line.partition("#")[0].strip() for line in (DEPLOY / name).read_text("utf-8").splitlines()]
    assert "access_log off;" in lines
    assert not any("$remote_addr" in line or "$proxy_add_x_forwarded_for" in line for line in lines)


def sample(name: str, folder: Path) -> str:
    """A file of sites-enabled whose certificate and logs are in the folder."""
    nginx, openssl = shutil.which("nginx"), shutil.which("openssl")
    if nginx is None or openssl is None:
        pytest.skip("no nginx or openssl here: apt-get install nginx openssl")
    names = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=t", "-keyout", "key.pem"]
    subprocess.run([*names, "-out", "cert.pem"], cwd=folder, check=True, capture_output=True)
    site = (DEPLOY / name).read_text(encoding="utf-8").replace("/var/log/nginx/", f"{folder}/")
    for before, after in (("fullchain.pem", "cert.pem"), ("privkey.pem", "key.pem")):
        site = re.sub(rf"/etc/letsencrypt/live/[a-z.]+/{before}", str(folder / after), site)
    return site


@pytest.mark.parametrize("name", SITES)
def test_nginx_reads_the_sample(name: str, tmp_path: Path) -> None:
    whole = tmp_path / "nginx.conf"
    whole.write_text(f"pid {tmp_path}/pid;\nevents {{}}\nhttp {{\n{sample(name, tmp_path)}\n}}\n", encoding="utf-8")
    command = [shutil.which("nginx") or "", "-t", "-c", str(whole)]
    read = subprocess.run(command, capture_output=True, text=True, check=False)
    assert read.returncode == 0, read.stderr


@contextmanager
def served(site: str, folder: Path, url: str) -> Iterator[int]:
    """Run nginx with a site in front of a collector, without TLS, and yield its port."""
    site = site.replace("http://127.0.0.1:8000", url).replace("listen [::]:443 ssl;", "")
    with kept_port() as port, nginx(folder, site.replace("listen 443 ssl;", f"listen 127.0.0.1:{port};"), port):
        yield port


def of_page(port: int, path: str, origin: str | None, method: str = "POST") -> tuple[int, str | None]:
    """Return the status of the answer to a page's report, and the origin that may read it."""
    headers = {"Content-Type": "text/plain;charset=UTF-8", "Cookie": "session=secret", "Host": "app.example"}
    if origin is not None:
        headers["Origin"] = origin
    with closing(connect(f"http://127.0.0.1:{port}")) as connection:
        connection.request(method, path, batch().encode() if method == "POST" else None, headers)
        response = connection.getresponse()
        return response.status, response.headers["Access-Control-Allow-Origin"]


@pytest.mark.parametrize(
    ("name", "before", "path"),
    [
        ("nginx.conf", "", "/v1/reports"),
        ("nginx-own-site.conf", "", "/telemetry/v1/reports"),
        ("nginx-own-site.conf", "/telemetry", "/v1/reports"),  # as its comment says of an endpoint without a prefix
    ],
)
def test_pages_report_through_nginx(name: str, before: str, path: str, tmp_path: Path) -> None:
    site, app = sample(name, tmp_path), "https://app.example"
    if before:
        site = site.replace(f"location = {before}/", "location = /")
    options = ("--open", "report", "--no-trust-loopback", "--origins", app)
    with running(tmp_path, *options) as (url, _), served(site, tmp_path, url) as port:
        assert of_page(port, path, app) == (202, app)
        for origin in ("https://evil.example", "null", f"{app}:443"):
            assert of_page(port, path, origin) == (403, None)
        assert of_page(port, path, None) == (415, None)
        if name != SITES[0]:
            for other in ("/telemetry/", "/telemetry/v1/metrics", "/metrics", "/telemetry/v1/reports/x", "/healthz"):
                assert of_page(port, other, app, "GET")[0] in {403, 404}  # nginx has no such file
    assert tally(tmp_path, METRICS["theme"]).total == 3
