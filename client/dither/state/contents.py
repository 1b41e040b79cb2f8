"""Contents: read and check the files of a state folder, and write a long one piece by piece.

A journal begins with a header: its format, and a random mark that tells one writing of the file from the next.
"""

import os
import time
from collections.abc import Iterable, Iterator
from itertools import islice

from .journal_records import (
    SECRET_BYTES,
    Accepted,
    Chosen,
    ConsentChoice,
    Header,
    Record,
    Secret,
    to_line,
)
from .state import StateError

__all__ = ["FORMAT", "HEADER_BYTES", "check_header", "choice_of", "extent", "is_cut_short", "key_of"]
__all__ += ["new_header", "paced", "slices"]

FORMAT = 2
HEADER_BYTES = 36

_SLICE, _COURTESY = 8, 0.0005
"""Records that are written at a time to a draft, which takes some 20 microseconds, and the seconds in between."""


def slices(records: Iterable[Record]) -> Iterator[bytes]:
    """Yield the lines of records, some at a time."""
    rest = iter(records)
    while lines := b"".join(map(to_line, islice(rest, _SLICE))):
        yield lines


def paced(records: Iterable[Record]) -> Iterator[Record]:
    """Yield records, and let the program's own threads run in between.

    A thread that computes lets go of the interpreter every 5 ms, and a call to ``record`` asks for it several times.
    """
    rest = iter(records)
    while some := list(islice(rest, _SLICE)):
        yield from some
        time.sleep(_COURTESY)


def choice_of(records: list[Record]) -> ConsentChoice:
    """Return the choice that the file ``consent`` holds, one of the mode "" if it cannot be read."""
    chosen, others = next(iter(records), None), records[1:]
    accepted = {record.terms: record for record in others if isinstance(record, Accepted)}
    if not isinstance(chosen, Chosen) or len(accepted) != len(others):
        return ConsentChoice("", {})
    return ConsentChoice(chosen.mode, accepted)


def key_of(records: list[Record]) -> bytes:
    """Return the key that the file ``secret`` holds; raise StateError if there is none."""
    if len(records) == 1 and isinstance(records[0], Secret) and len(records[0].key) == 2 * SECRET_BYTES:
        return bytes.fromhex(records[0].key)
    raise StateError("the secret is lost or damaged; it is not drawn anew")


def extent(mark: bytes, size: int) -> bytes:
    """Return in a line how far a journal goes: the writing of it, by its header, and its bytes."""
    return b"%b %d" % (mark.strip().rpartition(b" ")[2], size)


def is_cut_short(mark: bytes, size: int, before: bytes) -> bool:
    """Return whether a journal went further ``before``; False for another writing of it, or if that is not known."""
    writing, _, bytes_before = before.partition(b" ")
    return extent(mark, 0).partition(b" ")[0] == writing and bytes_before.isdigit() and size < int(bytes_before)


def new_header() -> bytes:
    """Return the first line of a new journal."""
    return to_line(Header(FORMAT, os.urandom(8).hex()))


def check_header(records: list[Record], damaged: int) -> None:
    """Raise StateError unless the journal begins like one, or its beginning is among what is damaged."""
    if records and isinstance(records[0], Header):
        if records[0].format != FORMAT:
            raise StateError("the journal has a format that this version does not know")
    elif not damaged:
        raise StateError("the journal has lost its beginning")
