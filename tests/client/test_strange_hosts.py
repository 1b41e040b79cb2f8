"""Strange hosts: they change folder, live in a subinterpreter, have a full disk, or a transport that breaks."""

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest

import dither
from client.devices import ENDPOINT, METRICS, Make, Script, join_uploads
from client.test_lives import python_of
from client.test_processes import FLOORS, run
from dither.state.files import replace
from dither.state.folder import apps_folder


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14"])
def test_subinterpreter_with_a_client_can_end(definitions: str, folder: Path, version: str) -> None:
    """As under mod_wsgi. Python aborts the process if a thread outlives it: "not the last thread"."""
    code = (
        f"import os, sys; sys.path[:0] = {FLOORS!r}\nimport dither\n"
        f"client = dither.Client({definitions!r}, {ENDPOINT!r}, 'app', {str(folder)!r}, spread=1000,\n"
        "    environ={'DITHER': 'on'})\n"
        "client.record('theme', 'dark')\nos.write(1, b'%d' % client.status().queued)"
    )
    program = f"import _testcapi\nprint(_testcapi.run_in_subinterp({code!r}))"
    python = python_of(version)
    if subprocess.run([python, "-c", "import _testcapi"], capture_output=True, check=False).returncode:
        pytest.skip("this Python makes no subinterpreters for tests")
    done = run(program, python=python)
    assert (done.returncode, done.stdout, done.stderr) == (0, "10\n", ""), "one report, and no failure"


def test_an_interpreter_without_daemons_records(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object, **__: object) -> NoReturn:
        raise RuntimeError("daemon threads are disabled in this (sub)interpreter")

    client = make(background=True, strict=False)
    with monkeypatch.context() as patch:
        patch.setattr("threading.Thread", none)
        client.record("mobile", True)
        assert not client.flush(60)
        assert (client.status().queued, client.status().trouble) == (1, {})
    assert client.flush(60)


def test_changing_the_working_directory_keeps_the_state(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    for state in ("state", Path("state")):
        client = dither.Client(METRICS, ENDPOINT, "app", state, transport=Script(), environ={"DITHER": "on"})
        monkeypatch.chdir(tmp_path / "other")  # as a daemon goes to "/"
        client.record("mobile", True)
        assert client.flush(60)
        assert client.status().trouble == {}
        client.close()
        monkeypatch.chdir(tmp_path)
    assert (tmp_path / "state" / "journal").exists()
    assert not list((tmp_path / "other").iterdir())


def test_deleted_working_directory_is_reported_in_status(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    client = dither.Client(METRICS, ENDPOINT, "app", "state", environ={"DITHER": "on"}, background=False)
    client.record("mobile", True)
    assert not client.flush(1)
    assert any(kind.startswith("record failed: FileNotFoundError") for kind in client.status().trouble)
    monkeypatch.chdir(tmp_path)


def test_relative_home_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "somewhere")
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    with pytest.raises(dither.StateError, match="absolute"):
        apps_folder()


def full(path: str, *_: object) -> NoReturn:
    raise OSError(errno.ENOSPC, "no room", path)


def test_off_holds_on_a_full_disk(make: Make, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = Script()
    client = make(folder, strict=False, transport=script)
    client.record("mobile", True)
    with monkeypatch.context() as patch:
        patch.setattr("dither.state.folder.replace", full)
        client.consent("off")
        for either in (client, make(folder, mode=None)):
            either.record("theme", "dark")
            assert either.status().mode == "off"
            either.flush(60)
        assert client.status().trouble == {
            "consent failed: OSError, No space left on device: " + repr(str(folder / "consent")): 1
        }
    assert script.bodies == []
    assert client.status().mode == "off"


def test_on_a_full_disk_everything_can_be_deleted(make: Make, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nearly_full(path: str, data: bytes) -> None:
        if (folder / "journal").exists():
            full(path)
        replace(path, data)

    client = make(folder, strict=False)
    client.record("mobile", True)
    with monkeypatch.context() as patch:
        patch.setattr("dither.state.folder.replace", nearly_full)
        client.forget()
    assert client.status().trouble == {}
    assert {path.name for path in folder.iterdir()} <= {"consent", "lock", "sending"}
    assert make(folder, mode=None).status().decided_by == "the user's choice"


def test_a_failing_state_writes_nothing_on_the_terminal_of_a_tool(definitions: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for state in (str(tmp_path / "file" / "state"), None):
        client = f"dither.Client({definitions!r}, {ENDPOINT!r}, 'app', {state!r}, environ={{}})"
        no_home = "import os\nos.path.expanduser = str"  # as for a user whom the system does not know
        no_home += "\n[os.environ.pop(name, 0) for name in ('XDG_STATE_HOME', 'LOCALAPPDATA')]"
        print_all = "print(client.consent('on'), len(client.status().trouble))"
        done = run(f"{no_home}\nimport dither\nclient = {client}\n{print_all}")
        assert (done.stdout, done.stderr) == ("False 1\n", "")


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_a_transport_that_ends_the_thread_writes_nothing_on_the_terminal(
    make: Make, capfd: pytest.CaptureFixture[str], error: type[BaseException]
) -> None:
    class Broken(Script):
        def send(self, body: bytes) -> NoReturn:
            raise error

    client = make(transport=Broken(), background=True, strict=False)
    client.record("mobile", True)
    assert not client.flush(60)
    join_uploads()
    assert any(kind == f"upload failed: {error.__name__}" for kind in client.status().trouble)
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="descriptors are not bounded there")
def test_host_without_free_descriptors_continues(definitions: str, folder: Path) -> None:
    """At the limit no file can be opened; when some are free again, all is as before."""
    program = (
        "import os, resource, dither\n"
        f"client = dither.Client({definitions!r}, {ENDPOINT!r}, 'app', {str(folder)!r}, environ={{'DITHER': 'on'}})\n"
        "client.status()\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))\n"
        "taken = []\n"
        "while True:\n"
        "    try:\n"
        "        taken.append(os.open(os.devnull, os.O_RDONLY))\n"
        "    except OSError:\n"
        "        break\n"
        "client.record('first', True), client.flush(1), client.preview(), client.consent('on'), client.status()\n"
        "for descriptor in taken:\n"
        "    os.close(descriptor)\n"
        "client.record('first', True)\n"
        "print(client.status().queued)\n"
    )
    done = run(program)
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr
    assert "Traceback" not in done.stderr
    assert os.path.lexists(folder / "journal")
