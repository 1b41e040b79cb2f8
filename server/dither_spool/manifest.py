"""The manifest of a run: its segments, which are folded together, and what is skipped if one is damaged.

While the manifest exists, the run must be continued.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from typing import Any, NamedTuple

from dither_server.store import Store
from dither_shared import ParameterError

from .blobs import BlobStore, DamagedError, SpoolError
from .records import BUCKETS, Records
from .segment import DAMAGED, SEGMENTS, Segment, is_segment, write_segment

RUNS = "runs"

_FORMAT = 1
_NAME = re.compile(r"([0-9a-f]{32})\.json")


@dataclass(frozen=True)
class Manifest:
    """A run: its id, when it listed the segments, and their names."""

    run: bytes
    begun: datetime
    segments: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of the file."""
        return f"{self.run.hex()}.json"

    def write(self, blobs: BlobStore) -> None:
        """Write the manifest durably. Raises SpoolError."""
        content: dict[str, Any] = {"format": _FORMAT, "begun": self.begun.isoformat(), "segments": self.segments}
        blobs.put(RUNS, self.name, json.dumps(content).encode())


def manifests(blobs: BlobStore) -> Iterator[Manifest]:
    """Yield every manifest; raise SpoolError for one that cannot be read."""
    for name in blobs.names(RUNS):
        if match := _NAME.fullmatch(name):
            try:
                yield _manifest(bytes.fromhex(match[1]), json.loads(blobs.read(RUNS, name)))
            except (ValueError, LookupError, TypeError, OSError, OverflowError, RecursionError) as error:
                raise SpoolError(f"spool: {blobs}/{RUNS}/{name} cannot be read: {error!s:.200}") from None


def _manifest(run: bytes, content: dict[str, Any]) -> Manifest:
    if content["format"] != _FORMAT:
        raise ValueError(f"it is of format {content['format']!r}, this program knows {_FORMAT}; install the newer one")
    segments = tuple(content["segments"])
    if not all(map(is_segment, segments)):
        raise ValueError("it names something that is not a segment")
    begun = datetime.fromisoformat(content["begun"])
    if begun.tzinfo is None:
        raise ValueError("its start time has no time zone")
    return Manifest(run, begun.astimezone(UTC), segments)


class Skipped(NamedTuple):
    """A skipped segment: how many of its ``size`` bytes are lost; both are None if the file is missing."""

    segment: str
    lost: int | None
    size: int | None


def skip_damage(store: Store, blobs: BlobStore, names: Iterable[str], wait: float) -> Iterator[Skipped]:
    """Replace damaged segments by their readable parts, so that the next fold counts these; yield what is skipped.

    ``names`` may be paths. The original file is kept in ``damaged``. A missing segment of a run is skipped completely.
    If a copy is put back after the next fold, its remaining batches count and the others are repetitions.

    Raises ParameterError for a segment that does not exist, or is not damaged and never was; StoreError as a fold does,
    also for a segment that is temporarily unreadable, which may not be damage.
    """
    with store.folds.exclusive_lock(wait):
        for path in names:
            name = path.rpartition("/")[2]
            was_skipped = is_segment(name) and _kept(name) in blobs.names(DAMAGED)
            try:
                content = blobs.read(SEGMENTS, name) if is_segment(name) else None
            except FileNotFoundError:
                content = None
            if content is None:
                if any(name in manifest.segments for manifest in manifests(blobs)):
                    blobs.put(SEGMENTS, name, write_segment(Records.merged([])))
                    yield Skipped(name, None, None)
                elif not was_skipped:
                    where = f"{blobs}/{SEGMENTS} holds no {name!r}; give the name of a segment as the fold prints it"
                    raise ParameterError("--skip", where)
                continue
            records, lost, size = _readable(content, name)
            if lost is not None:
                blobs.put(DAMAGED, _kept(name), content)
                blobs.put(SEGMENTS, name, write_segment(records))
                yield Skipped(name, lost, size)
            elif not was_skipped:
                raise ParameterError("--skip", f"{blobs}/{SEGMENTS}/{name} is not damaged; the next fold counts it")


def _kept(name: str) -> str:
    """Return the name under which a damaged segment is kept."""
    return f"{name.removesuffix('.segment')}.damaged"


def _readable(content: bytes, name: str) -> tuple[Records, int | None, int]:
    """Return the readable records of a segment, the unreadable bytes (None if it is not damaged), and all bytes.

    A segment that was cut off has lost bytes that are no longer there, so all are those that its header names.
    """
    try:
        segment = Segment(BytesIO(content), name)
    except DamagedError:
        return Records.merged([]), len(content), len(content)
    parts, damaged = [], []
    for bucket in range(BUCKETS):
        try:
            parts.append(segment.bucket(bucket))
        except DamagedError:
            damaged.append(segment.sizes[bucket])
    return Records.merged(parts), sum(damaged) if damaged else None, segment.whole
