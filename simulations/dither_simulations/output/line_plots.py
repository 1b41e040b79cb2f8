"""Pictures of lines: names at the ends of few lines, and for many a small panel each."""

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .plots import FONT, GREY, INK, figure_of
from .small_multiples import multiples_plot
from .strokes import Panel, breakable, draw_line, look_of, scale

__all__ = ["lines_plot"]

_FEW = 7
"""Of more names than this in a panel, each line takes a panel of its own."""
_LETTERS = 13
"""Letters of a name in one line, beside the axes."""


def lines_plot(panels: Sequence[Panel], title: str, across: str, *, log: bool = True) -> Figure:
    """Return a figure of panels, one below the other, on one horizontal axis, which is logarithmic with ``log``."""
    most = max(panel.names for panel in panels)
    if most > _FEW:
        return multiples_plot(panels, title, across, log=log)
    each = 4.2 if len(panels) == 1 else max(2.6, 0.7 + 0.44 * most)
    figure, rows = figure_of(each * len(panels), len(panels))
    height = figure.get_figheight()
    figure.subplots_adjust(left=0.155, right=0.735, top=1 - 0.59 / height, bottom=0.59 / height, hspace=0.12)
    for axes, panel in zip(rows, panels, strict=True):
        names = [
            (line.name, draw_line(axes, line, *look_of(number)), look_of(number))
            for number, line in enumerate(panel.lines)
        ]
        if panel.limit is not None:
            name, at, heights = panel.limit
            axes.plot(at, heights, ":", color=GREY, linewidth=1.8, zorder=1)
            names.append((name, heights[-1], (GREY, "")))
        scale(axes, panel, log=log)
        axes.set_ylabel(panel.up)
        axes.tick_params(axis="x", labelbottom=axes is rows[-1])
        _name_lines(figure, axes, names)
    rows[-1].set_xlabel(across)
    rows[0].set_title(title, loc="left", fontsize=FONT)
    return figure


def _name_lines(figure: Figure, axes: Axes, ends: list[tuple[str, float, tuple[str, str]]]) -> None:
    """Write each name beside the end of its line, moved apart where lines end together, but not out of the axes."""
    figure.canvas.draw()
    wrapped = [textwrap.wrap(breakable(name), _LETTERS) for name, _, _ in ends]
    gap = (0.2 + 1.05 * max(map(len, wrapped))) * FONT / 72 * figure.dpi / axes.bbox.height
    ordered = sorted(zip(ends, wrapped, strict=True), key=lambda entry: -entry[0][1])
    at = [axes.transAxes.inverted().transform(axes.transData.transform((1.0, end)))[1] for (_, end, _), _ in ordered]
    for ((_, _, (colour, marker)), lines), end, place in zip(ordered, at, _apart(at, gap), strict=True):
        beside: dict[str, Any] = {"transform": axes.transAxes, "clip_on": False, "scalex": False, "scaley": False}
        axes.plot([1.005, 1.05], [end, place], "-", color=colour, linewidth=0.8, **beside)
        if marker:
            axes.plot([1.05], [place], marker, color=colour, markersize=5, **beside)
        where: dict[str, Any] = {"transform": axes.transAxes, "va": "center", "linespacing": 0.95}
        axes.text(1.085, place, "\n".join(lines), color=INK, fontsize=FONT, **where)


def _apart(places: Sequence[float], gap: float) -> list[float]:
    """Return descending places at least ``gap`` apart, moved down from 1 and then up from 0 as far as they must."""
    moved: list[float] = []
    for place in places:
        moved.append(min(place, 1.0 if not moved else moved[-1] - gap))
    last = -np.inf
    for index in reversed(range(len(moved))):
        moved[index] = last = max(moved[index], last + gap, 0.0)
    return moved
