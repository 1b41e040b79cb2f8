"""Draw lines: measured points with their interval as a band, theory dashed, names at the ends of the lines."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

from .plots import COLOURS, FONT, GREY, figure_of

__all__ = ["Line", "Panel", "lines_plot"]

_MARKERS = "os^Dv<>PXhd"
_FEW = 7
"""More lines than this take a taller figure and smaller names."""
_LETTERS = (13, 15)
"""Letters of a name in one line, beside the axes: where names are few, and where they are small."""


@dataclass(frozen=True)
class Line:
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
class Panel:
    """Lines that share axes; ``limit`` is a dotted line with a name, its points and their heights."""

    lines: Sequence[Line]
    up: str
    log: bool = True
    limit: tuple[str, Sequence[float], Sequence[float]] | None = None

    @property
    def names(self) -> int:
        """How many lines have a name."""
        return len(self.lines) + (self.limit is not None)


def lines_plot(panels: Sequence[Panel], title: str, across: str, *, log: bool = True) -> Figure:
    """Return a figure of panels, one below the other, on one horizontal axis, which is logarithmic with ``log``."""
    most = max(panel.names for panel in panels)
    each = (4.2 if most <= _FEW else 1.2 + 0.38 * most) if len(panels) == 1 else max(2.6, 0.7 + 0.44 * most)
    figure, rows = figure_of(each * len(panels), len(panels))
    height = figure.get_figheight()
    figure.subplots_adjust(left=0.155, right=0.735, top=1 - 0.59 / height, bottom=0.59 / height, hspace=0.12)
    for axes, panel in zip(rows, panels, strict=True):
        names = [(line.name, _draw(axes, line, number), _look(number)) for number, line in enumerate(panel.lines)]
        if panel.limit is not None:
            name, at, heights = panel.limit
            axes.plot(at, heights, ":", color=GREY, linewidth=1.8, zorder=1)
            names.append((name, heights[-1], (GREY, "")))
        axes.set_xscale("log" if log else "linear")
        axes.set_yscale("log" if panel.log else "linear")
        _plain_numbers(axes, sorted({at for line in panel.lines for at in line.at}), log)
        _few_powers(axes, panel.log)
        axes.set_ylabel(panel.up)
        axes.grid(visible=True, which="major", color="#E5E5E5", linewidth=0.8)
        axes.tick_params(axis="x", labelbottom=axes is rows[-1])
        _name_lines(figure, axes, names)
    rows[-1].set_xlabel(across)
    rows[0].set_title(title, loc="left", fontsize=FONT)
    return figure


def _draw(axes: Axes, line: Line, number: int) -> float:
    """Draw a line and return the height at which it ends."""
    colour, marker = _look(number)
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
    """Label an axis with plain numbers: those that were tried or, where these are many, powers of two or ten."""
    if log:
        base = 2 if tried[-1] < 100 * tried[0] else 10
        powers = [float(base) ** power for power in range(-20, 51)]
        axes.set_xticks(tried if len(tried) <= 6 else [at for at in powers if tried[0] <= at <= tried[-1]])
        axes.xaxis.set_minor_locator(NullLocator())
    elif all(at == int(at) for at in tried):
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda at, _: _plain(at)))


def _few_powers(axes: Axes, log: bool) -> None:
    """Name the powers of ten and, where an axis spans but one or two, 2 and 5 times these."""
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


def _name_lines(figure: Figure, axes: Axes, ends: list[tuple[str, float, tuple[str, str]]]) -> None:
    """Write each name beside the end of its line, moved apart where lines end together, but not out of the axes."""
    figure.canvas.draw()
    many = len(ends) > _FEW
    font = 0.85 * FONT if many else FONT
    wrapped = [textwrap.wrap(_breakable(name), _LETTERS[many]) for name, _, _ in ends]
    gap = (0.2 + 1.05 * max(map(len, wrapped))) * font / 72 * figure.dpi / axes.bbox.height
    ordered = sorted(zip(ends, wrapped, strict=True), key=lambda entry: -entry[0][1])
    at = [axes.transAxes.inverted().transform(axes.transData.transform((1.0, end)))[1] for (_, end, _), _ in ordered]
    for ((_, _, (colour, marker)), lines), end, place in zip(ordered, at, _apart(at, gap), strict=True):
        beside: dict[str, Any] = {"transform": axes.transAxes, "clip_on": False, "scalex": False, "scaley": False}
        axes.plot([1.005, 1.05], [end, place], "-", color=colour, linewidth=0.8, **beside)
        if marker:
            axes.plot([1.05], [place], marker, color=colour, markersize=5, **beside)
        where: dict[str, Any] = {"transform": axes.transAxes, "va": "center", "linespacing": 0.95}
        axes.text(1.085, place, "\n".join(lines), color=colour, fontsize=font, **where)


def _breakable(name: str) -> str:
    """Return a name whose hyphens are spaces, at which it may be broken."""
    return name.replace("-", " ")


def _apart(places: Sequence[float], gap: float) -> list[float]:
    """Return descending places at least ``gap`` apart, moved down from 1 and then up from 0 as far as they must."""
    moved: list[float] = []
    for place in places:
        moved.append(min(place, 1.0 if not moved else moved[-1] - gap))
    last = -np.inf
    for index in reversed(range(len(moved))):
        moved[index] = last = max(moved[index], last + gap, 0.0)
    return moved


def _look(number: int) -> tuple[str, str]:
    """Return the colour and the marker of a line; no two of the first 77 share both."""
    return COLOURS[number % len(COLOURS)], _MARKERS[number % len(_MARKERS)]
