"""The meaning of an epsilon, in numbers and in words."""

import math
from fractions import Fraction

import pytest

from dither_shared import ParameterError, RandomizedResponse, Rappor
from dither_shared.privacy.composition import group, parallel, posterior_bounds, sequential
from dither_shared.privacy.wording import MEMOISATION, losses, odds_sentence


def test_composition_adds_up_and_never_rounds_down() -> None:
    tenths = [0.1] * 10
    assert Fraction(sequential(tenths)) >= sum(map(Fraction, tenths))
    assert sequential(tenths) == pytest.approx(1.0)
    assert sequential([]) == 0
    assert (group(0, 4), group(0.5, 1), group(0.5, 4)) == (0, 0.5, 2)
    assert Fraction(group(0.1, 3)) >= 3 * Fraction(0.1)


def test_composition_of_a_survey_is_its_most_expensive_question() -> None:
    assert parallel([0.5, 2.0, 1.0]) == 2
    assert parallel([]) == 0
    assert Fraction(parallel([Fraction(1, 3), Fraction(1, 10)])) >= Fraction(1, 3)


def test_the_posterior_of_any_prior_is_attained_by_randomized_response() -> None:
    """Bayes' rule on Warner's survey gives the bounds, whatever the prior."""
    truth = 0.75
    for prior in (0.0, 0.01, 0.3, 1.0):
        yes = prior * truth + (1 - prior) * (1 - truth)
        no = 1 - yes
        low, high = posterior_bounds(math.log(3), prior)
        assert high == pytest.approx(prior * truth / yes)
        assert low == pytest.approx(prior * (1 - truth) / no)
    for prior, bounds in ((0.0, (0.0, 0.0)), (0.5, (0.0, 1.0)), (1.0, (1.0, 1.0))):
        assert posterior_bounds(1_000.0, prior) == bounds, "for so large a loss e^-ε is 0"


def test_odds_of_each_mechanism_in_words() -> None:
    survey = RandomizedResponse(size=2, truth=Fraction(3, 4))
    assert odds_sentence(survey) == "if your answer is yes, we see yes 75 times in 100; if it is no, 25 times"
    choice = odds_sentence(RandomizedResponse.calibrate(16, 1.0), ("Firefox", "another"))
    assert choice == "if your answer is Firefox, we see it 15 times in 100; if it is another, 5.6 times"
    sentence = odds_sentence(Rappor(permanent_f=Fraction(1, 2), instant_p=Fraction(1, 2), instant_q=Fraction(3, 4)))
    assert "at most 75 in 100 sure after one report" in sentence
    assert "99 in 100 after any number" in sentence
    memoised = RandomizedResponse.calibrate(16, 1.0, 2.0)
    assert odds_sentence(memoised, ("Firefox", "another")).startswith(choice)
    assert odds_sentence(memoised).endswith("at most 88 in 100 sure after any number of reports")


def test_loss_of_one_report_and_of_many_in_words() -> None:
    assert losses(RandomizedResponse.calibrate(16, 1.0)) == "ε = 1 for each report"
    memoised = RandomizedResponse.calibrate(16, 1.0, 8.0)
    assert losses(memoised) == "ε = 1 for one report, 7.877 after 10, 8 for ever"
    assert "not the moments" in MEMOISATION


@pytest.mark.parametrize("epsilon", [-1.0, math.inf, math.nan])
def test_impossible_losses_are_refused(epsilon: float) -> None:
    for use in (
        lambda: sequential([epsilon]),
        lambda: parallel([epsilon]),
        lambda: group(epsilon, 2),
        lambda: posterior_bounds(epsilon),
    ):
        with pytest.raises(ParameterError, match="epsilon"):
            use()
    with pytest.raises(ParameterError, match="prior"):
        posterior_bounds(1.0, 2.0)
    with pytest.raises(ParameterError, match="people"):
        group(1.0, 0)
