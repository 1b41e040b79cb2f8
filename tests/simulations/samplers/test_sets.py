"""People whose sets are drawn, too: the sampler follows the law that enumerating all their sets gives.

A right implementation fails with the probability that laws.py states, over the choice of its fixed seed.
"""

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import pytest

from dither_shared import Mechanism, ParameterError, PrivSet, RandomizedResponse, SetResponse
from dither_simulations.samplers.sets import sample_sets
from dither_simulations.users.sets import IndependentSets, SetLaw, SetList, drawn_sets
from simulations.laws import DRAWS, Cells, assert_follows, convolved, law_of_one

MECHANISMS: dict[str, Mechanism] = {
    "set-response": SetResponse(size=3, window=1, truth=Fraction(3, 4)),
    "set-response-of-two": SetResponse(size=3, window=2, truth=Fraction(1, 2)),
    "privset": PrivSet.calibrate(3, 1.0, at_most=2),
    "privset-of-two": PrivSet(size=3, at_most=2, subset=2, inside=Fraction(19, 20)),
}
LAWS: dict[str, SetLaw] = {
    "independent": IndependentSets(np.array([0.5, 0.3, 0.8]), 2),
    "certain-and-never": IndependentSets(np.array([1.0, 0.0, 0.4]), 2),
    "listed": SetList.of([0b000, 0b101, 0b010], 3, np.array([1.0, 3.0, 2.0])),
}
CASES = [(name, people) for name in MECHANISMS for people in LAWS if name.endswith("two") or people == "listed"]
"""A window or a subset of two depends on how items are correlated, so these are tried under every law."""


def of_sets(people: SetLaw, size: int) -> Mapping[int, float]:
    """Return the probability of each set, read from the chain."""
    chain, found = people.chain(), dict[int, float]()
    for item in range(1 << size):
        found[item] = 0.0
        for start in range(len(chain.start)):
            state, chance = start, float(chain.start[start])
            for place in range(size):
                present = chain.present[place, state]
                chance = chance * (present if item >> place & 1 else 1 - present)
                state = int(chain.after[state]) if item >> place & 1 else state
            found[item] += chance
    return found


@pytest.mark.parametrize("draws", DRAWS)
@pytest.mark.parametrize(("name", "people"), CASES)
def test_the_sampler_follows_the_law_of_all_sets(name: str, people: str, draws: int) -> None:
    mechanism, one = MECHANISMS[name], dict[Cells, float]()
    for item, chance in of_sets(LAWS[people], 3).items():
        for cells, probability in law_of_one(mechanism, item).items() if chance else ():
            one[cells] = one.get(cells, 0.0) + chance * probability
    rng = np.random.default_rng(7)
    assert_follows((sample_sets(mechanism, LAWS[people], 2, rng) for _ in range(draws)), convolved(one, one))


@pytest.mark.parametrize("size", [16, 64])
@pytest.mark.parametrize("users", [1, 10**9, 10**12])
def test_counts_are_where_their_law_puts_them_at_any_scale(size: int, users: int) -> None:
    """Six standard deviations: a normal variable is farther out with probability below 2e-9."""
    people = IndependentSets(0.5 / np.arange(1, size + 1), 3)
    for mechanism in (SetResponse.calibrate(size, 2.0), PrivSet.calibrate(size, 2.0, at_most=3)):
        tally = sample_sets(mechanism, people, users, np.random.default_rng(3))
        assert tally.total == users
        assert (tally.counts <= tally.reports[:, np.newaxis]).all()
        speaking = [[set(mechanism.supporting(item, c)) for c in range(mechanism.cohorts)] for item in range(size)]
        p, q, share = float(mechanism.p), float(mechanism.q), float(mechanism.coverage)
        for item, cells in enumerate(speaking):
            seen = sum(int(tally.counts[c, list(some)].sum()) for c, some in enumerate(cells) if some)
            expected = share * users * (q + (p - q) * people.shares[item])
            assert abs(seen - expected) < 6 * np.sqrt(users / 4) + 1


def test_drawn_sets_keep_to_the_limit_and_to_the_shares() -> None:
    """Six standard deviations of a share of 10^5 people."""
    people = IndependentSets(np.array([0.9, 0.5, 0.5, 0.2]), 2)
    drawn = drawn_sets(people, 10**5, np.random.default_rng(1))
    assert drawn.users == 10**5
    assert max(label.count(";") for label in drawn.labels) == 1
    for item, share in enumerate(people.shares):
        having = sum(
            count for label, count in zip(drawn.labels, drawn.counts, strict=True) if str(item) in label.split(";")
        )
        assert abs(having / 10**5 - share) < 6 * np.sqrt(0.25 / 10**5)


def test_a_mechanism_of_other_answers_is_refused() -> None:
    with pytest.raises(ParameterError, match="does not take sets"):
        sample_sets(RandomizedResponse.calibrate(3, 1.0), LAWS["listed"], 10, np.random.default_rng(0))
