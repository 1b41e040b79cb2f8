"""The records of a device's journal: one line each, with a checksum, in plain words that a user can read.

    <crc32, 8 hex> <kind> <field> <field> …

A record is a fact that has happened; the journal is only ever appended to, and reading it again from the start gives
the ledger and the outbox. No field holds a value, an unmasked permanent draw, or a time finer than a day. Days are
proleptic ordinals (``datetime.date.toordinal``), in UTC.

A line is appended behind that of its day, so the tag of a new answer stands beside a day until the journal is next
written anew, which is after the first report of a later day (journal.py). From then on tags have no day, and no order
in time.
"""

from binascii import crc32
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Literal, NamedTuple

Fate = Literal["sent", "dropped"]


class Header(NamedTuple):
    """The first record: which format follows, and a random mark that tells one writing of the file from the next."""

    format: int
    mark: str


class Debit(NamedTuple):
    """A charge to the ledger, written before the report that it pays for is drawn.

    ``reports`` and ``charges`` are totals so far of this metric version, so that of several debits the last one
    tells all. ``epsilon`` is the price of one charge, ``claim`` what the version may ever cost if it has permanent
    draws, else 0.
    """

    name: str
    version: str
    day: int
    reports: int
    charges: int
    epsilon: float
    claim: float


class Permanent(NamedTuple):
    """The permanent draw that reports of a version repeat from here on: the tag of its cells, and it itself, masked.

    It follows its debit: a write that is cut short between the two has charged too much, and never too little.
    """

    version: str
    tag: str
    draw: str


class Charged(NamedTuple):
    """The tag of cells that a version was charged for earlier."""

    version: str
    tag: str


class Corrected(NamedTuple):
    """On this day it was seen that the clock had been ahead, and marks of days to come became today's (ledger.py)."""

    day: int


class Queued(NamedTuple):
    """A report, as the exact body of its upload. ``local`` is 1 if it is for the user's eyes and never sent.

    ``batch`` is the id by which the journal knows it. A sealed body does not hold it, nor the row in the clear.
    """

    batch: str
    name: str
    day: int
    local: int
    body: bytes


class Done(NamedTuple):
    """What became of a queued report."""

    batch: str
    fate: Fate


class Totals(NamedTuple):
    """How many reports were sent and dropped before the journal was last rewritten."""

    sent: int
    dropped: int


class Hold(NamedTuple):
    """So many unreadable records were found by this day; any of them may have been a debit of any metric."""

    day: int
    damaged: int


class Disabled(NamedTuple):
    """The collector said on this day that it takes no more reports of a metric version."""

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
    """A metric that the user was shown and accepted, with a digest of what was shown; follows in ``consent``."""

    name: str
    terms: str
    day: int


Record = (
    Header
    | Debit
    | Permanent
    | Charged
    | Corrected
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
"""Characters of a metric's name; no other word is longer."""

_LONGEST_NUMBER = 25
"""Characters of a double; no day or total has as many."""


def _word(text: str) -> str:
    """Return a name, an id or a digest; raise ValueError if it is longer than any of them."""
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
"""Of the records that each report writes; they say the same as ``_text`` in half the time."""


def to_line(record: Record) -> bytes:
    """Return the line of a record, with its checksum and line feed."""
    text = _TEXTS.get(type(record), _text)(record)
    return b"%08x %b\n" % (crc32(text), text)


def from_line(line: bytes) -> Record | None:
    """Return the record of a line without its line feed, or None if it is damaged or of an unknown kind."""
    checksum, _, text = line.partition(b" ")
    if checksum != b"%08x" % crc32(text):
        return None
    try:
        kind, _, rest = text.decode("ascii").partition(" ")
        record, readers = _FIELDS[kind]
        fields = rest.split(" ", len(readers) - 1 if record is Queued else -1)  # a stratum in a body may hold blanks
        values = [read(field) for read, field in zip(readers, fields, strict=True)]
    except (KeyError, ValueError):
        return None
    return record(*values)  # type: ignore[arg-type]


def from_lines(data: bytes) -> tuple[list[Record], int, bool]:
    """Return the readable records, how many lines are damaged, and whether the last one is torn off.

    A torn tail is what a power cut leaves of the last write. It is no damage: the record never came to be.
    """
    *lines, tail = data.split(b"\n")
    records = [from_line(line) for line in lines]
    readable = [record for record in records if record is not None]
    return readable, len(records) - len(readable), bool(tail)


class ConsentChoice(NamedTuple):
    """What the user chose: a mode ("" if it cannot be read) and, by their terms, the metrics that were accepted.

    ``accepted`` is None where nobody could be shown anything: in a state in memory, for tests and simulations. ``lost``
    says that the secret is gone that was drawn upon a yes.
    """

    mode: str
    accepted: Mapping[str, Accepted] | None = None
    lost: bool = False


SECRET_BYTES = 32
