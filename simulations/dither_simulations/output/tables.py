"""Write tables for a terminal: columns that line up, numbers with their uncertainty."""

from collections.abc import Sequence

from ..experiments.error.experiment import Row
from ..experiments.reproduce.published import ReproductionRow

__all__ = ["error_table", "number", "render", "reproduction_table"]


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
    """Return the results of a sweep: means ± standard errors over the repeats; parameters are shown if they vary."""
    varying = [name for name in ("size", "users", "day") if len({getattr(row, name) for row in rows}) > 1]
    steps = {row.step for row in rows} != {"raw"}
    spent = ("ε spent",) if "day" in varying else ()
    header = ("mechanism", "law", *(("step",) if steps else ()), *(_SHORT[name] for name in varying), "ε", *spent)
    words = 3 if steps else 2
    cells = [
        (
            row.mechanism if row.asked == row.mechanism else f"{row.asked}: {row.mechanism}",
            row.law,
            *((row.step,) if steps else ()),
            *(f"{getattr(row, name):,}" for name in varying),
            f"{row.epsilon:.4g}",
            *((f"{row.epsilon_spent:.4g}",) if spent else ()),
            *_measured(row),
        )
        for row in rows
    ]
    top = f"top-{rows[0].top} recall"
    return render((*header, *_MEASURES[:-3], top, *_MEASURES[-2:]), cells, words)


_SHORT = {"size": "k", "users": "n", "day": "day"}
_MEASURES = ("MSE", "theory", "ratio", "bound", "L1", "max error", "KL", "recall", "coverage", "width")


def _measured(row: Row) -> tuple[str, ...]:
    return (
        number(row.mse, row.mse_se, ".2e"),
        _or_dash(row.mse_theory, ".2e"),
        "-" if row.mse_theory is None else f"{row.mse / row.mse_theory:.3f}",
        f"{row.mse_bound:.2e}",
        f"{row.l1:.3g}",
        f"{row.max_error:.2e}",
        _or_dash(row.kl, ".3g"),
        f"{row.recall:.2f}",
        _or_dash(row.coverage, ".4f"),
        _or_dash(row.width, ".2e"),
    )


def reproduction_table(rows: Sequence[ReproductionRow]) -> str:
    """Return published numbers beside ours, a table a paper."""
    return "\n\n".join(
        f"{paper}\n\n{_paper_table([row for row in rows if row.paper == paper])}"
        for paper in dict.fromkeys(row.paper for row in rows)
    )


def _paper_table(rows: Sequence[ReproductionRow]) -> str:
    header = ("mechanism", "what", "k", "ε", "n", "published", "our law", "deviation", "measured", "deviation")
    cells = [
        (
            row.mechanism,
            row.what,
            f"{row.size:,}",
            f"{row.epsilon:g}",
            f"{row.users:,}",
            _range(row.published_low, row.published_high),
            f"{row.theory:.5g}",
            f"{100 * row.theory_deviation:+.2f} %",
            number(row.measured, row.measured_se, ".4g" if row.measured < 1e4 else ".0f"),
            f"{100 * row.deviation:+.2f} %",
        )
        for row in rows
    ]
    return render(header, cells, words=2)


def _range(low: float, high: float) -> str:
    return f"{low:.5g}" if low == high else f"{low:.4g} to {high:.4g}" if high < 1e4 else f"{low:.0f} to {high:.0f}"


def _or_dash(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def _printable(cell: str) -> str:
    """Return a cell that is one line and cannot steer a terminal, whatever file it came from."""
    return "".join(character if character.isprintable() else "·" for character in cell)


def _padded(row: Sequence[str], widths: Sequence[int], words: int) -> list[str]:
    cells = zip(row, widths, strict=True)
    return [cell.ljust(width) if column < words else cell.rjust(width) for column, (cell, width) in enumerate(cells)]
