"""Kinds of question: what may be answered, and which item an answer becomes.

``mechanisms`` says how an item is perturbed.
"""

from .cross import CrossQuestion
from .discovery import DiscoveryQuestion
from .listed import BooleanQuestion, ChoiceQuestion
from .number import NumberQuestion
from .question import Question
from .selection import SelectionQuestion
from .string import StringQuestion

QUESTIONS: dict[str, type[Question]] = {
    kind.kind: kind
    for kind in (
        BooleanQuestion,
        ChoiceQuestion,
        CrossQuestion,
        NumberQuestion,
        SelectionQuestion,
        StringQuestion,
        DiscoveryQuestion,
    )
}
"""Every kind of question, by the ``type`` of a definition."""
