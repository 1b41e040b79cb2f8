"""Pictures of many lines: a small panel each, in which the others are grey, so that none hides another."""

import textwrap
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from .plots import COLOURS, FONT, GREY
from .strokes import Line, Panel, breakable, draw_line, scale

__all__ = ["multiples_plot"]

_COLUMNS = 3
_SMALL = 0.85 * FONT
_LETTERS = 20
"""Letters of a name in one line, above its panel."""
_WIDE, _HIGH = 5.8, 1.8
"""Inches: of the figure, and of a row with the names above it."""
_TOP, _FOOT = 0.58, 0.42
"""Inches above and below all rows."""
_OTHERS = "#CFCFCF"


def multiples_plot(panels: Sequence[Panel], title: str, across: str, *, log: bool = True) -> Figure:
    """Return a block of small panels for each panel, one a line, all on the axes of the block."""
    counts = [-(-len(panel.lines) // _COLUMNS) for panel in panels]
    height = _TOP + _HIGH * sum(counts) + _FOOT
    figure = Figure(figsize=(_WIDE, height))
    FigureCanvasAgg(figure)
    top = height - _TOP
    for panel, rows in zip(panels, counts, strict=True):
        _block(figure, panel, top, log=log)
        figure.text(0.005, (top - _HIGH * rows / 2) / height, panel.up, rotation=90, va="center", fontsize=FONT)
        top -= _HIGH * rows
    limits = dict.fromkeys(panel.limit[0] for panel in panels if panel.limit is not None)
    caption = "; ".join([title, *(f"dotted: {name}" for name in limits), "grey: the others"])
    figure.text(0.01, 1 - 0.1 / height, caption.replace("; dotted", "\ndotted"), va="top", fontsize=_SMALL)
    figure.text(0.56, 0.12 / height, across, ha="center", fontsize=FONT)
    return figure


def _block(figure: Figure, panel: Panel, top: float, *, log: bool) -> None:
    """Draw the panels of a block whose upper edge is so many inches high; the first and the lowest carry numbers."""
    height, left, gap = figure.get_figheight(), 0.14, 0.03
    width = (0.99 - left - gap * (_COLUMNS - 1)) / _COLUMNS
    first: Axes | None = None
    for number, line in enumerate(panel.lines):
        row, column = divmod(number, _COLUMNS)
        foot = top - _HIGH * (row + 1) + 0.06
        box = (left + column * (width + gap), foot / height, width, (_HIGH - 0.48) / height)
        axes = figure.add_axes(box, sharex=first, sharey=first)
        first = first or axes
        _multiple(axes, panel, line, log=log)
        lowest = number + _COLUMNS >= len(panel.lines)
        axes.tick_params(labelsize=_SMALL, labelleft=column == 0, labelbottom=lowest)


def _multiple(axes: Axes, panel: Panel, line: Line, *, log: bool) -> None:
    """Draw one line in colour before all others, under its name."""
    for other in panel.lines:
        axes.plot(other.at, other.value, "-", color=_OTHERS, linewidth=1, zorder=0.5)
    if panel.limit is not None:
        axes.plot(*panel.limit[1:], ":", color=GREY, linewidth=1.8, zorder=1)
    draw_line(axes, line, COLOURS[0], "o")
    scale(axes, panel, log=log)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    name = "\n".join(textwrap.wrap(breakable(line.name), _LETTERS))
    axes.set_title(name, loc="left", fontsize=_SMALL, pad=3, linespacing=0.95)
