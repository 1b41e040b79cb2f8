"""The command that watches for a change: its exit status, its lines, and the webhook that it calls."""

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from threading import Thread

import pytest

from dither_server.cli.options import CommandError
from dither_server.cli.watch import _Webhook
from dither_server.store import Store
from dither_shared import ParameterError
from server.cli.invoking import error_of, invoke
from server.collecting import METRICS, METRICS_TOML, SPEED, STRATA_TOML, THEME, TODAY, rows_of, upload

REFERENCE = ("--reference-until", str(TODAY - timedelta(days=3)))


@pytest.fixture
def watched(tmp_path: Path) -> Path:
    """A folder in which all themes become dark, and speeds stay as they are."""
    (tmp_path / "metrics.toml").write_text(METRICS_TOML + STRATA_TOML, encoding="utf-8")
    with closing(Store(f"sqlite:///{tmp_path}/dither.db")) as store:
        store.register([*METRICS.values(), SPEED])
        for ago, theme in ((6, "light"), (3, "light"), (2, "dark"), (0, "dark")):
            uploads = [
                upload(THEME, rows_of(THEME, 1_000, seed=bytes([ago]), value=theme)),
                upload(SPEED, rows_of(SPEED, 300, seed=bytes([ago]), value=4)),
            ]
            store.commit(uploads, TODAY - timedelta(days=ago), b"s" * 16)
    return tmp_path


def test_detected_change_gives_an_exit_status_a_line_and_json(watched: Path) -> None:
    result = invoke(watched, "watch", "theme", *REFERENCE)
    assert result.exit_code == 3, result.output
    assert (
        "theme: 2,000 reports 2026-11-18 to 2026-11-20, reference 2026-11-14 to 2026-11-17 with 2,000" in result.stdout
    )
    assert "changed, first seen on 2026-11-18" in result.stdout
    quiet = invoke(watched, "watch", "theme", "--quiet", "--value", "dark", *REFERENCE)
    (line,) = quiet.stdout.splitlines()
    assert line.startswith("theme dark: changed from ")
    assert line.endswith("; first seen on 2026-11-18")
    found = json.loads(invoke(watched, "watch", "theme", "--json", *REFERENCE).stdout)
    assert {row["value"]: row["changed"] for row in found["values"]} == {
        "dark": True,
        "light": True,
        "=1+1": False,
        "other": False,
    }
    assert (found["looks"], found["reports"], found["reference"]["reports"]) == (2, 2000, 2000)


def test_without_a_change_cron_has_nothing_to_mail(watched: Path) -> None:
    result = invoke(watched, "watch", "speed", "--quiet", *REFERENCE)
    assert (result.exit_code, result.output) == (0, "")
    shown = invoke(watched, "watch", "speed", *REFERENCE)
    assert shown.exit_code == 0
    assert "mean" in shown.stdout
    assert "no change seen" in shown.stdout
    early = invoke(
        watched, "watch", "theme", "--until", str(TODAY), "--since", str(TODAY + timedelta(days=1)), *REFERENCE
    )
    assert early.exit_code == 2
    none = invoke(watched, "watch", "theme", "--reference-until", str(TODAY))
    assert (none.exit_code, "Too few reports on one side" in none.stdout) == (0, True)


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ((), "--reference-until: not given"),
        (("--reference-until", "2026-11-01", "--since", "2026-11-01"), "--since: a day of the reference period"),
        (("--reference-until", "2026-11-01", "--reference-since", "2026-11-02"), "later than reference_until"),
        ((*REFERENCE, "--change", "2"), "--change"),
        ((*REFERENCE, "--value", "purple"), "names a value that the metric does not list"),
        ((*REFERENCE, "--webhook", "ftp://hooks.example/secret"), "--webhook: not a URL"),
        ((*REFERENCE, "--webhook", "http://hooks.example/secret"), "--webhook: not encrypted"),
        ((*REFERENCE, "--webhook", "https://a:secret@hooks.example/"), "--webhook: not a URL"),
        ((*REFERENCE, "--webhook", "https://hooks.example/?secret=a b"), "--webhook: not a URL"),
    ],
)
def test_mistakes_of_watch_are_answered_in_one_line_without_secrets(
    watched: Path, options: tuple[str, ...], wrong: str
) -> None:
    line = error_of(invoke(watched, "watch", "theme", *options))
    assert wrong in line
    assert "secret" not in line


@contextmanager
def hook(*answers: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """A server that answers one connection after another, and what it was sent."""
    received: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            for answer in answers:
                peer, _ = server.accept()
                with peer, peer.makefile("rb") as stream:
                    head = b"".join(iter(stream.readline, b"\r\n"))
                    length = next(int(line[16:]) for line in head.splitlines() if line.startswith(b"Content-Length: "))
                    received.append(head.splitlines()[0] + b"\n" + stream.read(length))
                    peer.sendall(answer)

        thread = Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/services/1?key=2", received
        thread.join(10)


def answer(status: int) -> bytes:
    return f"HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n".encode()


def noted(waits: list[float]) -> Callable[[float], object]:
    return waits.append


def test_webhook_is_called_only_for_a_change(watched: Path) -> None:
    with hook(answer(204)) as (url, received):
        assert invoke(watched, "watch", "speed", "--webhook", url, *REFERENCE).exit_code == 0
        assert invoke(watched, "watch", "theme", "--webhook", url, *REFERENCE).exit_code == 3
    (sent,) = received
    line, _, body = sent.partition(b"\n")
    assert line == b"POST /services/1?key=2 HTTP/1.1"
    message = json.loads(body)
    assert message["text"].startswith("theme dark: changed from ")
    assert message["metric"] == "theme"


def test_a_webhook_is_tried_again_after_failures_and_not_after_a_refusal() -> None:
    waits: list[float] = []
    with hook(answer(503), answer(429), answer(200)) as (url, received):
        _Webhook.parse(url).post({"text": "x"}, wait=noted(waits))
    assert (len(received), waits) == (3, [1.0, 2.0])
    with (
        hook(answer(404)) as (url, received),
        pytest.raises(CommandError, match=r"127\.0\.0\.1 answered 404") as raised,
    ):
        _Webhook.parse(url).post({"text": "x"}, wait=noted(waits))
    assert len(received) == 1
    assert "services" not in str(raised.value)
    with hook(answer(500), b"SSH-2.0\r\n") as (url, _), pytest.raises(CommandError, match="the answer is not HTTP"):
        _Webhook.parse(url).post({"text": "x"}, tries=2, wait=noted(waits))
    with hook(answer(302)) as (url, received), pytest.raises(CommandError, match="answered 302"):
        _Webhook.parse(url).post({"text": "x"}, wait=noted(waits))
    assert len(received) == 1


def test_a_webhook_that_never_answers_costs_its_tries_and_no_more() -> None:
    waits: list[float] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(CommandError, match=r"no complete answer within 0\.05 seconds") as raised:
            _Webhook.parse(url).post({"text": "x"}, wait=noted(waits), seconds=0.05)
    assert raised.value.exit_code == 1
    assert waits == [1.0, 2.0]


def test_longest_wait_for_a_webhook_is_bounded() -> None:
    waits: list[float] = []
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
    with pytest.raises(CommandError, match="cannot be reached"):
        _Webhook.parse(url).post({"text": "x"}, tries=8, wait=noted(waits))
    assert waits == [1, 2, 4, 8, 16, 30, 30]


def test_webhook_over_plain_http_is_accepted_only_on_this_machine() -> None:
    assert _Webhook.parse("http://127.0.0.1:1/x").query == ""
    with pytest.raises(ParameterError, match="not encrypted"):
        _Webhook.parse("http://10.0.0.1/x")
