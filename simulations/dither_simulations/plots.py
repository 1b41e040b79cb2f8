"""Pictures, in the colours of Okabe and Ito (2008), which the colour-blind tell apart; lines carry their own names."""

import io
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter
from numpy.typing import NDArray

from dither_shared import ParameterError

from .experiments import Row
from .files import write_bytes
from .populations import Floats

__all__ = ["FORMATS", "Shares", "error_plot", "save", "shares_plot"]

FORMATS = (".png", ".svg", ".pdf")

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKERS = "os^Dv<>PXhd"
_FEW = 7
"""More lines than this take a taller figure and smaller names; each then has its marker beside its name."""
_GREY = "#666666"
_BAR = "#C9C9C9"
_FONT = 11.5
"""Points, on a figure 5.8 inches wide: still 11 pixels high where the picture is shown 400 pixels wide."""


@dataclass(frozen=True, eq=False)
class Shares:
    """True shares beside estimated ones, an entry a label in every column."""

    labels: tuple[str, ...]
    truth: Floats
    estimate: Floats
    low: Floats
    high: Floats

    def chosen(self, order: NDArray[np.intp]) -> "Shares":
        """Return the rows of these indices, in their order."""
        labels = tuple(self.labels[index] for index in order)
        return Shares(labels, self.truth[order], self.estimate[order], self.low[order], self.high[order])


def error_plot(rows: Sequence[Row]) -> Figure:
    """Return the mean squared error against ε, both on logarithmic axes: measured points, theory dashed."""
    lines = [list(group) for _, group in groupby(sorted(rows, key=_by_line), key=lambda row: row.asked)]
    figure, axes = _canvas(4.2 if len(lines) <= _FEW else 1.2 + 0.38 * len(lines))
    figure.subplots_adjust(left=0.14, right=0.745, top=0.86, bottom=0.14)
    ends = [(line[0].asked, _error_line(axes, line, number), number) for number, line in enumerate(lines)]
    axes.set_xscale("log")
    axes.set_yscale("log")
    _plain_epsilons(axes, sorted({row.epsilon for row in rows}))
    axes.set_xlabel("ε of one report")
    axes.set_title(_error_title(rows[0]), loc="left", fontsize=_FONT)
    axes.set_ylabel("mean squared error of a share")
    axes.grid(visible=True, which="major", color="#E5E5E5", linewidth=0.8)
    _name_lines(figure, axes, ends)
    return figure


def shares_plot(shares: Shares, title: str, confidence: float = 0.95) -> Figure:
    """Return true shares as bars and estimates as points with their intervals, a row a label, the first on top."""
    count = len(shares.labels)
    figure, axes = _canvas(1.35 + 0.31 * count)
    height = figure.get_figheight()
    figure.subplots_adjust(left=0.36, right=0.95, top=1 - 0.72 / height, bottom=0.55 / height)
    rows = np.arange(count)
    percent = 100 * np.array([shares.truth, shares.estimate, shares.low, shares.high])
    axes.barh(rows, percent[0], height=0.72, color=_BAR, zorder=1)
    axes.hlines(rows, percent[2], percent[3], color=_COLOURS[0], linewidth=2.2, zorder=2)
    axes.plot(percent[1], rows, "o", color=_COLOURS[0], markersize=6, markeredgecolor="white", zorder=3)
    axes.axvline(0, color=_GREY, linewidth=0.8)
    axes.set_yticks(rows, [_shortened(label) for label in shares.labels])
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_ylim(count - 0.4, -0.6)
    axes.set_xlabel("% of all users")
    figure.text(0.03, 1 - 0.24 / height, title, fontsize=_FONT + 0.5, va="center", weight="bold")
    second = 1 - 0.5 / height
    figure.text(0.03, second, "bars: the truth", fontsize=_FONT - 0.5, va="center", color=_GREY)
    legend = f"points: the estimate, {confidence:.0%} interval"
    figure.text(0.36, second, legend, fontsize=_FONT - 0.5, va="center", color=_COLOURS[0])
    return figure


def save(figure: Figure, path: Path) -> None:
    """Write a picture, whole, in the format that its name asks for; raises ParameterError if it cannot be."""
    if path.suffix not in FORMATS:
        raise ParameterError(str(path), f"not a picture's name; it must end in {', '.join(FORMATS)}")
    picture = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # a script that the font lacks is drawn as boxes
        figure.savefig(picture, format=path.suffix[1:], dpi=200)
    write_bytes(path, picture.getvalue())


def _canvas(height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(5.8, height))
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.tick_params(labelsize=_FONT)
    axes.xaxis.label.set_fontsize(_FONT)
    axes.yaxis.label.set_fontsize(_FONT)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure, axes


def _error_line(axes: Axes, rows: list[Row], number: int) -> float:
    """Draw one family and return the height at which its line ends."""
    colour, marker = _look(number)
    epsilons = [row.epsilon for row in rows]
    axes.plot(epsilons, [row.mse_theory for row in rows], "--", color=colour, linewidth=1.4, zorder=2)
    axes.errorbar(
        epsilons,
        [row.mse for row in rows],
        yerr=[row.mse_se or 0.0 for row in rows],
        fmt=marker,
        color=colour,
        markersize=6,
        markeredgecolor="white",
        markeredgewidth=0.7,
        elinewidth=1.8,
        zorder=3,
    )
    return rows[-1].mse_theory


def _error_title(row: Row) -> str:
    return (
        f"{row.users:,} users, {row.size:,} values ({row.distribution})\n"
        f"points: mean of {row.repeats} ± standard error; dashed: theory"
    )


def _plain_epsilons(axes: Axes, epsilons: list[float]) -> None:
    """Write ε as people write it: those that were tried, or, where these are many, the powers of two among them."""
    doubled = [2.0**power for power in range(-20, 6) if epsilons[0] <= 2.0**power <= epsilons[-1]]
    axes.set_xticks(epsilons if len(epsilons) <= 6 else doubled)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda epsilon, _: f"{epsilon:.3g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(axis="x", which="minor", bottom=False)


def _name_lines(figure: Figure, axes: Axes, ends: list[tuple[str, float, int]]) -> None:
    """Write each name beside the end of its line, moved apart where lines end together, but not out of the axes."""
    figure.canvas.draw()
    font = _FONT if len(ends) <= _FEW else 0.85 * _FONT
    gap = 2.3 * font / 72 * figure.dpi / axes.bbox.height
    ordered = sorted(ends, key=lambda entry: -entry[1])
    at = [axes.transAxes.inverted().transform(axes.transData.transform((1.0, end)))[1] for _, end, _ in ordered]
    places = _apart(at, gap)
    for (name, _, number), end, place in zip(ordered, at, places, strict=True):
        colour, marker = _look(number)
        axes.plot([1.005, 1.05], [end, place], "-", color=colour, linewidth=0.8, **_beside(axes))
        axes.plot([1.05], [place], marker, color=colour, markersize=5, **_beside(axes))
        axes.text(
            1.085,
            place,
            _in_two(name),
            color=colour,
            transform=axes.transAxes,
            va="center",
            fontsize=font,
            linespacing=0.95,
        )


def _beside(axes: Axes) -> dict[str, Any]:
    """Return how to draw beside the axes rather than in them."""
    return {"transform": axes.transAxes, "clip_on": False, "scalex": False, "scaley": False}


def _apart(places: Sequence[float], gap: float) -> list[float]:
    """Return descending places at least ``gap`` apart, moved down from 1 and then up from 0 as far as they must."""
    moved: list[float] = []
    for place in places:
        moved.append(min(place, 1.0 if not moved else moved[-1] - gap))
    last = -np.inf
    for index in reversed(range(len(moved))):
        moved[index] = last = max(moved[index], last + gap, 0.0)
    return moved


def _by_line(row: Row) -> tuple[str, float]:
    return row.asked, row.epsilon


def _look(number: int) -> tuple[str, str]:
    """Return the colour and the marker of a line; no two of the first 77 share both."""
    return _COLOURS[number % len(_COLOURS)], _MARKERS[number % len(_MARKERS)]


def _in_two(name: str) -> str:
    """Return a name in two lines, broken at the hyphen that makes the longer one shortest."""
    breaks = [(name[:at], name[at + 1 :]) for at, letter in enumerate(name) if letter == "-"]
    return "\n".join(min(breaks, key=lambda parts: max(map(len, parts)))) if breaks else name


def _shortened(label: str, width: int = 24) -> str:
    text = label if len(label) <= width else label[: width - 1] + "…"
    return text.replace("$", r"\$")  # a pair of which would be read as mathematics
