"""Start a page's Python programs by forking one interpreter that has already imported what they import.

Starting ``dither-server`` takes up to a second of processor time, nearly all of it for imports, and the pages start
some 200 such programs. So a page finds stubs in its PATH. A stub hands its arguments, environment, folder and standard
streams to a warm process, whose child runs the program as a fresh interpreter would; signals and the exit status pass
through. What the warm process cannot imitate (other options of Python, its variables) the child executes afresh.
"""

import ast
import atexit
import contextlib
import gc
import importlib
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import types
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path

__all__ = ["stubs"]

_SCRIPTS = ("dither-server", "dither-relay", "dither-sim", "flask")
_PACKAGES = ("dither_shared", "dither", "dither_server", "dither_relay", "dither_simulations")
_LIBRARIES = (
    *("alembic.command", "flask.cli", "matplotlib.pyplot", "matplotlib.backends.backend_svg", "scipy.stats"),
    *("matplotlib.backends.backend_agg", "scipy.optimize", "sqlalchemy.dialects.sqlite", "http.server"),
)
_COLD = ("__main__", "pytest_plugin", "wsgi", "migrations")
"""Modules that do something when they are imported."""

_STUB = """\
#!{python} -IS
import os, signal, socket, sys
os.umask(mask := os.umask(0))
with socket.socket(socket.AF_UNIX) as warm:
    warm.connect({address!r})
    words = repr((sys.argv, dict(os.environ), os.getcwd(), mask)).encode()
    socket.send_fds(warm, [len(words).to_bytes(8, "big")], [0, 1, 2])
    warm.sendall(words)
    child = int.from_bytes(warm.recv(8), "big")
    for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        if signal.getsignal(one) != signal.SIG_IGN:
            signal.signal(one, lambda number, frame: os.kill(child, number))
    status = int.from_bytes(warm.recv(8) or bytes([1]), "big", signed=True)
if status < 0:
    signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
os._exit(status)
"""


@cache
def stubs() -> str:
    """Start the warm process, which ends with this one; return the folder of the stubs, "" where it cannot run."""
    if sys.platform != "linux":
        return ""
    folder = Path(_kept.enter_context(tempfile.TemporaryDirectory(prefix="warm-")))
    address = str(folder / "warm")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen(64)  # a stub that comes while the warm process still imports waits in this queue
        process = subprocess.Popen(
            [sys.executable, __file__, str(listener.fileno())],
            stdin=subprocess.PIPE,  # its end tells the warm process that this one has ended, however it did
            env=environment | {"PYTHONUNBUFFERED": "1", "MPLCONFIGDIR": str(Path(sys.prefix, "matplotlib"))},
            pass_fds=[listener.fileno()],
            start_new_session=True,
        )
    _kept.callback(process.communicate)
    atexit.register(_kept.close)
    for name in ("python", "python3", *_SCRIPTS):
        stub = folder / name
        stub.write_text(_STUB.format(python=sys.executable, address=address), encoding="utf-8")
        stub.chmod(0o755)
    return str(folder)


_kept = contextlib.ExitStack()


class _Program:
    """What a stub asks to run: its words, environment, folder, umask and standard streams."""

    def __init__(self, stub: socket.socket) -> None:
        head, self._streams, *_ = socket.recv_fds(stub, 8, 3)
        words = bytearray()
        while len(words) < int.from_bytes(head, "big"):
            words += stub.recv(1 << 16)
        (program, *self._words), self._environment, self._folder, self._mask = ast.literal_eval(words.decode())
        self._name = Path(program).name

    def close(self) -> None:
        """Close the streams in the warm process."""
        for one in self._streams:
            os.close(one)

    def take_over(self) -> None:
        """Make this process, a child of the warm one, the program's; return when the program ends."""
        for number, one in enumerate(self._streams):
            os.dup2(one, number)
        self.close()
        os.chdir(self._folder)
        os.umask(self._mask)
        special = {name for name in self._environment if name.startswith("PYTHON")} - {"PYTHONUNBUFFERED"}
        os.environ.clear()
        os.environ.update(self._environment)
        words = self._words
        if strict := words[:2] == ["-W", "error"]:
            words = words[2:]
        if script := "python" not in self._name:
            words = [_installed(self._name), *words]
        known = words and (words[0] in {"-c", "-m"} or not words[0].startswith("-"))
        if special or not known or words[:2] == ["-m", "pytest"]:  # pytest rewrites modules as it imports them
            os.execv(sys.executable, [sys.executable, *(words if script else self._words)])  # noqa: S606
        if strict:
            warnings.simplefilter("error")
            sys.warnoptions.append("error")
        _run(words)


def _installed(name: str) -> str:
    return str(Path(sys.executable).with_name(name))


def _run(words: list[str]) -> None:
    """Do what ``python WORDS`` does."""
    module = types.ModuleType("__main__")
    module.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = module
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
    exec(code, module.__dict__)  # noqa: S102  # the reader of a page runs it


def _import_all() -> None:
    """Import what the programs import, with warnings as errors, for some pages run Python so."""
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


def _serve(listener: socket.socket) -> _Program | None:
    """Fork a child for each stub, and return its program in the child; return None when the owner has ended.

    A child is killed with all that it started when its stub dies: nothing outlives its page.
    """
    with selectors.DefaultSelector() as selector:
        selector.register(0, selectors.EVENT_READ)
        selector.register(listener, selectors.EVENT_READ)
        children: dict[int, tuple[int, socket.socket]] = {}  # by the descriptor of the child and by that of its stub
        while True:
            for key, _ in selector.select():
                if key.fd == 0:
                    for child, _stub in children.values():
                        _kill(child)
                    return None
                if key.fileobj is not listener:
                    _settle(selector, children, key.fd)
                elif program := _forked(selector, children, listener.accept()[0]):
                    return program


def _forked(
    selector: selectors.BaseSelector, children: dict[int, tuple[int, socket.socket]], stub: socket.socket
) -> _Program | None:
    program = _Program(stub)
    child = os.fork()
    if not child:
        os.setsid()
        selector.close()
        for one, (_, other) in children.items():
            other.detach()
            os.close(one)
        stub.close()
        return program
    program.close()
    stub.sendall(child.to_bytes(8, "big"))
    ends = os.pidfd_open(child)
    for one in (ends, stub.fileno()):
        selector.register(one, selectors.EVENT_READ)
        children[one] = child, stub
    return None


def _settle(selector: selectors.BaseSelector, children: dict[int, tuple[int, socket.socket]], descriptor: int) -> None:
    """Tell the stub how its child ended, or kill the child whose stub has ended."""
    if descriptor not in children:
        return
    child, stub = children[descriptor]
    if descriptor == stub.fileno():
        _kill(child)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with contextlib.suppress(BrokenPipeError):
        stub.sendall(status.to_bytes(8, "big", signed=True))
    for one in [one for one, (number, _) in children.items() if number == child]:
        selector.unregister(one)
        del children[one]
        if one != stub.fileno():
            os.close(one)
    stub.close()


def _kill(child: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)


if __name__ == "__main__":
    listening = socket.socket(fileno=int(sys.argv[1]))
    _import_all()
    gc.collect()
    gc.freeze()
    wanted = _serve(listening)
    listening.close()
    if wanted is not None:
        wanted.take_over()
