"""Fold a spool into a database, run by run and bucket by bucket. It may be killed anywhere; begun again, it goes on.

A run is the set of segments that are there when it begins. The database alone says what of a run is counted; segments
and ids are dealt with after that is committed.
"""

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from typing import BinaryIO, NamedTuple

from dither_shared import Mechanism

from ...protocol.problems import Kind
from ...store import Refusal, Store
from ...store.counting.folds import Run, Sums
from ...store.errors import SpoolError
from ...store.spool.places import Place
from ...store.spool.records import BUCKETS, Records, day_of, number_of
from ...store.spool.segment import Segment, is_segment
from . import seen
from .bucket import FoldedBucket, fold_bucket
from .giving_up import set_aside
from .manifest import RUNS, SEGMENTS, GivenUp, Manifest, manifests
from .workers import Map, here


class Step(IntEnum):
    """What has just been done. Those of a bucket come for each that holds anything, DELETED for each segment."""

    LISTED = 1
    """The manifest says which segments belong to the run."""
    BEGUN = 2
    """The database knows of the run."""
    FOLDED = 3
    """A bucket is added up, in memory."""
    ADDED = 4
    """It is in the counts, and the database knows that it is."""
    REMEMBERED = 5
    """The ids of its batches are written."""
    FINISHED = 6
    """The database knows that all of the run is counted."""
    DELETED = 7
    """A segment is deleted."""
    CLOSED = 8
    """The manifest is deleted."""
    FORGOTTEN = 9
    """Ids and notes that are no longer needed are gone."""


class Report(NamedTuple):
    """What a run did. ``resumed`` says that it had begun before; the ``sums`` are of all of it nevertheless.

    ``given_up`` are the damaged segments of which something is not counted.
    """

    run: str
    resumed: bool
    begun: datetime
    segments: int
    sums: Sums
    given_up: tuple[GivenUp, ...] = ()


@dataclass(frozen=True)
class Folding:
    """A spool and the database that it is folded into.

    ``spread`` maps the work over workers, each of which reads the place by itself. Ids are kept for ``horizon``.
    ``after`` is called after each step, ``progress`` with the number of buckets that are done.
    """

    store: Store
    place: Place
    spread: Map = here
    horizon: timedelta = timedelta(days=45)
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    after: Callable[[Step], object] = lambda _: None
    progress: Callable[[int], object] = lambda _: None

    def fold(self, wait: float) -> Iterator[Report]:
        """Finish the runs that were begun, then fold what else there is; yield what each run did.

        Raises StoreError (SpoolError where it is the spool that fails) and WorkersError. What is counted then stays
        counted, and the next call goes on. Also raises StoreError if another fold is under way and does not end in
        ``wait`` seconds, and ParameterError if the database holds a definition that this program cannot read.
        """
        with self.store.folds.alone(wait) as check:
            for manifest in sorted(manifests(self.place), key=lambda one: one.begun):
                yield self._run(manifest, resumed=True)
            manifest = self._listed(())
            if manifest.segments:
                self._heads(manifest.segments)  # raises while there is no run yet
                manifest.write(self.place)
                check()  # whoever takes the lock after us now sees the manifest, and makes no other of these segments
                self.after(Step.LISTED)
            yield self._run(manifest, resumed=False)

    def plan(self) -> Report:
        """Return what a fold would do now, as one run; nothing is changed, and nobody is kept from folding."""
        begun = list(manifests(self.place))
        fresh = self._listed(segment for one in begun for segment in one.segments)
        tasks: list[_Task] = []
        left = {one: self.store.folds.run(one.run) for one in begun}
        runs = [fresh, *(one for one, run in left.items() if not (run and run.finished))]
        heads = self._heads([name for one in runs for name in one.legible])
        for bucket in range(BUCKETS):
            open_ = [one for one, run in left.items() if run is None or not _is_counted(run, bucket)]
            tasks += self._tasks(heads, [name for one in (fresh, *open_) for name in one.segments_in(bucket)], bucket)
        sums = Sums()
        for folded in self.spread(_fold, tasks):
            sums = sums.plus(_sums(folded))
            self.progress(1)
            self.after(Step.FOLDED)
        self.progress(BUCKETS - len(tasks))
        given_up = tuple(lost for one in runs for lost in one.given_up)
        return Report("", bool(begun), fresh.begun, sum(len(one.segments) for one in runs), sums, given_up)

    def _listed(self, taken: Iterable[str]) -> Manifest:
        """Return a fresh run of all segments but those that are taken."""
        begun, others = self.now().replace(microsecond=0), set(taken)
        names = [name for name in self.place.names(SEGMENTS) if is_segment(name) and name not in others]
        return Manifest(uuid.uuid4().bytes, begun, tuple(names))

    def _run(self, manifest: Manifest, *, resumed: bool) -> Report:
        """Fold what of a run is not counted yet, and clear up behind it."""
        last, known = self.store.folds.up_to(), self.store.folds.run(manifest.run)
        if known is None:
            self._require_young(manifest)
            self.store.folds.begin(manifest.run, manifest.begun)
            self.after(Step.BEGUN)
        if known is None or not known.finished:
            self._add(manifest, max(known.buckets, default=0) if known else 0)
            self.store.folds.finish(manifest.run)
            self.after(Step.FINISHED)
        for name in manifest.segments:
            if manifest.given_up_of(name):
                set_aside(self.place, name)
            self.place.delete(SEGMENTS, name)
            self.after(Step.DELETED)
        done = self.store.folds.run(manifest.run)
        if manifest.segments:  # or there is none
            self.place.delete(RUNS, manifest.name)
        self.after(Step.CLOSED)
        self._forget(manifest, is_due=bool(manifest.segments) or last is None or last.date() < manifest.begun.date())
        sums = Sums()
        for one in done.buckets.values() if done else ():
            sums = sums.plus(one)
        return Report(manifest.run.hex(), resumed, manifest.begun, len(manifest.segments), sums, manifest.given_up)

    def _add(self, manifest: Manifest, first: int) -> None:
        """Fold a run's buckets from one on, the last that is noted: of those before it the ids are written, too."""
        if not manifest.legible:
            return
        heads = self._heads(manifest.legible)
        names = {version: name for name, version in self.store.registered()}
        today, latest = number_of(manifest.begun.date()), seen.newest(self.place)
        tasks = [
            task
            for bucket in range(first, BUCKETS)
            for task in self._tasks(heads, manifest.segments_in(bucket), bucket, manifest.run)
        ]
        self.progress(BUCKETS - len(tasks))
        for task, folded in zip(tasks, self.spread(_fold, tasks), strict=True):
            self.progress(1)
            if not any(sums := _sums(folded)):
                continue
            self.after(Step.FOLDED)
            tallies = {
                (version.hex(), day_of(day), stratum): blocks
                for (version, day, stratum), blocks in folded.tallies.items()
            }
            refused = {
                Refusal(names[version.hex()], day_of(day), Kind.BATCH_CONFLICT.slug, version.hex()): batches
                for (version, day), batches in folded.conflicts.items()
            }
            self.store.folds.add(manifest.run, task.bucket, tallies, sums, refused)
            self.after(Step.ADDED)
            seen.write(self.place, task.bucket, manifest.run.hex(), folded.ids, today, latest)
            self.after(Step.REMEMBERED)

    def _forget(self, manifest: Manifest, *, is_due: bool) -> None:
        """Drop what only older runs needed. No run has begun, or those that have will come again.

        Ids only if that ``is_due``: after a run that counted, and once a day. Each of their folders is listed.
        """
        before = manifest.begun.date() - self.horizon
        if is_due:
            if not any(manifests(self.place)):
                for bucket in range(BUCKETS):
                    seen.merge(self.place, bucket)
            seen.forget(self.place, self.horizon.days, number_of(manifest.begun.date()))
        self.store.folds.forget(before)
        self.after(Step.FORGOTTEN)

    def _heads(self, segments: Iterable[str]) -> "_Heads":
        """Read the heads of some segments; raise SpoolError for a version that the database does not know."""
        names = {version: name for name, version in self.store.registered()}
        heads = _Heads({}, {})
        for segment in segments:
            versions, heads.counts[segment] = _head(self.place, segment)
            for version in versions - heads.mechanisms.keys():
                digits = version.hex()
                metric = self.store.metric(names[digits], digits) if digits in names else None
                if metric is None:
                    known = f"version {digits}, which this database does not know; name that of the collectors"
                    raise SpoolError(f"spool: {self.place}/{SEGMENTS}/{segment} holds reports of {known}")
                heads.mechanisms[version] = metric.mechanism
        return heads

    def _tasks(self, heads: "_Heads", segments: Iterable[str], bucket: int, run: bytes = b"") -> "list[_Task]":
        """Return the task of a bucket, none if no segment has any record in it."""
        some = tuple(name for name in segments if heads.counts[name][bucket])
        return [_Task(self.place, some, bucket, run, heads.mechanisms)] if some else []

    def _require_young(self, manifest: Manifest) -> None:
        """Raise SpoolError for a run so old that the database would have forgotten it, had it been finished."""
        now = self.now()
        if manifest.begun.date() < now.date() - self.horizon:
            where = f"{self.place}/{RUNS}/{manifest.name}"
            raise SpoolError(
                f"spool: {where} began on {manifest.begun:%Y-%m-%d}, the clock says {now:%Y-%m-%d}, and the database "
                "does not know whether it was counted; set the clock, or delete this file if a wrong clock wrote it"
            )


class _Heads(NamedTuple):
    """What the heads of segments say: the mechanism of each version, and each segment's records by bucket."""

    mechanisms: dict[bytes, Mechanism]
    counts: dict[str, list[int]]


class _Task(NamedTuple):
    """A bucket of a run, for a worker."""

    place: Place
    segments: tuple[str, ...]
    bucket: int
    run: bytes
    mechanisms: Mapping[bytes, Mechanism]


def _fold(task: _Task) -> FoldedBucket:
    """Read a bucket of some segments and add it up."""
    parts = [_records(task.place, name, task.bucket) for name in task.segments]
    return fold_bucket(parts, seen.read(task.place, task.bucket, task.run.hex()), task.mechanisms)


def _records(place: Place, name: str, bucket: int) -> Records:
    with closing(_opened(place, name)) as file:
        return Segment(file, f"{place}/{SEGMENTS}/{name}").bucket(bucket)


def _head(place: Place, name: str) -> tuple[set[bytes], list[int]]:
    with closing(_opened(place, name)) as file:
        segment = Segment(file, f"{place}/{SEGMENTS}/{name}")
        return set(segment.versions), segment.counts


def _opened(place: Place, name: str) -> BinaryIO:
    try:
        return place.open(SEGMENTS, name)
    except FileNotFoundError:
        advice = "restore it from a copy, or give it up with fold --give-up"
        raise SpoolError(f"spool: {place}/{SEGMENTS}/{name} is gone, and not all of it was counted; {advice}") from None


def _sums(folded: FoldedBucket) -> Sums:
    return Sums(folded.batches, folded.rows, folded.repeated, sum(folded.conflicts.values()), folded.damaged)


def _is_counted(run: Run, bucket: int) -> bool:
    return run.finished or bucket in run.buckets
