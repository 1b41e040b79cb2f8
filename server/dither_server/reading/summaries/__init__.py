"""What an estimate of each kind of question is, and how it is compared, exported and shown. One folder a kind.

Reading from the database is in ``reading``; the numbers come from ``estimation`` and ``analysis``.
"""

from typing import Any

from dither_shared import Metric

from .crossings.summary import Crossings
from .discoveries.summary import Discoveries
from .numbers.summary import Numbers
from .selections.summary import Selections
from .shares.summary import Shares
from .summary import Summary

__all__ = ["SUMMARIES", "summary_of"]

_SHARES = Shares()

SUMMARIES: dict[str, Summary[Any]] = {
    "boolean": _SHARES,
    "choice": _SHARES,
    "cross": Crossings(),
    "discovery": Discoveries(),
    "number": Numbers(),
    "selection": Selections(),
    "string": _SHARES,
}
"""By the kind of question."""


def summary_of(metric: Metric) -> Summary[Any]:
    """Return what an estimate of a metric is."""
    return SUMMARIES[metric.question.kind]
