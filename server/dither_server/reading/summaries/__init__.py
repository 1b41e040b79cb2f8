"""How the answers to each kind of question are estimated, compared, exported and shown: one module per kind.

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
"""The summary of each kind of question. Most kinds share the summary of their kind of items."""


def summary_of(metric: Metric) -> Summary:
    """Return the summary for the metric's kind of question."""
    return SUMMARIES[metric.question.kind]
