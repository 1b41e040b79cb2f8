"""The table of ``dither-sim error``."""

from collections.abc import Sequence

from ...output.tables import number, render
from .experiment import Row


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


def _or_dash(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
