"""The table of ``dither-sim error --type string``."""

from collections.abc import Sequence

from dither_shared.counted import counted

from ....output.tables import render
from .experiment import StringRow

_SHORT = {"size": "strings", "users": "n"}


def string_error_table(rows: Sequence[StringRow]) -> str:
    """Return the results of a sweep: means over the repeats; parameters are shown if they vary."""
    varying = [name for name in _SHORT if len({getattr(row, name) for row in rows}) > 1]
    tops = ("top 8", "top 16", "top 32", "F1 of 16")
    header = ("mechanism", *(_SHORT[name] for name in varying), "ε", "reach", *tops, "found", "false", "missed")
    cells = [
        (
            row.mechanism,
            *(f"{getattr(row, name):,}" for name in varying),
            f"{row.epsilon:.4g}",
            "-" if row.reach is None else "none" if row.reach > 1 else f"{100 * row.reach:.2g} %",
            *(f"{value:.2f}" for value in (row.recall_8, row.recall_16, row.recall_32, row.f1)),
            f"{row.found:.1f}" + ("" if row.found_se is None else f" ± {row.found_se:.1f}"),
            f"{row.false:.3f}" + ("" if row.false_se is None else f" ± {row.false_se:.3f}"),
            f"{row.missed:.3f}",
        )
        for row in rows
    ]
    where = counted(rows[0].listed, "candidate") if rows[0].listed is not None else "nothing listed"
    return "\n".join(
        (
            render(header, cells),
            "",
            f"{counted(rows[0].size, 'string')}, {rows[0].distribution}; {where}.",
            "Top: share of so many of the most frequent that are found. Reach: the share of people whose string should",
            "be found half the time. False: of those found, held by nobody. Missed: their intervals without the truth.",
        )
    )
