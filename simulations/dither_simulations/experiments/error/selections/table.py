"""The table of ``dither-sim error --type selection``."""

from collections.abc import Sequence

from ....output.tables import number, render
from .experiment import SelectionRow

_SHORT = {"size": "items", "users": "n"}


def selection_error_table(rows: Sequence[SelectionRow]) -> str:
    """Return the results of a sweep: means ± standard errors over the repeats; parameters are shown if they vary."""
    varying = [name for name in _SHORT if len({getattr(row, name) for row in rows}) > 1]
    header = ("mechanism", *(_SHORT[name] for name in varying), "ε", "MSE", "theory", "ratio", "max error")
    cells = [
        (
            row.mechanism if row.asked == row.mechanism else f"{row.asked}: {row.mechanism}",
            *(f"{getattr(row, name):,}" for name in varying),
            f"{row.epsilon:.4g}",
            number(row.mse, row.mse_se, ".2e"),
            f"{row.mse_theory:.2e}",
            f"{row.mse / row.mse_theory:.3f}",
            f"{row.max_error:.2e}",
            f"{row.recall:.2f}",
            f"{row.coverage:.4f}",
            f"{row.width:.2e}",
        )
        for row in rows
    ]
    return render((*header, f"top-{rows[0].top} recall", "coverage", "width"), cells)
