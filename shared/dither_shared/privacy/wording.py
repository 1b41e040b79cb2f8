"""What an epsilon means, in words."""

import math

from ..mechanism import Mechanism
from .composition import posterior_bounds

MEMOISATION = "Permanent draws hide which value a device has, not the moments at which it changes."
"""The sentence that must be shown with every permanent ε."""


def odds_sentence(mechanism: Mechanism, labels: tuple[str, str] | None = None) -> str:
    """Return a sentence on what one report reveals about a person.

    ``labels`` are the answer that is asked for and its opposite; without them the sentence speaks of "an answer".
    For a mechanism with permanent draws it says what any number of reports of one value may reveal.
    """
    forever = mechanism.permanent_epsilon
    in_the_end = "" if forever is None else in_a_hundred(posterior_bounds(forever)[1])
    if not mechanism.items.open:
        sentence = _support_sentence(mechanism, labels)
        doubt = "somebody who thought two answers equally likely is at most"
        return f"{sentence}; {doubt} {in_the_end} in 100 sure after any number of reports" if forever else sentence
    once = in_a_hundred(posterior_bounds(mechanism.epsilon)[1])
    sentence = f"somebody who thought two answers equally likely is at most {once} in 100 sure after one report"
    return f"{sentence}, and {in_the_end} in 100 after any number of them" if forever else sentence


def numeric_odds_sentence(mechanism: Mechanism) -> str:
    """Return what one report of a number says, and how sure it can make anyone of anything about the number.

    If a cell is reported with one of two probabilities, the words state these; cells are then ranges of the number.
    """
    most = _certainty(mechanism, "your number", "one range")
    if mechanism.delta:
        most += f", but for one report in {_digits_down(1 / float(mechanism.delta)):,.0f}"
    if mechanism.cohorts == 1:
        return f"your number is moved at random before it is reported; {most}"
    truly, others = (in_a_hundred(float(share)) for share in (mechanism.a, 1 - mechanism.a))
    other = "the other one" if mechanism.cells == 2 else "one of the others"
    moment = "once for this device" if mechanism.memoised else "for each report"
    ranges = f"your number is put into one of {mechanism.cells} ranges whose borders are chosen at random {moment}"
    return f"{ranges}; in {truly} of 100 cases the report names that range, in {others} {other}; {most}"


def set_odds_sentence(mechanism: Mechanism) -> str:
    """Return what one report of a set says about a value, and how sure it can make anyone of anything about the set."""
    most = _certainty(mechanism, "all your values together", "the same values")
    sentence = f"{support_words(mechanism)}; {most}"
    if mechanism.coverage == 1:
        return sentence
    moment = "once for this device" if mechanism.memoised else "for each report"
    spoken = int(mechanism.coverage * (mechanism.size or 0))
    return f"a report covers {spoken} of the {mechanism.size} values, chosen at random {moment}; {sentence}"


def support_words(mechanism: Mechanism) -> str:
    """Return how often a report names a value that is in a set, and how often one that is not."""
    truly, falsely = in_a_hundred(float(mechanism.p)), in_a_hundred(float(mechanism.q))
    whose = "of these, " if mechanism.coverage < 1 else ""
    return f"{whose}a value of yours is named {truly} times in 100, one that is not yours {falsely} times"


def fit_words(mechanism: Mechanism) -> str:
    """Return how often a report fits the text of its sender, and how often another text."""
    truly, falsely = in_a_hundred(float(mechanism.p)), in_a_hundred(float(mechanism.q))
    return f"a report fits your text {truly} times in 100, any other text {falsely} times"


def losses(mechanism: Mechanism) -> str:
    """Return in a few words the cost of reports of one value: for one report and, with a permanent part, for all."""
    if mechanism.permanent_epsilon is None:
        return f"ε = {mechanism.epsilon:.4g} for each report"
    after = mechanism.epsilon_after(10)
    return (
        f"ε = {mechanism.epsilon:.4g} for one report, {after:.4g} after 10, {mechanism.permanent_epsilon:.4g} for ever"
    )


def _support_sentence(mechanism: Mechanism, labels: tuple[str, str] | None) -> str:
    truly, falsely = in_a_hundred(float(mechanism.p)), in_a_hundred(float(mechanism.q))
    if mechanism.size == 2 and mechanism.cells == 2:
        yes, no = labels or ("yes", "no")
        return f"if your answer is {yes}, we see {yes} {truly} times in 100; if it is {no}, {falsely} times"
    answer = f"your answer is {labels[0]}, we see it" if labels else "an answer is yours, we see it"
    return f"if {answer} {truly} times in 100; if it is another, {falsely} times"


def _certainty(mechanism: Mechanism, what: str, same: str) -> str:
    """Return how much surer of anything about ``what`` one report can make anyone, and many reports of ``same``."""
    most = f"anybody who sees it can become at most {_factor(mechanism.epsilon)} times as sure of anything about {what}"
    if mechanism.permanent_epsilon is None:
        return most
    return f"{most}, and {_factor(mechanism.permanent_epsilon)} times after any number of reports of {same}"


def _factor(epsilon: float) -> str:
    """Return e^ε to three digits, rounded up."""
    factor = math.exp(epsilon)
    digits = max(0, 2 - math.floor(math.log10(factor)))
    return f"{math.ceil(factor * 10**digits) / 10**digits:.{digits}f}"


def _digits_down(number: float) -> float:
    """Return a number above 1 with three digits, rounded down."""
    unit = 10.0 ** max(0, math.floor(math.log10(number)) - 2)
    return math.floor(number / unit) * unit


def in_a_hundred(probability: float) -> str:
    """Return 100 · ``probability`` with enough digits to distinguish it from 0 and 100."""
    hundredths = 100 * probability
    for digits in range(6):
        text = f"{hundredths:.{digits}f}"
        if 0 < float(text) < 100 and (digits > 0 or abs(float(text) - hundredths) <= 0.05 * hundredths):
            return text
    return f"{hundredths:.6g}"
