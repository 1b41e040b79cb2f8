"""Lines of a shell block that start a server: such a program does not end, so it runs beside what follows."""

import re
from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["Server", "with_servers"]

_PROGRAMS = (
    r"dither-(?:server|relay)|(?:python -m )?flask|python -m http\.server|gunicorn|granian|dask (?:scheduler|worker)"
)
_SERVER = re.compile(rf"^(?P<before>(?:\w+=\S* +)*)(?P<line>(?P<program>{_PROGRAMS})\b(?P<rest>.*))$")
_GIVEN = re.compile(r"(?:--port[= ]|-p |(?:--bind|-b)[= ]\S*:|http\.server )(\d+)")


class Server(NamedTuple):
    """A program that a page starts, by the port that it takes; "" if it takes none."""

    port: str
    variable: str = ""
    """The environment variable that sets its port, where the line does not."""


_DEFAULTS = {
    "dither-server": Server("8000", "DITHER_PORT"),
    "dither-relay": Server("8080", "DITHER_RELAY_PORT"),
    "flask": Server("5000", "FLASK_RUN_PORT"),
    "python -m flask": Server("5000", "FLASK_RUN_PORT"),
    "python -m http.server": Server("8000"),
    "gunicorn": Server("8000"),
    "granian": Server("8000"),
    "dask scheduler": Server("8786"),
    "dask worker": Server(""),
}
DEFAULT_PORTS = {server.port for server in _DEFAULTS.values() if server.port}
"""Ports of programs that are started without one."""


def with_servers(text: str, free: Mapping[str, str]) -> str:
    """Return a shell block whose servers run in the background, each awaited by its port. ``free`` maps the ports.

    The functions ``_await`` and ``_stop`` are those of the script (script.py).
    """
    joined = text.replace("\\\n", " ").splitlines()
    if not any(_server_of(line) for line in joined):
        return text
    return "".join(f"{_beside(line, free)}\n" for line in joined)


def _server_of(line: str) -> tuple[re.Match[str], Server] | None:
    """Return the parts of a line that starts a server, and which one."""
    match = _SERVER.match(line)
    if match is None or " --help" in line:
        return None
    server, rest = _DEFAULTS[match["program"]], match["rest"].partition(" #")[0]
    if server.variable and not re.search(r" run\b", rest):  # programs that have other commands
        return (match, Server("")) if " fold" in rest and "--every" in rest else None
    port = _GIVEN.search(match["line"])
    return match, Server(port[1]) if port and server.port else server


def _beside(line: str, free: Mapping[str, str]) -> str:
    found = _server_of(line)
    if found is None:
        return line
    match, server = found
    port = free.get(server.port, server.port)
    set_port = f"{server.variable}={port} " if server.variable else ""
    command = re.sub(r"&\s*(#.*)?$", "", match["line"])
    return f"_stop {port or 0}\n( {set_port}{match['before']}exec {command}\n) &\n_await $! {port or 0}"
