"""The records of a journal: one line each, with a checksum, in words that a user can read.

    <crc32, 8 hex> <kind> <field> <field> …

A record states something that has happened. Records are only appended, and replaying all of them gives the ledger and
the outbox. No field holds a value, an unmasked permanent draw, or a time finer than a day. Days are proleptic ordinals
(``datetime.date.toordinal``), in UTC.

The tag of a new answer is appended behind a record with its day, and stays there until the journal is next rewritten,
which is after the first report of a later day (reporting/journal.py). From then on tags have neither day nor order.

**The clock** of a device may be wrong. A stored day beyond tomorrow shows that it was ahead then, or is behind now. It
is certainly behind if it shows a day before this program was written; then nothing can be concluded. Otherwise it is
assumed to be right, because a device must not stay silent until a year that its clock once showed.
"""

from __future__ import annotations

from binascii import crc32

from dither_shared.light import Literal, NamedTuple, lru_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

Fate = Literal["sent", "dropped"]


class Header(NamedTuple):
    """The first record: the format of the journal, and a random mark that each rewriting changes."""

    format: int
    mark: str


class Debit(NamedTuple):
    """A charge to the ledger, written before the report that it pays for is drawn.

    ``reports`` and ``charges`` are running totals of this metric version, so that the last of several debits says all.
    ``epsilon`` is the price of one charge, ``claim`` what the version may ever cost if it has permanent draws, else 0.
    """

    name: str
    version: str
    day: int
    reports: int
    charges: int
    epsilon: float
    claim: float


class Permanent(NamedTuple):
    """The permanent draw that reports of a version repeat from here on: the tag of its key, and the masked draw.

    It follows its debit, so that a write that is cut short between the two has charged too much, and never too little.
    """

    version: str
    tag: str
    draw: str


class Charged(NamedTuple):
    """The tag of a key that a version was charged for earlier."""

    version: str
    tag: str


class Corrected(NamedTuple):
    """A correction after a clock that was ahead: on this day, future marks were set to today (ledger.py)."""

    day: int


class FirstUse(NamedTuple):
    """The day on which the app was first used on this device, as far as dither knows."""

    day: int


class Queued(NamedTuple):
    """A report, as the exact body of its upload. ``local`` is 1 in the mode local, in which it is never sent.

    ``batch`` is its id in the journal. A sealed body contains neither this id nor the row in the clear.
    """

    batch: str
    name: str
    day: int
    local: int
    body: bytes


class Done(NamedTuple):
    """The fate of a queued report."""

    batch: str
    fate: Fate


class Totals(NamedTuple):
    """Numbers of reports that were sent and dropped before the journal was last rewritten."""

    sent: int
    dropped: int


class Hold(NamedTuple):
    """The number of unreadable records up to this day; each may have been a debit of any metric."""

    day: int
    damaged: int


class Disabled(NamedTuple):
    """The day on which the collector said that it takes no more reports of a metric version."""

    version: str
    day: int


class Secret(NamedTuple):
    """The device's secret, in hex; the only record of the file ``secret``."""

    key: str

    def __repr__(self) -> str:
        return "Secret(…)"


class Chosen(NamedTuple):
    """The user's choice; the first record of the file ``consent``."""

    mode: str


class Accepted(NamedTuple):
    """A metric that the user has accepted, with a digest of the terms that were shown; in ``consent``."""

    name: str
    terms: str
    day: int


Record = (
    Header
    | Debit
    | Permanent
    | Charged
    | Corrected
    | FirstUse
    | Queued
    | Done
    | Totals
    | Hold
    | Disabled
    | Secret
    | Chosen
    | Accepted
)

_LONGEST_WORD = 64
"""Maximum characters of a metric's name; no other word is longer."""

_LONGEST_NUMBER = 25
"""Maximum characters of a double; no day or total has as many."""


def _word(text: str) -> str:
    """Return a name, an id or a digest; raise ValueError if it is too long."""
    if len(text) > _LONGEST_WORD:
        raise ValueError
    return text


def _whole(text: str) -> int:
    if len(text) > _LONGEST_NUMBER:
        raise ValueError
    return int(text)


def _double(text: str) -> float:
    if len(text) > _LONGEST_NUMBER:
        raise ValueError
    return float(text)


_FIELDS: dict[str, tuple[type[Record], tuple[Callable[[str], object], ...]]] = {
    "journal": (Header, (_whole, _word)),
    "debit": (Debit, (_word, _word, _whole, _whole, _whole, _double, _double)),
    "permanent": (Permanent, (_word, _word, str)),
    "charged": (Charged, (_word, _word)),
    "corrected": (Corrected, (_whole,)),
    "first-use": (FirstUse, (_whole,)),
    "queued": (Queued, (_word, _word, _whole, _whole, str.encode)),
    "done": (Done, (_word, _word)),
    "totals": (Totals, (_whole, _whole)),
    "hold": (Hold, (_whole, _whole)),
    "disabled": (Disabled, (_word, _whole)),
    "secret": (Secret, (_word,)),
    "consent": (Chosen, (_word,)),
    "accepted": (Accepted, (_word, _word, _whole)),
}
_KINDS: dict[type[Record], str] = {record: kind for kind, (record, _) in _FIELDS.items()}


def _text(record: Record) -> bytes:
    return " ".join([_KINDS[type(record)], *map(str, record)]).encode("ascii")


def _text_of_queued(record: Queued) -> bytes:
    batch, name, day, local, body = record  # the body, the longest field of all, is bytes already
    return f"queued {batch} {name} {day} {local} ".encode("ascii") + body


def _text_of_debit(record: Debit) -> bytes:
    name, version, day, reports, charges, epsilon, claim = record
    return f"debit {name} {version} {day} {reports} {charges} {_decimal(epsilon)} {_decimal(claim)}".encode("ascii")


@lru_cache(maxsize=1024, typed=True)
def _decimal(price: float) -> str:
    return str(price)


def _text_of_permanent(record: Permanent) -> bytes:
    version, tag, draw = record
    return f"permanent {version} {tag} {draw}".encode("ascii")


_TEXTS: dict[type[Record], Callable[[Any], bytes]] = {
    Queued: _text_of_queued,
    Debit: _text_of_debit,
    Permanent: _text_of_permanent,
}
"""Formatters for the types of record written with each report: the same text as ``_text``, in half the time."""


def to_lines(records: Iterable[Record]) -> bytes:
    """Return the lines of records, each with its checksum and line feed."""
    lines = []
    for record in records:
        text = _TEXTS.get(type(record), _text)(record)
        lines.append(b"%08x %b\n" % (crc32(text), text))
    return b"".join(lines)


def to_line(record: Record) -> bytes:
    """Return the line of a record."""
    return to_lines((record,))


def from_line(line: bytes) -> Record | None:
    """Return the record of a line without its line feed, or None if it is damaged or of an unknown kind."""
    checksum, _, text = line.partition(b" ")
    if checksum != b"%08x" % crc32(text):
        return None
    try:
        kind, _, rest = text.decode("ascii").partition(" ")
        record, readers = _FIELDS[kind]
        fields = rest.split(" ", len(readers) - 1 if record is Queued else -1)  # a stratum in a body may contain blanks
        values = [read(field) for read, field in zip(readers, fields, strict=True)]
    except (KeyError, ValueError):
        return None
    return record(*values)  # type: ignore[arg-type]


def from_lines(data: bytes) -> tuple[list[Record], int, bool]:
    """Return the readable records, the number of damaged lines, and whether the last line is torn.

    A power cut may leave a torn last line. That is no damage, because the record was never written in full.
    """
    *lines, tail = data.split(b"\n")
    records = [from_line(line) for line in lines]
    readable = [record for record in records if record is not None]
    return readable, len(records) - len(readable), bool(tail)


class ConsentChoice(NamedTuple):
    """The user's choice: a mode ("" if it cannot be read) and the accepted metrics by the digest of their terms.

    ``accepted`` is None if nobody was shown anything, in a state in memory for tests and simulations. ``lost`` says
    that the secret, which a yes draws, is missing.
    """

    mode: str
    accepted: Mapping[str, Accepted] | None = None
    lost: bool = False


SECRET_BYTES = 32

_WRITTEN = 739_921
"""No honest clock shows an earlier day than 2026-11-01, here as a proleptic ordinal."""


def is_behind(today: int) -> bool:
    """Return whether the clock certainly is behind."""
    return today < _WRITTEN


def is_ahead(day: int, today: int) -> bool:
    """Return whether ``day`` was stored by a clock that was ahead, judged by the clock's ``today``."""
    return day > today + 1 and not is_behind(today)
