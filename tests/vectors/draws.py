"""Vectors of the parts of mechanisms: keyed streams, exact draws, and finite fields."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice

from dither_shared import Entropy, KeyedEntropy
from dither_shared.primitives.galois import Field, prime_powers
from dither_shared.primitives.probability import ONE

from .rendering import Case
from .scripts import Below, Prefixed, Reached, Recorded

_BEYOND = 3


def streams() -> Iterator[Case]:
    keys = (b"", bytes(32), bytes(range(32)), b"k" * 137)
    contexts: tuple[tuple[bytes, ...], ...] = ((), (b"",), (b"a", b"bc"), (b"ab", b"c"), (b"permanent", bytes(300)))
    for key in keys:
        for context in contexts:
            for start, count in ((0, 0), (0, 32), (3, 8), (500, 24), (1535, 2)):
                stream = KeyedEntropy(key, *context)
                stream.take(start)
                yield {
                    "key": key.hex(),
                    "context": [part.hex() for part in context],
                    "start": start,
                    "bytes": stream.take(count).hex(),
                }


def _each_below(entropy: Entropy, bound: int, count: int) -> list[int]:
    return list(islice(entropy.each_below(bound), count))


def _draw(name: str, path: str, entropy: Recorded, **arguments: int | list[int]) -> Case:
    draw: Callable[..., int | list[int]] = partial(_each_below, entropy)
    result = (draw if name == "each_below" else getattr(entropy, name))(**arguments)
    return {
        "draw": name,
        "arguments": {key: _text(value) for key, value in arguments.items()},
        "path": path,
        "entropy": (entropy.given + entropy.beyond(_BEYOND)).hex(),
        "used": len(entropy.given),
        "result": _text(result),
    }


def _text(value: int | list[int]) -> str | list[str]:
    return [str(one) for one in value] if isinstance(value, list) else str(int(value))


def _paths(label: str) -> Iterator[tuple[str, Recorded]]:
    yield "random", Recorded(label)
    yield "zeros", Prefixed(label, bytes(8))
    yield "ones", Prefixed(label, b"\xff" * 8)
    yield "reached", Reached(label)
    yield "below", Below(label)


def _integers() -> Iterator[Case]:
    for bound in (1, 2, 3, 10, 127, 128, 1 << 32, 10**12 + 39, (1 << 63) + 1, ONE - 1, ONE):
        for path, entropy in _paths(f"below {bound}"):
            if path != "below":
                yield _draw("below", path, entropy, bound=bound)
    for bound in (1, 2, 3, 7, 100, 1 << 20, (1 << 31) + 1, 1 << 32):
        for path, first in (("random", b""), ("ones", b"\xff" * 8)):
            yield _draw("each_below", path, Prefixed(f"each {bound}", first), bound=bound, count=18)
    for threshold in (0, 1, ONE // 3, ONE // 2, ONE - 1, ONE):
        for path, entropy in _paths(f"bernoulli {threshold}"):
            yield _draw("bernoulli", path, entropy, threshold=threshold)


def _choices() -> Iterator[Case]:
    for cumulative in ([ONE], [1, ONE], [0, 0, ONE], [ONE // 3, 2 * (ONE // 3), 2 * (ONE // 3), ONE - 1, ONE]):
        for path, entropy in _paths(f"choice {cumulative}"):
            yield _draw("choice", path, entropy, cumulative=cumulative)


def _bits() -> Iterator[Case]:
    third = ONE // 3
    for width in (1, 7, 8, 9, 20, 128):
        marked = 0x5A5A0F0F00FF33CC1234567890ABCDEF & ((1 << width) - 1)
        for high, low in ((2 * third, third), (ONE // 2, third), (ONE // 4, 3 * (ONE // 4)), (ONE, third), (ONE, 0)):
            for path, entropy in _paths(f"bits {width} {high} {low}"):
                yield _draw("bernoulli_bits", path, entropy, width=width, marked=marked, high=high, low=low)


def _subsets() -> Iterator[Case]:
    firsts = {"random": b"", "zeros": bytes(3) + b"\xff" * 8, "ones": b"\xff" * 12}
    for width, size in ((1, 0), (1, 1), (2, 1), (7, 0), (7, 3), (7, 7), (99, 27), (127, 2), (1000, 270)):
        for path, first in firsts.items():
            yield _draw("subset", path, Prefixed(f"subset {width} {size}", first), width=width, size=size)
    for width, size, marked in ((2, 1, 3), (10, 1, 0b1100), (7, 3, 0b1110), (7, 7, 0x7F), (99, 27, 0x1F << 60)):
        for number in range(3):
            entropy = Recorded(f"meeting {width} {size} {number}")
            yield _draw("subset_meeting", "random", entropy, width=width, size=size, marked=marked)


def draws() -> Iterator[Case]:
    yield from _integers()
    yield from _choices()
    yield from _bits()
    yield from _subsets()


def fields() -> Iterator[Case]:
    for order in prime_powers(27):
        field, elements = Field(order), range(order)
        products = [[field.multiply(element, two) for two in elements] for element in elements]
        sums = [[field.add(element, two) for two in elements] for element in elements]
        yield {"order": order, "sums": sums, "products": products}


def points() -> Iterator[Case]:
    for order, length in ((2, 2), (2, 4), (3, 3), (4, 3), (5, 2), (7, 3), (9, 2), (27, 2), (2, 11), (128, 2), (343, 2)):
        field = Field(order)
        points = (order**length - 1) // (order - 1)
        for index in sorted({0, 1, 2, points // 3, points // 2, points - 1}):
            point = field.point(index, length)
            other = field.point(points - 1 - index // 2, length)
            scaled = [field.multiply(order - 1, entry) for entry in point]
            yield {
                "order": order,
                "index": index,
                "point": point,
                "scaled": scaled,
                "scaled_index": field.point_index(scaled),
                "other": other,
                "product": field.dot(point, other),
            }
