"""The machine that a collector runs on: its disk, whether what is written there is durable, and its clock."""

import errno
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

from dither_shared.counted import counted

from .findings import CheckResult, ok, problem, size, warning

_WRITES = 20
"""Writes that are measured, of a page each."""

_TOO_FAST = 30e-6
"""Seconds below which no known disk makes a page durable, not even one with a protected cache."""

_SLOW = 0.05

FORGETS = {"tmpfs", "ramfs"}
_CONTAINERS = {"overlay", "aufs"}
NETWORKS = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "fuse.sshfs", "fuse.s3fs", "fuse.gcsfuse", "9p"}

_APART = timedelta(seconds=5)
_WRONG = timedelta(hours=1)
"""Differences of clocks from which there is a warning, or a problem: reports are counted under the UTC day."""

_MOUNTS = Path("/proc/self/mountinfo")
"""Where Linux lists what is mounted."""


def on_machine(folder: Path) -> Iterator[CheckResult]:
    """Yield the findings about the folder of a database."""
    if not folder.is_dir():
        yield problem("disk", f"{folder} is not a folder", "Make it, or mount what should be there")
        return
    yield _room(folder)
    yield from _kind(file_system_of(folder))
    yield durability(folder)


def _room(folder: Path) -> CheckResult:
    usage = shutil.disk_usage(folder)
    share = usage.free / usage.total if usage.total else 0.0
    text = f"{100 * share:.0f}% free, {size(usage.free)} of {size(usage.total)}"
    advice = "Free some space, or set retention; when the disk is full, reports are refused with 503"
    if usage.free < 100e6 or share < 0.01:
        return problem("disk", text, advice)
    return warning("disk", text, advice) if usage.free < 1e9 or share < 0.1 else ok("disk", text)


def _kind(name: str) -> Iterator[CheckResult]:
    if name in FORGETS:
        yield problem(
            "disk", f"{name} is in memory, and everything is lost at the next start", "Put the database on a disk"
        )
    elif name in NETWORKS:
        advice = "Put it on a disk of this machine, or use PostgreSQL"
        yield problem("disk", f"{name} is a network file system; SQLite's log and locks do not work there", advice)
    elif name in _CONTAINERS:
        advice = "Put the database on a volume"
        yield warning("disk", f"{name} is a container's own layer, which is deleted with the container", advice)


def file_system_of(folder: Path, mounts: Path = _MOUNTS) -> str:
    """Return the type of the file system that a folder is on, by a table of mounts; "" if it is unknown."""
    here, best, found = str(folder.resolve()), "", ""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:  # not Linux
        return ""
    for fields in map(str.split, lines):
        point = fields[4].replace("\\040", " ")
        if (here == point or here.startswith(point.rstrip("/") + "/")) and len(point) >= len(best):
            best, found = point, fields[fields.index("-") + 1]
    return found


def durability(folder: Path) -> CheckResult:
    """Return the finding about the durability of writes in a folder."""
    try:
        seconds = fsync_times(folder)
    except OSError as error:
        if error.errno == errno.EROFS:
            return problem(
                "fsync", f"{folder} is on a read-only file system", "Mount it for writing: nothing can be counted"
            )
        advice = "Run this as the user that the collector runs as"
        return warning("fsync", f"cannot be measured in {folder}: {error.strerror}", advice)
    typical = statistics.median(seconds)
    text = f"{1000 * typical:.3g} ms for a page, {1000 * max(seconds):.3g} ms at most of {len(seconds)}"
    if typical < _TOO_FAST:
        advice = "No disk is so fast: a power cut may lose acknowledged reports. Make sure that no layer ignores fsync"
        return warning("fsync", text, advice)
    if typical > _SLOW:
        return warning("fsync", text, "Each commit takes that long, and devices wait for it. Use a faster disk")
    return ok("fsync", text)


def fsync_times(folder: Path) -> list[float]:
    """Return the seconds in which each of some pages became durable, in an unnamed file that is deleted at once."""
    seconds = []
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        for _ in range(_WRITES):
            file.write(bytes(4096))
            start = time.perf_counter()
            os.fsync(file.fileno())
            seconds.append(time.perf_counter() - start)
    return seconds


def compared(whose: str, there: datetime, before: datetime, after: datetime) -> CheckResult:
    """Compare a clock of whole seconds with ours, which was read before and after it."""
    behind = before - (there + timedelta(seconds=1))
    ahead = there - after
    apart = max(behind, ahead, timedelta())
    if apart < _APART:
        return ok("clock", f"{whose} agrees with this machine's to {_APART.seconds} seconds")
    way = "behind" if behind > ahead else "ahead of"
    finding = problem if apart > _WRONG else warning
    advice = "Set both by NTP: reports near midnight are counted under another day, and ids forgotten at another time"
    return finding("clock", f"{whose} is {_length(apart)} {way} this machine's", advice)


def _length(span: timedelta) -> str:
    seconds = span.total_seconds()
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= 2 * length:
            return counted(round(seconds / length), unit)
    return counted(round(seconds), "second")
