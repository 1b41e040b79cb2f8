"""Power cuts: every write and fsync below SQLite is recorded, and replayed up to a random point.

Bytes not synced by then survive or not, in sectors of 512 bytes, at random. Everything acknowledged before
the cut must be there, and the counts must be those of exactly the batches that are.
"""

import random
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from dither_server.store import Store
from dither_server.tally.tally import Tally
from server.collecting import THEME, rows_of, same

_SECTOR = 512
_CALL = re.compile(r'^(?:\d+ +)?(\w+)\(\d+<([^>]*)>(?:, "((?:\\x[0-9a-f]{2})*)")?(?:, (\d+))?(?:, (\d+))?\) += (\d+)$')

_WORK = """
import sys
from pathlib import Path
import sqlalchemy
from datetime import timedelta
from dither_server.store import Store, Upload
from server.collecting import COUNTED, THEME, TODAY, rows_of

folder, commits, synchronous = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
store = Store(f"sqlite:///{folder}/dither.db")
store.register([THEME])
store.close()

@sqlalchemy.event.listens_for(store._engine, "connect")
def connected(connection, _):
    connection.execute(f"PRAGMA synchronous={synchronous}")
    connection.execute("PRAGMA wal_autocheckpoint=20")  # the delicate moments, often

with open(folder / "acknowledged", "wb", buffering=0) as acknowledged:
    for number in range(commits):
        name = number.to_bytes(16, "big")
        day = TODAY + timedelta(days=number // 40)
        assert store.commit([Upload(name, THEME, rows_of(THEME, 1, name))], day, b"s" * 16) == [COUNTED]
        acknowledged.write(name)
store._engine.dispose(close=False)
import os
os._exit(0)  # as a power cut would have it, without a last checkpoint
"""


class Step(NamedTuple):
    """One call: ``pwrite64``, ``write``, ``ftruncate``, ``fsync`` or ``fdatasync`` on a file."""

    call: str
    file: str
    data: bytes
    offset: int


def can_record() -> str | None:
    """Return why writes cannot be recorded here, or None if they can."""
    if shutil.which("strace") is None:
        return "no strace here: apt-get install strace"
    tried = subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, check=False)
    return None if tried.returncode == 0 else "strace may not trace here"


def record(folder: Path, commits: int, synchronous: str, work: str = _WORK, name: str = "dither.db") -> list[Step]:
    """Commit some work on a database several times, and return all writes to the files, in order."""
    trace = folder / "trace"
    files = [word for file in (name, f"{name}-wal", "acknowledged") for word in ("-P", str(folder / file))]
    calls = "trace=pwrite64,write,fsync,fdatasync,ftruncate"
    command = ["strace", "-f", "-y", "-xx", "-s", "1000000", "-e", calls, "-o", str(trace), *files]
    working = [sys.executable, "-c", work, str(folder), str(commits), synchronous]
    path = str(Path(__file__).parents[1])
    subprocess.run([*command, *working], check=True, env={"PYTHONPATH": path, "PATH": "/usr/bin:/bin"})
    return [step for line in trace.read_text("ascii").splitlines() if (step := _step(line)) is not None]


def _step(line: str) -> Step | None:
    match = _CALL.match(line)
    if match is None:
        return None
    call, path, data, first, second, _ = match.groups()
    file = bytes.fromhex(path.replace("\\x", "")).decode() if path.startswith("\\x") else path
    offset = int((second if call == "pwrite64" else first) or 0)
    return Step(call, Path(file).name, bytes.fromhex((data or "").replace("\\x", "")), offset)


def cut(
    steps: Sequence[Step], chance: random.Random, name: str = "dither.db"
) -> tuple[dict[str, bytearray], list[bytes]]:
    """Return the files as a power cut at a random point leaves them, and the commits acknowledged by then."""
    acknowledgements = [place for place, step in enumerate(steps) if step.file == "acknowledged"]
    end = chance.randrange(acknowledgements[0] + 1, len(steps) + 1)
    synced = {step.file: place for place, step in enumerate(steps[:end]) if step.call in {"fsync", "fdatasync"}}
    files = {name: bytearray(), f"{name}-wal": bytearray()}
    for place, step in enumerate(steps[:end]):
        if step.file in files:
            _apply(files[step.file], step, chance if place > synced.get(step.file, -1) else None)
    return files, [steps[place].data for place in acknowledgements if place < end]


def _apply(file: bytearray, step: Step, chance: random.Random | None) -> None:
    """Apply a step, whole if it is synced, else as ``chance`` has it."""
    if step.call == "ftruncate" and (chance is None or chance.random() < 0.5):
        del file[step.offset :]
        file.extend(bytes(step.offset - len(file)))
    if step.call != "pwrite64":
        return
    for start in range(0, len(step.data), _SECTOR):
        if chance is None or chance.random() < 0.5:
            sector = step.data[start : start + _SECTOR]
            place = step.offset + start
            file.extend(bytes(max(0, place + len(sector) - len(file))))
            file[place : place + len(sector)] = sector


def put(folder: Path, files: dict[str, bytearray]) -> None:
    """Let a folder hold these files, and of a database nothing else."""
    for left in folder.glob("*.db*"):
        left.unlink()
    for name, content in files.items():
        (folder / name).write_bytes(content)


def survives(folder: Path, files: dict[str, bytearray], acknowledged: Sequence[bytes]) -> str | None:
    """Open the remaining files and compare; return the difference, or None."""
    put(folder, files)
    try:
        with closing(sqlite3.connect(folder / "dither.db")) as connection:
            checked = connection.execute("PRAGMA integrity_check").fetchone()[0]
            counted = {row[0] for row in connection.execute("SELECT batch FROM batches")}
    except sqlite3.DatabaseError as error:
        return f"corrupt: {error}"
    if checked != "ok":
        return f"corrupt: {checked}"
    if lost := set(acknowledged) - counted:
        return f"{len(lost)} acknowledged batches are lost"
    rows = b"".join(rows_of(THEME, 1, name) for name in counted)
    with closing(Store(f"sqlite:///{folder}/dither.db", create=False)) as store:
        return None if same(store.tally(THEME), Tally.fold(THEME.mechanism, rows)) else "the counts are others"


def power_cuts(folder: Path, points: int, commits: int = 150, *, durable: bool = True, seed: int = 1) -> list[str]:
    """Cut the power at random points of one run; return the failures."""
    steps = record(folder, commits, "FULL" if durable else "OFF")
    assert sum(step.file == "acknowledged" for step in steps) == commits
    chance = random.Random(seed)
    replay = folder / "replay"
    replay.mkdir()
    failures = (survives(replay, *cut(steps, chance)) for _ in range(points))
    return [wrong for wrong in failures if wrong is not None]
