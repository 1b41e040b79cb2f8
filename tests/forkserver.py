"""Start programs of dither by forking one interpreter that has imported them: that takes 0.02 s instead of 0.75.

The forked process runs what ``python -m MODULE``, ``python -c CODE`` or ``python FILE`` runs, with its own environment,
folder, standard streams and exit status. Three things differ from a cold start: modules that the program would import
later are there from the start, all programs of one test run share the seed of ``hash()``, and the process ends without
tearing down its modules, which takes longer than all the rest. A test of imports, or of what the interpreter reads when
it starts, uses ``subprocess`` itself; so does ``start`` where the environment asks for another interpreter, or where
the system is not Linux.
"""

import ast
import atexit
import contextlib
import gc
import importlib
import os
import pkgutil
import runpy
import select
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import types
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO, Any, NoReturn

_SCRIPTS = ("dither-server", "dither-relay", "dither-sim", "flask")
_PACKAGES = (
    "dither_shared",
    "dither",
    "dither_serving",
    "dither_server",
    "dither_spool",
    "dither_relay",
    "dither_simulations",
)
_LIBRARIES = (
    *("flask.cli", "http.server", "logging.config"),
    *("matplotlib.pyplot", "matplotlib.backends.backend_agg", "matplotlib.backends.backend_svg"),
    *("scipy.optimize", "scipy.stats", "sqlalchemy.dialects.sqlite"),
)
_COLD = ("__main__", "pytest_plugin", "wsgi")
"""Modules that do something when they are imported."""

_READ_AT_START = ("PYTHON", "OPENBLAS_", "OMP_", "MALLOC_", "LD_", "LC_", "LANG", "TZ")
"""Prefixes of variables that the interpreter, or a library that is imported, reads only once."""

_HEEDED = {"PYTHONPATH", "PYTHONUNBUFFERED"}
"""Those of Python that a forked process applies itself."""

_STUB = """\
#!{python} -IS
import os, signal, socket, sys
os.umask(mask := os.umask(0))
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    words = repr((sys.argv, dict(os.environ), os.getcwd(), mask)).encode()
    socket.send_fds(server, [len(words).to_bytes(8, "big")], [0, 1, 2])
    server.sendall(words)
    child = int.from_bytes(server.recv(8), "big")
    for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        if signal.getsignal(one) != signal.SIG_IGN:
            signal.signal(one, lambda number, frame: os.kill(child, number))
    status = int.from_bytes(server.recv(8) or bytes([1]), "big", signed=True)
if status < 0:
    signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
os._exit(status)
"""


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
    forks = sys.platform == "linux" and (env is None or _read_at_start(env) == _read_at_start(os.environ))
    return (_Forked if forks else subprocess.Popen)(
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


@cache
def stubs() -> str:
    """Return a folder of programs for a PATH, each of which forks; "" where the system is not Linux."""
    if sys.platform != "linux":
        return ""
    address = _address()
    folder = Path(address).parent
    for name in ("python", "python3", *_SCRIPTS):
        stub = folder / name
        stub.write_text(_STUB.format(python=sys.executable, address=address), encoding="utf-8")
        stub.chmod(0o755)
    return str(folder)


def _read_at_start(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name.startswith(_READ_AT_START) and name not in _HEEDED}


@cache
def _address() -> str:
    """Start the server, which ends with this process; return the path of its socket."""
    kept = contextlib.ExitStack()
    folder = Path(kept.enter_context(tempfile.TemporaryDirectory(prefix="forkserver-")))
    address = str(folder / "server")
    environment = {name: value for name, value in os.environ.items() if name not in _HEEDED}
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen(64)  # requests wait in this queue while the server still imports
        process = subprocess.Popen(
            [sys.executable, __file__, str(listener.fileno())],
            stdin=subprocess.PIPE,  # the pipe closes when this process ends, however it does
            env={"OPENBLAS_NUM_THREADS": "1", "MPLCONFIGDIR": str(Path(sys.prefix, "matplotlib"))} | environment,
            pass_fds=[listener.fileno()],
            start_new_session=True,
        )
    kept.callback(process.communicate)
    atexit.register(kept.close)
    return address


class _Forked(subprocess.Popen[str]):
    """A process that the server has forked, and whose end it reports through a socket."""

    _ending = threading.Lock()

    def _execute_child(self, args: Sequence[str], *given: Any) -> None:
        """Do for ``Popen``, which has made the pipes, what it leaves to this method: start the program."""
        cwd, env, pipes = given[4], given[5], given[9:15]
        theirs = [one if one != -1 else standard for standard, one in enumerate((pipes[0], pipes[3], pipes[5]))]
        os.umask(mask := os.umask(0))
        words = repr((list(args), dict(os.environ if env is None else env), str(cwd or Path.cwd()), mask)).encode()
        self._server = socket.socket(socket.AF_UNIX)
        weakref.finalize(self, self._server.close)
        self._server.connect(_address())
        socket.send_fds(self._server, [len(words).to_bytes(8, "big")], theirs)
        self._server.sendall(words)
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]  # as Popen's own method does
        self.pid = self._answer()
        self._child_created = True

    def _internal_poll(self, **_: object) -> int | None:
        return self.poll()

    def poll(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self._server], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            with self._ending:  # several threads may wait for one process
                if self.returncode is None:
                    self.returncode = self._answer()
        return self.returncode

    def _answer(self) -> int:
        content = self._server.recv(8)
        if len(content) != 8:
            raise ChildProcessError("the fork server ended: its last lines are on standard error")
        return int.from_bytes(content, "big", signed=True)


class _Program:
    """A program to run: its words, environment, folder, umask and standard streams."""

    def __init__(self, asking: socket.socket) -> None:
        head, self._streams, *_ = socket.recv_fds(asking, 8, 3)
        words = bytearray()
        while len(words) < int.from_bytes(head, "big"):
            words += asking.recv(1 << 16)
        (program, *self._words), self._environment, self._folder, self._mask = ast.literal_eval(words.decode())
        self._name = Path(program).name

    def close(self) -> None:
        """Close the streams in the server."""
        for stream in self._streams:
            os.close(stream)

    def take_over(self) -> NoReturn:
        """Make this process, a child of the server, the program's, and end as the program ends."""
        cold = _read_at_start(os.environ)
        for number, one in enumerate(self._streams):
            os.dup2(one, number)
        self.close()
        os.chdir(self._folder)
        os.umask(self._mask)
        os.environ.clear()
        os.environ.update(self._environment)
        words = self._words
        if strict := words[:2] == ["-W", "error"]:
            words = words[2:]
        if script := "python" not in self._name:
            words = [str(Path(sys.executable).with_name(self._name)), *words]
        known = words and (words[0] in {"-c", "-m"} or not words[0].startswith("-"))
        asks = {name: value for name, value in _read_at_start(self._environment).items() if name.startswith("PYTHON")}
        if (
            not asks.items() <= cold.items() or not known or words[:2] == ["-m", "pytest"]
        ):  # it rewrites what it imports
            os.execv(sys.executable, [sys.executable, *(words if script else self._words)])  # noqa: S606
        if strict:
            warnings.simplefilter("error")
            sys.warnoptions.append("error")
        if self._environment.get("PYTHONUNBUFFERED"):
            for stream in (sys.stdout, sys.stderr):
                stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # it is a TextIOWrapper
        _end(_status(lambda: _run(words)))


def _run(words: list[str]) -> None:
    """Do what ``python WORDS`` does."""
    module = types.ModuleType("__main__")
    module.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = module
    named = [one for one in os.environ.get("PYTHONPATH", "").split(os.pathsep) if one and one not in sys.path]
    sys.path[1:1] = named
    if words[0] == "-m":
        sys.argv = words[1:]
        sys.path[0] = str(Path.cwd())
        runpy._run_module_as_main(words[1])  # type: ignore[attr-defined]  # noqa: SLF001  # it is what -m calls
        return
    if words[0] == "-c":
        sys.argv, sys.path[0] = ["-c", *words[2:]], ""
        code = compile(words[1], "<string>", "exec", dont_inherit=True)
    else:
        path = Path(words[0])
        sys.argv, sys.path[0] = words, str(path.parent.resolve())
        module.__file__ = words[0]
        code = compile(path.read_bytes(), words[0], "exec", dont_inherit=True)
    exec(code, module.__dict__)  # noqa: S102  # as the interpreter does


def _status(program: Callable[[], None]) -> int:
    """Return the exit status of a program as the interpreter would; a negative status names a signal."""
    try:
        program()
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        sys.stderr.write(f"{end.code}\n")
        return 1
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        return -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _end(status: int) -> NoReturn:
    """Do what the interpreter does at its end, but for clearing its modules."""
    threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001  # joins threads
    atexit._run_exitfuncs()  # noqa: SLF001
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError) as error:  # closed, by the program or by its reader
            status = status or 120
            with contextlib.suppress(OSError, ValueError):
                sys.stderr.write(f"Exception ignored in: {stream!r}\n{type(error).__name__}: {error}\n")
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


def _import_all() -> None:
    """Import what the programs import, with warnings as errors, because some pages run Python so."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in _LIBRARIES:
            importlib.import_module(name)
        for package in _PACKAGES:
            for name in _modules(importlib.import_module(package)):
                with contextlib.suppress(ModuleNotFoundError):  # of what no extra of ours installs
                    importlib.import_module(name)


def _modules(package: types.ModuleType) -> Iterator[str]:
    for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        if found.name.rpartition(".")[2] not in _COLD:
            yield found.name
            if found.ispkg:
                yield from _modules(importlib.import_module(found.name))


_Children = dict[int, tuple[int, socket.socket]]
"""A child and the socket of who asked for it, by the descriptor of the child and by that of the socket."""


def _serve(listener: socket.socket) -> _Program | None:
    """Fork a child per request, and return its program in the child; return None when the owner has ended.

    A child is killed with all that it started when its requester has ended: nothing outlives its test.
    """
    with selectors.DefaultSelector() as selector:
        selector.register(0, selectors.EVENT_READ)
        selector.register(listener, selectors.EVENT_READ)
        children: _Children = {}
        while True:
            for key, _ in selector.select():
                if key.fd == 0:
                    for child, _asking in children.values():
                        _kill(child)
                    return None
                if key.fileobj is not listener:
                    _report(selector, children, key.fd)
                elif program := _forked(selector, children, listener.accept()[0]):
                    return program


def _forked(selector: selectors.BaseSelector, children: _Children, asking: socket.socket) -> _Program | None:
    program = _Program(asking)
    child = os.fork()
    if not child:
        os.setsid()
        selector.close()
        for one, (_, other) in children.items():
            other.detach()
            os.close(one)
        asking.close()
        return program
    program.close()
    with contextlib.suppress(BrokenPipeError):  # the requester has ended, which kills the child below
        asking.sendall(child.to_bytes(8, "big"))
    ends = os.pidfd_open(child)
    for one in (ends, asking.fileno()):
        selector.register(one, selectors.EVENT_READ)
        children[one] = child, asking
    return None


def _report(selector: selectors.BaseSelector, children: _Children, descriptor: int) -> None:
    """Report how a child ended, or kill the child if its requester has ended."""
    if descriptor not in children:
        return
    child, asking = children[descriptor]
    if descriptor == asking.fileno():
        _kill(child)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with contextlib.suppress(BrokenPipeError):
        asking.sendall(status.to_bytes(8, "big", signed=True))
    for one in [one for one, (number, _) in children.items() if number == child]:
        selector.unregister(one)
        del children[one]
        if one != asking.fileno():
            os.close(one)
    asking.close()


def _kill(child: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)


def _main() -> None:
    listener = socket.socket(fileno=int(sys.argv[1]))
    sys.path[0] = ""  # the folder of this file stood there, which no program searches unless it asks
    _import_all()
    gc.collect()
    gc.freeze()
    program = _serve(listener)
    listener.close()
    if program is not None:
        program.take_over()


if __name__ == "__main__":
    _main()
