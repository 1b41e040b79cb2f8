"""The audit of sets: sound randomizers pass, and joint leaks of several values are caught."""

from dataclasses import dataclass

import pytest

from contract.cases import usual
from dither_shared import Entropy, KeyedEntropy, PrivSet, SetResponse
from dither_shared.mechanism import Item
from dither_shared.privacy.audit import audit


def seeded(name: str) -> Entropy:
    return KeyedEntropy(b"audit of sets", name.encode())


@pytest.mark.parametrize("name", ["set-response", pytest.param("privset", marks=pytest.mark.slow)])
def test_memoised_reports_of_sets_pass_at_the_loss_of_a_series(name: str) -> None:
    finding = audit(usual(name, permanent_epsilon=2.0), seeded(f"series {name}"), draws=20_000, reports=20)
    assert finding.passed
    assert 1.0 < finding.lower_bound <= finding.declared <= 2.0


@dataclass(frozen=True, kw_only=True)
class EachBitByItself(SetResponse):
    """A mechanism that spends the whole ε for each bit of the window, so that all bits together reveal more."""

    def randomize(self, item: Item, entropy: Entropy, cohort: int = 0, permanent: Entropy | None = None) -> bytes:
        chance = int(self.p * (1 << 64))
        return self.row_format.symbol(
            self.marked(item, cohort)[0] ^ entropy.bernoulli_bits(self.window, 0, 0, (1 << 64) - chance)
        )


@dataclass(frozen=True, kw_only=True)
class ValuesWithoutDummies(PrivSet):
    """A mechanism in which a small set marks fewer cells, so that its size shows."""

    def marked(self, item: Item, cohort: int = 0) -> tuple[int, ...]:
        return tuple(cell for cell in super().marked(item, cohort) if cell < self.size) or (self.size,)


def test_bits_that_each_spend_the_whole_epsilon_are_caught() -> None:
    """A single bit of p = 0.81 has the loss ln(p/q) = 1.4."""
    sound = SetResponse.calibrate(6, 2.0, window=2)
    broken = EachBitByItself(size=6, window=2, truth=sound.truth)
    assert audit(sound, seeded("bits"), draws=8_000).passed
    assert not audit(broken, seeded("bits"), draws=8_000).passed


def test_sets_that_mark_fewer_cells_are_caught() -> None:
    sound = PrivSet.calibrate(4, 1.0, at_most=3)
    broken = ValuesWithoutDummies(size=4, at_most=3, subset=sound.subset, inside=sound.inside)
    assert audit(sound, seeded("dummies"), draws=8_000).passed
    assert not audit(broken, seeded("dummies"), draws=8_000).passed
