"""The runner of pages reports what fails, and leaves nothing behind."""

import os
import re
import select
import socket
from pathlib import Path

import pytest

from docs.running import Run, run_page


def ran(folder: Path, text: str, limit: float = 60.0) -> Run:
    page = folder / "page.md"
    page.write_text(text, encoding="utf-8")
    return run_page(page, limit)


def block(language: str, text: str, above: str = "") -> str:
    return f"{above}\n```{language}\n{text}\n```\n"


def test_blocks_share_a_shell_a_folder_and_files(tmp_path: Path) -> None:
    page = (
        block("sh", "mkdir notes && cd notes\nexport WORD=hello")
        + block("python", "# app.py\nimport os\nprint(os.environ['WORD'], 3.25)")
        + block("python", "import app")
        + block("text", "hello 17", "<!-- output -->")
        + block("sh", 'test -f ../notes/app.py; test -z "${CI:-}${DO_NOT_TRACK:-}${PYTEST_VERSION:-}"')
    )
    assert ran(tmp_path, page) == Run([], "")


def test_home_holds_the_checkout_alone_and_temporary_files_go_with_the_page(tmp_path: Path) -> None:
    page = block("sh", 'test "$(ls ~)" = dither; test -f ~/dither/pyproject.toml; test -z "$(ls $TMPDIR)"; mktemp')
    assert ran(tmp_path, page + block("text", "…/page-…/tmp/…", "<!-- output -->")) == Run([], "")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (block("sh", "echo one\nfalse\ntouch never"), r"line 2 \(sh\): status 1\none"),
        (block("sh", "echo $nobody"), r"line 2 \(sh\): status 1\n.*nobody: unbound variable"),
        (block("sh", "true") + block("python", "print('so')\n1 / 0"), r"line 6 \(python\): status 1\nso\n(.*\n)*Zero"),
        (block("python", "import warnings as w\nw.warn('old')"), r"line 2 \(python\): status 1\n(.*\n)*UserW"),
        (block("sh", "exit 0") + block("sh", "true"), r"line 2 \(sh\): status 0"),
        (block("sh", "false", "<!-- status: 2 -->"), r"line 2 \(sh\): status 1\nstatus 1 in place of 2"),
        (block("sh", "if true"), r"line 2 \(sh\): SyntaxError"),
        (block("python", "def", "<!-- not run: a mistake -->"), r"line 2 \(python\): SyntaxError"),
        (block("toml", "[metrics.a]\ntype = 'nothing'"), r"line 2 \(toml\): ParameterError: .*a"),
        (block("json", "{,}"), r"line 2 \(json\): JSONDecodeError"),
        (block("yaml", "a: b: c"), r"line 2 \(yaml\): ScannerError"),
        (block("ini", "a"), r"line 2 \(ini\): MissingSectionHeaderError"),
        (block("bash", "true"), "line 2: language 'bash'"),
        (block("text", "alone", "<!-- output -->"), "line 2: an output is a text block directly below"),
        ("<!-- not run: lost -->\nText.\n" + block("sh", "true"), "a comment before line 4 stands directly above"),
        ("```sh\ntrue", "line 1: this block does not end"),
    ],
)  # fmt: skip
def test_failing_block_of_a_page_is_reported_with_its_line(text: str, said: str, tmp_path: Path) -> None:
    (problem,) = ran(tmp_path, text).problems
    assert re.match(said, problem), problem


def test_wrong_output_is_reported_with_its_line(tmp_path: Path) -> None:
    page = block("sh", "echo dark 5") + block("text", "dark 7\nlight 3", "<!-- output -->") + block("sh", "true")
    (problem,) = ran(tmp_path, page).problems
    assert problem == "line 6 (output): no such line: light 3\nPrinted was:\ndark 5"


def test_block_with_its_expected_exit_status_passes(tmp_path: Path) -> None:
    page = block("sh", "cd /\nexit 3", "<!-- status: 3 -->") + block("sh", "test $PWD != /")
    assert ran(tmp_path, page) == Run([], "")


_SERVED = block("html", "<!-- index.html -->\n<p>Hello</p>") + block("sh", "python -m http.server 8000  # until Ctrl-C")
_ASKED = block(
    "python",
    "import urllib.request\nwith urllib.request.urlopen('http://127.0.0.1:8000/index.html') as page:\n    page.read()",
)


def test_a_server_runs_until_the_page_ends(tmp_path: Path) -> None:
    port_file = tmp_path / "port"
    page = _SERVED + _ASKED + block("sh", f"echo http://127.0.0.1:8000 >{port_file}")
    assert ran(tmp_path, page) == Run([], "")
    port = int(port_file.read_text(encoding="utf-8").rpartition(":")[2])
    assert port != 8000
    with socket.socket() as free:
        assert free.connect_ex(("127.0.0.1", port)) != 0


def test_a_server_that_is_stopped_answers_no_more(tmp_path: Path) -> None:
    stopped = ran(tmp_path, _SERVED + block("sh", "true", "<!-- stop -->") + _ASKED)
    assert "Connection refused" in stopped.problems[0]


def test_a_server_that_is_started_again_takes_the_place_of_the_former(tmp_path: Path) -> None:
    assert ran(tmp_path, _SERVED + block("sh", "python -m http.server 8000") + _ASKED) == Run([], "")


def test_server_that_does_not_start_is_reported(tmp_path: Path) -> None:
    (problem,) = ran(tmp_path, block("sh", "dither-server run --db nothing --port 8000")).problems
    assert problem.startswith("line 2 (sh): status 1\n")
    assert "this server has ended" in problem


def test_server_that_dies_is_reported_at_the_end_of_the_page(tmp_path: Path) -> None:
    page = _SERVED + block("sh", "kill $!; wait $! || true")
    (problem,) = ran(tmp_path, page).problems
    assert re.match(r"at the end: status 1\nthe server of port \d+ has ended too early", problem)


@pytest.mark.parametrize("end", ["false", "sleep 600"], ids=["fails", "hangs"])
def test_processes_of_a_page_end_with_the_page(end: str, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    (problem,) = ran(
        tmp_path, block("sh", f"sleep 600 &\necho $! >{pids}\n{end}"), 1.0 if end != "false" else 60.0
    ).problems
    assert ("still runs after 1 s" in problem) == (end != "false")
    assert gone(int(pids.read_text(encoding="utf-8")))


def test_python_program_ends_with_its_page(tmp_path: Path) -> None:
    """It is a child of the fork server, and not of the page's shell."""
    pids = tmp_path / "pids"
    code = f"import os, pathlib, time; pathlib.Path({str(pids)!r}).write_text(str(os.getpid())); time.sleep(600)"
    (problem,) = ran(
        tmp_path, block("sh", f'python -c "{code}" &\nuntil [ -s {pids} ]; do sleep 0.05; done\nfalse')
    ).problems
    assert problem.startswith("line 2 (sh): status 1")
    assert gone(int(pids.read_text(encoding="utf-8")))


def test_python_program_has_its_input_arguments_status_and_signals(tmp_path: Path) -> None:
    """As from an interpreter of its own."""
    page = (
        block("python", "# app.py\nimport sys\nprint(__name__, sys.argv, sys.stdin.read())\nsys.exit(7)")
        + block("sh", "umask 077\necho told | WORD=x python app.py one two", "<!-- status: 7 -->")
        + block("text", "__main__ ['app.py', 'one', 'two'] told", "<!-- output -->")
        + block("sh", "python -c 'import os, signal; os.kill(os.getpid(), signal.SIGTERM)'", "<!-- status: 143 -->")
        + block("sh", "PYTHONPATH=/nowhere python -c 'import sys; print(sys.path[1])'")
        + block("text", "/nowhere", "<!-- output -->")
    )
    assert ran(tmp_path, page) == Run([], "")


def gone(pid: int) -> bool:
    """Return whether a process that was killed ends, as it must at once."""
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([watched], [], [], 20)[0])
    finally:
        os.close(watched)


def test_page_is_run_up_to_the_block_whose_program_is_missing(tmp_path: Path) -> None:
    page = block("sh", "true") + block("sh", "no-such-program", "<!-- needs: bash, no-such-program -->")
    assert ran(tmp_path, page) == Run([], "from line 6 on: no-such-program is not there")
    assert ran(tmp_path, block("sh", "false") + page).problems
