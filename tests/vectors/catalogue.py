"""The mechanisms of the vectors: the smallest, the usual, ten times that, and sizes at which the algorithm changes."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from dither_shared import MECHANISMS, Mechanism
from dither_shared.mechanism import LISTED, SETS, Item, Items
from dither_shared.primitives.entropy import lanes_of


@dataclass(frozen=True)
class Entry:
    """A mechanism by a name for it, as a definition asks for it: parameters in decimal, exactly as TOML has them."""

    id: str
    family: str
    size: int | None
    configured: Mapping[str, str]

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism of this entry."""
        parameters = {key: _value(text) for key, text in self.configured.items()}
        return MECHANISMS[self.family].configure(self.size, parameters)


def _value(text: str) -> float | str:
    if text.isalpha():
        return text
    return int(text) if text.isdigit() else float(text)


def _of(family: str, size: int | None, **configured: str) -> Entry:
    words = [family, *([] if size is None else [str(size)]), *(f"{key}={text}" for key, text in configured.items())]
    return Entry(" ".join(words), family, size, configured)


_ONCE = [
    *(_of("randomized-response", size, epsilon="1.0") for size in (2, 3, 10, 100, 256, 257, 2048)),
    _of("randomized-response", 2, truth="0.75"),
    _of("randomized-response", 2, truth="0.25"),
    _of("randomized-response", 2, epsilon="0.0001"),
    _of("randomized-response", 10, epsilon="25.0"),
    *(_of("subset-selection", size, epsilon="1.0") for size in (2, 3, 8, 10, 100, 128, 2048)),
    *(_of("subset-selection", size, epsilon="4.0") for size in (12, 100, 2048)),
    *(_of("projective-geometry", size, epsilon="1.0") for size in (2, 3, 10, 100, 2048)),
    *(_of("projective-geometry", 100, epsilon=epsilon) for epsilon in ("0.1", "1.3", "2.0", "4.0")),
    *(_of("hadamard-response", size, epsilon="1.0") for size in (2, 3, 10, 127, 128, 2048)),
    *(_of("local-hashing", size, epsilon="1.0") for size in (2, 3, 10, 100, 2048)),
    *(_of("local-hashing", 100, epsilon=epsilon) for epsilon in ("0.1", "1.9", "2.0")),
    *(
        _of(family, 3, epsilon=epsilon)
        for family in ("local-hashing", "projective-geometry")
        for epsilon in ("2.0", "8.0")
    ),
    *(_of(f"{shape}-unary", size, epsilon="1.0") for shape in ("optimized", "symmetric") for size in (2, 8, 10, 128)),
    _of("optimized-unary", 2048, epsilon="1.0"),
    *(_of("bit-flip", size, epsilon="1.0") for size in (2, 10, 100, 2048)),
    _of("bit-flip", 10, epsilon="1.0", bits="1"),
    _of("bit-flip", 10, epsilon="1.0", bits="10"),
]
_LASTING = [
    _of(family, size, epsilon="1.0", permanent_epsilon="2.0")
    for family in ("randomized-response", "local-hashing", "optimized-unary")
    for size in (2, 3, 10, 100)
]
_OPEN = [
    _of("rappor", None, epsilon="1.0", permanent_epsilon="2.0"),
    _of("rappor", None, epsilon="2.0"),
    _of("rappor", None, epsilon="1.0", bits="8", hashes="1", cohorts="1"),
    _of("rappor", None, epsilon="1.0", bits="3", hashes="2", cohorts="2"),
    _of("rappor", None, epsilon="2.0", bits="20", hashes="4", cohorts="256"),
    _of("rappor", None, epsilon="2.0", bits="2048", hashes="8", cohorts="1000"),
    _of("rappor", None, f="0.5", p="0.5", q="0.75", bits="32", hashes="1", cohorts="65536"),
    _of("count-mean-sketch", None, epsilon="2.0"),
    _of("count-mean-sketch", None, epsilon="2.0", bits="8", cohorts="1"),
    _of("count-mean-sketch", None, epsilon="2.0", bits="2048", cohorts="16"),
    _of("hadamard-count-mean-sketch", None, epsilon="2.0"),
    _of("hadamard-count-mean-sketch", None, epsilon="2.0", bits="2", cohorts="1"),
    _of("hadamard-count-mean-sketch", None, epsilon="2.0", bits="2048", cohorts="65"),
]
_SKETCHES = [
    _of("projective-count-mean-sketch", None, epsilon="1.0"),
    _of("projective-count-mean-sketch", None, epsilon="4.0", permanent_epsilon="8.0"),
    _of("projective-count-mean-sketch", None, epsilon="2.0", buckets="2"),
    _of("prefix-sketch", None, epsilon="1.0", characters="39", length="12"),
    _of("prefix-sketch", None, epsilon="2.0", permanent_epsilon="4.0", characters="10", length="6"),
    _of("prefix-sketch", None, epsilon="0.5", characters="254", length="33", buckets="64"),
]
_SETS = [
    *(_of("set-response", size, epsilon="1.0") for size in (2, 8, 1024)),
    _of("set-response", 16, epsilon="4.0"),
    _of("set-response", 5, epsilon="1.0", window="5"),
    _of("set-response", 8, epsilon="2.0", permanent_epsilon="4.0"),
    *(_of("privset", size, epsilon="1.0", at_most=most) for size, most in ((2, "1"), (2, "2"), (16, "3"))),
    _of("privset", 64, epsilon="0.5", at_most="3"),
    _of("privset", 256, epsilon="1.0", at_most="3", report_budget="16"),
    _of("privset", 8, epsilon="1.0", permanent_epsilon="2.0", at_most="2"),
    _of("privset", 64, epsilon="0.5", permanent_epsilon="1.0", at_most="3"),
]
_NUMBERS = [
    _of("dithered-response", None, epsilon="1.0"),
    *(_of("dithered-response", None, epsilon=epsilon, resolution="8") for epsilon in ("0.25", "3.0", "6.0", "25.0")),
    _of("dithered-response", None, epsilon="4.0", **{"for": "mean"}),
    _of("dithered-response", None, epsilon="1.0", steps="1", resolution="1"),
    _of("dithered-response", None, epsilon="1.0", steps="1023", resolution="256"),
    _of("dithered-response", None, epsilon="1.0", permanent_epsilon="2.0"),
    _of("dithered-response", None, epsilon="2.0", permanent_epsilon="4.0", steps="4", resolution="3"),
    *(
        _of(family, None, epsilon=epsilon, resolution=steps)
        for family in ("discrete-laplace", "exponential")
        for epsilon, steps in (("1.0", "1"), ("2.0", "2"), ("1.0", "64"), ("0.1", "10"), ("25.0", "7"), ("4.0", "128"))
    ),
    *(
        _of("discrete-gaussian", None, epsilon=epsilon, delta=delta, resolution=steps)
        for epsilon, delta, steps in (("2.0", "0.01", "1"), ("1.0", "1e-6", "4"), ("1.0", "1e-9", "64"))
    ),
]
_CHOSEN = (*_ONCE, *_LASTING, *_SETS, *_OPEN, *_SKETCHES, *_NUMBERS)


def _usual(name: str) -> Entry:
    """Return the usual mechanism of a family."""
    family, needed = MECHANISMS[name], {"at_most": "3", "delta": "1e-6"}
    size = 10 if family.items in {LISTED, SETS} else None
    return _of(name, size, epsilon="1.0", **{key: text for key, text in needed.items() if key in family.keys})


_FORGOTTEN = [_usual(name) for name in MECHANISMS if name not in {entry.family for entry in _CHOSEN}]
ENTRIES = {entry.id: entry for entry in (*_CHOSEN, *_FORGOTTEN)}

VALUES: tuple[bytes, ...] = (
    b"",
    b"a",
    b"Chrome",
    "Zo\u00eb".encode(),
    "Zoe\u0308".encode(),
    "\u65e5\u672c\u8a9e".encode(),
    "\U0001f469\u200d\U0001f680".encode(),
    "\u202eabc\ufeff\u0000".encode(),
    b"x" * 1024,
)
"""Strings: none, short, usual, composed and not, of planes beyond the first, with controls, and the longest."""


@cache
def mechanism(name: str) -> Mechanism:
    """Return the mechanism of an id."""
    return ENTRIES[name].mechanism


def exact(number: Fraction | float | None) -> str | None:
    """Return a number in lowest terms, or None for None."""
    return None if number is None else str(Fraction(number))


def written(item: Item, items: Items) -> object:
    """Return an item as the files have it: bytes in hex, a set as the list of its indices, any other as a number."""
    if isinstance(item, bytes):
        return item.hex()
    return list(lanes_of(item)) if items.sets else item
