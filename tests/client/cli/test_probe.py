"""``python -m dither test``: the checks of a collector and their reports."""

import json
import socket
import ssl
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

import pytest
from cryptography.hazmat.primitives import hpke

from client.devices import MOBILE, THEME
from client.peers import Handler, certificate, serving
from client.seals import sealing
from dither import __main__ as program
from dither.cli import probe
from dither.cli.probe import ProbeResult
from dither.reporting.bodies import sealer
from dither.upload.transport import Endpoint
from dither_shared.bounded_http import dial, resolve
from ports import kept_port

OPEN = '{"collector": "dither", "reports": "accepted", "token": "not-needed"}'
KNOWN = '{"metric": "%s", "version": "%s", "reports": "%s"}'
CLOSED = '{"collector": "dither", "reports": "accepted", "token": "needed"}'


@contextmanager
def listening(handle: Handler, context: ssl.SSLContext | None = None) -> Iterator[int]:
    """Run a server that handles each connection by a script, and yield its port."""
    with serving(lambda _, connection: handle(connection), context) as peer:
        yield peer.port


def answering(*answers: tuple[int, str] | tuple[int, str, str], requests: list[bytes] | None = None) -> Handler:
    """Return a script that sends HTTP answers (status, body, more headers), the last of them repeatedly."""
    remaining = list(answers)

    def handle(connection: socket.socket) -> None:
        request = connection.recv(65536)
        if requests is not None:
            requests.append(request)
        status, body, *more = remaining.pop(0) if len(remaining) > 1 else remaining[0]
        head = f"HTTP/1.1 {status} said\r\nContent-Length: {len(body.encode())}\r\n{''.join(more)}\r\n"
        connection.sendall((head + body).encode())

    return handle


def probe_results(endpoint: str, *metrics: object, token: str | None = None) -> list[ProbeResult]:
    return list(probe.probe(Endpoint.parse(endpoint), token, metrics))  # type: ignore[arg-type]


def last(handle: Handler, path: str = "", token: str | None = None) -> ProbeResult:
    with listening(handle) as port:
        return probe_results(f"http://127.0.0.1:{port}{path}", token=token)[-1]


def problem(slug: str, detail: str = "") -> str:
    return json.dumps({"type": f"urn:dither:problem:{slug}", "title": "", "status": 0, "detail": detail})


def test_each_step_of_a_good_collector_is_ok() -> None:
    answers = [(200, OPEN), *((200, KNOWN % (metric.name, metric.version, "accepted")) for metric in (THEME, MOBILE))]
    requests: list[bytes] = []
    with listening(answering(*answers, requests=requests)) as port:
        findings = probe_results(f"http://localhost:{port}/some/where/", THEME, MOBILE, token="s3cret")  # noqa: S106 - nobody's
    assert {finding.result for finding in findings} == {"ok"}
    steps = ["name", "connection", "encryption", "collector", "token", "metric", "metric"]
    assert [finding.step for finding in findings] == steps
    assert [(finding.metric, finding.version) for finding in findings[-2:]] == [
        (m.name, m.version) for m in (THEME, MOBILE)
    ]
    assert [request.split(b" ")[:2] for request in requests] == [
        [b"GET", b"/some/where/v1/reports"],
        [b"GET", f"/some/where/v1/metrics/theme/versions/{THEME.version}".encode()],
        [b"GET", f"/some/where/v1/metrics/mobile/versions/{MOBILE.version}".encode()],
    ]
    assert [b"Authorization: Bearer s3cret" in request for request in requests] == [True, False, False]


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (200, "hello", "not a dither collector"),
        (200, "[" * 50_000, "not a dither collector"),
        (200, '{"collector": "other"}', "not a dither collector"),
        (404, "<html>", "lack a path?"),
        (400, "<html>", "something answers (HTTP 400), but it is not a dither collector"),
        (401, "who are you?", "not a dither collector"),
        (405, problem("method-not-allowed"), "upgrade it"),
        (502, "<html>", "no collector behind it (HTTP 502)"),
        (503, problem("unavailable"), "cannot read its database"),
        (500, problem("internal"), "HTTP 500"),
    ],
)
def test_probe_names_an_answer_that_is_not_a_collectors(status: int, body: str, said: str) -> None:
    finding = last(answering((status, body)))
    assert (finding.step, finding.result) == ("collector", "failed")
    assert said in finding.says


def test_probe_of_a_missing_path_suggests_to_check_it() -> None:
    assert "is the path /wrong right?" in last(answering((404, "")), "/wrong/").says


@pytest.mark.parametrize(
    ("status", "body", "token", "result", "said"),
    [
        (200, OPEN, None, "ok", "none is needed"),
        (200, OPEN, "t", "ok", "the given token was not checked"),
        (200, CLOSED, "t", "ok", "it is accepted"),
        (401, problem("unauthorized"), None, "failed", "one is needed, and none was given"),
        (401, problem("unauthorized"), "t", "failed", "not known here"),
        (403, problem("forbidden"), "t", "failed", "it has another role"),
    ],
)
def test_probe_judges_the_token_by_the_collectors_answer(
    status: int, body: str, token: str | None, result: str, said: str
) -> None:
    finding = last(answering((status, body)), token=token)
    assert (finding.step, finding.result) == ("token", result)
    assert said in finding.says


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (404, problem("unknown-version"), "is not known there; give the collector this metrics.toml"),
        (404, "", "HTTP 404"),
        (200, KNOWN % ("theme", THEME.version, "disabled"), "disabled"),
        (200, KNOWN % ("theme", "0" * 16, "accepted"), "which no collector sends here"),
        (200, "{}", "which no collector sends here"),
        (503, problem("unavailable"), "HTTP 503"),
    ],
)
def test_probe_names_a_version_that_the_collector_does_not_count(status: int, body: str, said: str) -> None:
    with listening(answering((200, OPEN), (status, body))) as port:
        finding = probe_results(f"http://127.0.0.1:{port}", THEME)[-1]
    assert (finding.step, finding.result, finding.metric) == ("metric", "failed", "theme")
    assert said in finding.says


def test_probe_waits_after_a_rate_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "_PAUSE", 0.0)
    accepted = KNOWN % ("theme", THEME.version, "accepted")
    with listening(answering((429, ""), (200, OPEN), (429, ""), (429, ""), (200, accepted))) as port:
        assert probe_results(f"http://127.0.0.1:{port}", THEME)[-1].result == "ok"


def test_an_unknown_host_name_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> NoReturn:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    (finding,) = probe_results("https://telemetry.example.org")
    assert (finding.step, finding.result) == ("name", "failed")
    assert "is it spelled correctly?" in finding.says


def test_a_port_without_listener_is_reported() -> None:
    with kept_port() as port:
        assert probe_results(f"http://127.0.0.1:{port}")[-1][:2] == ("connection", "failed")


@pytest.fixture
def context(tmp_path: Path) -> ssl.SSLContext:
    return certificate(tmp_path, "server", "-addext", "subjectAltName=DNS:localhost")


def test_a_trusted_certificate_is_ok_for_its_name_only(
    tmp_path: Path, context: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "server.pem"))
    answers = [(200, OPEN), (200, KNOWN % ("theme", THEME.version, "accepted"))]
    with listening(answering(*answers), context) as port:
        findings = probe_results(f"https://localhost:{port}", THEME)
        assert {finding.result for finding in findings} == {"ok"}
        (*_, finding) = probe_results(f"https://127.0.0.1:{port}")
        assert "it belongs to another server" in finding.says
        monkeypatch.delenv("SSL_CERT_FILE")
        untrusted = probe_results(f"https://localhost:{port}")[-1]
    with listening(answering((400, ""))) as port:
        plain = probe_results(f"https://localhost:{port}")[-1]
    assert {one[:2] for one in (finding, untrusted, plain)} == {("encryption", "failed")}
    assert "its issuer is not an authority that this machine trusts" in untrusted.says
    assert "is it http" in plain.says


def test_unencrypted_endpoint_gets_a_warning_except_on_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(answering((200, OPEN))) as port:
        (local,) = resolve("127.0.0.1", port)
        far = local._replace(name=("192.0.2.1", port))
        monkeypatch.setattr("dither.cli.probe.resolve", lambda *_: [far])
        monkeypatch.setattr("dither.cli.probe.dial", lambda _, deadline: (dial([local], deadline)[0], far))
        findings = probe_results(f"http://collector.example:{port}")
    assert [finding.result for finding in findings] == ["ok", "ok", "warning", "ok", "ok"]


@pytest.fixture
def metrics(tmp_path: Path) -> str:
    path = tmp_path / "metrics.toml"
    path.write_text('[metrics.mobile]\ntype = "boolean"\nepsilon = 1.0\n[metrics.b]\ntype = "boolean"\nepsilon = 1.0\n')
    return str(path)


def test_exit_status_and_json_say_whether_reports_would_arrive(
    metrics: str, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = [(200, OPEN), (404, problem("unknown-version"))]
    with listening(answering(*answers)) as port:
        arguments = ["test", "--endpoint", f"http://127.0.0.1:{port}", "--token", "s3cret", "--json"]
        assert program.main(arguments[:-1]) == 0
        assert "s3cret" not in capsys.readouterr().out
    with listening(answering(*answers)) as port:
        arguments[2] = f"http://127.0.0.1:{port}"
        assert program.main([*arguments, "--metrics", metrics]) == 1
    answer = json.loads(capsys.readouterr().out)
    with listening(answering(*answers)) as port:
        program.main(["test", "--endpoint", f"http://127.0.0.1:{port}", "--metrics", metrics])
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    assert shown.endswith("\nAn app's reports would not be counted there.\n")
    assert (answer["endpoint"], answer["delivers"]) == (arguments[2], False)
    assert [(step["step"], step["result"]) for step in answer["steps"][-3:]] == [
        ("token", "ok"),
        ("metric", "failed"),
        ("metric", "failed"),
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--endpoint", "ftp://example.org"],
        ["--endpoint", "https://example.org", "--token", "a b"],
        ["--endpoint", "https://example.org", "--metrics", "/nowhere/metrics.toml"],
    ],
)
def test_a_usage_error_is_one_line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main(["test", *arguments]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert len(output.err.splitlines()) == 1


SEALED = tuple(sealing({"theme": THEME, "mobile": MOBILE}).values())


@pytest.mark.parametrize(("status", "body"), [(405, problem("method-not-allowed")), (200, '{"relay": "dither"}')])
def test_probe_of_a_relay_sends_no_token_and_checks_no_version(status: int, body: str) -> None:
    requests: list[bytes] = []
    with listening(answering((status, body), requests=requests)) as port:
        findings = probe_results(f"http://127.0.0.1:{port}/some/where", *SEALED, token="s3cret")  # noqa: S106 - nobody's
    results = [(finding.step, finding.result) for finding in findings[3:]]
    assert results == [("relay", "ok"), ("sealing", "ok"), ("metric", "warning"), ("metric", "warning")]
    assert f"its collector does, at /v1/metrics/theme/versions/{THEME.version}" in findings[5].says
    (request,) = requests
    assert request.startswith(b"GET /some/where/v1/sealed ")
    assert b"s3cret" not in request


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (200, '{"pools": [], "batch_limit": 1, "body_limit": 1}', "a collector answers, not a relay"),
        (401, problem("unauthorized"), "a collector answers, not a relay"),
        (403, problem("forbidden"), "a collector answers, not a relay"),
        (404, problem("not-found"), "something answers (HTTP 404), but it is not a dither relay"),
        (200, "[]", "something answers (HTTP 200), but it is not a dither relay"),
        (502, "<html>", "something answers (HTTP 502), but it is not a dither relay"),
    ],
)
def test_probe_names_an_answer_that_is_not_a_relays(status: int, body: str, said: str) -> None:
    with listening(answering((status, body))) as port:
        finding = probe_results(f"http://127.0.0.1:{port}", *SEALED)[-1]
    assert (finding.step, finding.result) == ("relay", "failed")
    assert said in finding.says


def test_probe_recognizes_a_relay_in_place_of_a_collector() -> None:
    missing = problem("not-found")
    with listening(answering((404, missing), (200, '{"relay": "dither"}'))) as port:
        finding = probe_results(f"http://127.0.0.1:{port}", THEME)[-1]
    assert (finding.step, finding.result) == ("collector", "failed")
    assert finding.says.startswith("a dither relay answers, not a collector: ")
    assert "this metrics file has no seal key" in finding.says
    assert "something answers (HTTP 404), but it is not a dither collector" in last(answering((404, missing))).says


def test_probe_fails_if_the_app_could_not_seal_here(monkeypatch: pytest.MonkeyPatch) -> None:
    sealer.cache_clear()
    monkeypatch.delattr(hpke, "Suite")  # as in a package that is too old
    with listening(answering((200, '{"relay": "dither"}'))) as port:
        findings = probe_results(f"http://127.0.0.1:{port}", *SEALED)
    (finding,) = (step for step in findings if step.result == "failed")
    assert finding.step == "sealing"
    assert "needs the package cryptography (47 or later), which cannot be imported here" in finding.says


def test_probe_of_a_relay_does_not_promise_that_reports_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "metrics.toml"
    path.write_text(f'[seal]\nkey = "{SEALED[0].seal}"\n[metrics.theme]\ntype = "boolean"\nepsilon = 1.0\n')
    with listening(answering((200, '{"relay": "dither"}'))) as port:
        assert program.main(["test", "--endpoint", f"http://127.0.0.1:{port}", "--metrics", str(path)]) == 0
    assert "only its collector knows whether they are counted" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("head", "piece"), [(b"\r\n", b"x" * 65536), (b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * 1000)]
)
def test_probe_does_not_read_an_endless_body(head: bytes, piece: bytes) -> None:
    def pouring(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\n" + head)
        while True:
            connection.sendall(piece)

    with listening(pouring) as port:
        probe_results(f"http://127.0.0.1:{port}")  # the first call loads modules
        tracemalloc.start()
        try:
            finding = probe_results(f"http://127.0.0.1:{port}")[-1]
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert (finding.step, finding.result) == ("collector", "failed")
    assert peak < 1_250_000, "64 KiB in chunks of a byte take 1.12 MB in Python 3.14; all that is sent takes 1.5 MB"


def dripping(connection: socket.socket) -> None:
    connection.recv(65536)
    connection.sendall(b"HTTP/1.1 200 OK\r\nX-A: ")
    connection.settimeout(0.02)
    while True:
        with suppress(TimeoutError):
            if not connection.recv(1):  # the client has hung up
                return
        connection.sendall(b"a")


def test_probe_has_one_deadline_for_all_its_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """One deadline covers all metrics if a collector stops answering."""
    monkeypatch.setattr(probe, "_SECONDS", 0.5 - 5)
    remaining = [answering((200, OPEN))]

    def tiring(connection: socket.socket) -> None:
        (remaining.pop() if remaining else dripping)(connection)

    with listening(tiring) as port:
        findings = probe_results(f"http://127.0.0.1:{port}", *[THEME] * 5)
    assert [finding.result for finding in findings[-5:]] == ["failed"] * 5
    assert all("took too long" in finding.says for finding in findings[-5:])


HOSTILE = "\x1b]0;owned\x07\x1b[2J\u202e\x9b31m"


@pytest.mark.parametrize("options", [[], ["--json"]])
@pytest.mark.parametrize("status", [200, 302, 404])
def test_probe_escapes_everything_that_a_collector_answers(
    status: int, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    more = f"Location: https://elsewhere/{HOSTILE}\r\nServer: {HOSTILE}\r\n"
    body = json.dumps({"type": HOSTILE, "detail": HOSTILE, "collector": HOSTILE}, ensure_ascii=False)
    with listening(answering((status, body, more))) as port:
        assert program.main(["test", "--endpoint", f"http://127.0.0.1:{port}", *options]) == 1
    printed = capsys.readouterr().out
    assert printed.isascii()
    assert printed.replace("\n", "").isprintable()
    assert ("https://elsewhere/" in printed) is (status == 302)
