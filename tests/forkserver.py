"""Start programs of dither by forking a process that has imported them: 0.12 s of processor time instead of 0.75.

What runs is what ``python -m MODULE`` or ``python -c CODE`` runs, in a process of its own, with an environment, a
folder, pipes and an exit status of its own. Two things differ from a cold start: modules that the program would import
later are there from the start, and all programs of one test run share the seed of ``hash()``. A test of imports, or of
what the interpreter reads when it starts, uses ``subprocess`` itself; so does ``start`` where the environment asks for
another interpreter, or where the system is not Linux.
"""

import atexit
import contextlib
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import IO, Any, NamedTuple, NoReturn

__all__ = ["run", "start"]

_IMPORTED = (
    "dither_server.app",
    "dither_server.cli.token",
    "dither_server.cli.backup",
    "dither_server.cli.doctor",
    "dither_server.cli.fold",
    "dither_server.cli.main",
    "dither_server.cli.startup",
    "dither_server.ingest.folding.run",
    "dither_server.serving.server",
    "dither_relay.app",
    "dither_relay.cli",
    "dither_relay.relay",
    "alembic.autogenerate",
    "alembic.ddl.sqlite",
    "logging.config",
    "sqlalchemy.dialects.sqlite",
)
_READ_AT_START = ("PYTHON", "OPENBLAS_", "OMP_", "MALLOC_", "LD_", "LC_", "LANG", "TZ")
"""How variables begin that the interpreter, or a library that is imported, reads only once; PYTHONPATH is heeded."""

_MESSAGE = 1 << 17


def start(
    *words: str,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stdin: IO[Any] | int | None = None,
    stdout: IO[Any] | int | None = None,
    stderr: IO[Any] | int | None = None,
    pipesize: int = -1,
) -> "subprocess.Popen[str]":
    """Start ``python WORDS``, which begin with ``-m`` and a module or ``-c`` and code; the caller waits for it."""
    kind = _Forked if sys.platform == "linux" and _alike(os.environ if env is None else env) else subprocess.Popen
    return kind(
        [sys.executable, *words],
        env=None if env is None else dict(env),
        cwd=cwd,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        pipesize=pipesize,
        text=True,
    )


def run(
    *words: str,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    check: bool = False,
    timeout: float | None = None,
) -> "subprocess.CompletedProcess[str]":
    """Run ``python WORDS``, likewise, to its end, and return what it printed."""
    pipe = subprocess.PIPE
    with start(*words, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe) as process:
        try:
            out, err = process.communicate(timeout=timeout)
        except BaseException:
            process.kill()
            raise
    ended = subprocess.CompletedProcess(process.args, process.returncode, out, err)
    if check:
        ended.check_returncode()
    return ended


def _alike(env: Mapping[str, str]) -> bool:
    """Whether an interpreter with this environment would start like the fork server."""
    return _read_at_start(env) == _read_at_start(os.environ)


def _read_at_start(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name.startswith(_READ_AT_START) and name != "PYTHONPATH"}


class _Forked(subprocess.Popen[str]):
    """A process that the fork server forks, and whose end it reports through a pipe."""

    _ending = threading.Lock()

    def _execute_child(self, args: Sequence[str], *given: Any) -> None:
        """Do for ``Popen``, which has made the pipes, what it leaves to this method: start the program."""
        cwd, env, pipes = given[4], given[5], given[9:15]
        theirs = [one if one != -1 else standard for standard, one in enumerate((pipes[0], pipes[3], pipes[5]))]
        self._status, status = os.pipe()
        weakref.finalize(self, os.close, self._status)
        request = _Request(list(args[1:]), str(cwd or Path.cwd()), dict(os.environ if env is None else env))
        try:
            _fork_server().ask(request, [*theirs, status])
        finally:
            os.close(status)
            self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]  # as Popen's own method does
        self.pid = int.from_bytes(_read(self._status, 4), "big")
        self._child_created = True

    def _internal_poll(self, **_: object) -> int | None:
        return self.poll()

    def poll(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self._status], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            with self._ending:  # several threads may wait for one process
                if self.returncode is None:
                    self.returncode = os.waitstatus_to_exitcode(int.from_bytes(_read(self._status, 4), "big"))
        return self.returncode


class _Request(NamedTuple):
    """What to run: the words after ``python``, in which folder, and with which environment."""

    words: list[str]
    cwd: str
    env: dict[str, str]


class _ForkServer:
    """The process that forks, seen from the tests."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            null, number = subprocess.DEVNULL, theirs.fileno()
            command = [sys.executable, __file__, str(number)]
            self._process = subprocess.Popen(command, stdin=null, stdout=null, pass_fds=[number])
        self._lock = threading.Lock()
        atexit.register(self.end)

    def ask(self, request: _Request, descriptors: Sequence[int]) -> None:
        with self._lock:
            socket.send_fds(self._socket, [json.dumps(request).encode()], descriptors)

    def end(self) -> None:
        self._socket.close()
        self._process.wait()


@cache
def _fork_server() -> _ForkServer:
    return _ForkServer()


def _read(pipe: int, count: int) -> bytes:
    content = os.read(pipe, count)
    if len(content) != count:
        raise ChildProcessError("the fork server ended: its last lines are on standard error")
    return content


def _forked(requests: socket.socket) -> _Request:
    """Fork a process for each request that comes; return in these processes only."""
    while True:
        content, descriptors, _, _ = socket.recv_fds(requests, _MESSAGE, 4)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if not content:
            with contextlib.suppress(ChildProcessError):
                while True:
                    os.wait()
            sys.exit()
        if os.fork() == 0:
            requests.close()
            return _supervised(_Request(*json.loads(content)), *descriptors)
        for one in descriptors:
            os.close(one)


def _supervised(request: _Request, stdin: int, stdout: int, stderr: int, status: int) -> _Request:
    """Fork once more, and report the number and the end of the process that returns from here."""
    if (pid := os.fork()) != 0:
        _report(pid, status, (0, 1, 2, stdin, stdout, stderr))
    os.close(status)
    for standard, given in enumerate((stdin, stdout, stderr)):
        os.dup2(given, standard)
        os.close(given)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(request.env)
    os.chdir(request.cwd)
    return request


def _report(pid: int, status: int, descriptors: Sequence[int]) -> NoReturn:
    for one in descriptors:
        os.close(one)
    with contextlib.suppress(BrokenPipeError):  # the tests may have ended before
        os.write(status, pid.to_bytes(4, "big"))
        os.write(status, os.waitpid(pid, 0)[1].to_bytes(4, "big"))
    os._exit(0)


def _main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.path.pop(0)  # the folder of this file, which `python -m` does not search
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the programs do; no thread of numpy's is lost in a fork
    for name in _IMPORTED:
        importlib.import_module(name)
    gc.freeze()
    request = _forked(socket.socket(fileno=int(sys.argv[1])))
    option, content, *arguments = request.words
    named = [one for one in request.env.get("PYTHONPATH", "").split(os.pathsep) if one and one not in sys.path]
    sys.path[:0] = [request.cwd, *named]
    sys.argv = [option, *arguments]
    if option == "-m":
        runpy.run_module(content, run_name="__main__", alter_sys=True)
    else:
        sys.modules["__main__"] = main = ModuleType("__main__")
        exec(compile(content, "<string>", "exec"), main.__dict__)  # noqa: S102  # as -c does


if __name__ == "__main__":
    _main()
