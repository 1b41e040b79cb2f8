"""Why "random sampling plus fake data" is not offered: what it tells of a person exceeds the epsilon that it declares.

RS+FD (Arcolezi, Couchot, Al Bouna and Xiao, CIKM 2021) asks one attribute of M, drawn in secret, of which each device
reports the answer with a larger ε' = ln(M (e^ε - 1) + 1), and makes up uniform answers to the others. The secret draw
is to bring ε' down to ε, and does so for two people who differ in one attribute. Of two who differ in all of them
every attribute may be the one that was asked, and the loss is ε' again. Enumerated with exact fractions.
"""

import math
from fractions import Fraction
from itertools import product

import pytest


def law(tuple_: tuple[int, ...], size: int, amplified: Fraction) -> dict[tuple[int, ...], Fraction]:
    """Return P[report] of a person with these answers, where e^ε' is ``amplified``: fake answers are uniform."""
    attributes = len(tuple_)
    truth = amplified / (amplified + size - 1)
    found = dict.fromkeys(product(range(size), repeat=attributes), Fraction(0))
    for report in found:
        for asked in range(attributes):
            said = truth if report[asked] == tuple_[asked] else (1 - truth) / (size - 1)
            found[report] += said * Fraction(1, size) ** (attributes - 1) / attributes
    assert sum(found.values()) == 1
    return found


def worst(attributes: int, size: int, epsilon: float) -> tuple[Fraction, Fraction, Fraction]:
    """Return e^ε', and the worst ratios of two people who differ in one attribute, and in any."""
    odds = Fraction(math.exp(epsilon))
    amplified = attributes * (odds - 1) + 1
    everyone = list(product(range(size), repeat=attributes))
    laws = {person: law(person, size, amplified) for person in everyone}
    ratios: dict[bool, Fraction] = {True: Fraction(1), False: Fraction(1)}
    for one, other in product(everyone, repeat=2):
        near = sum(a != b for a, b in zip(one, other, strict=True)) <= 1
        ratio = max(laws[one][report] / laws[other][report] for report in laws[one])
        ratios[near] = max(ratios[near], ratio)
    return amplified, ratios[True], max(ratios.values())


@pytest.mark.parametrize(("attributes", "epsilon", "lost"), [(2, 1.0, 1.490), (3, 2.0, 3.004), (4, 0.5, 1.280)])
def test_it_loses_the_amplified_epsilon_and_not_the_declared_one(attributes: int, epsilon: float, lost: float) -> None:
    amplified, of_one, of_all = worst(attributes, 2, epsilon)
    assert of_all == amplified, "exactly: all that the secret draw was to save"
    assert math.log(of_all) == pytest.approx(lost, abs=5e-4)
    assert of_one <= Fraction(math.exp(epsilon)) < of_all, "what it declares holds of two who differ in one attribute"


@pytest.mark.parametrize("size", [2, 3, 5])
def test_the_loss_does_not_depend_on_how_many_answers_there_are(size: int) -> None:
    amplified, of_one, of_all = worst(2, size, 1.0)
    assert of_all == amplified
    assert of_one < of_all
