"""A process is stopped while it holds a lock: flush fails, and the status names the holder."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from client.devices import Make, Script, parts_on, uploader_of
from client.test_processes import FLOORS
from dither import __main__ as program

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="nothing can be stopped here")

_HOLDS = """
import os, pathlib, signal
from dither.state.folder import FolderState
state = FolderState(pathlib.Path(sys.argv[1]))
{takes}
    print("held", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)
"""
TAKES = {"journal": "state.acquire()\nif True:", "sending": "with state.sending():"}


@pytest.fixture
def stop(folder: Path) -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    """Return a function that starts a process which stops while it holds a lock."""
    stopped: list[subprocess.Popen[str]] = []

    def hold(lock: str) -> subprocess.Popen[str]:
        code = f"import sys; sys.path[:0] = {FLOORS!r}\n" + _HOLDS.format(takes=TAKES[lock])
        process = subprocess.Popen([sys.executable, "-c", code, str(folder)], stdout=subprocess.PIPE, text=True)
        stopped.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        return process

    yield hold
    for process in stopped:
        process.kill()
        process.communicate()


def long_ago(folder: Path) -> None:
    """Date the sending lock's acquisition an hour back."""
    pid, since = map(int, (folder / "sending").read_text().split())
    (folder / "sending").write_text(f"{pid} {since - 3600}\n")


def test_flush_succeeds_only_if_the_state_can_be_read(
    make: Make, folder: Path, stop: Callable[[str], subprocess.Popen[str]]
) -> None:
    make(folder, transport=Script(down=True)).record("mobile", True)
    process = stop("journal")
    client = make(folder, mode=None, strict=False)
    assert not client.flush(1), "a waiting report cannot be read"
    assert client.status().trouble["reading the state failed: BusyError"] > 0
    client.record("theme", "dark")
    process.kill()
    process.wait()
    assert not client.flush(60), "an answer was lost while the lock was held"
    assert client.status().queued == 0
    assert client.flush(60)


def test_flush_of_a_damaged_state_fails(make: Make, folder: Path) -> None:
    make(folder, transport=Script(down=True)).record("mobile", True)
    (folder / "journal").unlink()
    for mode in ("on", "off"):
        client = make(folder, mode=None, strict=False, environ={"DITHER": mode})
        assert not client.flush(1)


def test_flush_fails_if_an_answer_could_not_be_stored(
    make: Make, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = make(folder, strict=False)
    with monkeypatch.context() as patch:
        patch.setattr("dither.state.folder_journal.os.write", lambda *_: 0)
        client.record("mobile", True)
    client.record("nothing", 1)
    assert not client.flush(60)
    assert client.flush(60), "which was logged once"


def test_status_names_the_process_that_blocks_uploads(
    make: Make,
    folder: Path,
    definitions: str,
    stop: Callable[[str], subprocess.Popen[str]],
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    client = make(folder, transport=(script := Script()))
    client.record("mobile", True)
    process = stop("sending")
    others = [parts_on(folder), parts_on(folder)]
    uploader_of(others[0], script).step()
    assert (client.status().held_up, caplog.messages) == ("", []), "the upload may have begun just now"
    long_ago(folder)
    assert uploader_of(others[0], script).step() == 1
    os.utime(folder / "delivery", (0, 0))
    for parts in others * 2:
        assert uploader_of(parts, script).step() == 1
    assert (folder / "delivery").stat().st_mtime == 0, "a process that goes on waiting writes nothing"
    words = f"process {process.pid} has been sending since "
    for status in (client.status(), *(parts.status() for parts in others)):
        assert status.held_up.startswith(words)
        assert status.trouble == {}
    assert [message.startswith(words) for message in caplog.messages] == [True], "one a day for all clients together"
    capsys.readouterr()
    for arguments in (["--metrics", definitions, "--app", "tests"], ["--app", "tests"], []):
        assert program.main(["status", *arguments, "--state", str(folder)], environ={}) == 0
        assert words in capsys.readouterr().out
    assert not client.flush(0)
    process.send_signal(signal.SIGCONT)
    process.wait()
    assert client.flush(60)
    assert client.status().held_up == ""
    assert len(script.bodies) == 1


@pytest.mark.parametrize(
    ("signature", "who"),
    [
        ("", "another process"),
        ("x y", "another process"),
        (f"{os.getpid()} 5", "this process"),
        ("1 " + "9" * 4000, ""),
    ],
    ids=["empty", "words", "ours", "long ago"],
)
def test_unreadable_lock_signature_is_tolerated(
    make: Make, folder: Path, stop: Callable[[str], subprocess.Popen[str]], signature: str, who: str
) -> None:
    client = make(folder)
    client.record("mobile", True)
    stop("sending")
    (folder / "sending").write_text(signature)
    os.utime(folder / "sending", (1.7e9, 1.7e9))
    assert client.status().held_up.startswith(who)
    assert client.status().trouble == {}
    assert bool(client.status().held_up) == bool(who)


def test_upload_that_ended_long_ago_does_not_block_others(make: Make, folder: Path) -> None:
    client = make(folder)
    client.record("mobile", True)
    assert client.flush(60)
    long_ago(folder)
    assert client.status().held_up == ""
    (folder / "sending").unlink()
    (folder / "sending").mkdir()
    status = client.status()
    assert status.held_up == ""
    assert status.trouble == {}
