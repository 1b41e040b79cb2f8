"""``python -m dither test``: the checks of a collector and their reports."""

import json
import socket
import ssl
from pathlib import Path
from typing import NoReturn

import pytest
from cryptography.hazmat.primitives import hpke

from client.cli.probed import OPEN, answering, last, listening, probe_results
from client.devices import MOBILE, THEME
from client.peers import certificate
from client.seals import sealing
from dither import __main__ as program
from dither.cli import probe
from dither.reporting.bodies import sealer
from dither_shared.bounded_http import dial, resolve
from ports import kept_port

KNOWN = '{"metric": "%s", "version": "%s", "reports": "%s"}'
CLOSED = '{"collector": "dither", "reports": "accepted", "token": "needed"}'


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
    assert (finding.step, finding.result) == ("encryption", "failed")
    assert "it belongs to another server" in finding.says


def test_an_untrusted_certificate_is_reported(context: ssl.SSLContext) -> None:
    with listening(answering((200, OPEN)), context) as port:
        finding = probe_results(f"https://localhost:{port}")[-1]
    assert (finding.step, finding.result) == ("encryption", "failed")
    assert "its issuer is not an authority that this machine trusts" in finding.says


def test_https_to_an_http_port_is_reported() -> None:
    with listening(answering((400, ""))) as port:
        finding = probe_results(f"https://localhost:{port}")[-1]
    assert (finding.step, finding.result) == ("encryption", "failed")
    assert "is it http" in finding.says


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
    assert (answer["endpoint"], answer["delivers"]) == (arguments[2], False)
    assert [(step["step"], step["result"]) for step in answer["steps"][-3:]] == [
        ("token", "ok"),
        ("metric", "failed"),
        ("metric", "failed"),
    ]


def test_findings_fit_80_columns(metrics: str, capsys: pytest.CaptureFixture[str]) -> None:
    with listening(answering((200, OPEN), (404, problem("unknown-version")))) as port:
        program.main(["test", "--endpoint", f"http://127.0.0.1:{port}", "--metrics", metrics])
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


@pytest.mark.parametrize(
    "arguments",
    [
        ["--endpoint", "ftp://example.org"],
        ["--endpoint", "https://example.org/a b"],
        ["--endpoint", "https://example.org/ü"],
        ["--endpoint", "https://exa mple.org"],
        ["--endpoint", "https://" + "a" * 70 + ".org"],
        ["--endpoint", "https://example.org", "--token", "a b"],
        ["--endpoint", "https://example.org", "--token", ""],
        ["--endpoint", "https://example.org", "--metrics", "/nowhere/metrics.toml"],
        ["--endpoint", "https://[::1"],
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
