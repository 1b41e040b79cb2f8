import numpy as np
import pytest

from dither_server.estimation.decoders.transform import plane


@pytest.mark.parametrize(("order", "length"), [(2, 1), (2, 4), (3, 3), (4, 2), (5, 1)])
def test_tables_are_transformed_together_as_each_by_itself_and_as_the_definition_says(order: int, length: int) -> None:
    space, size = plane(order), order**length
    tables = np.random.default_rng(size).integers(0, 1000, (7, size)).astype(np.float64)
    digits = space.digits(np.arange(size), length)
    by_digits = space.characters[digits[:, np.newaxis, :], digits[np.newaxis, :, :]].prod(axis=2)  # χ(a) χ(b) = χ(a+b)
    together = space.transform(tables, length)
    assert together.shape == tables.shape
    assert np.allclose(together, tables @ by_digits)
    for table, found in zip(tables, together, strict=True):
        alone = space.transform(table, length)
        assert alone.shape == (size,)
        assert np.allclose(alone, found)


def test_a_sketch_of_many_rows_is_transformed_to_the_last_bit_as_row_by_row() -> None:
    """Of two elements each step adds or subtracts two numbers, in whatever company."""
    rows = np.random.default_rng(1).normal(size=(512, 256))
    assert (plane(2).transform(rows, 8) == [plane(2).transform(row, 8) for row in rows]).all()
