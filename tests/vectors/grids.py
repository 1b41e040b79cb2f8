"""Vectors of grids: from a double to its place."""

import math
import struct
from collections.abc import Iterator

from dither_shared.questions.number import Grid

from .rendering import Case

_GRIDS = (
    Grid(0.0, 1.0, False, 2),
    Grid(0.05, 60.0, False, 129),
    Grid(-40.0, 60.0, False, 11),
    Grid(-3.5, -0.1, False, 65),
    Grid(0, 10**15, False, 262_144),
    Grid(-1e300, 1e300, False, 4),
    Grid(0.0, 1e-300, False, 7),
    Grid(1, 10_000, True, 3),
    Grid(0.05, 60.0, True, 129),
    Grid(0.3, 0.30001, True, 33),
    Grid(1e-6, 1e6, True, 1281),
    Grid(1e-300, 1e300, True, 5),
)
_EVERYWHERE = (0.0, -0.0, 5e-324, -5e-324, 1.0, 0.15, 1.7976931348623157e308, math.inf, -math.inf)


def _doubles(grid: Grid) -> Iterator[float]:
    """Yield doubles of no grid, and of this one: its ends, some of its points, and numbers between points."""
    yield from _EVERYWHERE
    for end in (grid.low, grid.high):
        yield from (math.nextafter(end, -math.inf), end, math.nextafter(end, math.inf))
    last = grid.points - 1
    yield from (grid.value(last * part) for part in (0.001, 0.1, 1 / 3, 0.5, 0.77, 0.999))


def _bits(double: float) -> str:
    return struct.pack(">d", double).hex()


def numbers() -> Iterator[Case]:
    for grid in _GRIDS:
        for double in {_bits(double): double for double in _doubles(grid)}.values():
            point, rest, outside = grid.answers.place(double)
            yield {
                "low": _bits(grid.low),
                "high": _bits(grid.high),
                "log": grid.log,
                "points": grid.points,
                "double": _bits(double),
                "point": point,
                "rest": f"{rest:016x}",
                "outside": outside,
            }
