"""The manifest of a run: which segments are folded together. While it is there, the run is to be gone on with."""

import json
import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ...store.errors import SpoolError
from ...store.spool.places import Place

__all__ = ["RUNS", "SEGMENTS", "Manifest", "is_segment", "manifests"]

RUNS, SEGMENTS = "runs", "segments"

_FORMAT = 1
_RUN = re.compile(r"([0-9a-f]{32})\.json")
_SEGMENT = re.compile(r"[0-9a-f]{32}\.segment")


@dataclass(frozen=True)
class Manifest:
    """A run: its id, when it looked for segments, and the names of those that it found."""

    run: bytes
    begun: datetime
    segments: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of its file."""
        return f"{self.run.hex()}.json"

    def write(self, place: Place) -> None:
        """Write it down, durably. Raises SpoolError."""
        content = {"format": _FORMAT, "begun": self.begun.isoformat(), "segments": self.segments}
        place.put(RUNS, self.name, json.dumps(content).encode())


def is_segment(name: str) -> bool:
    """Return whether a file has the name of a segment; others in their folder are not ours."""
    return _SEGMENT.fullmatch(name) is not None


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
    return Manifest(run, begun.astimezone(UTC), segments)
