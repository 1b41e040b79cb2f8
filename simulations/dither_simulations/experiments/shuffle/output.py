"""Show what shuffling is worth, as a table and as a picture."""

import decimal
from collections.abc import Sequence
from decimal import Decimal

from matplotlib.figure import Figure

from dither_server.analysis.composition import rounded_up
from dither_server.analysis.shuffling.amplified import CONDITIONS
from dither_shared import ParameterError

from ...output.line_plots import lines_plot
from ...output.strokes import Line, Panel
from ...output.tables import render
from .weigh import ShuffleRow

__all__ = ["shuffle_plot", "shuffle_table"]

_HEADER = ("mechanism", "ε of one", "honest reports", "δ", "any law", "this law", "attack")
_DIGITS = 4


def shuffle_table(rows: Sequence[ShuffleRow]) -> str:
    """Return a table of the bounds, what several batches come to, and in words what must be true for them."""
    batches = rows[0].batches
    header = (*_HEADER, f"after {batches:,} batches", "with δ") if batches > 1 else _HEADER
    reasons = dict.fromkeys((row.mechanism, row.reason) for row in rows if row.reason)
    told = [f"{name}: no amplification; {reason}." for name, reason in reasons]
    if len(reasons) < len({row.mechanism for row in rows}):
        if rows[0].own > 1:
            told += [f"The bounds are of {rows[0].own:,} reports of one device in a batch, all together."]
        told += [
            "Each ε but that of the attack is no less than the truth. It stands beside the ε of one report, and is"
        ]
        told += [
            "true only if",
            *(f"- {condition}{'.' if condition == CONDITIONS[-1] else ';'}" for condition in CONDITIONS),
        ]
    return "\n".join((render(header, [_cells(row) for row in rows]), "", *told))


def shuffle_plot(rows: Sequence[ShuffleRow]) -> Figure:
    """Return a figure of the bounds against the number of reports, a panel for each mechanism, on logarithmic axes.

    Raises ParameterError if there is no amplification, or no ε above 0, of any of them.
    """
    names = dict.fromkeys((row.mechanism, row.local) for row in rows)
    panels = [panel for name in names if (panel := _panel([row for row in rows if (row.mechanism, row.local) == name]))]
    if not panels:
        raise ParameterError("--plot", "there is no amplification to be shown")
    who = "one report tells" if rows[0].own == 1 else f"{rows[0].own:,} reports of one device tell"
    title = f"What {who} among others that are shuffled\nwith δ = {rounded_up(rows[0].delta, 3)}"
    return lines_plot(panels, title, "reports of one batch")


def _panel(rows: Sequence[ShuffleRow]) -> Panel | None:
    lines = [
        _line("any law", rows, [row.generic for row in rows]),
        _line("this law", rows, [row.blanket for row in rows]),
        _line("attack", rows, [row.attack for row in rows]),
    ]
    lines = [line for line in lines if line.at]
    if not lines:
        return None
    at = [row.reports for row in rows]
    return Panel(lines, f"ε, {rows[0].mechanism}", limit=("not shuffled", at, [row.own * row.local for row in rows]))


def _line(name: str, rows: Sequence[ShuffleRow], losses: Sequence[float | None]) -> Line:
    known = [(row.reports, loss) for row, loss in zip(rows, losses, strict=True) if loss]
    values = [loss for _, loss in known]
    return Line(name, [reports for reports, _ in known], values, values, values)


def _cells(row: ShuffleRow) -> tuple[str, ...]:
    after = (_up(row.epsilon_after), rounded_up(row.delta_after, 3)) if row.batches > 1 else ()
    losses = (_up(row.generic), _up(row.blanket), _down(row.attack))
    return (row.mechanism, _up(row.local), f"{row.honest:,}", rounded_up(row.delta, 3), *losses, *after)


def _up(number: float | None) -> str:
    return "-" if number is None else rounded_up(number, _DIGITS)


def _down(number: float | None) -> str:
    if number is None:
        return "-"
    context = decimal.Context(prec=_DIGITS, rounding=decimal.ROUND_FLOOR)
    return rounded_up(float(context.create_decimal(Decimal(number))), _DIGITS)
