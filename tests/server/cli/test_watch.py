"""The command that watches for a change: its exit status, its lines, and the webhook that it calls."""

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from socket import create_server, socket

import pytest

from client.peers import Peer, request_of, serving
from dither_server.cli.options import CommandError
from dither_server.cli.watch import _Webhook
from dither_server.store import Store
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
    days = "theme: 2,000 reports 2026-11-18 to 2026-11-20, reference 2026-11-14 to 2026-11-17 with 2,000"
    assert days in result.stdout
    assert "changed, first seen on 2026-11-18" in result.stdout
    quiet = invoke(watched, "watch", "theme", "--quiet", "--value", "dark", *REFERENCE)
    (line,) = quiet.stdout.splitlines()
    assert line.startswith("theme dark: changed from ")
    assert line.endswith("; first seen on 2026-11-18")
    found = json.loads(invoke(watched, "watch", "theme", "--json", *REFERENCE).stdout)
    assert [row["value"] for row in found["values"] if row["changed"]] == ["dark", "light"]
    assert (found["looks"], found["reports"], found["reference"]["reports"]) == (2, 2000, 2000)


def test_without_a_change_cron_has_nothing_to_mail(watched: Path) -> None:
    result = invoke(watched, "watch", "speed", "--quiet", *REFERENCE)
    assert (result.exit_code, result.output) == (0, "")
    shown = invoke(watched, "watch", "speed", *REFERENCE)
    assert shown.exit_code == 0
    assert "mean" in shown.stdout
    assert "no change seen" in shown.stdout
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
        ((*REFERENCE, "--since", str(TODAY), "--until", str(TODAY - timedelta(days=1))), "since: "),
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
def hook(*statuses: int) -> Iterator[tuple[str, list[bytes]]]:
    """A server that answers one request after another, and the requests; in place of a status 0 it speaks no HTTP."""
    received: list[bytes] = []
    left = iter(statuses)

    def handle(_: Peer, connection: socket) -> None:
        received.append(request_of(connection))
        status = next(left)
        connection.sendall(b"HTTP/1.1 %d X\r\nContent-Length: 0\r\n\r\n" % status if status else b"SSH-2.0\r\n")

    with serving(handle) as peer:
        yield f"{peer.endpoint}/services/1?key=2", received


def test_webhook_is_called_only_for_a_change(watched: Path) -> None:
    with hook(204) as (url, received):
        assert invoke(watched, "watch", "speed", "--webhook", url, *REFERENCE).exit_code == 0
        assert invoke(watched, "watch", "theme", "--webhook", url, *REFERENCE).exit_code == 3
    (sent,) = received
    assert sent.startswith(b"POST /services/1?key=2 HTTP/1.1\r\n")
    message = json.loads(sent.partition(b"\r\n\r\n")[2])
    assert message["text"].startswith("theme dark: changed from ")
    assert message["metric"] == "theme"


@pytest.mark.parametrize(
    ("statuses", "tries", "error", "pauses"),
    [
        ([503, 429, 408, 200], 4, "", [1, 2, 4]),
        ([404], 3, "localhost answered 404", []),
        ([302], 3, "localhost answered 302", []),
        ([500, 0], 2, "the answer is not HTTP", [1]),
        ([500] * 8, 8, "answered 500", [1, 2, 4, 8, 16, 30, 30]),
    ],
)
def test_a_webhook_is_tried_again_after_failures_and_not_after_a_refusal(
    statuses: list[int], tries: int, error: str, pauses: list[int]
) -> None:
    waits: list[float] = []
    said = ""
    with hook(*statuses) as (url, received):
        try:
            _Webhook.parse(url).post({"text": "x"}, tries, waits.append)
        except CommandError as raised:
            said = str(raised)
    assert (len(received), waits) == (len(statuses), pauses)
    assert error in said if error else not said
    assert "services" not in said


def test_a_webhook_that_never_answers_costs_its_tries_and_no_more() -> None:
    waits: list[float] = []
    with create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(CommandError, match=r"no complete answer within 0\.05 seconds") as raised:
            _Webhook.parse(url).post({"text": "x"}, wait=waits.append, seconds=0.05)
    assert raised.value.exit_code == 1
    assert waits == [1.0, 2.0]
