"""Write tables for a terminal: columns that line up, numbers with their uncertainty."""

from collections.abc import Sequence


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


def _printable(cell: str) -> str:
    """Return a cell that is one line and cannot steer a terminal, whatever file it came from."""
    return "".join(character if character.isprintable() else "·" for character in cell)


def _padded(row: Sequence[str], widths: Sequence[int], words: int) -> list[str]:
    cells = zip(row, widths, strict=True)
    return [cell.ljust(width) if column < words else cell.rjust(width) for column, (cell, width) in enumerate(cells)]
