"""What an estimate of each kind of question is, and how it is compared, exported and shown: one module per kind.

Reading from the database is in ``reading``; the numbers come from ``estimation`` and ``analysis``.
"""

from dither_shared import QUESTIONS, Metric
from dither_shared.mechanism import LISTED, NUMBERS, SETS, SPELLED, STRINGS, Items

from .crossings import Crossings
from .discoveries import Discoveries
from .numbers import Numbers
from .selections import Selections
from .shares import Shares
from .summary import Summary

_SHARES = Shares()
_OF_ITEMS: dict[Items, Summary] = {
    LISTED: _SHARES,
    STRINGS: _SHARES,
    SETS: Selections(),
    SPELLED: Discoveries(),
    NUMBERS: Numbers(),
}

SUMMARIES: dict[str, Summary] = {
    **{kind: _OF_ITEMS[question.items] for kind, question in QUESTIONS.items()},
    "cross": Crossings(),
}
"""By the kind of question: that of its items, unless the kind has one of its own."""


def summary_of(metric: Metric) -> Summary:
    """Return what an estimate of a metric is."""
    return SUMMARIES[metric.question.kind]
