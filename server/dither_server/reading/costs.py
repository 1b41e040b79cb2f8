"""Predict the cost of an answer before it is computed, in values shown: writing one takes about 15 microseconds.

A value that is computed but not shown costs about a sixteenth of that. The numbers were measured. They need to be right
only to a factor of two or three, because they distinguish thousands of values from millions.
"""

from dither_serving.problems import Kind, Problem
from dither_shared import Metric
from dither_shared.counted import counted

from ..store import History
from .summaries import summary_of

_BLOCKS, _CELLS = 4, 12_000
"""Stored blocks, and cells of a stored chunk, that are read in the time that showing one value takes."""

_CHUNK = 65_536
"""Maximum cells of a chunk."""


def effort(metric: Metric) -> int:
    """Return the cost of one step of an answer, such as a day or a week, without the values that it shows."""
    return summary_of(metric).effort(metric)


def reading(metric: Metric, history: History) -> int:
    """Return the cost of reading the tallies of a metric version on the days of a history, each once."""
    cells = min(_CHUNK, metric.mechanism.cohorts * metric.mechanism.cells)
    return history.blocks // _BLOCKS + history.chunks * cells // _CELLS


def require_affordable(
    limit: int | None, metric: Metric, steps: int, shown: int, extra_rows: int = 0, reading: int = 0
) -> int:
    """Return the cost of an answer with this many ``steps`` (days or weeks), each of which shows ``shown`` values.

    Raises Problem if it is above ``limit``.

    ``extra_rows`` are those that each step has beside its values (``Summary.extra_rows``), and ``reading`` is the cost
    of reading the tallies of all steps.
    """
    fixed = effort(metric) + extra_rows
    cost = steps * (fixed + shown) + reading
    if limit is None or cost <= limit:
        return cost
    hint = "ask for fewer days, step=week for a trend, values= or top=50" if steps > 1 else "ask for top=50 or values="
    if steps * fixed + reading > limit:
        hint = "ask for fewer days, or step=week for a trend" if steps > 1 else summary_of(metric).cheaper
    size = f"{counted(shown, 'value')} in {counted(steps, 'step')} cost {cost:,}"
    raise Problem(Kind.TOO_COSTLY, f"{size}, and estimates_limit is {limit:,}; {hint}")
