"""Pictures of lines: every line can be distinguished from the others, however many there are."""

from itertools import combinations

import pytest
from matplotlib.axis import Axis
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from dither_shared import MECHANISMS
from dither_simulations.plots import COLOURS, PlotLine, PlotPanel, lines_plot

AT = [0.25, 0.5, 1.0, 2.0, 4.0]


def panel(count: int) -> PlotPanel:
    """Lines that end close together, as mechanisms do."""
    lines = []
    for number, name in enumerate(list(MECHANISMS)[:count]):
        value = [(1 + number / 50) / at**2 for at in AT]
        lines.append(PlotLine(name, AT, value, value, value, value))
    return PlotPanel(lines, "error", limit=("lower bound, unbiased", AT, [0.9 / at**2 for at in AT]))


def tick_labels(axis: Axis) -> list[Text]:
    """The labels of an axis that are drawn: those of ticks in view."""
    low, high = sorted(axis.get_view_interval())
    return [tick.label1 for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()) if low <= tick.get_loc() <= high]


def texts(figure: Figure) -> list[tuple[str, Bbox]]:
    """Every text that is drawn, and where."""
    figure.canvas.draw()
    inside = [part for axes in figure.axes for part in axes.get_children() if isinstance(part, Text)]  # titles, too
    ticks = [label for axes in figure.axes for axis in (axes.xaxis, axes.yaxis) for label in tick_labels(axis)]
    found = [*figure.texts, *inside, *ticks]
    return [(path.get_text(), path.get_window_extent()) for path in found if path.get_text() and path.get_visible()]


@pytest.mark.parametrize("count", [6, 7])
def test_no_two_texts_touch_and_none_is_cut_off(count: int) -> None:
    """Up to six lines share a panel, and seven have a panel each."""
    figure = lines_plot([panel(count)], "a title\nof two lines", "ε of one report")
    drawn = texts(figure)
    named = " ".join(text for text, _ in drawn).replace("\n", " ")
    assert all(name.replace("-", " ") in named for name in list(MECHANISMS)[:count])
    assert "lower bound" in named
    for text, box in drawn:
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1, text
        assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1, text
    for (one, box), (other, beside) in combinations(drawn, 2):
        # Boxes are 1 pixel smaller, because ascenders and descenders of neighbouring lines do not meet.
        assert not box.padded(-1).overlaps(beside.padded(-1)), (one, other)


def test_each_of_many_lines_has_a_panel_in_which_only_it_is_coloured() -> None:
    figure = lines_plot([panel(9)], "", "ε")
    assert len(figure.axes) == 9
    for axes in figure.axes:
        coloured = [line for line in axes.lines if to_hex(line.get_color()).upper() in COLOURS]
        assert len(coloured) == 2  # the measured values, and theory
        assert axes.get_ylim() == figure.axes[0].get_ylim()
