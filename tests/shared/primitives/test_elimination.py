"""Equations in whole numbers have exact solutions."""

from fractions import Fraction
from random import Random

import pytest

from dither_shared import ParameterError
from dither_shared.mechanisms.numeric import solve


@pytest.mark.parametrize("size", [1, 2, 5, 20])
def test_solutions_satisfy_every_equation_exactly(size: int) -> None:
    random = Random(size)
    for turn in range(3):
        most = 1 << 64 if turn else 1  # small entries are often 0 where a pivot should be
        matrix = [[random.randint(-most, most) for _ in range(size)] for _ in range(size)]
        targets = [random.randint(-most, most) for _ in range(size)]
        try:
            solution = solve(matrix, targets)
        except ParameterError:
            assert most == 1
            continue
        sums = [sum(weight * x for weight, x in zip(row, solution, strict=True)) for row in matrix]
        assert sums == targets


def test_rows_are_exchanged_where_a_pivot_is_zero() -> None:
    assert list(solve([[0, 2, 1], [3, 0, 0], [0, 4, 1]], [5, 1, 7])) == [Fraction(1, 3), 1, 3]
    assert list(solve([[0, 1], [1, 0]], [2, 3])) == [3, 2]


@pytest.mark.parametrize("matrix", [[[0]], [[1, 2], [2, 4]], [[1, 2, 3], [4, 5, 6], [7, 8, 9]]])
def test_singular_equations_are_refused(matrix: list[list[int]]) -> None:
    with pytest.raises(ParameterError, match="singular"):
        solve(matrix, [1] * len(matrix))
