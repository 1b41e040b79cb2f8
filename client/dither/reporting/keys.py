"""Keys: derive cohorts, permanent draws and tags from the device's secret, so that they need no memory.

From one secret of 32 bytes follow six families of draws. Each is a stream of ``KeyedEntropy``, whose docstring defines
its bytes, under a context of its own; a context is encoded injectively, so no two of them can meet:

    cohort of a metric version      ("cohort", version)
    rounding of its numbers         ("rounding", version)
    permanent draw of a value       ("permanent", version, cohort, key)
    tag of a charged value          ("charged", version, cohort, key)
    mask of a kept draw             ("kept", version, tag)
    ticket of a metric of a survey  ("survey", survey, period, metric)

``version`` and ``tag`` are in ASCII, ``cohort`` is the device's, in 4 bytes, big-endian; ``key`` is the value's
``Mechanism.permanent_key`` in this cohort: the cells that it marks, or for a sketch its bucket, ascending, in 4 bytes
each, big-endian, one after the other, and so empty if it marks none; ``survey`` and ``metric`` are names in ASCII,
``period`` is its first day, a proleptic ordinal in 4 bytes, big-endian, and 0 for a survey that asks once. The cohort
is ``Mechanism.draw_cohort`` of its stream, a rounded number ``Encoded.rounded`` of its stream, the tag the hex digits
of the first 16 bytes of its own, the permanent draw ``Mechanism.permanent_draw`` of the key and its stream; a ticket is
16 bytes.

A device rounds all numbers by one draw, so that a number that stays has one point for ever, and one charge.

So values with the same key share one draw for ever, and one charge: a change from one to the other is visible in no
report, and costs nothing. The version contains the metric's name, so two metrics of one definition draw unrelated
noise.

**What is kept.** The ledger keeps the tag of each value that was charged, by which it is known again, and the permanent
draw of the last one, to replay it when a value changes too often for the budget; never the value. The draw has as many
bytes as a payload, big-endian, followed by 8 zero bytes, and is masked by xor; the zeros show whether it was written by
this device. Without the secret a tag and a kept draw are random bits. With it, a guess at the value can be tested
against tags and draws; that is inherent, because the device itself has to recognize a value.
"""

from __future__ import annotations

from dither_shared.errors import DitherError
from dither_shared.primitives.entropy import KeyedEntropy, KeyedFamily, encoded

from ..state.journal_records import Permanent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dither_shared.encoding import Encoded, Item
    from dither_shared.metrics.metric import Metric, Survey

_TAG_BYTES = 16
_CHECK_BYTES = 8


class Keys:
    """The keyed draws of one device."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._contexts = tuple(encoded(secret, name) for name in (b"cohort", b"charged", b"permanent", b"kept"))
        self._versions: dict[str, _VersionKeys] = {}
        self._asked: tuple[Survey, int, str] | None = None

    def __repr__(self) -> str:
        return "Keys(…)"

    def rounded(self, metric: Metric, answer: Encoded) -> Item:
        """Return the item of an answer, by the device's one rounding of numbers."""
        if answer.rest is None:
            return answer.item
        return answer.rounded(KeyedEntropy(self._secret, b"rounding", metric.version.encode("ascii")))

    def asked(self, survey: Survey, period: int) -> str:
        """Return which metric a survey asks in the period that begins on that day: the one with the greatest ticket.

        All are equally likely, and each period has its own tickets. If a metric joins or leaves, the choice changes
        only if that metric is the chosen one, because a ticket depends on names alone.
        """
        last = self._asked
        if last is None or last[:2] != (survey, period):
            day = period.to_bytes(4, "big")
            tickets = KeyedFamily(encoded(self._secret, b"survey", survey.name.encode("ascii"), day))
            drawn = max(survey.metrics, key=lambda name: tickets.first(name.encode("ascii"), _TAG_BYTES))
            last = self._asked = survey, period, drawn
        return last[2]

    def of(self, metric: Metric) -> _VersionKeys:
        """Return the keyed draws of a metric's version."""
        version = self._versions.get(metric.version)
        if version is None:
            version = self._versions[metric.version] = _VersionKeys(metric, *self._contexts)
        return version


class _VersionKeys:
    """The keyed draws of one metric version; ``cohort`` was drawn uniformly, and is the same for ever.

    The last results are cached, because most reports repeat them.
    """

    __slots__ = ("_charged", "_drawn", "_draws", "_item", "_kept", "_marks", "_name", "_permanent", "_width", "cohort")

    def __init__(self, metric: Metric, cohorts: bytes, charged: bytes, permanent: bytes, kept: bytes) -> None:
        self._name = metric.version
        self._draws = draws = metric.draws
        self._width = draws.payload_bytes + _CHECK_BYTES
        version = metric.version.encode("ascii")
        self.cohort = draws.draw_cohort(KeyedEntropy(version, start=cohorts))
        context = encoded(version)
        self._kept = KeyedFamily(kept + context)
        context += encoded(self.cohort.to_bytes(4, "big"))
        self._charged, self._permanent = KeyedFamily(charged + context), KeyedFamily(permanent + context)
        self._item: Item | None = None
        self._marks: tuple[tuple[int, ...], bytes, str] = ((), b"", "")
        self._drawn = "", 0

    def tag(self, item: Item) -> str:
        """Return the tag by which the ledger recognizes the key of ``item``."""
        return self.marks(item)[2]

    def marks(self, item: Item) -> tuple[tuple[int, ...], bytes, str]:
        """Return the key of ``item``, its encoding, and its tag."""
        if self._item != item:
            key = self._draws.permanent_key(item, self.cohort)
            numbers = b"".join([number.to_bytes(4, "big") for number in sorted(key)])
            self._marks = key, numbers, self._charged.first(numbers, _TAG_BYTES).hex()
            self._item = item
        return self._marks

    def draw(self, item: Item) -> int:
        """Return the permanent draw of ``item``: the same every time, and for every item of the same key."""
        key, numbers, tag = self.marks(item)
        if self._drawn[0] != tag:
            self._drawn = tag, self._draws.permanent_draw(key, self._permanent.stream(numbers))
        return self._drawn[1]

    def kept(self, tag: str, drawn: int) -> Permanent:
        """Return the record from which ``replay`` recovers a permanent draw, and which names it by ``tag``."""
        masked = drawn << 8 * _CHECK_BYTES ^ self._mask(tag)
        self._drawn = tag, drawn
        return tuple.__new__(Permanent, (self._name, tag, masked.to_bytes(self._width, "big").hex()))

    def replay(self, record: Permanent) -> int:
        """Return the permanent draw of a record; raise DitherError if another device wrote it."""
        if self._drawn[0] != record.tag:
            if len(record.draw) != 2 * self._width:
                raise DitherError("a permanent draw is not of this metric")
            drawn, check = divmod(int(record.draw, 16) ^ self._mask(record.tag), 1 << 8 * _CHECK_BYTES)
            if check:
                raise DitherError("a permanent draw is not of this device")
            self._drawn = record.tag, drawn
        return self._drawn[1]

    def _mask(self, tag: str) -> int:
        return int.from_bytes(self._kept.first(tag.encode("ascii"), self._width), "big")
