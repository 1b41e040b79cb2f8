"""From a number to its point and back, against integer arithmetic written once more."""

import math
import pickle
from collections.abc import Iterator
from decimal import Context, Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither_shared import ParameterError
from dither_shared.questions.domains.grid import Grid, power_bounds

LINEAR = [
    Grid(0.0, 1.0, False, 2),
    Grid(0.05, 60.0, False, 129),
    Grid(-40.0, 60.0, False, 11),
    Grid(-3.5, -0.1, False, 65),
    Grid(0, 10**15, False, 1281),
    Grid(-1e300, 1e300, False, 4),
    Grid(0.0, 1e-300, False, 7),
]
LOGARITHMIC = [
    Grid(1.0, 10_000.0, True, 3),  # the boundaries are 10 and 1,000
    Grid(0.05, 60.0, True, 129),
    Grid(0.3, 0.30001, True, 33),
    Grid(1e-300, 1e300, True, 12),
]
LARGE = Grid(1e-6, 1e6, True, 1281)
"""The largest that a question has: m = 20 and d = 64, over twelve orders of magnitude."""

GRIDS = LINEAR + LOGARITHMIC
grids = st.sampled_from(GRIDS)
doubles = st.floats(allow_nan=False)


def ends(grid: Grid) -> tuple[Fraction, Fraction]:
    """Return the decimals that the definition would have."""
    low, high = (Fraction(Decimal(str(end))) for end in (grid.low, grid.high))
    return low, high


def reaches(grid: Grid, x: Fraction, half: int) -> bool:
    """Return whether a number is at a half step of the grid or above it, by integers."""
    (low, high), halves = ends(grid), 2 * (grid.points - 1)
    if not grid.log:
        return (x - low) * halves >= (high - low) * half
    if x <= 0:
        return False
    shared = math.gcd(half, halves)
    ours, theirs = halves // shared, half // shared
    above, below = (x / low).as_integer_ratio()
    top, bottom = (high / low).as_integer_ratio()
    return bool(above**ours * bottom**theirs >= below**ours * top**theirs)


def boundary(grid: Grid, half: int) -> float:
    """Return a double near a half step, by floats and 60 digits of decimals."""
    low, high = ends(grid)
    part = Fraction(half, 2 * (grid.points - 1))
    if not grid.log:
        return float(low + (high - low) * part)
    context = Context(prec=60)
    numbers = [context.divide(Decimal(n.numerator), Decimal(n.denominator)) for n in (high / low, low, part)]
    return float(context.multiply(numbers[1], context.power(numbers[0], numbers[2])))


def around(number: float, steps: int = 2) -> Iterator[float]:
    """Yield a double and its neighbours."""
    yield number
    for end in (-math.inf, math.inf):
        beside = number
        for _ in range(steps):
            beside = math.nextafter(beside, end)
            yield beside


def assert_is_nearest(grid: Grid, x: float | Fraction, point: int) -> None:
    """Compare with the boundaries on both sides; each is decided by integers."""
    assert 0 <= point < grid.points
    if not isinstance(x, float) or math.isfinite(x):
        exact = Fraction(x)
        assert point == 0 or reaches(grid, exact, 2 * point - 1)
        assert point == grid.points - 1 or not reaches(grid, exact, 2 * point + 1)


@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_doubles_next_to_each_boundary_have_the_nearest_point(grid: Grid) -> None:
    for half in range(1, 2 * grid.points - 2, 2):
        for x in around(boundary(grid, half)):
            assert_is_nearest(grid, x, grid.point(x).point)


def test_the_neighbours_of_boundaries_on_the_largest_grid_have_the_nearest_point() -> None:
    for half in (1, 639, 1279, 1281, 2559):
        for x in around(boundary(LARGE, half), 1):
            assert_is_nearest(LARGE, x, LARGE.point(x).point)


@given(grids, doubles)
def test_any_double_has_the_nearest_point(grid: Grid, x: float) -> None:
    assert_is_nearest(grid, x, grid.point(x).point)


@given(grids, st.floats(0, 1))
def test_any_double_between_the_ends_has_the_nearest_point(grid: Grid, share: float) -> None:
    x = grid.low * (1 - share) + grid.high * share
    assert_is_nearest(grid, x, grid.point(x).point)


@given(grids, st.one_of(st.integers(), st.integers(-(10**400), 10**400), st.fractions()))
def test_any_integer_or_fraction_has_the_nearest_point(grid: Grid, x: float | Fraction) -> None:
    assert_is_nearest(grid, Fraction(x), grid.point(x).point)


@pytest.mark.parametrize("grid", [LINEAR[1], LOGARITHMIC[1]], ids=str)
def test_a_number_between_two_doubles_has_the_nearest_point(grid: Grid) -> None:
    """Where the boundary is between them too, the double that is nearest may have another point."""
    told = 0
    for half in range(1, 2 * grid.points - 2, 2):
        near = boundary(grid, half)
        for beside in (math.nextafter(near, -math.inf), math.nextafter(near, math.inf)):
            for part in (Fraction(1, 10**9), Fraction(1, 3), Fraction(2, 3)):
                x = Fraction(near) + (Fraction(beside) - Fraction(near)) * part
                point = grid.point(x).point
                assert_is_nearest(grid, x, point)
                told += point != grid.point(float(x)).point
    assert told > grid.points / 4


@given(grids, doubles, doubles)
def test_a_larger_number_has_no_smaller_point(grid: Grid, one: float, other: float) -> None:
    lower, upper = sorted((one, other))
    assert grid.point(lower) <= grid.point(upper)
    assert grid.point(lower).outside <= grid.point(upper).outside


def test_a_number_midway_belongs_to_the_upper_point() -> None:
    cents = Grid(0.0, 1.0, False, 11)
    assert [cents.value(v) for v in (1, 3, 7)] == [0.1, 0.3, 0.7]  # what one would write
    assert [cents.point(Fraction(text)).point for text in ("0.15", "0.149999999999999999999", "0.05")] == [2, 1, 1]
    assert cents.point(0.15).point == 1  # as a double it is less
    assert [Grid(-2, 2, False, 5).point(x).point for x in (-1.5, -0.5, 0.5, 1.5)] == [1, 2, 3, 4]
    assert [Grid(-1, 1, False, 2).point(x).point for x in (0.0, -0.0, -5e-324, 5e-324)] == [1, 1, 0, 1]
    decades = LOGARITHMIC[0]
    assert [decades.point(x).point for x in (10, math.nextafter(10, 0), 1000, math.nextafter(1000, 0))] == [1, 0, 2, 1]
    assert decades.point(10 - Fraction(1, 10**2000)).point == 0
    assert decades.point(10 + Fraction(1, 10**2000)).point == 1


def test_a_number_as_near_to_an_irrational_boundary_as_one_likes_is_told_from_it() -> None:
    root = Decimal(10).sqrt(Context(prec=800))  # the boundary of a decade's two points
    decade = Grid(1, 10, True, 2)
    assert decade.point(Fraction(root) - Fraction(1, 10**798)).point == 0
    assert decade.point(Fraction(root) + Fraction(1, 10**798)).point == 1


@pytest.mark.parametrize("grid", [*GRIDS, LARGE], ids=str)
def test_number_outside_has_the_point_of_the_nearest_end(grid: Grid) -> None:
    last = grid.points - 1
    assert grid.point(grid.low) == (0, 0)
    assert grid.point(grid.high) == (last, 0)
    assert grid.point(math.nextafter(grid.low, -math.inf)) == (0, -1)
    assert grid.point(math.nextafter(grid.high, math.inf)) == (last, 1)
    beyond: list[float | Fraction] = [math.inf, 1.7976931348623157e308, 10**310, Fraction(10**400, 3)]
    if grid in {LINEAR[0], LARGE}:  # a tenth of a second for each grid
        beyond.append(10**1_000_000)
    for far in beyond:
        assert grid.point(far) == (last, 1)
        assert grid.point(-far) == (0, -1)


def test_zero_ends_and_what_is_next_to_them_have_the_nearest_point() -> None:
    near = (0.0, -0.0, 5e-324, 2.2250738585072014e-308)
    assert [LARGE.point(x) for x in near] == [(0, -1)] * 4
    assert [Grid(0, 1, False, 129).point(x) for x in near] == [(0, 0)] * 4
    assert Grid(0, 1, False, 129).point(-5e-324) == (0, -1)
    assert [Grid(-1, 1, False, 129).point(-x).point for x in near] == [64] * 4
    ends = Grid(0.05, 0.1, False, 3)
    for x in (0.05, 0.1, Fraction(1, 20), Fraction(1, 10), Fraction(0.1), Fraction("0.1") + Fraction(1, 10**30)):
        assert ends.point(x).outside == 0, "what reads as an end is not outside"
    assert Grid(10**23, 10**24, False, 3).point(1e23) == (0, 0)  # the double is less than the integer


@pytest.mark.parametrize("grid", [*GRIDS, LARGE], ids=str)
def test_a_value_is_the_double_nearest_to_the_point(grid: Grid) -> None:
    """Nearest: the point is between the middles of the double and its neighbours."""
    for point in range(grid.points) if grid is not LARGE else (0, 320, 640, 853, 1280):
        value = grid.value(point)
        below, above = ((Fraction(value) + Fraction(math.nextafter(value, end))) / 2 for end in (-math.inf, math.inf))
        assert reaches(grid, above, 2 * point)
        assert not reaches(grid, below, 2 * point) or below == ends(grid)[0]
        assert grid.point(value) == (point, 0)
    assert (grid.value(0), grid.value(grid.points - 1)) == (grid.low, grid.high)


@pytest.mark.parametrize("grid", LOGARITHMIC, ids=str)
def test_bounds_of_few_digits_are_on_both_sides(grid: Grid) -> None:
    low, high = ends(grid)
    halves = 2 * grid.points - 2
    for half in range(halves + 1):
        for digits in (12, 33):
            below, above = power_bounds(low, high / low, half, halves, digits)
            assert reaches(grid, above, half)
            assert not reaches(grid, below, half)
            assert above - below < above / 10 ** (digits - 7)


def test_grids_are_equal_by_what_defines_them_and_can_be_sent() -> None:
    grid = Grid(1, 60, True, 129)
    grid.point(3.0)
    assert grid == Grid(1.0, 60.0, True, 129) == pickle.loads(pickle.dumps(grid))  # noqa: S301 - our own bytes
    assert hash(grid) == hash(Grid(1.0, 60.0, True, 129))
    assert grid != Grid(1, 60, False, 129)


@pytest.mark.parametrize(
    ("low", "high", "log", "points", "place"),
    [
        (1, 1, False, 3, "high"),
        (0, 1, True, 3, "low"),
        (math.nan, 1, False, 3, "low"),
        (0, math.nan, False, 3, "high"),
        (0, math.inf, False, 3, "high"),
        (0, 10**400, False, 3, "high"),
        (0, 2e300, False, 3, "high"),
        (5e-324, 1, True, 3, "low"),
        (0, 2**53 + 1, False, 3, "high"),
        (True, 2, False, 3, "low"),
        ("0", 1, False, 3, "low"),
        (0, 1, False, 1, "points"),
        (0, 1, False, 3.0, "points"),
        (0, 1, False, True, "points"),
        (1.0, math.nextafter(1.0, 2.0), True, 3, "high"),
        (1e9, 1e9 + 1, False, 3, "high"),
    ],
)
def test_impossible_grids_are_refused(low: float, high: float, log: bool, points: int, place: str) -> None:
    with pytest.raises(ParameterError) as refused:
        Grid(low, high, log, points)
    assert refused.value.place == place
