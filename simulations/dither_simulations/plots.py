"""Line plots: measured points with their interval as a band, theory dashed.

A few lines share a panel, with their names at their ends; if there are many, each has its own small panel. The colours
are those of Okabe and Ito (2008), which colour-blind people can distinguish.
"""

import io
import textwrap
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

from dither_shared import ParameterError

from .choices import FORMATS
from .tables import varies, write_bytes

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
GREY = "#666666"
INK = "#222222"
"""The text colour of names, because some of the colours are too light for text."""
FONT = 11.5
"""The font size in points, on a figure 5.8 inches wide: still 11 pixels high in a picture 400 pixels wide."""

_MARKERS = "os^Dv<>PXhd"
_GRID = "#E5E5E5"


@dataclass(frozen=True)
class PlotLine:
    """Points of one line, its entries in the order of ``at``; a theory may have gaps.

    ``low`` and ``high`` are the ends of the interval of each point.
    """

    name: str
    at: Sequence[float]
    value: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]
    theory: Sequence[float | None] = ()


@dataclass(frozen=True)
class PlotPanel:
    """Lines that share axes; ``limit`` is a dotted line with a name, its points and their heights."""

    lines: Sequence[PlotLine]
    up: str
    log: bool = True
    limit: tuple[str, Sequence[float], Sequence[float]] | None = None

    @property
    def names(self) -> int:
        """How many lines have a name."""
        return len(self.lines) + (self.limit is not None)


def lines_of(rows: Iterable[Mapping[str, Any]], by: str, columns: Sequence[str]) -> list[PlotLine]:
    """Return one line per value of ``by``, the columns being those of a line's fields; rows are in order."""
    return [
        PlotLine(name, *zip(*([row[column] for column in columns] for row in some), strict=True))
        for name, some in groupby(rows, key=lambda row: row[by])
    ]


def exact_line(name: str, at: Sequence[float], values: Sequence[float | None]) -> PlotLine:
    """Return a line of computed values, without those that are None or 0, which a logarithmic axis cannot show."""
    known = [(place, value) for place, value in zip(at, values, strict=True) if value]
    heights = [value for _, value in known]
    return PlotLine(name, [place for place, _ in known], heights, heights, heights)


def scale(axes: Axes, panel: PlotPanel, *, log: bool) -> None:
    """Set the scales of axes, the numbers along them, and a grid; ``log`` is for the horizontal one."""
    axes.set_xscale("log" if log else "linear")
    axes.set_yscale("log" if panel.log else "linear")
    _plain_numbers(axes, sorted({at for line in panel.lines for at in line.at}), log)
    _few_powers(axes, panel.log)
    axes.grid(visible=True, which="major", color=_GRID, linewidth=0.8)


def draw_line(axes: Axes, line: PlotLine, colour: str, marker: str) -> float:
    """Draw a line and return the height at which it ends."""
    known = [(at, theory) for at, theory in zip(line.at, line.theory, strict=False) if theory is not None]
    if known:
        axes.plot(*zip(*known, strict=True), "--", color=colour, linewidth=1.4, zorder=2)
    axes.fill_between(line.at, line.low, line.high, color=colour, alpha=0.22, linewidth=0, zorder=1)
    axes.plot(
        line.at,
        line.value,
        f"{marker}{'' if known else '-'}",
        color=colour,
        linewidth=1.1,
        markersize=5.5,
        markeredgecolor="white",
        markeredgewidth=0.7,
        zorder=3,
    )
    return line.value[-1]


def _plain_numbers(axes: Axes, tried: list[float], log: bool) -> None:
    """Label the axis with the numbers that were tried or, if there are many, with powers of two or ten."""
    if log:
        base = 2 if tried[-1] < 100 * tried[0] else 10
        powers = [float(base) ** power for power in range(-20, 51)]
        axes.set_xticks(tried if len(tried) <= 6 else [at for at in powers if tried[0] <= at <= tried[-1]])
        axes.xaxis.set_minor_locator(NullLocator())
    elif all(at == int(at) for at in tried):
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda at, _: _plain(at)))


def _few_powers(axes: Axes, log: bool) -> None:
    """Label the powers of ten and, if an axis spans only one or two, also 2 and 5 times these."""
    low, high = axes.get_ylim()
    if log:
        short = high < 100 * low
        axes.yaxis.set_major_locator(LogLocator(10, (1, 2, 5) if short else (1,)))
        axes.yaxis.set_minor_formatter(NullFormatter())
    if log and short:
        axes.yaxis.set_major_formatter(FuncFormatter(lambda at, _: _plain(at)))


def _plain(at: float) -> str:
    if at == 0 or 1e-3 <= abs(at) < 1e4:
        return f"{at:.3g}" if at < 1e3 else f"{at:,.0f}"
    power = int(np.floor(np.log10(abs(at)) + 1e-9))
    lead = f"{at / 10**power:.3g}"
    return f"$10^{{{power}}}$" if lead == "1" else f"${lead}·10^{{{power}}}$"


def look_of(number: int) -> tuple[str, str]:
    """Return the colour and the marker of the line with this number; no two of the first 77 have both in common."""
    return COLOURS[number % len(COLOURS)], _MARKERS[number % len(_MARKERS)]


def breakable(name: str) -> str:
    """Return a name with its hyphens replaced by spaces, so that it can be wrapped."""
    return name.replace("-", " ")


_COLUMNS = 3
_SMALL = 0.85 * FONT
_LETTERS_ABOVE = 20
"""Maximum characters per line of a name above its panel."""
_WIDE, _HIGH = 5.8, 1.8
"""The width of a figure and the height of a row of panels with the names above it, in inches."""
_TOP, _FOOT = 0.58, 0.42
"""Inches above and below all rows."""
_OTHERS = "#CFCFCF"


def multiples_plot(panels: Sequence[PlotPanel], title: str, across: str, *, log: bool = True) -> Figure:
    """Return a block of small panels for each panel, one per line, all on the axes of the block."""
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


def _block(figure: Figure, panel: PlotPanel, top: float, *, log: bool) -> None:
    """Draw the panels of a block below ``top`` inches; the first and the lowest have numbers."""
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


def _multiple(axes: Axes, panel: PlotPanel, line: PlotLine, *, log: bool) -> None:
    """Draw one line in colour over all the others, under its name."""
    for other in panel.lines:
        axes.plot(other.at, other.value, "-", color=_OTHERS, linewidth=1, zorder=0.5)
    if panel.limit is not None:
        axes.plot(*panel.limit[1:], ":", color=GREY, linewidth=1.8, zorder=1)
    draw_line(axes, line, COLOURS[0], "o")
    scale(axes, panel, log=log)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    name = "\n".join(textwrap.wrap(breakable(line.name), _LETTERS_ABOVE))
    axes.set_title(name, loc="left", fontsize=_SMALL, pad=3, linespacing=0.95)


_FEW = 7
"""Maximum named lines per panel; with more, each line gets a panel of its own."""
_LETTERS_BESIDE = 13
"""Maximum characters per line of a name beside the axes."""


def lines_plot(panels: Sequence[PlotPanel], title: str, across: str, *, log: bool = True) -> Figure:
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
    """Write each name beside the end of its line; move names apart if lines end together, but not out of the axes."""
    figure.canvas.draw()
    wrapped = [textwrap.wrap(breakable(name), _LETTERS_BESIDE) for name, _, _ in ends]
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
    """Return descending positions at least ``gap`` apart, moved down from 1 and then up from 0 as far as necessary."""
    moved: list[float] = []
    for place in places:
        moved.append(min(place, 1.0 if not moved else moved[-1] - gap))
    last = -np.inf
    for index in reversed(range(len(moved))):
        moved[index] = last = max(moved[index], last + gap, 0.0)
    return moved


_BAND = 1.96
"""Standard errors on either side of the mean: 95 %."""

_PARTS = ("asked", "step", "size", "users", "epsilon")
"""Columns whose combinations make separate lines, if rows differ in them."""

_LETTERS = {"size": "k = ", "users": "n = ", "epsilon": "ε = "}

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Curve:
    """A panel of a plot: the column that is drawn, and the rows to which it applies.

    The band is the mean ± 1.96 standard errors; what theory expects is dashed, if it is known. A linear axis shows
    shares, from 0 to 1.
    """

    name: str
    up: str
    log: bool = True
    takes: Callable[[Mapping[str, Any]], bool] = lambda _: True
    bounded: bool = True

    def panel(self, rows: Rows, across: str, parts: Sequence[str]) -> PlotPanel:
        """Return the panel of these rows."""
        some = [row for row in rows if self.takes(row)]

        def of_line(row: Mapping[str, Any]) -> tuple[Any, ...]:
            return tuple(row[part] for part in parts)

        ordered = sorted(some, key=lambda row: (of_line(row), row[across]))
        lines = [self._line(_named(parts, key), list(group), across) for key, group in groupby(ordered, key=of_line)]
        return PlotPanel(lines, self.up, log=self.log, limit=self._limit(some, across) if self.bounded else None)

    def _line(self, name: str, rows: Rows, across: str) -> PlotLine:
        values = [row[self.name] or 0.0 for row in rows]
        margins = [_BAND * (row.get(f"{self.name}_se") or 0.0) for row in rows]
        both = list(zip(values, margins, strict=True))
        low = [max(value - margin, value / 100 if self.log else 0.0) for value, margin in both]
        high = [value + margin if self.log else min(value + margin, 1.0) for value, margin in both]
        theory = [row.get(f"{self.name}_theory") for row in rows]
        return PlotLine(name, [row[across] for row in rows], values, low, high, theory)

    def _limit(self, rows: Rows, across: str) -> tuple[str, Sequence[float], Sequence[float]] | None:
        """Return the lower bound, if there is one and it is the same for all lines."""
        column = f"{self.name}_bound"
        least = sorted({(row[across], row[column]) for row in rows if row.get(column) is not None})
        at, heights = [place for place, _ in least], [bound for _, bound in least]
        return ("lower bound, unbiased", at, heights) if at and len(set(at)) == len(at) else None


def curves_plot(rows: Rows, curves: Sequence[Curve], title: str, axes: Mapping[str, str]) -> Figure:
    """Return a figure of curves against the first of ``axes`` (columns with their labels) in which rows differ."""
    across = next((name for name in axes if varies(rows, name)), "epsilon")
    parts = [name for name in _PARTS if name in rows[0] and name != across and varies(rows, name)] or ["asked"]
    panels = [curve.panel(rows, across, parts) for curve in curves]
    return lines_plot(panels, title, axes[across], log=across != "day")


def _named(parts: Sequence[str], values: Sequence[object]) -> str:
    """Return the name of a line, given its columns."""
    return ", ".join(
        f"{_LETTERS.get(part, '')}{f'{value:,}' if isinstance(value, int) else value}"
        for part, value in zip(parts, values, strict=True)
    )


def save(figure: Figure, path: Path) -> None:
    """Write a picture atomically, in the format that its name asks for; raise ParameterError if that fails."""
    if path.suffix not in FORMATS:
        raise ParameterError(str(path), f"not the name of a picture; it must end in {', '.join(FORMATS)}")
    picture = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # a script that the font lacks is drawn as boxes
        figure.savefig(picture, format=path.suffix[1:], dpi=200)
    write_bytes(path, picture.getvalue())


def figure_of(height: float, panels: int = 1) -> tuple[Figure, list[Axes]]:
    """Return an empty figure, 5.8 inches wide and ``height`` high, and its axes, one below the other."""
    figure = Figure(figsize=(5.8, height))
    FigureCanvasAgg(figure)
    rows = [figure.add_subplot(panels, 1, number + 1) for number in range(panels)]
    for axes in rows:
        axes.tick_params(labelsize=FONT)
        axes.xaxis.label.set_fontsize(FONT)
        axes.yaxis.label.set_fontsize(FONT)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    return figure, rows
