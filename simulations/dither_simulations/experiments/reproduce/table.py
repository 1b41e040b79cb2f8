"""The tables of ``dither-sim reproduce``."""

from collections.abc import Sequence

from ...output.tables import number, render
from .published import ReproductionRow

__all__ = ["reproduction_table"]


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
