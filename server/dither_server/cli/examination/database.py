"""The database: whether it is undamaged, its recent reports and refusals; its machine: disk, durability and clock."""

import errno
import os
import shutil
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from dither_serving.problems import Kind
from dither_shared.counted import counted

from ...store import Condition, Refusal, Store
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


_LARGE = 1_000_000_000
"""Bytes above which a database is not read completely by default: it takes some seconds per GB."""

_LONG_LOG = 1_000_000_000

_WEEK = timedelta(days=6)

_MOST = 5
"""Unknown versions that are named."""

_REASONS = 3


def in_database(store: Store, thorough: bool) -> Iterator[CheckResult]:
    """Examine an open database."""
    condition = store.condition()
    ids = counted(condition.ids, "batch id")
    about = f"{condition.engine}, schema {store.schema()}, {size(condition.size)}, about {ids}"
    yield ok("database", about)
    yield from _whole(store, condition, thorough)
    if condition.wal is not None and condition.wal > _LONG_LOG:
        advice = (
            "A process that has been reading for a long time, such as an export, keeps it from shrinking; end that "
            "process"
        )
        yield warning("database", f"the write-ahead log has {size(condition.wal)}", advice)
    before = datetime.now(UTC)
    there = store.clock()
    if there is not None:
        yield compared("the database's clock", there, before, datetime.now(UTC))


def _whole(store: Store, condition: Condition, thorough: bool) -> Iterator[CheckResult]:
    """Check a SQLite file for damage; PostgreSQL has tools of its own for that."""
    if condition.wal is None:
        return
    if condition.size > _LARGE and not thorough:
        yield ok("database", f"not checked completely, because it has {size(condition.size)}; --thorough does it")
        return
    if store.damage():
        # a collector that has started writing makes a file look like that; reading it as immutable then fails
        store.close()
    if damage := store.damage():
        advice = "Stop the collector, keep a copy of all its files, and restore the last backup"
        yield problem("database", f"it is damaged: {damage}", advice)
    else:
        yield ok("database", "checked completely, and not damaged")


def in_field(store: Store, today: date, seal_alarm: float) -> Iterator[CheckResult]:
    """Examine when reports came last, and what was refused in the last week.

    Of sealed reports the share ``seal_alarm`` may be refused without a warning.
    """
    yield _last(store.days.last_before(date.max), today)
    refused = store.refusals.read(since=today - _WEEK)
    yield _in_all(refused)
    yield from _unopened(store, refused, today - _WEEK, seal_alarm)
    yield from _unknown(refused, {version for _, version in store.definitions.registered()})


def _last(last: date | None, today: date) -> CheckResult:
    if last is None:
        return ok("reports", "none have come yet")
    if last > today:
        advice = "This machine's clock is wrong, or a collector's was; set it before batch ids are forgotten"
        return problem("clock", f"reports are counted under {last}, a day in the future: today is {today} here", advice)
    if last < today - timedelta(days=1):
        advice = "Try python -m dither test with the apps' endpoint; see whether a proxy or a certificate is at fault"
        return warning("reports", f"the last came on {last}", advice)
    return ok("reports", f"the last came on {last}")


def _in_all(refused: Mapping[Refusal, int]) -> CheckResult:
    kinds: Counter[str] = Counter()
    for one, number in refused.items():
        kinds[one.kind] += number
    if not kinds:
        return ok("refused", "nothing in the last 7 days")
    sealed = kinds.pop(Kind.SEALED.slug, 0)  # sealed reports are counted one by one
    parts = [f"{counted(sealed, 'sealed report')} that did not open"] if sealed else []
    if kinds:
        most = ", ".join(f"{kind} {batches:,}" for kind, batches in kinds.most_common(_REASONS))
        parts.insert(0, f"{counted(kinds.total(), 'batch', 'batches')} ({most})")
    return ok("refused", f"{' and '.join(parts)} in the last 7 days; see dither-server refusals")


def _unopened(store: Store, refused: Mapping[Refusal, int], since: date, alarm: float) -> Iterator[CheckResult]:
    """Find the metric versions with too many refused sealed reports."""
    unopened: Counter[tuple[str, str]] = Counter()
    for one, reports in refused.items():
        if one.kind == Kind.SEALED.slug:
            unopened[one.metric, one.version] += reports
    for (name, version), reports in unopened.items():
        metric = store.definitions.read(name, version)
        sealed = None if metric is None else store.sealed(metric, since)
        whole = reports + (0 if sealed is None else sealed.reports)
        if reports > alarm * whole:
            part = f"{reports:,} of {counted(whole, 'report')} of {name}"
            about = f"{part} did not open in the last 7 days, counting each try"
            advice = "Compare dither-server key list with the keys of all apps; check whether somebody floods the relay"
            yield warning("sealed", about, advice)


def _unknown(refused: Mapping[Refusal, int], registered: Collection[str]) -> Iterator[CheckResult]:
    """Yield the versions that apps send and the collector refuses as unknown."""
    versions: Counter[tuple[str, str]] = Counter()
    for one, batches in refused.items():
        if one.kind == Kind.VERSION_CONFLICT.slug:
            versions[one.metric, one.version] += batches
    named = [(*key, batches) for key, batches in versions.most_common() if key[1]]
    for metric, version, batches in named[:_MOST]:
        about = f"apps send {metric} in version {version}, {counted(batches, 'batch', 'batches')} in the last 7 days"
        if version in registered:
            yield ok("versions", f"{about}, which has been registered since")
        else:
            advice = "Give the collector the metrics.toml of that release, and restart it"
            yield warning("versions", f"{about}; it is not known here", advice)
    others = versions.total() - sum(batches for *_, batches in named[:_MOST])
    if others:
        advice = "This many versions at once are probably forged, unless many releases are in use"
        yield warning(
            "versions",
            f"{counted(others, 'batch more was', 'batches more were')} of other versions that are not known here",
            advice,
        )
