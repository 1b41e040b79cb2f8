"""Put a page's blocks into one script of bash, which says where it is."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from .blocks import Block
from .ports import with_ports
from .servers import with_servers

__all__ = ["script_of"]

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
