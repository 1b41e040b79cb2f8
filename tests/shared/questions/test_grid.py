"""Places of numbers and values of places, compared with exact fractions and decimals of many digits."""

import math
import pickle
from decimal import Context, Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither_shared import ParameterError
from dither_shared.primitives.probability import ONE
from dither_shared.questions.number import Grid

LINEAR = [
    Grid(0.0, 1.0, False, 2),
    Grid(0.05, 60.0, False, 129),
    Grid(-40.0, 60.0, False, 11),
    Grid(-3.5, -0.1, False, 65),
    Grid(0, 10**15, False, 262_144),
    Grid(-1e300, 1e300, False, 4),
    Grid(0.0, 1e-300, False, 7),
]
LOGARITHMIC = [
    Grid(1.0, 10_000.0, True, 3),
    Grid(0.05, 60.0, True, 129),
    Grid(0.3, 0.30001, True, 33),
    Grid(1e-300, 1e300, True, 12),
    Grid(1e-6, 1e6, True, 1281),
]
GRIDS = LINEAR + LOGARITHMIC
grids = st.sampled_from(GRIDS)
doubles = st.floats(allow_nan=False)

DIGITS = Context(prec=60)


def exact(grid: Grid, x: float) -> Fraction:
    """Return the place of a number, which on a logarithmic grid is right to 50 digits."""
    low, high, inside = (Fraction(end) for end in (grid.low, grid.high, min(max(x, grid.low), grid.high)))
    if not grid.log:
        return (grid.points - 1) * (inside - low) / (high - low)
    logs = [DIGITS.ln(DIGITS.divide(Decimal(end.numerator), Decimal(end.denominator))) for end in (low, high, inside)]
    return (grid.points - 1) * (Fraction(logs[2]) - Fraction(logs[0])) / (Fraction(logs[1]) - Fraction(logs[0]))


def place(grid: Grid, x: float) -> Fraction:
    point, rest, outside = grid.answers.place(x)
    assert 0 <= point < grid.points
    assert 0 <= rest < ONE
    assert rest == 0 or point < grid.points - 1, "nothing is rounded up past the last point"
    assert outside == (not grid.low <= x <= grid.high)
    return point + Fraction(rest, ONE)


@given(grids, doubles)
def test_grid_places_any_double_exactly(grid: Grid, x: float) -> None:
    assert place(grid, x) == pytest.approx(exact(grid, x), abs=1e-9 * (1 + grid.log))


@given(grids, st.floats(0, 1))
def test_grid_places_a_double_between_its_ends_exactly(grid: Grid, share: float) -> None:
    x = grid.low * (1 - share) + grid.high * share
    assert place(grid, x) == pytest.approx(exact(grid, x), abs=1e-9 * (1 + grid.log))


@given(grids, doubles, doubles)
def test_place_on_a_grid_never_falls_with_the_number(grid: Grid, first: float, second: float) -> None:
    lower, upper = sorted((first, second))
    assert place(grid, lower) <= place(grid, upper)


@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_grid_places_the_value_of_a_place_at_that_place(grid: Grid) -> None:
    last = grid.points - 1
    assert (grid.value(0), grid.value(last)) == (grid.low, grid.high)
    for part in (0.0, 0.013, 0.25, 1 / 3, 0.5, 0.9, 1.0):
        assert float(place(grid, grid.value(part * last))) == pytest.approx(part * last, abs=1e-6)


def test_whole_numbers_on_grid_points_keep_their_value() -> None:
    for points in (65, 129):
        grid = Grid(0, 64, False, points)
        for number in range(65):
            assert grid.answers.place(float(number)) == (number * (points - 1) // 64, 0, False)


def test_grids_are_compared_by_their_definition_and_can_be_pickled() -> None:
    grid = Grid(1, 60, True, 129)
    assert grid == Grid(1.0, 60.0, True, 129) == pickle.loads(pickle.dumps(grid))  # noqa: S301 - our own bytes
    assert hash(grid) == hash(Grid(1.0, 60.0, True, 129))
    assert grid != Grid(1, 60, False, 129)


@pytest.mark.parametrize(
    ("low", "high", "log", "points", "place"),
    [
        (0, math.nan, False, 3, "high"),
        (0, 10**400, False, 3, "high"),
        (0, 1, False, 1, "points"),
        (0, 1, False, 3.0, "points"),
        (0, 1, False, True, "points"),
        (1.0, math.nextafter(1.0, 2.0), True, 3, "high"),
        (1e9, 1e9 + 1, False, 3, "high"),
    ],
)
def test_impossible_grids_are_refused(low: float, high: float, log: bool, points: int, place: str) -> None:
    """Others are in tests/vectors/refused_metrics.json."""
    with pytest.raises(ParameterError) as refused:
        Grid(low, high, log, points)
    assert refused.value.place == place
