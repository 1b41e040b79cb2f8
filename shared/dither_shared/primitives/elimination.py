"""Linear equations in whole numbers, solved exactly."""

from collections.abc import Sequence
from fractions import Fraction

from ..errors import ParameterError

__all__ = ["solve"]


def solve(matrix: Sequence[Sequence[int]], targets: Sequence[int]) -> tuple[Fraction, ...]:
    """Return the x with Σ_j ``matrix[i][j]`` x_j = ``targets[i]`` for every i.

    Elimination without fractions (Bareiss 1968): every number on the way is a determinant of a part of the matrix, so
    n equations in numbers of b bits take n³/3 products of at most n·b bits. Raises ParameterError if the matrix is
    singular.
    """
    rows = [[*row, target] for row, target in zip(matrix, targets, strict=True)]
    size, last = len(rows), 1
    for step in range(size):
        found = next((row for row in range(step, size) if rows[row][step]), None)
        if found is None:
            raise ParameterError("matrix", "is singular; its equations have no single solution")
        rows[step], rows[found] = rows[found], rows[step]
        pivot, tail = rows[step][step], rows[step][step + 1 :]
        for row in range(step + 1, size):
            factor, rest = rows[row][step], rows[row][step + 1 :]
            rows[row][step + 1 :] = [
                (pivot * mine - factor * theirs) // last for mine, theirs in zip(rest, tail, strict=True)
            ]
        last = pivot
    # ``last`` is now the determinant up to its sign, and each x_j a whole number over it (Cramer).
    found_so_far: list[int] = []
    for step in reversed(range(size)):
        known = sum(weight * x for weight, x in zip(rows[step][step + 1 : size], found_so_far, strict=True))
        found_so_far.insert(0, (last * rows[step][size] - known) // rows[step][step])
    return tuple(Fraction(x, last) for x in found_so_far)
