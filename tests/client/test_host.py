"""The host is never disturbed: mistakes are counted, logged once without a value, and raised only in ``strict``.

Failures of the state name the path in log, status and commands, and never quote a value.
"""

import errno
import os
from contextlib import closing
from pathlib import Path

import pytest

import dither
from client.devices import Make, Script, Stuck, join_uploads
from dither import __main__ as program
from dither.diagnostics import described
from dither.state.state import BusyError, StateError


def test_definitions_that_cannot_be_read_disable_the_client(make: Make, tmp_path: Path) -> None:
    missing = tmp_path / "metrics.toml"
    with pytest.raises(dither.ParameterError, match=r"metrics\.toml"):
        make(metrics=missing)
    with pytest.raises(dither.ParameterError, match="endpoint"):
        make(endpoint="ftp://example.org", transport=None)
    client = make(metrics=missing, strict=False)
    client.record("mobile", True)
    assert client.preview() == []
    reason = f"telemetry is disabled: {missing}: cannot be read: No such file or directory"
    assert client.status().trouble == {reason: 1}
    client.consent("on")
    client.record("mobile", True)
    status = client.status()
    assert (status.mode, status.unrecorded, status.queued) == ("off", 2, 0)
    assert status.decided_by == f"an error: {reason.replace('disabled', 'disabled in this program')}"
    assert not client.flush(1), "nothing can arrive"
    client.close()
    assert client.status().decided_by == status.decided_by, "the first reason stays"


def test_mistakes_while_telemetry_is_off_appear_in_the_status(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    metrics = tmp_path / "metrics.toml"
    metrics.write_text('[metrics.mobile]\ntype = "boolean"\nepsilon = 1.0\n', encoding="utf-8")
    for names, trouble in ((["mobile"], {}), (["mobile", "Very-Secret", "no"], {"unknown metric": 1})):
        with closing(dither.Client(metrics, "http://localhost", "tests", tmp_path / "state", environ={})) as client:
            for name in [*names, *names]:
                client.record(name, "mobile")
            assert not caplog.text, "the state is not read before it is needed"
            assert client.status().trouble == trouble
    assert "telemetry was off: 2;" in caplog.text
    assert "Very-Secret" not in caplog.text, "the name may be an answer by mistake"


def test_closed_client_is_off_and_counts_lost_answers(make: Make, folder: Path) -> None:
    client = make(folder)
    client.record("mobile", True)
    assert client.flush(60)
    client.close()
    assert client.flush(60), "every report has arrived"
    client.record("theme", "dark")
    client.consent("on")
    status = client.status()
    assert (status.mode, status.decided_by) == ("off", "the app, which has closed this client")
    assert {metric.state for metric in status.metrics} == {"off"}
    assert (status.unrecorded, status.queued, status.sent) == (1, 0, 1)
    assert not client.flush(60)
    assert make(folder, mode=None).status().mode == "on", "the choice holds for the next run"


@pytest.mark.parametrize("in_memory", [True, False])
def test_consent_after_forget_starts_over_in_the_same_program(make: Make, folder: Path, in_memory: bool) -> None:
    script = Script()
    client = make(dither.MemoryState() if in_memory else folder, transport=script, environ={"DITHER": "on"})
    client.record("mobile", True)
    client.forget()
    client.record("mobile", True)
    status = client.status()
    assert (status.mode, status.unrecorded, status.queued) == ("off", 1, 0)
    assert "deleted" in status.decided_by
    client.consent("off")
    assert client.status().mode == "off"
    client.consent("on")
    with pytest.raises(dither.ParameterError, match="colour"):
        client.record("colour", "red")
    client.record("mobile", True)
    assert (client.status().mode, client.status().queued) == ("on", 1)
    assert client.flush(60)
    assert len(script.bodies) == 1
    assert client.status().trouble == {}


def test_consent_after_forget_resumes_background_uploads(make: Make, folder: Path) -> None:
    stuck = Stuck()
    client = make(folder, transport=stuck, background=True)
    client.forget()
    client.consent("on")
    client.record("mobile", True)
    assert stuck.started.wait(60)
    stuck.release.set()
    join_uploads()
    assert client.status().sent == 1


def test_consent_does_not_reopen_a_closed_client(make: Make, folder: Path) -> None:
    for endings in (("close", "forget"), ("forget", "close")):
        client = make(folder)
        for ending in endings:
            getattr(client, ending)()
        client.consent("on")
        client.record("mobile", True)
        assert (client.status().mode, client.status().queued) == ("off", 0)


def test_answer_passed_as_the_metric_name_is_not_quoted(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    client = make(strict=False)
    client.record("Very-Secret", "editor")
    assert "Very-Secret" not in f"{caplog.text} {client.status()}"
    assert "metrics.editor: given as the answer; a metric's name comes first, its value second" in caplog.text
    with pytest.raises(dither.ParameterError, match="comes first"):
        make().record("Very-Secret", "editor")


DENIED = "PermissionError, Permission denied"
FOLDER = Path("/home/someone/.local/state/dither/notes")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (PermissionError(errno.EACCES, "x", str(FOLDER / "journal")), f"{DENIED}: '{FOLDER}/journal'"),
        (PermissionError(errno.EACCES, "x", str(FOLDER)), f"{DENIED}: '{FOLDER}'"),
        (OSError(errno.EROFS, "x", "/home/someone/.local"), "OSError, Read-only file system: '/home/someone/.local'"),
        (OSError(errno.ENOSPC, "x"), f"OSError, No space left on device: '{FOLDER}'"),
        (StateError("the journal is lost"), f"StateError, the journal is lost: '{FOLDER}'"),
        (BusyError("held"), "BusyError"),
        (PermissionError(errno.EACCES, "x", "/home/someone/diary"), DENIED),
        (PermissionError(errno.EACCES, "x", f"{FOLDER}-2/diary"), DENIED),
        (ConnectionRefusedError(errno.ECONNREFUSED, "Very-Secret"), "ConnectionRefusedError, Connection refused"),
        (OSError("Very-Secret"), "OSError"),
        (ValueError("Very-Secret"), "ValueError"),
    ],
)  # fmt: skip
def test_error_text_contains_only_paths_of_the_state_folder(error: Exception, words: str) -> None:
    assert described(error, FOLDER) == words
    forged = Path("/home/a\nWARNING forged\x1b[2J")
    assert described(PermissionError(errno.EACCES, "x", str(forged / "journal")), forged).isprintable()


@pytest.mark.parametrize("command", ["on", "forget"])
def test_failed_command_names_the_path(
    command: str, definitions: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("where a folder should be")
    options = ["--metrics", definitions, "--app", "tests", "--state", str(tmp_path / "file" / "state")]
    assert program.main([command, *options, *(["--yes"] if command == "on" else [])], environ={}) == 1
    printed = capsys.readouterr()
    assert f"Not a directory: '{tmp_path}/file" in printed.err
    assert os.linesep + "Traceback" not in printed.err
