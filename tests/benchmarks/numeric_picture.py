"""Draw the estimates of a number beside the truth: ``python -m tests.benchmarks.numeric_picture FILE.svg``.

50,000 made-up people with one report each at ε = 1, by the device's own randomizer from a fixed seed.
"""

import argparse
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from dither_server.reading.summaries.number_scale import Scale
from dither_simulations.plots import COLOURS, FONT, GREY, INK, figure_of, save

from .numeric_devices import MADE_UP, REPORTS, Column, estimated, metric_of

_EPSILON, _SEED = 1.0, 0
_NAMES = {"age": ("Age", "years"), "hours": ("Hours of work a week", "hours")}
_TRUTH, _CURVE, _MARKS = "#C9C9C9", COLOURS[0], COLOURS[1]


def draw(axes: Axes, name: str, column: Column) -> None:
    """Draw the share of people up to each number: the truth, the band of intervals, the curve, two quantiles."""
    metric = metric_of(column, _EPSILON)
    scale, found = Scale.of(metric), estimated(metric, column, REPORTS, _SEED)
    places = np.array([scale.at(max(cut - 0.5, 0)) for cut in range(scale.last + 1)] + [scale.high])
    low, high = found.cuts.drawn()
    axes.fill_between(places, 100 * low, 100 * high, color=COLOURS[5], alpha=0.45, linewidth=0)
    axes.step(
        [column.low, *column.numbers, column.high],
        100 * np.append(np.concatenate([[0.0], np.cumsum(column.shares)]), 1),
        where="post",
        color=INK,
        linewidth=1.4,
        linestyle=(0, (4, 2)),
    )
    axes.plot(places, 100 * np.concatenate([[0.0], np.cumsum(found.fit.curve)]), color=_CURVE, linewidth=1.8)
    for one in found.quantiles((0.5, 0.95)):
        quantile = scale.quantile(one, found.reports)
        axes.hlines(100 * one.share, quantile["low"], quantile["high"], color=_MARKS, linewidth=3, zorder=4)
        axes.plot(
            [quantile["value"]], [100 * one.share], "o", color=_MARKS, markersize=7, markeredgecolor="white", zorder=5
        )
        axes.annotate(
            f"p{100 * one.share:g}", (quantile["low"], 100 * one.share), (-5, 0), textcoords="offset points",
            ha="right", va="center", fontsize=FONT - 0.5, color=_MARKS, weight="bold",
        )  # fmt: skip
    title, unit = _NAMES[name]
    axes.set_xlim(column.low, column.high)
    axes.set_ylim(-2, 103)
    axes.set_yticks([0, 50, 100])
    axes.set_ylabel("% of people up to it", fontsize=FONT - 1)
    axes.set_xlabel(f"{title}, {unit}")


def main() -> None:
    """Write the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("picture", type=Path)
    figure, panels = figure_of(6.4, len(MADE_UP))
    figure.subplots_adjust(left=0.13, right=0.96, top=0.86, bottom=0.09, hspace=0.36)
    for axes, (name, column) in zip(panels, MADE_UP.items(), strict=True):
        draw(axes, name, column)
    words = {
        "the truth (dashed)": (0.03, INK),
        "the curve": (0.31, _CURVE),
        "95% intervals of shares": (0.46, "#2F7FB0"),
        "of p50, p95": (0.79, _MARKS),
    }
    figure.text(0.03, 0.965, f"{REPORTS:,} reports at ε = {_EPSILON:g}", fontsize=FONT + 0.5, weight="bold", color=INK)
    for text, (x, colour) in words.items():
        figure.text(x, 0.915, text, fontsize=FONT - 1.5, color=colour)
    figure.text(0.5, 0.965, "people are made up", fontsize=FONT - 1.5, color=GREY)
    save(figure, parser.parse_args().picture)


if __name__ == "__main__":
    main()
