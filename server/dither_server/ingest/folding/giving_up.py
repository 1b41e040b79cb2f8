"""Give a damaged segment up: its run counts what can be read of it, and waits for the rest no longer."""

import uuid
from collections.abc import Iterable
from contextlib import closing, suppress
from datetime import datetime

from dither_shared import ParameterError

from ...store import Store
from ...store.errors import DamagedError, SpoolError
from ...store.spool.places import Place
from ...store.spool.records import BUCKETS
from ...store.spool.rooms import ASIDE
from ...store.spool.segment import Segment, is_segment
from .manifest import SEGMENTS, GivenUp, Manifest, manifests

__all__ = ["aside_of", "give_up", "set_aside"]


def give_up(store: Store, place: Place, names: Iterable[str], wait: float, now: datetime) -> None:
    """Write down which parts of these segments, or of files at these paths, are not to be counted.

    The next fold goes on without them, and then puts the file aside. If a copy is put back afterwards, what is missing
    counts, and all else is repeated; but for the part that a fold had counted last, where that was killed before it
    wrote the ids. One that was given up before is left as it is.

    Raises ParameterError for a segment that is not there, or not damaged; StoreError as a fold does, also for one that
    cannot be read at this time, which may be no damage.
    """
    with store.folds.alone(wait):
        for path in names:
            name = path.rpartition("/")[2]
            run = next((one for one in manifests(place) if name in one.segments), None)
            if run is None:
                if not _is_there(place, name):
                    continue
                run = Manifest(uuid.uuid4().bytes, now.replace(microsecond=0), (name,))
            known = store.folds.run(run.run)
            run.without(_examined(place, name, run.given_up_of(name), known.counted if known else 0)).write(place)


def set_aside(place: Place, name: str) -> None:
    """Copy a segment, if it is there, to where nothing reads it. Raises SpoolError."""
    with suppress(FileNotFoundError), closing(place.open(SEGMENTS, name)) as file:
        try:
            content = file.read()
        except Exception as error:  # each object store has its own errors
            raise SpoolError(f"spool: {place}/{SEGMENTS}/{name} cannot be read ({type(error).__name__})") from None
        place.put(ASIDE, aside_of(name), content)


def aside_of(name: str) -> str:
    """Return the name under which a segment is kept that was given up."""
    return f"{name.removesuffix('.segment')}.damaged"


def _is_there(place: Place, name: str) -> bool:
    """Return whether there is a segment that no run has taken, False if it was put aside; raise ParameterError."""
    if is_segment(name) and name in place.names(SEGMENTS):
        return True
    if is_segment(name) and aside_of(name) in place.names(ASIDE):
        return False
    raise ParameterError("--give-up", f"{place}/{SEGMENTS} holds no {name!r}; name a segment as the fold names it")


def _examined(place: Place, name: str, before: GivenUp | None, counted: int) -> GivenUp:
    """Return what of a segment is given up. Its run has counted all parts below one, but those given up before."""
    damaged, sizes = _damage(place, name)
    if not damaged and before is None:
        raise ParameterError("--give-up", f"{place}/{SEGMENTS}/{name} is not damaged; a fold counts it")
    unread = damaged.union(before.unread if before else ())
    parts = {part for part in unread if part >= counted}.union(before.parts if before else ())
    held, lost = (None, None) if sizes is None else (sum(sizes), sum(sizes[part] for part in parts))
    return GivenUp(name, tuple(sorted(unread)), tuple(sorted(parts)), held, lost)


def _damage(place: Place, name: str) -> tuple[set[int], list[int] | None]:
    """Return the parts of a segment that are damaged, and how many batches each part holds, None if nothing says it."""
    path = f"{place}/{SEGMENTS}/{name}"
    with suppress(FileNotFoundError, DamagedError), closing(place.open(SEGMENTS, name)) as file:
        segment = Segment(file, path)
        return {part for part in range(BUCKETS) if _is_damaged(segment, part)}, segment.counts
    return set(range(BUCKETS)), None


def _is_damaged(segment: Segment, part: int) -> bool:
    try:
        segment.bucket(part)
    except DamagedError:
        return True
    return False
