"""A PostgreSQL server for the tests: the one that DITHER_TEST_POSTGRES names, or one of our own on a loopback port."""

import os
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

__all__ = ["WHY_NOT", "fresh", "server"]

WHY_NOT = "no PostgreSQL server here: apt-get install postgresql, or set DITHER_TEST_POSTGRES to a URL"


@contextmanager
def server() -> Iterator[str | None]:
    """The URL of a server without a database's name, or None if there is none to be had."""
    given = os.environ.get("DITHER_TEST_POSTGRES")
    programs = _programs()
    if given or programs is None:
        yield given.rstrip("/") if given else None
        return
    user = _user()
    folder = Path(tempfile.mkdtemp(prefix="dither-postgresql-"))
    try:
        if user is not None:
            shutil.chown(folder, user)
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        _run(user, programs / "initdb", "-D", folder / "data", "-A", "trust", "-U", "dither", "-E", "UTF8", "-N")
        options = f"-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories="
        control = (programs / "pg_ctl", "-D", folder / "data", "-w")
        _run(user, *control, "-l", folder / "log", "-o", options, "start")
        try:
            yield f"postgresql://dither@127.0.0.1:{port}"
        finally:
            _run(user, *control, "-m", "immediate", "stop")
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
    """Whom to be: PostgreSQL does not run as root."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def _run(user: str | None, *command: object) -> None:
    arguments = [str(part) for part in command]
    subprocess.run(arguments, check=True, user=user, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
