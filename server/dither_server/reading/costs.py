"""Predict the cost of an answer before it is computed, in values shown, each of about 15 microseconds to write.

A value that is computed and not shown costs about a sixteenth of that. The numbers were measured; they need only be
right to a factor of two or three, for they tell thousands of values from millions.
"""

from dither_serving.problems import Kind, Problem
from dither_shared import Metric
from dither_shared.counted import counted

from ..store import History
from .summaries import summary_of

__all__ = ["effort", "reading", "require_affordable"]

_BLOCKS, _CELLS = 4, 12_000
"""So many stored blocks, or cells of a stored chunk, are read in the time of a value shown."""

_CHUNK = 65_536
"""Cells of a chunk, at most."""


def effort(metric: Metric) -> int:
    """Return the cost of one step of an answer, a day or a week, of which no value is shown."""
    return summary_of(metric).effort(metric)


def reading(metric: Metric, history: History) -> int:
    """Return the cost of reading the tallies of a metric version on the days of a history, each once."""
    cells = min(_CHUNK, metric.mechanism.cohorts * metric.mechanism.cells)
    return history.blocks // _BLOCKS + history.chunks * cells // _CELLS


def require_affordable(
    limit: int | None, metric: Metric, steps: int, shown: int, extra: int = 0, reading: int = 0
) -> int:
    """Return the cost of an answer of so many days or weeks, each of so many values shown.

    Raises Problem if it is above ``limit``.

    ``extra`` are rows that each of them has however few values are shown (``Summary.extra_rows``), and ``reading`` is
    the cost of the tallies that are read for all of them.
    """
    fixed = effort(metric) + extra
    cost = steps * (fixed + shown) + reading
    if limit is None or cost <= limit:
        return cost
    hint = "ask for fewer days, step=week for a trend, values= or top=50" if steps > 1 else "ask for top=50 or values="
    if steps * fixed + reading > limit:
        hint = "ask for fewer days, or step=week for a trend" if steps > 1 else summary_of(metric).cheaper
    size = f"{counted(shown, 'value')} in {counted(steps, 'step')} cost {cost:,}"
    raise Problem(Kind.TOO_COSTLY, f"{size}, and estimates_limit is {limit:,}; {hint}")
