"""What pictures of lines are made of: measured points with their interval as a band, theory dashed, plain numbers."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

from .plots import COLOURS

__all__ = ["Line", "Panel", "breakable", "draw_line", "look_of", "scale"]

_MARKERS = "os^Dv<>PXhd"
_GRID = "#E5E5E5"


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


def scale(axes: Axes, panel: Panel, *, log: bool) -> None:
    """Give axes their scales, the numbers along them, and a grid; ``log`` is of the horizontal one."""
    axes.set_xscale("log" if log else "linear")
    axes.set_yscale("log" if panel.log else "linear")
    _plain_numbers(axes, sorted({at for line in panel.lines for at in line.at}), log)
    _few_powers(axes, panel.log)
    axes.grid(visible=True, which="major", color=_GRID, linewidth=0.8)


def draw_line(axes: Axes, line: Line, colour: str, marker: str) -> float:
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
    """Write numbers as people write them: those that were tried or, where these are many, powers of two or ten."""
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


def look_of(number: int) -> tuple[str, str]:
    """Return the colour and the marker of a line; no two of the first 77 share both."""
    return COLOURS[number % len(COLOURS)], _MARKERS[number % len(_MARKERS)]


def breakable(name: str) -> str:
    """Return a name whose hyphens are spaces, at which it may be broken."""
    return name.replace("-", " ")
