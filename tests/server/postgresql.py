"""A PostgreSQL server for the tests: the one that DITHER_TEST_POSTGRES names, or one of our own on a loopback port."""

import os
import pwd
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg

from ports import kept_port

__all__ = ["WHY_NOT", "Own", "fresh", "own", "server"]

WHY_NOT = "no PostgreSQL server here: apt-get install postgresql, or set DITHER_TEST_POSTGRES to a URL"


class Own:
    """A server of our own, in a folder. It may be stopped and started again, on the same port."""

    def __init__(self, programs: Path, folder: Path, port: int) -> None:
        self._user = _user()
        self._control = (programs / "pg_ctl", "-D", folder / "data", "-w", "-t", "600")
        self._log = folder / "log"
        if self._user is not None:
            shutil.chown(folder, self._user)
        self._port = port
        _run(self._user, programs / "initdb", "-D", folder / "data", "-A", "trust", "-U", "dither", "-E", "UTF8", "-N")
        self.url = f"postgresql://dither@127.0.0.1:{self._port}"
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = f"-c listen_addresses=127.0.0.1 -c port={self._port} -c unix_socket_directories="
        _run(self._user, *self._control, "-l", self._log, "-o", options, "start")
        self._runs = True

    def stop(self) -> None:
        """Kill the server, if it runs; connections break."""
        if self._runs:
            self._runs = False
            _run(self._user, *self._control, "-m", "immediate", "stop")


@contextmanager
def server() -> Iterator[str | None]:
    """Return the URL of a server without a database's name, or None if none is available."""
    with ExitStack() as ours:
        given = os.environ.get("DITHER_TEST_POSTGRES")
        if given:
            yield given.rstrip("/")
        else:
            found = ours.enter_context(own())
            yield None if found is None else found.url


@contextmanager
def own() -> Iterator[Own | None]:
    """A server of our own that runs, or None where PostgreSQL is not installed."""
    programs = _programs()
    if programs is None:
        yield None
        return
    folder = Path(tempfile.mkdtemp(prefix="dither-postgresql-"))
    try:
        with kept_port() as port:
            started = Own(programs, folder, port)
            try:
                yield started
            finally:
                started.stop()
    finally:
        shutil.rmtree(folder)


def fresh(url: str) -> str:
    """Make a database on the server at ``url``, and return its URL."""
    name = f"dither_{secrets.token_hex(8)}"
    with psycopg.connect(f"{url}/postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return f"{url}/{name}"


def _programs() -> Path | None:
    found = [Path(path).parent for path in (shutil.which("initdb"),) if path]
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in found if (folder / "pg_ctl").exists() and (folder / "initdb").exists()), None)


def _user() -> str | None:
    """The user to run as: PostgreSQL does not run as root."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def _run(user: str | None, *command: object) -> None:
    arguments = [str(part) for part in command]
    subprocess.run(arguments, check=True, user=user, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
