"""Put a page's blocks into one script of bash, which says where it is.

The ports that a page names are replaced by free ones. A program that is a server does not end, so it runs beside what
follows.
"""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from ports import kept_ports

from .blocks import Block

_BEGIN = """\
set -euo pipefail
_servers=""
_await() {  # PID PORT: go on as soon as it listens; without a port, as it has printed something
    _servers="$_servers $1:$2"
    until if [ "$2" = 0 ]; then [ -s "$_printed" ]; else (exec 3<>"/dev/tcp/127.0.0.1/$2") 2>/dev/null; fi; do
        kill -0 "$1" 2>/dev/null || { wait "$1" || true; echo "this server has ended" >&2; return 1; }
        sleep 0.05  # a shell cannot wait for the event that somebody listens
    done
}
_stop() {  # PORT or nothing: end the server of that port, as a reader does with Ctrl-C, or all
    local one kept=""
    for one in $(printf '%s\\n' $_servers | tac); do
        if [ -n "${1:-}" ] && [ "${one#*:}" != "$1" ] || [ "${1:-}" = 0 ]; then kept="$one $kept"; continue; fi
        kill -0 "${one%:*}" 2>/dev/null || { echo "the server of port ${one#*:} has ended too early" >&2; return 1; }
        kill "${one%:*}"
        wait "${one%:*}" || true
    done
    _servers="$kept"
}
"""


def script_of(blocks: Sequence[Block], run: Path, free: Mapping[str, str]) -> str:
    """Return the script. Into the folder ``run`` it writes ``at`` (where it is) and ``N.out`` (what block N printed).

    Shell blocks share one shell; files are written, and Python is run, where that shell stands.
    """
    parts = [_BEGIN]
    for number, block in enumerate(blocks):
        if not block.name and not block.runs:
            continue
        source = run / f"{number}.{block.language}"
        text = with_ports(block.text, free)
        source.write_text(text, encoding="utf-8")
        parts += [f"echo {number} >{_quoted(run / 'at')}", _printing_to(run / f"{number}.out")]
        parts += [f"_stop {free.get(port, port)}" for port in block.stops]
        parts.append(_expecting(block.status, _code(block, source, text, free)))
    parts += [
        _printing_to(run / "end.out"),
        f"echo end >{_quoted(run / 'at')}",
        "_stop",
        f"echo ended >{_quoted(run / 'at')}",
    ]
    return "\n".join(parts) + "\n"


def _code(block: Block, source: Path, text: str, free: Mapping[str, str]) -> str:
    if block.name:
        return f"mkdir -p -- {_quoted(Path(block.name).parent)}\ncp -- {_quoted(source)} {_quoted(Path(block.name))}"
    if block.language == "python":
        return f'python -W error -c "$(cat {_quoted(source)})"'
    return with_servers(text, free)


def _printing_to(path: Path) -> str:
    return f'_printed={_quoted(path)}\nexec >>"$_printed" 2>&1'


def _expecting(status: int, code: str) -> str:
    if not status:
        return code
    wrong = f'{{ echo "status $_status in place of {status}"; exit 1; }}'
    return f"set +e\n(\nset -e\n{code}\n)\n_status=$?\nset -e\n[ $_status = {status} ] || {wrong}"


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))


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

    The functions ``_await`` and ``_stop`` are those of the script.
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


_PORT = re.compile(
    r"(?P<before>(?:127\.0\.0\.1|localhost|\[::1\]|0\.0\.0\.0):|\bport(?: = |=| )|\bflask\b.* -p |http\.server )"
    r"(?P<port>\d{4,5})\b"
)


def ports_of(texts: Iterable[str]) -> set[str]:
    """Return the ports of this machine that blocks name."""
    return {found["port"] for text in texts for found in _PORT.finditer(text)}


@contextmanager
def free_ports(named: Iterable[str]) -> Iterator[dict[str, str]]:
    """Yield a free port of this machine for each named one, kept until the end."""
    names = sorted(named)
    with kept_ports(len(names)) as ports:
        yield dict(zip(names, map(str, ports), strict=True))


def with_ports(text: str, free: Mapping[str, str]) -> str:
    """Return a block's text with free ports in place of its own."""
    return _PORT.sub(lambda found: found["before"] + free.get(found["port"], found["port"]), text)
