"""Vectors of grids: from a double to the nearest point."""

import math
import struct
from collections.abc import Iterator
from fractions import Fraction

from dither_shared.questions.domains.grid import Grid

from .rendering import Case, File

_GRIDS = (
    Grid(0.0, 1.0, False, 2),
    Grid(0.05, 60.0, False, 129),
    Grid(-40.0, 60.0, False, 11),
    Grid(-3.5, -0.1, False, 65),
    Grid(0, 10**15, False, 1281),
    Grid(-1e30, 1e30, False, 4),
    Grid(0.0, 1e-30, False, 7),
    Grid(1, 10_000, True, 3),  # the boundaries are 10 and 1,000
    Grid(1, 10**12, True, 25),
    Grid(0.05, 60.0, True, 129),
    Grid(0.3, 0.30001, True, 33),
    Grid(1e-6, 1e6, True, 1281),
    Grid(1e-30, 1e30, True, 5),
)
_EVERYWHERE = (0.0, -0.0, 5e-324, -5e-324, 1.0, 0.15, 1.7976931348623157e308, math.inf, -math.inf)


def _doubles(grid: Grid) -> Iterator[float]:
    """Yield doubles of no grid, and of this one: its ends, some of its points, and where the point changes."""
    yield from _EVERYWHERE
    for end in (grid.low, grid.high):
        yield from (math.nextafter(end, -math.inf), end, math.nextafter(end, math.inf))
    last = grid.points - 2
    for point in sorted({0, 1, last // 3, last // 2, last // 2 + 1, last - 1, last} & set(range(last + 1))):
        first = _threshold(grid, point)
        yield from (grid.value(point), math.nextafter(first, -math.inf), first, math.nextafter(first, math.inf))


def _threshold(grid: Grid, point: int) -> float:
    """Return the least double that belongs to the next point, by bisection."""
    below, above = grid.value(point), grid.value(point + 1)
    while (middle := (below + above) / 2) not in {below, above}:
        if grid.point(middle).point > point:
            above = middle
        else:
            below = middle
    return above


def _numbers() -> Iterator[Case]:
    for grid in _GRIDS:
        for double in dict.fromkeys(struct.pack(">d", double) for double in _doubles(grid)):
            placed = grid.point(*struct.unpack(">d", double))
            yield {
                "low": str(Fraction(repr(grid.low))),
                "high": str(Fraction(repr(grid.high))),
                "log": grid.log,
                "points": grid.points,
                "double": double.hex(),
                "point": placed.point,
                "outside": placed.outside,
            }


NUMBERS = File(
    "Numbers: the nearest point of a grid. With n = points - 1, a number x has the point v that is the count of i in"
    " 0..n-1 with x >= low + (high - low) (2i + 1)/(2n); on a logarithmic grid, with x > 0 and"
    " (x/low)^(2n) >= (high/low)^(2i + 1). All of it is exact: x is the rational that the double is.",
    {
        "low": "the least point: the shortest decimal that reads as the double in the definition, as an exact rational",
        "high": "the greatest point, likewise",
        "log": "whether the points are even in their logarithms",
        "points": "how many points there are",
        "double": "the number: the bits of an IEEE 754 double, the sign first",
        "point": "the nearest point, from 0",
        "outside": "-1 if it is below the double nearest to low, 1 if it is above the one nearest to high, else 0",
    },
    _numbers,
)
