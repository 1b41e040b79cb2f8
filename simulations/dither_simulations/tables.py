"""Write tables of results: for a terminal, with numbers and their uncertainty, and as CSV or JSON files.

Files are written atomically: a reader sees the old file or the new one, never a part of either.
"""

import csv
import io
import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dither_shared import ParameterError


@dataclass(frozen=True)
class ResultColumn:
    """A column of a table of results: its head, the text of a row's cell, and whether it is shown for given rows.

    The head may name columns of the first row: "top-{top} recall".
    """

    head: str
    cell: Callable[[Mapping[str, Any]], str]
    shown: Callable[[Sequence[Mapping[str, Any]]], bool] = lambda _: True


def results_table(columns: Sequence[ResultColumn], rows: Sequence[Mapping[str, Any]], words: int = 1) -> str:
    """Return a table of results; see ``render``. Hidden columns do not count as words."""
    some = [column for column in columns if column.shown(rows)]
    flush_left = sum(column in some for column in columns[:words])
    heads = [column.head.format_map(rows[0]) for column in some]
    return render(heads, [[column.cell(row) for column in some] for row in rows], flush_left)


def varies(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    """Return whether rows differ in a column."""
    return len({row[name] for row in rows}) > 1


def value(name: str, head: str, form: str = "") -> ResultColumn:
    """Return a column of formatted results, with a dash for None."""
    return ResultColumn(head, lambda row: "-" if row[name] is None else format(row[name], form))


def parameter(name: str, head: str) -> ResultColumn:
    """Return a column that is shown if the rows differ in it."""
    return ResultColumn(head, lambda row: f"{row[name]:,}", lambda rows: varies(rows, name))


def measured(name: str, head: str, form: str) -> ResultColumn:
    """Return a column of means, each with its standard error."""
    return ResultColumn(head, lambda row: "-" if row[name] is None else number(row[name], row[f"{name}_se"], form))


def _over_theory(row: Mapping[str, Any]) -> str:
    mean, theory = row["mse"], row["mse_theory"]
    return "-" if mean is None or theory is None else f"{mean / theory:.3f}"


MECHANISM = ResultColumn(
    "mechanism",
    lambda row: row["mechanism"] if row["asked"] == row["mechanism"] else f"{row['asked']}: {row['mechanism']}",
)
EPSILON = value("epsilon", "ε", ".4g")
SQUARED_ERROR = (
    measured("mse", "MSE", ".2e"),
    value("mse_theory", "theory", ".2e"),
    ResultColumn("ratio", _over_theory),
)
INTERVALS = (value("coverage", "coverage", ".4f"), value("width", "width", ".2e"))


def render(header: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1) -> str:
    """Return a table of cells under a ruled header; the first ``words`` columns are flush left, numbers flush right."""
    table = [[_printable(cell) for cell in row] for row in (header, *rows)]
    widths = [max(len(row[column]) for row in table) for column in range(len(header))]
    lines = ["  ".join(_padded(row, widths, words)).rstrip() for row in table]
    return "\n".join([lines[0], "  ".join("─" * width for width in widths), *lines[1:]])


def number(mean: float, error: float | None, form: str = ".3e") -> str:
    """Return a number with the standard error of its mean, if it has one; the error to the same decimals or ``.0e``."""
    if error is None:
        return format(mean, form)
    return f"{mean:{form}} ± {error:{'.0e' if form.endswith('e') else form}}"


def _printable(cell: str) -> str:
    """Return a cell that is one line and cannot steer a terminal, whatever file it came from."""
    return "".join(character if character.isprintable() else "·" for character in cell)


def _padded(row: Sequence[str], widths: Sequence[int], words: int) -> list[str]:
    cells = zip(row, widths, strict=True)
    return [cell.ljust(width) if column < words else cell.rjust(width) for column, (cell, width) in enumerate(cells)]


def write_bytes(path: Path, content: bytes) -> None:
    """Replace ``path`` by ``content`` in one step. Raises ParameterError if it cannot be written."""
    temporary: Path | None = None
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as stream:
            temporary = Path(stream.name)
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except OSError as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise ParameterError(str(path), f"cannot be written: {error.strerror}") from None


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows as CSV, or as JSON if the name ends in .json: one row per line, columns in the order of the first."""
    encode = json_rows if path.suffix == ".json" else _csv
    write_bytes(path, encode(rows).encode("utf-8"))


def json_rows(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as a JSON array, one row per line."""
    return "[\n" + ",\n".join(json.dumps(row, allow_nan=False) for row in rows) + "\n]\n"


def _csv(rows: Sequence[Mapping[str, Any]]) -> str:
    text = io.StringIO(newline="")
    writer: csv.DictWriter[Any] = csv.DictWriter(text, [*rows[0]], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _umask() -> int:
    """Return the process's mask for new files, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
