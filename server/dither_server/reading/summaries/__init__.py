"""What an estimate of each kind of question is, and how it is compared, exported and shown: one module per kind.

Reading from the database is in ``reading``; the numbers come from ``estimation`` and ``analysis``.
"""

from typing import Any

from dither_shared import Metric

from .crossings import Crossings
from .discoveries import Discoveries
from .numbers import Numbers
from .selections import Selections
from .shares import Shares
from .summary import Summary

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
