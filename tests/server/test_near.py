"""Real collectors behind proxies: nobody can read through a proxy on the same machine."""

import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from ports import kept_ports
from server.collecting import batch, running
from server.test_process import JSON, PATIENCE, connect

CLOSED = ("--open", "")


def statuses(url: str, headers: Mapping[str, str] | None = None) -> tuple[int, ...]:
    """Return the statuses of a request for estimates, of one for ``/metrics``, and of a report."""
    codes = []
    for method, path, body in (
        ("GET", "/v1/metrics/theme/estimate", None),
        ("GET", "/metrics", None),
        ("POST", "/v1/reports", batch().encode()),
    ):
        with closing(connect(url)) as connection:
            connection.request(method, path, body, {**(JSON if body else {}), **(headers or {})})
            codes.append(connection.getresponse().status)
    return tuple(codes)


def raw(url: str, request: bytes) -> int:
    """Return the status of the answer to these bytes."""
    with socket.create_connection((urlsplit(url).hostname, urlsplit(url).port), PATIENCE) as connection:
        connection.sendall(request)
        return int(connection.makefile("rb").readline().split()[1])


def test_printed_address_reads_and_its_token_is_not_logged(tmp_path: Path) -> None:
    with running(tmp_path, *CLOSED, "--log-level", "debug") as (url, process):
        assert process.stdout is not None
        page = re.fullmatch(
            r"to read the answers: (http://127\.0\.0\.1:\d+)/\?token=(\S+)\n", process.stdout.readline()
        )
        assert page is not None
        assert page[1] == url
        assert statuses(url) == (401, 401, 202)
        assert statuses(url, {"Authorization": f"Bearer {page[2]}"}) == (200, 200, 202)
        with closing(connect(url)) as connection:
            connection.request("GET", f"/m/theme?token={page[2]}")
            response = connection.getresponse()
            assert (response.status, response.headers["Location"]) == (303, "/m/theme")
            name = response.headers["Set-Cookie"].partition("=")[0]
            assert name == f"dither-{urlsplit(url).port}"
            response.read()
            connection.request("GET", f"/m/theme?token={page[2]}&since=nonsense&token=x")
            assert connection.getresponse().status == 303
        process.terminate()
        output, errors = process.communicate(timeout=PATIENCE)
    assert page[2] not in output + errors


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--no-local-token", "--no-trust-loopback"), (401, 401, 401)),
        (("--host", "0.0.0.0", "--open", "report"), (401, 401, 202)),  # noqa: S104 - others could reach it
        (("--host", "0.0.0.0"), (401, 401, 401)),  # noqa: S104
        (("--host", "::1"), (401, 401, 202)),
    ],
)
def test_options_decide_what_this_machine_may_do(
    options: tuple[str, ...], expected: tuple[int, ...], tmp_path: Path
) -> None:
    with running(tmp_path, *CLOSED, *options) as (url, process):
        near = url.replace("0.0.0.0", "127.0.0.1")  # noqa: S104
        assert statuses(near) == expected
        process.terminate()
        assert process.stdout is not None
        assert process.stderr is not None
        output, errors = process.stdout.read(), process.stderr.read()  # what readline has read ahead, too
    assert "http://0.0.0.0" not in output  # no browser can be sent there
    assert ("token=" in output) is ("--no-local-token" not in options)
    assert ("nobody may report yet: dither-server token create --role report\n" in errors) is (expected[2] == 401)
    assert ("nobody may read yet" in errors) is ("--no-local-token" in options)


def test_ambiguous_or_forwarded_requests_are_not_local(tmp_path: Path) -> None:
    body = batch().encode()
    rest = b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    with running(tmp_path, *CLOSED) as (url, _):
        host = url.removeprefix("http://").encode()
        fine = b"POST /v1/reports HTTP/1.1\r\nHost: " + host + b"\r\n"
        assert raw(url, fine + rest) == 202
        for head in (
            fine.replace(b"HTTP/1.1", b"HTTP/1.0"),
            fine + b"Host: evil.example\r\n",
            b"POST /v1/reports HTTP/1.1\r\nHost: evil.example\r\nHost: " + host + b"\r\n",
            b"POST /v1/reports HTTP/1.1\r\n",
            fine.replace(b"/v1", b"http://evil.example/v1"),
            fine.replace(b"/v1", b"http://" + host + b"/v1"),
            fine + b"X-Forwarded-For: 192.0.2.7\r\n",
            fine + b"X_Forwarded_For: x\r\nx-forwarded-FOR:\r\n",
            fine + b"Origin: https://evil.example\r\n",
        ):
            assert raw(url, head + rest) in {400, 401, 403}, head


PROXIES: Mapping[str, int] = {
    "": 401,  # HTTP/1.0, unless nginx is configured otherwise
    "proxy_set_header Host localhost;": 401,
    "proxy_http_version 1.1; proxy_set_header Host $host;": 401,
    "proxy_http_version 1.1; proxy_set_header Host localhost;": 401,
    "proxy_http_version 1.1; proxy_set_header X-Forwarded-Proto $scheme;": 401,
    "proxy_http_version 1.1;": 202,  # to the collector this machine's own: only trust_loopback tells them apart
}
"""The lines of a site beside ``proxy_pass``, and the status that a report through it gets."""


@contextmanager
def nginx(folder: Path, sites: str, port: int) -> Iterator[None]:
    """Run nginx with these sites, one of which listens on the port."""
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/pid; error_log stderr crit; worker_processes 1; events {{}}\n"
        f"http {{ client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; {sites} }}\n",
        encoding="utf-8",
    )
    command = [shutil.which("nginx") or "", "-p", str(folder), "-c", "nginx.conf"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            await_port(port)
            yield
        finally:
            process.terminate()


@contextmanager
def proxied(folder: Path, url: str) -> Iterator[Mapping[str, int]]:
    """Run nginx with a site for each of ``PROXIES``, and yield their URLs, and what reports are answered."""
    with kept_ports(len(PROXIES)) as ports:
        sites = "".join(
            f"server {{ access_log off; listen 127.0.0.1:{port}; location / {{ proxy_pass {url}; {lines} }} }}\n"
            for port, lines in zip(ports, PROXIES, strict=True)
        )
        with nginx(folder, sites, ports[-1]):
            yield {f"http://127.0.0.1:{port}": report for port, report in zip(ports, PROXIES.values(), strict=True)}


def await_port(port: int) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with suppress(OSError):
            return socket.create_connection(("127.0.0.1", port)).close()
    raise AssertionError("nothing listens")


@pytest.mark.skipif(shutil.which("nginx") is None, reason="no nginx here: apt-get install nginx")
def test_request_through_nginx_cannot_read(tmp_path: Path) -> None:
    with running(tmp_path, *CLOSED) as (url, _), proxied(tmp_path, url) as sites:
        for far, report in sites.items():
            for headers in ({}, {"Host": "localhost"}, {"Host": url.removeprefix("http://")}):
                assert statuses(far, headers) == (401, 401, report)


def test_start_warns_that_pages_cannot_report_without_a_token(tmp_path: Path) -> None:
    """A page's report is not local, though its browser is, and being listed stands for no token."""
    page = {"Origin": "http://localhost:3000"}
    for opened, report in (("", 401), ("report", 202)):
        with running(tmp_path, "--open", opened, "--origins", page["Origin"]) as (url, process):
            assert statuses(url, page) == (401, 401, report)
            assert statuses(url) == (401, 401, 202)
            process.terminate()
            _, errors = process.communicate(timeout=PATIENCE)
        assert ("pages of http://localhost:3000 send no token, and are answered 401" in errors) is (report == 401)
