"""Fold a spool into a database, run by run and bucket by bucket. A fold may be killed anywhere; the next one resumes.

A run is the set of segments that exist when it begins. Only the database knows which part of a run is counted; ids are
written and segments deleted after that is committed.
"""

import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import IntEnum, auto
from typing import NamedTuple

from dither_server.store import Refusal, Store
from dither_server.store.folds import FoldSums
from dither_serving.problems import Kind
from dither_shared import Mechanism

from . import ids
from .blobs import BlobStore, SpoolError
from .bucket import FoldedBucket, fold_bucket
from .manifest import RUNS, Manifest, manifests
from .records import BUCKETS, Records, day_of, number_of
from .segment import SEGMENTS, Segment, is_segment
from .workers import Map, here


class FoldStep(IntEnum):
    """The step that was just completed. FOLDED, ADDED and REMEMBERED come once per bucket, DELETED once per segment."""

    LISTED = auto()
    """The manifest names the segments of the run."""
    BEGUN = auto()
    """The database knows of the run."""
    FOLDED = auto()
    """A bucket is summed, in memory."""
    ADDED = auto()
    """The bucket is in the counts, and the database knows it."""
    REMEMBERED = auto()
    """The ids of the bucket's batches are written."""
    FINISHED = auto()
    """The database knows that the run is counted completely."""
    DELETED = auto()
    """A segment is deleted."""
    CLOSED = auto()
    """The manifest is deleted."""
    FORGOTTEN = auto()
    """Ids and notes that are no longer needed are deleted."""


class FoldReport(NamedTuple):
    """The result of a run. ``resumed`` says whether it had begun before; the ``sums`` are of the whole run."""

    run: str
    resumed: bool
    begun: datetime
    segments: int
    sums: FoldSums


@dataclass(frozen=True)
class Folding:
    """A spool and the database that it is folded into.

    ``spread`` maps the work over workers, each of which reads the blob store by itself. Ids are kept for ``horizon``.
    ``after`` is called after each step, ``progress`` with the number of buckets that are done.
    """

    store: Store
    blobs: BlobStore
    horizon: timedelta
    spread: Map = here
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    after: Callable[[FoldStep], object] = lambda _: None
    progress: Callable[[int], object] = lambda _: None

    def fold(self, wait: float) -> Iterator[FoldReport]:
        """Finish the runs that were begun, then fold the other segments; yield the report of each run.

        Raises StoreError (SpoolError if the spool fails), and DitherError if the workers are lost. What is counted then
        stays counted, and the next call resumes. Also raises StoreError if another fold runs and does not end in
        ``wait`` seconds, and ParameterError if the database holds a definition that this program cannot read.
        """
        with self.store.folds.exclusive_lock(wait) as check:
            for manifest in sorted(manifests(self.blobs), key=lambda manifest: manifest.begun):
                yield self._run(manifest, resumed=True)
            manifest = self._listed(())
            if manifest.segments:
                self._heads(manifest.segments)  # this and the next raise while there is no run yet
                number_of(manifest.begun.date())
                manifest.write(self.blobs)
                check()  # the next owner of the lock sees the manifest and makes no other one from these segments
                self.after(FoldStep.LISTED)
            yield self._run(manifest, resumed=False)

    def plan(self) -> FoldReport:
        """Return what a fold would do now, as one run; nothing is changed, and no lock is taken."""
        begun = list(manifests(self.blobs))
        fresh = self._listed(segment for manifest in begun for segment in manifest.segments)
        known = {manifest: self.store.folds.run(manifest.run) for manifest in [fresh, *begun]}
        runs = {manifest: run for manifest, run in known.items() if not (run and run.finished)}
        segments = [name for manifest in runs for name in manifest.segments]
        heads, tasks = self._heads(segments), list[_Task]()
        for bucket in range(BUCKETS):
            left = [manifest for manifest, run in runs.items() if not (run and bucket in run.buckets)]
            tasks += self._tasks(heads, [name for manifest in left for name in manifest.segments], bucket)
        sums = FoldSums()
        for _, folded in self._folded(tasks):
            sums = sums.plus(folded.sums)
        return FoldReport("", bool(begun), fresh.begun, len(segments), sums)

    def _listed(self, taken: Iterable[str]) -> Manifest:
        """Return a new run of all segments except those in ``taken``."""
        begun, others = self.now().replace(microsecond=0), set(taken)
        names = [name for name in self.blobs.names(SEGMENTS) if is_segment(name) and name not in others]
        return Manifest(uuid.uuid4().bytes, begun, tuple(names))

    def _run(self, manifest: Manifest, *, resumed: bool) -> FoldReport:
        """Fold the buckets of a run that are not counted yet, and delete its files."""
        folds = self.store.folds
        last, known = folds.up_to(), folds.run(manifest.run)
        if known is None:
            self._require_young(manifest)
            folds.begin(manifest.run, manifest.begun)
            self.after(FoldStep.BEGUN)
        if known is None or not known.finished:
            self._add(manifest, max(known.buckets, default=0) if known else 0)
            folds.finish(manifest.run)
            self.after(FoldStep.FINISHED)
        for name in manifest.segments:
            self.blobs.delete(SEGMENTS, name)
            self.after(FoldStep.DELETED)
        done = folds.run(manifest.run)
        if manifest.segments:  # otherwise there is no manifest
            self.blobs.delete(RUNS, manifest.name)
        self.after(FoldStep.CLOSED)
        if manifest.segments or last is None or last.date() < manifest.begun.date():  # it lists a folder per bucket
            ids.forget(self.blobs, self.horizon.days, number_of(manifest.begun.date()), map(number_of, folds.days()))
        folds.forget(manifest.begun.date() - self.horizon)
        self.after(FoldStep.FORGOTTEN)
        sums = FoldSums()
        for of_bucket in done.buckets.values() if done else ():
            sums = sums.plus(of_bucket)
        return FoldReport(manifest.run.hex(), resumed, manifest.begun, len(manifest.segments), sums)

    def _add(self, manifest: Manifest, first: int) -> None:
        """Fold a run's buckets from ``first`` on: the last noted one, whose ids may not be written yet."""
        if not manifest.segments:
            return
        heads = self._heads(manifest.segments)
        names = {version: name for name, version in self.store.definitions.registered()}
        tasks = [task for bucket in range(first, BUCKETS) for task in self._tasks(heads, manifest.segments, bucket)]
        today = number_of(manifest.begun.date())
        for task, folded in self._folded(tasks):
            tallies = {
                (version.hex(), day_of(day), stratum): blocks
                for (version, day, stratum), blocks in folded.tallies.items()
            }
            refused = {
                Refusal(names[version.hex()], day_of(day), Kind.BATCH_CONFLICT.slug, version.hex()): batches
                for (version, day), batches in folded.conflicts.items()
            }
            self.store.folds.add(manifest.run, task.bucket, tallies, folded.sums, refused)
            self.after(FoldStep.ADDED)
            ids.add(self.blobs, task.bucket, manifest.run.hex(), folded.ids, today)
            self.after(FoldStep.REMEMBERED)

    def _folded(self, tasks: "list[_Task]") -> "Iterator[tuple[_Task, FoldedBucket]]":
        """Yield each task with its result; buckets without a task are done."""
        self.progress(BUCKETS - len(tasks))
        for task, folded in zip(tasks, self.spread(_fold, tasks), strict=True):
            self.progress(1)
            self.after(FoldStep.FOLDED)
            yield task, folded

    def _heads(self, segments: Iterable[str]) -> "_Heads":
        """Read the headers of some segments; raise SpoolError for a version that the database does not know."""
        names = {version: name for name, version in self.store.definitions.registered()}
        heads = _Heads({}, {})
        for name in segments:
            with _opened(self.blobs, name) as segment:
                heads.counts[name] = segment.counts
                versions = set(segment.versions)
            for version in versions - heads.mechanisms.keys():
                digits = version.hex()
                metric = self.store.definitions.read(names[digits], digits) if digits in names else None
                if metric is None:
                    known = f"version {digits}, which this database does not know; name that of the collectors"
                    raise SpoolError(f"spool: {self.blobs}/{SEGMENTS}/{name} holds reports of {known}")
                heads.mechanisms[version] = metric.mechanism
        return heads

    def _tasks(self, heads: "_Heads", segments: Iterable[str], bucket: int) -> "list[_Task]":
        """Return the task of a bucket, or nothing if no segment has a record in it."""
        filled = tuple(name for name in segments if heads.counts[name][bucket])
        return [_Task(self.blobs, filled, bucket, heads.mechanisms)] if filled else []

    def _require_young(self, manifest: Manifest) -> None:
        """Raise SpoolError for a run older than the horizon: the database may have forgotten that it finished."""
        now = self.now()
        if manifest.begun.date() < now.date() - self.horizon:
            where = f"{self.blobs}/{RUNS}/{manifest.name}"
            raise SpoolError(
                f"spool: {where} began on {manifest.begun:%Y-%m-%d}, the clock says {now:%Y-%m-%d}, and the database "
                "does not know whether it was counted; set the clock, or delete this file if a wrong clock wrote it"
            )


class _Heads(NamedTuple):
    """The contents of segment heads: the mechanism of each version, and each segment's records by bucket."""

    mechanisms: dict[bytes, Mechanism]
    counts: dict[str, list[int]]


class _Task(NamedTuple):
    """A bucket of a run, for a worker."""

    blobs: BlobStore
    segments: tuple[str, ...]
    bucket: int
    mechanisms: dict[bytes, Mechanism]


def _fold(task: _Task) -> FoldedBucket:
    """Read a bucket of some segments and sum it."""
    parts = list[Records]()
    for name in task.segments:
        with _opened(task.blobs, name) as segment:
            parts.append(segment.bucket(task.bucket))
    return fold_bucket(parts, ids.read(task.blobs, task.bucket), task.mechanisms)


@contextmanager
def _opened(blobs: BlobStore, name: str) -> Iterator[Segment]:
    try:
        file = blobs.open(SEGMENTS, name)
    except FileNotFoundError:
        gone = f"spool: {blobs}/{SEGMENTS}/{name} is gone, and not all of it was counted"  # as far as a dry run knows
        raise SpoolError(f"{gone}; unless another fold runs, restore it from a copy, or give fold --skip") from None
    with closing(file):
        yield Segment(file, f"{blobs}/{SEGMENTS}/{name}")
