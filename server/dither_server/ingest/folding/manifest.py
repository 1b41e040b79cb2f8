"""The manifest of a run: which segments are folded together. While it is there, the run is to be gone on with."""

import json
import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple, Self

from ...store.errors import SpoolError
from ...store.spool.places import Place
from ...store.spool.records import BUCKETS
from ...store.spool.segment import is_segment

__all__ = ["RUNS", "SEGMENTS", "GivenUp", "Manifest", "manifests"]

RUNS, SEGMENTS = "runs", "segments"

_FORMAT = 1
_RUN = re.compile(r"([0-9a-f]{32})\.json")


class GivenUp(NamedTuple):
    """A damaged segment of which some buckets, ``unread``, are not read, and ``parts`` of these are not counted.

    The others were counted before the damage. ``batches`` is how many it held, and ``lost`` how many of them are not
    counted: None where nothing tells.
    """

    segment: str
    unread: tuple[int, ...]
    parts: tuple[int, ...]
    batches: int | None
    lost: int | None


@dataclass(frozen=True)
class Manifest:
    """A run: its id, when it looked for segments, the names of those that it found, and which of them are given up."""

    run: bytes
    begun: datetime
    segments: tuple[str, ...]
    given_up: tuple[GivenUp, ...] = ()

    @property
    def name(self) -> str:
        """The name of its file."""
        return f"{self.run.hex()}.json"

    @property
    def legible(self) -> tuple[str, ...]:
        """The segments of which anything is read."""
        lost = {one.segment for one in self.given_up if len(one.unread) == BUCKETS}
        return tuple(name for name in self.segments if name not in lost)

    def segments_in(self, bucket: int) -> tuple[str, ...]:
        """Return the segments of which a bucket is read."""
        lost = {one.segment for one in self.given_up if bucket in one.unread}
        return tuple(name for name in self.segments if name not in lost)

    def given_up_of(self, segment: str) -> GivenUp | None:
        """Return what of a segment is given up, None if nothing is."""
        return next((one for one in self.given_up if one.segment == segment), None)

    def without(self, lost: GivenUp) -> Self:
        """Return the run with a segment given up, in the place of what of it was given up before."""
        others = (one for one in self.given_up if one.segment != lost.segment)
        return replace(self, given_up=(*others, lost))

    def write(self, place: Place) -> None:
        """Write it down, durably. Raises SpoolError."""
        content: dict[str, Any] = {"format": _FORMAT, "begun": self.begun.isoformat(), "segments": self.segments}
        content["given_up"] = [one._asdict() for one in self.given_up]
        place.put(RUNS, self.name, json.dumps(content).encode())


def manifests(place: Place) -> Iterator[Manifest]:
    """Yield every manifest in a place; raise SpoolError for one that cannot be read."""
    for name in place.names(RUNS):
        if match := _RUN.fullmatch(name):
            try:
                with closing(place.open(RUNS, name)) as file:
                    content = json.loads(file.read())
                yield _read(bytes.fromhex(match[1]), content)
            except (ValueError, LookupError, TypeError, OSError, OverflowError, RecursionError) as error:
                raise SpoolError(f"spool: {place}/{RUNS}/{name} cannot be read: {error!s:.200}") from None


def _read(run: bytes, content: dict[str, Any]) -> Manifest:
    if content["format"] != _FORMAT:
        raise ValueError(f"it is of format {content['format']!r}, this program knows {_FORMAT}; install the newer one")
    segments = tuple(content["segments"])
    if not all(map(is_segment, segments)):
        raise ValueError("it names what is no segment")
    begun = datetime.fromisoformat(content["begun"])
    if begun.tzinfo is None:
        raise ValueError("it says no time zone of when it began")
    given_up = tuple(
        GivenUp(one["segment"], tuple(one["unread"]), tuple(one["parts"]), one["batches"], one["lost"])
        for one in content.get("given_up", ())
    )
    return Manifest(run, begun.astimezone(UTC), segments, given_up)
