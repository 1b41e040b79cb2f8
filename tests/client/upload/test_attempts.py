"""The stored result of uploads: kept from run to run, shown, and logged."""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NoReturn

import pytest

import dither
from client.devices import ENDPOINT, Make, Script, Stuck, join_uploads, parts_on, uploader_of
from client.test_processes import run
from dither.cli.text import attempt_text
from dither.diagnostics import Diagnostics
from dither.upload.attempts import Attempts
from dither.upload.schedule import Postponed


def last_result(client: dither.Client) -> tuple[str, int]:
    """Return the last attempt's result, and the number of failed attempts."""
    status = client.status()
    assert status.last_attempt is not None
    assert timedelta() <= datetime.now(UTC) - status.last_attempt.when < timedelta(minutes=1)
    return status.last_attempt.result, status.failed_attempts


def test_each_kind_of_failure_is_logged_once_a_day_across_runs(
    make: Make, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        client = make(folder, transport=Script([401, 401, 503]), spread=1e6)
        client.record("browser", "Very-Secret")
        client.record("theme", "dark")
        for _ in range(3):
            assert not client.flush(60)
    assert [(record.name, record.levelname, record.getMessage()) for record in caplog.records] == [
        (
            "dither",
            "WARNING",
            f"an upload to {ENDPOINT} failed: 401: the collector requires a token, or does not know this one",
        ),
        ("dither", "WARNING", f"an upload to {ENDPOINT} failed: 503: the collector is busy"),
    ]
    (body, *_) = client.preview()
    assert body.decode() not in caplog.text


def test_failures_are_logged_again_a_day_later_and_at_most_30_kinds_a_day(caplog: pytest.LogCaptureFixture) -> None:
    now = [1.79e9]
    attempts = Attempts(dither.MemoryState(), Diagnostics(), "https://example.org", lambda: now[0])
    for day in range(1, 4):
        for kind in ("404", "404", "5xx", *(f"kind {number}" for number in range(1000))):
            attempts.note(f"{kind} in words", kind, {}, accepted=False)
        assert len(caplog.records) == 30 * day, "and a hostile collector does not fill a log"
        now[0] += 86400 * (3 if day == 1 else -5)  # the clock may be set back


def test_nothing_is_logged_on_the_terminal_of_a_user_if_logging_is_not_set_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("logging.Logger.hasHandlers", lambda _: False)
    assert not Diagnostics().warn("the collector is down")


@pytest.fixture
def remembered(make: Make, folder: Path) -> bytes:
    """Return the delivery file of a device whose last attempt failed, with a report that is put off."""
    client = make(folder, transport=Script([dither.Answer(429, 60)]))
    client.record("mobile", True)
    assert not client.flush(60)
    client.close()
    join_uploads()  # they no longer write the file
    return (folder / "delivery").read_bytes()


def test_a_report_that_is_put_off_stays_so_in_the_next_run(make: Make, folder: Path, remembered: bytes) -> None:
    sent = Script()
    client = make(folder, transport=sent, mode=None, background=True)
    assert not client.flush(1)
    assert sent.bodies == []
    stored = json.loads(remembered)
    (hold,) = stored["held"].values()
    assert 899 < hold[1] - stored["at"] <= 901
    assert hold[1] <= hold[0] <= hold[1] + 901
    if os.name == "posix":
        assert (folder / "delivery").stat().st_mode & 0o777 == 0o600


def test_another_process_respects_retry_after(make: Make, folder: Path) -> None:
    sent = Script()
    first, other = make(folder, transport=Script([dither.Answer(429, 60)])), make(folder, transport=sent)
    first.record("mobile", True)
    assert not first.flush(60)
    assert not other.flush(60)
    assert sent.bodies == []


def test_a_damaged_delivery_file_counts_as_none(make: Make, folder: Path, remembered: bytes) -> None:
    damaged = [remembered[:length] for length in range(0, len(remembered.rstrip()), 6)]
    damaged += [b"null", b"[]", b'{"at": NaN}', b'{"at": 1e999}', b'{"at": "1"}', b'{"no such": 1}', b"\xff\0" * 1000]
    damaged += [b'{"held": {"a": [1]}}', b'{"held": {"a": [1, 2, 1e999]}}', b'{"logged": {"a": "b"}}', b"[" * 100_000]
    damaged += [b'{"at": -1, "result": "before all calendars"}']
    for data in damaged:
        (folder / "delivery").write_bytes(data)
        client = make(folder, mode=None)
        assert (client.status().last_attempt, client.status().failed_attempts) == (None, 0)
        assert client.status().trouble == {}
        assert uploader_of(parts_on(folder), Script()).choose_due()
    assert client.flush(60)
    assert last_result(client) == ("202: accepted", 0)


@pytest.mark.parametrize("moment", [1e300, -1e300, float("inf"), float("nan")])
def test_an_edited_delivery_file_shows_no_password_and_puts_nothing_off(
    make: Make, folder: Path, remembered: bytes, moment: float
) -> None:
    stored = json.loads(remembered) | {"endpoint": "https://user:Very-Secret@example.org/a"}
    stored["held"] = {batch: [moment, moment, 10**9] for batch in stored["held"]}
    (folder / "delivery").write_text(json.dumps(stored))
    client = make(folder, mode=None)
    last = client.status().last_attempt
    assert last is not None
    assert (last.endpoint, client.status().failed_attempts) == ("https://example.org/a", 1)
    assert uploader_of(parts_on(folder), Script()).choose_due()
    assert client.flush(60)


def test_a_symbolic_link_in_place_of_the_delivery_file_is_not_followed(
    make: Make, folder: Path, tmp_path: Path, remembered: bytes
) -> None:
    (tmp_path / "target").write_bytes(remembered)
    (folder / "delivery").unlink()
    (folder / "delivery").symlink_to(tmp_path / "target")
    client = make(folder, mode=None)
    assert client.status().last_attempt is None
    assert client.flush(60)
    assert (tmp_path / "target").read_bytes() == remembered


@pytest.mark.parametrize("full", [False, True])
def test_failure_to_store_attempts_is_logged_and_adds_no_retries(
    make: Make, folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, full: bool
) -> None:
    """A folder stands in the place of the file, or the disk is full."""
    script = Script([503] * 5)
    make(folder)  # the user consents here
    parts = parts_on(folder, transport=script)
    parts.record("mobile", True)
    if full:
        monkeypatch.setattr("dither.state.files.os.write", lambda *_: 0)
    else:
        (folder / "delivery").mkdir()
    for _ in range(5):
        assert not parts.flush(60)
        assert not parts.attempts.may_wait(0.0), "the next program would not know"
    uploader = uploader_of(parts, script)
    for _ in range(50):
        uploader.step()
    assert len(script.bodies) == 5, "once in each flush"
    status = parts.status()
    (trouble,) = status.trouble
    assert trouble.startswith("remembering the uploads failed: ")
    assert trouble.endswith(f": {str(folder / 'delivery')!r}")
    assert status.failed_attempts == 5
    assert [record.getMessage() for record in caplog.records if "remembering" in record.getMessage()] == [trouble]
    monkeypatch.undo()
    if not full:
        (folder / "delivery").rmdir()
    assert parts.flush(60)
    assert parts.status().trouble == status.trouble, "no more than before"
    assert last_result(make(folder, mode=None)) == ("202: accepted", 0)


@pytest.mark.usefixtures("remembered")
def test_forget_deletes_the_attempts(make: Make, folder: Path) -> None:
    make(folder).forget()
    assert not (folder / "delivery").exists()
    assert make(folder, mode=None).status().last_attempt is None


def test_the_delivery_file_is_bounded() -> None:
    state = dither.MemoryState()
    attempts = Attempts(state, Diagnostics(), "https://example.org/" + "x" * 100_000)
    held = {f"{number:032x}": Postponed(1e9 + number, 1e9, 1) for number in range(10_000)}
    attempts.note("words " * 1000, "kind", held, accepted=False)
    assert len(state.recall("delivery")) < 30_000
    assert set(attempts.held()) == {*held} - {f"{number:032x}" for number in range(9_700)}, "the latest"
    assert attempts.host == "example.org"


def test_an_upload_whose_program_ended_counts_as_failed_once(
    make: Make, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    definitions = folder.parent / "metrics.toml"
    definitions.write_text('[metrics.theme]\ntype = "choice"\nvalues = ["light", "dark"]\nepsilon = 1.0\n')
    program = (
        "import dither, os\n"
        "class Ends:\n"
        "    def send(self, body):\n"
        "        os._exit(3)\n"
        "client = dither.Client(*sys.argv[1:3], 'tests', sys.argv[3], transport=Ends(), environ={'DITHER': 'on'})\n"
        "client.record('theme', 'dark')\n"
        "client.flush(60)\n"
    )
    for number in range(1, 4):
        assert run(program, str(definitions), ENDPOINT, str(folder)).returncode == 3
        client = make(folder, metrics=definitions, mode=None, today=None)
        for _ in range(2):
            assert last_result(client) == ("the program ended before the answer came", number), "it counts once"
        last = client.status().last_attempt
        assert last is not None
        assert last.endpoint == ENDPOINT
        assert attempt_text(last, number).endswith(": the program ended before the answer came; a later run will retry")
    message = f"an upload to {ENDPOINT} failed: the program ended before the answer came"
    assert [record.getMessage() for record in caplog.records] == [message]


def test_an_upload_of_another_process_does_not_count_as_failed(make: Make, folder: Path) -> None:
    stuck = Stuck()
    client = make(folder, transport=stuck, background=True)
    client.record("mobile", True)
    assert stuck.started.wait(60)
    for either in (client, make(folder, mode=None)):
        assert (either.status().last_attempt, either.status().failed_attempts) == (None, 0)
    stuck.release.set()
    join_uploads()
    assert last_result(make(folder, mode=None)) == ("202: accepted", 0)


def test_no_exit_waits_for_an_hour_after_two_waits_in_vain() -> None:
    now, state = [1.79e9], dither.MemoryState()
    for waits, again in ((True, True), (False, True), (True, False)):
        now[0] += 1
        first = Attempts(state, Diagnostics(), ENDPOINT, lambda: now[0])
        first.begin()
        now[0] += 1
        first.conclude()  # nothing: this attempt is still under way
        assert not waits or first.may_wait(0.0)
        now[0] += 601
        second = Attempts(state, Diagnostics(), ENDPOINT, lambda: now[0])
        second.conclude()
        assert second.may_wait(600.0) == again, "a program that did not wait shows nothing about the collector"
        now[0] += 3600
    assert second.failures() == 3


def test_an_exception_of_the_transport_counts_as_a_failed_attempt_and_does_not_reach_the_host(make: Make) -> None:
    class Broken(Script):
        def send(self, body: bytes) -> NoReturn:
            raise ZeroDivisionError

    client = make(transport=Broken())
    client.record("mobile", True)
    assert not client.flush(60)
    assert last_result(client) == ("the program ended before the answer came", 1)
    assert (client.status().trouble, client.status().queued) == ({"upload failed: ZeroDivisionError": 1}, 1)
