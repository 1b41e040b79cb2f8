"""The table of ``dither-sim error --type number``."""

from collections.abc import Sequence

from ...output.tables import number, render
from .numbers import NumberRow

_MEASURES = ("MSE", "theory", "ratio", "bound", "error", "rank", "coverage", "width")


def number_error_table(rows: Sequence[NumberRow]) -> str:
    """Return the results of a sweep: means ± standard errors over the repeats, and what each measure is of."""
    users = len({row.users for row in rows}) > 1
    cells = [
        (
            row.asked,
            row.what,
            *((f"{row.users:,}",) if users else ()),
            f"{row.epsilon:.4g}",
            *_measured(row),
        )
        for row in rows
    ]
    return "\n".join(
        (
            render(("mechanism", "of", *(("n",) if users else ()), "ε", *_MEASURES), cells, words=2),
            "",
            "All but ranks in parts of the range. Of a distribution: MSE and width of a share below a point;",
            "error: the Wasserstein-1 distance of the curve, rank its worst share below. Rank of a quantile: in share.",
        )
    )


def _measured(row: NumberRow) -> tuple[str, ...]:
    known = row.mse is not None and row.mse_theory is not None
    return (
        "-" if row.mse is None else number(row.mse, row.mse_se, ".2e"),
        _or_dash(row.mse_theory, ".2e"),
        f"{(row.mse or 0) / (row.mse_theory or 1):.3f}" if known else "-",
        _or_dash(row.mse_bound, ".2e"),
        f"{row.error:.2e}",
        _or_dash(row.rank, ".4f"),
        f"{row.coverage:.4f}",
        f"{row.width:.2e}",
    )


def _or_dash(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
