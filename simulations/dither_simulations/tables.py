"""Tables for a terminal: columns that line up, numbers with their uncertainty."""

from collections.abc import Sequence

from .experiments import Row

__all__ = ["error_table", "number", "render"]

_ERROR_HEADER = ("mechanism", "law", "ε", "MSE", "theory", "ratio", "max error", "coverage")


def render(header: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1) -> str:
    """Return a table of cells under a ruled header; the first ``words`` columns are flush left, numbers flush right."""
    table = [[_printable(cell) for cell in row] for row in (header, *rows)]
    widths = [max(len(row[column]) for row in table) for column in range(len(header))]
    lines = ["  ".join(_padded(row, widths, words)).rstrip() for row in table]
    return "\n".join([lines[0], "  ".join("─" * width for width in widths), *lines[1:]])


def number(value: float, error: float | None, form: str = ".3e") -> str:
    """Return a number with the standard error of its mean, if it has one; the error to the same decimals or ``.0e``."""
    if error is None:
        return format(value, form)
    return f"{value:{form}} ± {error:{'.0e' if form.endswith('e') else form}}"


def error_table(rows: Sequence[Row]) -> str:
    """Return the results of a sweep: means over the repeats, ± their standard errors."""
    return render(_ERROR_HEADER, [_error_cells(row) for row in rows], words=2)


def _error_cells(row: Row) -> tuple[str, ...]:
    return (
        row.mechanism if row.asked == row.mechanism else f"{row.asked}: {row.mechanism}",
        row.law,
        f"{row.epsilon:.4g}",
        number(row.mse, row.mse_se),
        number(row.mse_theory, None),
        f"{row.mse / row.mse_theory:.3f}",
        number(row.max_error, row.max_error_se),
        number(row.coverage, row.coverage_se, ".4f"),
    )


def _printable(cell: str) -> str:
    """Return a cell that is one line and cannot steer a terminal, whatever file it came from."""
    return "".join(character if character.isprintable() else "·" for character in cell)


def _padded(row: Sequence[str], widths: Sequence[int], words: int) -> list[str]:
    cells = zip(row, widths, strict=True)
    return [cell.ljust(width) if column < words else cell.rjust(width) for column, (cell, width) in enumerate(cells)]
