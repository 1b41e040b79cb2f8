"""Power cuts on a spool: every call below it is recorded, and replayed up to a random point.

Unsynced changes survive or not at random: of a file each sector of 512 bytes, of a folder the first few of its
changes. Everything acknowledged before the cut must stand in a segment after the next start, and
nothing may that was never sent.
"""

import random
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from dither_spool.blobs import SpoolError
from dither_spool.layout import SpoolLayout
from server.collecting import THEME, rows_of
from spool.spooling import in_place

_SECTOR = 512
_CALL = re.compile(r"^(?:\d+ +)?(\w+)\((.*)\) += (\d+)(?:<([^>]*)>)?")
_TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
_OPEN_FILE = re.compile(r"^\d+<([^>]*)>")

_WORK = """
import os, sys
from pathlib import Path
from dither_server.store import Upload
from dither_spool import journal as journals
from dither_spool.blobs import SpoolError
from dither_spool.layout import SpoolLayout
from server.collecting import THEME, TODAY, rows_of

folder, commits = Path(sys.argv[1]), int(sys.argv[2])
if sys.argv[3] == "False":
    journals._make_durable = os.fsync = lambda _: None
layout = SpoolLayout.at(str(folder / "spool"))
layout.make()
with open(folder / "acknowledged", "wb", buffering=0) as acknowledged:
    journal = journals.SpoolJournal.create(layout.journals)
    for number in range(commits):
        names = [(10 * number + one).to_bytes(16, "big") for one in range(1 + number % 3)]
        journal.append([Upload(name, THEME, rows_of(THEME, 300, name)) for name in names], TODAY)
        acknowledged.write(b"".join(names))
        if number % 7 == 6:
            journal.seal(layout.blobs)
            journal = journals.SpoolJournal.create(layout.journals)
"""


class _Call(NamedTuple):
    """One call: of a file its path, data and offset, of a rename both paths."""

    name: str
    path: str
    data: bytes = b""
    offset: int = 0
    target: str = ""


def _recorded(folder: Path, commits: int, durable: bool) -> list[_Call]:
    trace = folder / "trace"
    calls = "trace=openat,pwrite64,write,fsync,fdatasync,ftruncate,rename,unlink,mkdir"
    command = ["strace", "-y", "-xx", "-s", "1000000", "-e", calls, "-o", str(trace)]
    work = [sys.executable, "-c", _WORK, str(folder), str(commits), str(durable)]
    environment = {"PYTHONPATH": str(Path(__file__).parents[1]), "PATH": "/usr/bin:/bin"}
    subprocess.run([*command, *work], check=True, env=environment)
    found = (_call(line, str(folder)) for line in trace.read_text("ascii").splitlines())
    return [row for row in found if row is not None]


def _call(line: str, folder: str) -> _Call | None:
    """Return the call of a line, if it is one on a file of ours."""
    seen = _CALL.match(line)
    if seen is None:
        return None
    name, arguments, _, opened = seen.groups()
    texts = [bytes.fromhex(text.replace("\\x", "")) for text in _TEXT.findall(arguments)]
    if name == "openat":
        if "O_CREAT" not in arguments:
            return None
        call = _Call(name, _plain(opened or ""))
    elif name in {"rename", "unlink", "mkdir"}:
        paths = [text.decode() for text in texts]
        call = _Call(name, paths[0], target=paths[-1])
    else:
        held = _OPEN_FILE.match(arguments)
        numbers = re.findall(r", (\d+)", arguments)
        offset = int(numbers[-1]) if name in {"pwrite64", "ftruncate"} else 0
        call = _Call(name, _plain(held[1] if held else ""), texts[0] if texts else b"", offset)
    return call if call.path.startswith(folder) else None


def _plain(path: str) -> str:
    return bytes.fromhex(path.replace("\\x", "")).decode() if path.startswith("\\x") else path


class _File:
    """A file: the bytes written to it, and how many of them were synced."""

    def __init__(self) -> None:
        self.calls: list[_Call] = []
        self.synced = 0

    def content(self, chance: random.Random) -> bytes:
        content = bytearray()
        end = 0
        for place, call in enumerate(self.calls):
            offset = call.offset if call.name != "write" else end
            end = offset + len(call.data)
            certain = place < self.synced
            if call.name == "ftruncate":
                if certain or chance.random() < 0.5:
                    del content[call.offset :]
                continue
            for start in range(0, len(call.data), _SECTOR):
                if certain or chance.random() < 0.5:
                    sector = call.data[start : start + _SECTOR]
                    content.extend(bytes(max(0, offset + start + len(sector) - len(content))))
                    content[offset + start : offset + start + len(sector)] = sector
        return bytes(content)


def _cut(calls: Sequence[_Call], chance: random.Random) -> tuple[dict[str, bytes], set[bytes]]:
    """Return the files as a power cut at a random point leaves them, and the ids that were acknowledged by then."""
    files: dict[str, _File] = {}
    changes: dict[str, list[tuple[str, _File | None]]] = defaultdict(list)
    durable: dict[str, _File | None] = {}
    acknowledged = b""
    for call in calls[: chance.randrange(len(calls) + 1)]:
        folder = str(Path(call.path).parent)
        if call.path.endswith("/acknowledged"):
            acknowledged += call.data
        elif call.name == "openat":
            if call.path not in files:
                files[call.path] = _File()
                changes[folder].append((call.path, files[call.path]))
        elif call.name == "rename":
            moved = files[call.target] = files.pop(call.path)
            changes[folder] += [(call.path, None), (call.target, moved)]
        elif call.name == "unlink":
            files.pop(call.path)
            changes[folder].append((call.path, None))
        elif call.name in {"fsync", "fdatasync"}:
            if call.path in files:
                files[call.path].synced = len(files[call.path].calls)
            else:
                durable.update(changes.pop(call.path, []))
        elif call.path in files:
            files[call.path].calls.append(call)
    for pending in changes.values():
        durable.update(pending[: chance.randrange(len(pending) + 1)])
    left = {path: file.content(chance) for path, file in durable.items() if file is not None}
    return left, {acknowledged[start : start + 16] for start in range(0, len(acknowledged), 16)}


def _survives(spool: Path, files: dict[str, bytes], acknowledged: set[bytes]) -> str | None:
    """Restart on the remaining files and compare; return the difference, or None."""
    for path, content in files.items():
        kept = spool / Path(path).parent.name / Path(path).name
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(content)
    layout = SpoolLayout.at(str(spool))
    layout.close_abandoned()
    try:
        stored = in_place(layout.blobs)
    except SpoolError as error:
        return str(error)
    if lost := acknowledged - {row[0] for row in stored}:
        return f"{len(lost)} acknowledged batches are lost"
    if any(row[4] != rows_of(THEME, 300, row[0]) for row in stored):
        return "a batch has other rows"
    return "a file is said to be damaged" if layout.backlog().damaged else None


def spool_power_cuts(
    folder: Path, points: int, commits: int = 150, *, durable: bool = True, seed: int = 1
) -> list[str]:
    """Cut the power at random points of one run; return the failures."""
    calls = _recorded(folder, commits, durable)
    assert sum(call.name == "write" and call.path.endswith("/acknowledged") for call in calls) == commits
    chance = random.Random(seed)
    failures = (_survives(folder / f"cut-{point}", *_cut(calls, chance)) for point in range(points))
    return [wrong for wrong in failures if wrong is not None]
