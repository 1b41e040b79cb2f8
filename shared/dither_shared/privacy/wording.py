"""What an epsilon means, in words."""

import math

from ..languages import ENGLISH, Language
from ..mechanism import Mechanism
from .composition import posterior_bounds

MEMOISATION = "Permanent draws hide which value a device has, not the moments at which it changes."
"""The sentence that must be shown with every permanent ε."""


def odds_sentence(mechanism: Mechanism, labels: tuple[str, str] | None = None, say: Language = ENGLISH) -> str:
    """Return a sentence on what one report reveals about a person.

    ``labels`` are the answer that is asked for and its opposite; without them the sentence speaks of "an answer".
    For a mechanism with permanent draws it says what any number of reports of one value may reveal.
    """
    forever = mechanism.permanent_epsilon
    in_the_end = "" if forever is None else in_a_hundred(posterior_bounds(forever)[1], say)
    if not mechanism.items.open:
        sentence = _support_sentence(mechanism, labels, say)
        return say("odds.lasting", sentence=sentence, most=in_the_end) if forever else sentence
    sentence = say("odds.open", most=in_a_hundred(posterior_bounds(mechanism.epsilon)[1], say))
    return say("odds.open.lasting", sentence=sentence, most=in_the_end) if forever else sentence


def numeric_odds_sentence(mechanism: Mechanism, say: Language = ENGLISH) -> str:
    """Return what one report of a number says, and how sure it can make anyone of anything about the number.

    If a cell is reported with one of two probabilities, the words state these; cells are then ranges of the number.
    """
    most = _certainty(mechanism, "certainty.number", say)
    if mechanism.delta:
        reports = say.number(f"{_digits_down(1 / float(mechanism.delta)):,.0f}")
        most = say("certainty.but", sentence=most, reports=reports)
    if mechanism.cohorts == 1:
        return say("number.odds.moved", most=most)
    truly, others = (in_a_hundred(float(share), say) for share in (mechanism.a, 1 - mechanism.a))
    other = say("number.odds.two" if mechanism.cells == 2 else "number.odds.many")
    ranges = {"cells": mechanism.cells, "moment": _moment(mechanism, say)}
    return say("number.odds", **ranges, truly=truly, others=others, other=other, most=most)


def set_odds_sentence(mechanism: Mechanism, say: Language = ENGLISH) -> str:
    """Return what one report of a set says about a value, and how sure it can make anyone of anything about the set."""
    sentence = f"{support_words(mechanism, say)}; {_certainty(mechanism, 'certainty.set', say)}"
    if mechanism.coverage == 1:
        return sentence
    spoken = int(mechanism.coverage * (mechanism.size or 0))
    moment = _moment(mechanism, say)
    return say("set.odds", spoken=spoken, size=mechanism.size or 0, moment=moment, sentence=sentence)


def support_words(mechanism: Mechanism, say: Language = ENGLISH) -> str:
    """Return how often a report names a value that is in a set, and how often one that is not."""
    truly, falsely = in_a_hundred(float(mechanism.p), say), in_a_hundred(float(mechanism.q), say)
    return say("set.support.part" if mechanism.coverage < 1 else "set.support", truly=truly, falsely=falsely)


def fit_words(mechanism: Mechanism, say: Language = ENGLISH) -> str:
    """Return how often a report fits the text of its sender, and how often another text."""
    truly, falsely = in_a_hundred(float(mechanism.p), say), in_a_hundred(float(mechanism.q), say)
    return say("string.fit", truly=truly, falsely=falsely)


def losses(mechanism: Mechanism) -> str:
    """Return in a few words the cost of reports of one value: for one report and, with a permanent part, for all."""
    if mechanism.permanent_epsilon is None:
        return f"ε = {mechanism.epsilon:.4g} for each report"
    after = mechanism.epsilon_after(10)
    return (
        f"ε = {mechanism.epsilon:.4g} for one report, {after:.4g} after 10, {mechanism.permanent_epsilon:.4g} for ever"
    )


def _support_sentence(mechanism: Mechanism, labels: tuple[str, str] | None, say: Language) -> str:
    often = {"truly": in_a_hundred(float(mechanism.p), say), "falsely": in_a_hundred(float(mechanism.q), say)}
    if mechanism.size == 2 and mechanism.cells == 2:
        yes, no = labels or (say("odds.yes"), say("odds.no"))
        return say("odds.two", yes=yes, no=no, **often)
    return say("odds.label", label=labels[0], **often) if labels else say("odds.any", **often)


def _moment(mechanism: Mechanism, say: Language) -> str:
    return say("moment.once" if mechanism.memoised else "moment.each")


def _certainty(mechanism: Mechanism, key: str, say: Language) -> str:
    """Return how much surer one report can make anyone of what ``key`` is about, and many reports of the same."""
    most = say(key, factor=_factor(mechanism.epsilon, say))
    if mechanism.permanent_epsilon is None:
        return most
    return say(f"{key}.lasting", sentence=most, factor=_factor(mechanism.permanent_epsilon, say))


def _factor(epsilon: float, say: Language) -> str:
    """Return e^ε to three digits, rounded up."""
    factor = math.exp(epsilon)
    digits = max(0, 2 - math.floor(math.log10(factor)))
    return say.number(f"{math.ceil(factor * 10**digits) / 10**digits:.{digits}f}")


def _digits_down(number: float) -> float:
    """Return a number above 1 with three digits, rounded down."""
    unit = 10.0 ** max(0, math.floor(math.log10(number)) - 2)
    return math.floor(number / unit) * unit


def in_a_hundred(probability: float, say: Language = ENGLISH) -> str:
    """Return 100 · ``probability`` with enough digits to distinguish it from 0 and 100."""
    hundredths = 100 * probability
    for digits in range(6):
        text = f"{hundredths:.{digits}f}"
        if 0 < float(text) < 100 and (digits > 0 or abs(float(text) - hundredths) <= 0.05 * hundredths):
            return say.number(text)
    return say.number(f"{hundredths:.6g}")
