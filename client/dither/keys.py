"""Keys: what the device's secret fixes for ever, so that permanent draws need no memory.

From one secret of 32 bytes follow four families of draws, each under a context of its own (``KeyedEntropy`` encodes
a context injectively, so no two of them can meet):

    cohort of a metric version      ("cohort", version)
    permanent draw of a value       (version, cohort in 4 bytes, value)
    tag of a charged value          ("charged", version, value)
    mask of a seal                  ("sealed", version, tag)

The version contains the metric's name, so two metrics of one definition draw unrelated noise.

**Seals.** When a value changes too often for its budget, the last permanent answer is replayed, and so the ledger must
hold something of it. It holds a tag, by which the same value is known again, and a seal, as wide for every value: the
index of a listed answer or, for any string, the row that was drawn permanently (never the string), masked with a
stream that the tag selects. Without the secret a tag and a seal are random bits. With it, they tell which of a list of
guesses the value was, as the tag alone and every permanent draw would, and nothing more.
"""

from dither_shared.entropy import Entropy, KeyedEntropy
from dither_shared.errors import DitherError
from dither_shared.mechanism import Item
from dither_shared.metric import Metric

__all__ = ["SECRET_BYTES", "TAG_DIGITS", "Keys"]

SECRET_BYTES = 32
TAG_DIGITS = 32
"""How many hex digits of a digest are its tag; the rest are its seal."""

_INDEX_BYTES = 8


class Keys:
    """The keyed draws of one device."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._cohorts: dict[str, int] = {}
        self._tags: dict[str, tuple[Item, str]] = {}  # of the last value of each version, and its row: most
        self._rows: dict[str, tuple[Item, _Row]] = {}  # reports repeat it, and drawing it is a third of the work

    def __repr__(self) -> str:
        return "Keys(…)"

    def cohort(self, metric: Metric) -> int:
        """Return the cohort of this device for ``metric``: uniform, and the same for ever."""
        cohort = self._cohorts.get(metric.version)
        if cohort is None:
            stream = KeyedEntropy(self._secret, b"cohort", metric.version.encode("ascii"))
            cohort = self._cohorts[metric.version] = stream.below(metric.mechanism.cohorts)
        return cohort

    def permanent(self, metric: Metric, item: Item) -> Entropy:
        """Return the stream of the permanent draw of ``item``: at its start, every time it is asked for."""
        return self._row(metric, item) if metric.mechanism.size is None else self._stream(metric, item)

    def tag(self, metric: Metric, item: Item) -> str:
        """Return by what the ledger knows that ``item`` has been charged; it tells nothing without the secret."""
        before = self._tags.get(metric.version)
        if before is not None and before[0] == item:
            return before[1]
        stream = KeyedEntropy(self._secret, b"charged", metric.version.encode("ascii"), _as_bytes(item))
        tag = stream.take(TAG_DIGITS // 2).hex()
        self._tags[metric.version] = item, tag
        return tag

    def seal(self, metric: Metric, item: Item, tag: str) -> str:
        """Return what ``replay`` needs to answer as ``item`` does, masked."""
        if isinstance(item, int):
            return self._masked(metric, item.to_bytes(_INDEX_BYTES, "big"), tag)
        row = self._row(metric, item)
        if row.drawn is None:  # as it is by a report that was made just before
            metric.mechanism.randomize(item, _Silence(), self.cohort(metric), row)
        return self._masked(metric, (row.drawn or 0).to_bytes(metric.mechanism.payload_bytes, "big"), tag)

    def replay(self, metric: Metric, digest: str) -> tuple[Item, Entropy]:
        """Return an item and a permanent stream that together repeat the answer of a digest: a tag and its seal.

        Raises DitherError for a digest that this device did not make.
        """
        tag, seal = digest[:TAG_DIGITS], digest[TAG_DIGITS:]
        plain = int(self._masked(metric, bytes.fromhex(seal), tag), 16)
        if metric.mechanism.size is None:
            if not plain >> metric.mechanism.cells:
                return b"", _Row(_Silence(), plain)
        elif self.tag(metric, plain) == tag:
            return plain, self.permanent(metric, plain)
        raise DitherError("a seal is not of this device")

    def _stream(self, metric: Metric, item: Item) -> Entropy:
        version, cohort = metric.version.encode("ascii"), self.cohort(metric).to_bytes(4, "big")
        return KeyedEntropy(self._secret, version, cohort, _as_bytes(item))

    def _row(self, metric: Metric, item: Item) -> "_Row":
        before, row = self._rows.get(metric.version, (None, None))
        if row is None or row.drawn is None or before != item:
            row = _Row(self._stream(metric, item))
            self._rows[metric.version] = item, row
        return row

    def _masked(self, metric: Metric, plain: bytes, tag: str) -> str:
        stream = KeyedEntropy(self._secret, b"sealed", metric.version.encode("ascii"), tag.encode("ascii"))
        mask = int.from_bytes(stream.take(len(plain)), "big")
        return (int.from_bytes(plain, "big") ^ mask).to_bytes(len(plain), "big").hex()


class _Row(Entropy):
    """A permanent row: drawn from its stream once, unless it is given; from then on the same, whatever the value."""

    def __init__(self, stream: Entropy, drawn: int | None = None) -> None:
        self._stream = stream
        self.drawn = drawn

    def __repr__(self) -> str:
        return "_Row(…)"

    def take(self, count: int) -> bytes:
        return self._stream.take(count)

    def bernoulli_bits(self, width: int, marked: int, high: int, low: int) -> int:
        if self.drawn is None:
            self.drawn = self._stream.bernoulli_bits(width, marked, high, low)
        return self.drawn


class _Silence(Entropy):
    """Noise that nobody will see."""

    def take(self, count: int) -> bytes:
        return bytes(count)

    def bernoulli_bits(self, width: int, marked: int, high: int, low: int) -> int:
        return 0


def _as_bytes(item: Item) -> bytes:
    return item if isinstance(item, bytes) else item.to_bytes(8, "big")
