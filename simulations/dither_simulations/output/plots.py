"""Draw estimates with the truth, and save pictures, in colours that colour-blind people can distinguish.

The colours are those of Okabe and Ito (2008).
"""

import io
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from dither_shared import ParameterError

from ..choices import FORMATS
from ..users.populations import Floats
from .tables import write_bytes

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
GREY = "#666666"
INK = "#222222"
"""The text colour of names, because some of the colours are too light for text."""
_BAR = "#C9C9C9"
FONT = 11.5
"""The font size in points, on a figure 5.8 inches wide: still 11 pixels high in a picture 400 pixels wide."""


@dataclass(frozen=True, eq=False)
class ComparedEstimates:
    """True values beside estimates of them; each column has one entry per label."""

    labels: tuple[str, ...]
    truth: Floats
    estimate: Floats
    low: Floats
    high: Floats

    @property
    def covered(self) -> NDArray[np.bool_]:
        """Whether each interval contains the truth."""
        return (self.low <= self.truth) & (self.truth <= self.high)

    def chosen(self, order: NDArray[np.intp]) -> "ComparedEstimates":
        """Return the rows of these indices, in their order."""
        labels = tuple(self.labels[index] for index in order)
        return ComparedEstimates(labels, self.truth[order], self.estimate[order], self.low[order], self.high[order])

    def times(self, factor: float) -> "ComparedEstimates":
        """Return all numbers times a factor: 100 makes percent of shares."""
        columns = (factor * column for column in (self.truth, self.estimate, self.low, self.high))
        return ComparedEstimates(self.labels, *columns)


def estimates_plot(rows: ComparedEstimates, title: str, unit: str, confidence: float = 0.95) -> Figure:
    """Return a figure with true values as bars and estimates as points with intervals; the first label is on top."""
    count = len(rows.labels)
    figure, (axes,) = figure_of(1.35 + 0.31 * count)
    height = figure.get_figheight()
    figure.subplots_adjust(left=0.36, right=0.95, top=1 - 0.72 / height, bottom=0.55 / height)
    places = np.arange(count)
    axes.barh(places, rows.truth, height=0.72, color=_BAR, zorder=1)
    axes.hlines(places, rows.low, rows.high, color=COLOURS[0], linewidth=2.2, zorder=2)
    axes.plot(rows.estimate, places, "o", color=COLOURS[0], markersize=6, markeredgecolor="white", zorder=3)
    axes.axvline(0, color=GREY, linewidth=0.8)
    axes.set_yticks(places, [_shortened(label) for label in rows.labels])
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_ylim(count - 0.4, -0.6)
    axes.set_xlabel(unit)
    figure.text(0.03, 1 - 0.24 / height, title, fontsize=FONT + 0.5, va="center", weight="bold")
    second = 1 - 0.5 / height
    figure.text(0.03, second, "bars: the truth", fontsize=FONT - 0.5, va="center", color=GREY)
    legend = f"points: the estimate, {confidence:.0%} interval"
    figure.text(0.36, second, legend, fontsize=FONT - 0.5, va="center", color=COLOURS[0])
    return figure


def save(figure: Figure, path: Path) -> None:
    """Write a picture atomically, in the format that its name asks for; raise ParameterError if that fails."""
    if path.suffix not in FORMATS:
        raise ParameterError(str(path), f"not a picture's name; it must end in {', '.join(FORMATS)}")
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


def _shortened(label: str, width: int = 24) -> str:
    text = label if len(label) <= width else label[: width - 1] + "…"
    return text.replace("$", r"\$")  # matplotlib reads a pair of $ as mathematics
