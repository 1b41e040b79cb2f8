"""Power cuts: every write and fsync below a collector, a relay or a spool is recorded, and replayed to a random point.

Unsynced changes survive or not at random: of a file each sector of 512 bytes, of a folder the first few of its changes.
Everything acknowledged before the cut must be there after the next start, and nothing else than what was sent.
"""

import random
import re
import shutil
import sqlite3
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import NamedTuple

from dither_server.store import Store
from dither_server.tally.tally import Tally
from dither_spool.blobs import SpoolError
from dither_spool.layout import SpoolLayout
from server.collecting import THEME, rows_of, same
from spool.spooling import in_place

_SECTOR = 512
_CALL = re.compile(r"^(?:\d+ +)?(\w+)\((.*)\) += (\d+)(?:<([^>]*)>)?")
_TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
_OPEN_FILE = re.compile(r"^\d+<([^>]*)>")

_COLLECTOR = """
import sys
from pathlib import Path
import sqlalchemy
from datetime import timedelta
from dither_server.store import Store, Upload
from server.collecting import COUNTED, THEME, TODAY, rows_of

folder, commits, durable = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "True"
store = Store(f"sqlite:///{folder}/dither.db")
store.register([THEME])
store.close()

@sqlalchemy.event.listens_for(store._engine, "connect")
def connected(connection, _):
    connection.execute(f"PRAGMA synchronous={'FULL' if durable else 'OFF'}")
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

_RELAY = """
import os, sys
import sqlalchemy
from dither_relay.store import Arrival, ListedPool, RelayStore
from dither_shared.sealed import Pool
from dither_shared.seal_key import SUITES
from server.collecting import TODAY

folder, commits, durable = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "True"
store = RelayStore(f"sqlite:///{folder}/relay.db")
pool = Pool("theme", "0" * 16)
store.list_pools([ListedPool(pool.digest, SUITES["x25519"], 49)], {"batch_limit": 5, "body_limit": 1 << 20})
store.close()

@sqlalchemy.event.listens_for(store._engine, "connect")
def connected(connection, _):
    connection.execute(f"PRAGMA synchronous={'FULL' if durable else 'OFF'}")
    connection.execute("PRAGMA wal_autocheckpoint=20")  # the delicate moments, often

((number_of_pool,),) = (by_length.values() for by_length in store.pools().values())
with open(f"{folder}/acknowledged", "wb", buffering=0) as acknowledged:
    for number in range(commits):
        one = Arrival(number_of_pool, pool, number.to_bytes(49, "big"))
        store.commit([one], TODAY, b"")
        acknowledged.write(one.digest)
        if number % 20 == 19:
            store.freeze(TODAY, lambda _: 7, None)
        if number % 3 == 2:
            for batch in store.frozen()[:1]:
                store.leave(batch, store.body(batch), TODAY, 0)
                store.checkpoint()
store._engine.dispose(close=False)
os._exit(0)  # as a power cut would have it, without a last checkpoint
"""

_SPOOL = """
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


def can_record() -> str | None:
    """Return why writes cannot be recorded here, or None if they can."""
    if shutil.which("strace") is None:
        return "no strace here: apt-get install strace"
    tried = subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, check=False)
    return None if tried.returncode == 0 else "strace may not trace here"


def _recorded(folder: Path, work: str, commits: int, durable: bool) -> list[_Call]:
    """Commit some work several times, and return the calls that change its files, in order."""
    trace = folder / "trace"
    calls = "trace=openat,pwrite64,write,fsync,fdatasync,ftruncate,rename,unlink"
    command = ["strace", "-f", "-y", "-xx", "-s", "1000000", "-e", calls, "-o", str(trace)]
    working = [sys.executable, "-c", work, str(folder), str(commits), str(durable)]
    environment = {"PYTHONPATH": str(Path(__file__).parents[1]), "PATH": "/usr/bin:/bin"}
    subprocess.run([*command, *working], check=True, env=environment)
    found = (_call(line, str(folder)) for line in trace.read_text("ascii").splitlines())
    return [call for call in found if call is not None]


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
    elif name in {"rename", "unlink"}:
        paths = [text.decode() for text in texts]
        call = _Call(name, paths[0], target=paths[-1])
    else:
        held = _OPEN_FILE.match(arguments)
        numbers = re.findall(r", (\d+)", arguments)
        offset = int(numbers[-1]) if name in {"pwrite64", "ftruncate"} else 0
        call = _Call(name, _plain(held[1] if held else ""), texts[0] if texts else b"", offset)
    ours = call.path.startswith(folder) and not call.path.endswith("-shm")  # SQLite makes it anew
    return call if ours else None


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
                    content.extend(bytes(call.offset - len(content)))
                continue
            for start in range(0, len(call.data), _SECTOR):
                if certain or chance.random() < 0.5:
                    sector = call.data[start : start + _SECTOR]
                    content.extend(bytes(max(0, offset + start + len(sector) - len(content))))
                    content[offset + start : offset + start + len(sector)] = sector
        return bytes(content)


def _acknowledges(call: _Call) -> bool:
    return call.name == "write" and call.path.endswith("/acknowledged")


def _cut(calls: Sequence[_Call], chance: random.Random) -> tuple[dict[str, bytes], bytes]:
    """Return the files as a power cut after the first acknowledgement leaves them, and what was acknowledged."""
    files: dict[str, _File] = {}
    changes: dict[str, list[tuple[str, _File | None]]] = defaultdict(list)
    durable: dict[str, _File | None] = {}
    acknowledged = b""
    first = next(place for place, call in enumerate(calls) if _acknowledges(call))
    for call in calls[: chance.randrange(first + 1, len(calls) + 1)]:
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
    return {path: file.content(chance) for path, file in durable.items() if file is not None}, acknowledged


def _collector_survives(folder: Path, acknowledged: bytes) -> str | None:
    """Open the remaining files and compare; return the difference, or None."""
    with closing(sqlite3.connect(folder / "dither.db")) as connection:
        checked = connection.execute("PRAGMA integrity_check").fetchone()[0]
        counted = {row[0] for row in connection.execute("SELECT batch FROM batches")}
    if checked != "ok":
        return f"corrupt: {checked}"
    if lost := _pieces(acknowledged) - counted:
        return f"{len(lost)} acknowledged batches are lost"
    rows = b"".join(rows_of(THEME, 1, name) for name in counted)
    with closing(Store(f"sqlite:///{folder}/dither.db", create=False)) as store:
        return None if same(store.tally(THEME), Tally.fold(THEME.mechanism, rows)) else "the counts are others"


def _relay_survives(folder: Path, acknowledged: bytes) -> str | None:
    """Compare: an acknowledged report waits or has left, and only whole batches are on their way."""
    with closing(sqlite3.connect(folder / "relay.db")) as connection:
        checked = connection.execute("PRAGMA integrity_check").fetchone()[0]
        waiting = [row[0] for row in connection.execute("SELECT digest FROM relay_sealed")]
        left = [row[0] for row in connection.execute("SELECT digest FROM relay_forwarded")]
        frozen = connection.execute(
            "SELECT total, share, (SELECT count(*) FROM relay_sealed s WHERE s.batch = b.number)"
            " FROM relay_batches b WHERE frozen IS NOT NULL"
        ).fetchall()
    if checked != "ok":
        return f"corrupt: {checked}"
    if lost := _pieces(acknowledged) - {*waiting, *left}:
        return f"{len(lost)} acknowledged reports are lost"
    if set(waiting) & set(left):
        return "a report that has left waits, too"
    if any((total - count) % share for total, share, count in frozen):
        return "half a body has left"
    return None


def _spool_survives(folder: Path, acknowledged: bytes) -> str | None:
    """Restart on the remaining files and compare; return the difference, or None."""
    layout = SpoolLayout.at(str(folder / "spool"))
    layout.close_abandoned()
    stored = in_place(layout.blobs)
    if lost := _pieces(acknowledged) - {row[0] for row in stored}:
        return f"{len(lost)} acknowledged batches are lost"
    if any(row[4] != rows_of(THEME, 300, row[0]) for row in stored):
        return "a batch has other rows"
    return "a file is said to be damaged" if layout.backlog().damaged else None


def _pieces(acknowledged: bytes) -> set[bytes]:
    """Return the ids, each of 16 bytes."""
    return {acknowledged[start : start + 16] for start in range(0, len(acknowledged), 16)}


def _cuts(
    work: str,
    survives: Callable[[Path, bytes], str | None],
    folder: Path,
    points: int,
    commits: int = 150,
    *,
    durable: bool = True,
    seed: int = 1,
) -> list[str]:
    """Cut the power at random points of one run; return the failures."""
    calls = _recorded(folder, work, commits, durable)
    assert sum(map(_acknowledges, calls)) == commits
    chance, failures = random.Random(seed), []
    for point in range(points):
        files, acknowledged = _cut(calls, chance)
        replay = folder / f"cut-{point}"
        for path, content in files.items():
            kept = replay / Path(path).relative_to(folder)
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_bytes(content)
        try:
            failures.append(survives(replay, acknowledged))
        except (sqlite3.DatabaseError, SpoolError) as error:
            failures.append(f"corrupt: {error}")
        shutil.rmtree(replay, ignore_errors=True)
    return [wrong for wrong in failures if wrong is not None]


power_cuts = partial(_cuts, _COLLECTOR, _collector_survives)
relay_power_cuts = partial(_cuts, _RELAY, _relay_survives)
spool_power_cuts = partial(_cuts, _SPOOL, _spool_survives)
