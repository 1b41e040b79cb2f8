"""Subset selection: a report lists d of the k answers, and contains the true one more often than by chance."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import exp
from typing import ClassVar, Self

from ..mechanism import Item, Mechanism
from ..primitives.channel import OwnedChannel, TwoLevel
from ..primitives.entropy import Entropy
from ..primitives.probability import checked_epsilon, threshold_text
from ..rows import Shape
from .checks import checked_count, checked_size, index_of


@dataclass(frozen=True, kw_only=True)
class SubsetSelection(Mechanism):
    """Subset selection (Ye and Barg 2018, arXiv 1702.00610; Wang et al. 2016, arXiv 1607.08025).

    Report d of the k answers: with probability ``inside`` = d e^ε/(d e^ε + k - d) a uniform d-subset with x in it,
    otherwise a uniform d-subset of the others:

        p = inside,   q = (p(d-1) + (1-p)d)/(k-1).

    With the best d, near k/(e^ε + 1), no ε-LDP mechanism has less total squared error (Ye and Barg 2019, arXiv
    1810.07283). With d = 1 it is k-ary randomized response.
    """

    name: ClassVar[str] = "subset-selection"
    own_cells: ClassVar[bool] = True

    size: int
    subset: int
    inside: Fraction
    _threshold: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        k = checked_size(self.size)
        d = checked_count(self.subset, "subset", 1, k - 1)
        channel = OwnedChannel.checked(self.inside, d, k)
        inside = channel.inside
        other = (inside * (d - 1) + (1 - inside) * d) / (k - 1)
        # drawing a list takes longer, so do it only if it halves the report
        as_list = 2 * d * (k - 1).bit_length() <= k
        self._derive(
            shape=Shape.LIST if as_list else Shape.BITS,
            listed=d if as_list else 0,
            inside=inside,
            cells=k,
            a=inside,
            b=other,
            p=inside,
            q=other,
            ratio=channel.ratio,
            _threshold=channel.threshold,
        )

    @classmethod
    def calibrate(cls, size: int | None, epsilon: float) -> Self:
        """Return the mechanism whose d has the least total risk."""
        k = checked_size(size)
        loss = checked_epsilon(epsilon)
        odds = exp(loss)
        near = int(k / (odds + 1))
        subset = min({max(1, near), min(k - 1, near + 1)}, key=lambda d: _risk(k, d, odds))
        return cls(size=k, subset=subset, inside=OwnedChannel.at(loss, subset, k).inside)

    @property
    def weight(self) -> int:
        """Every report has ``subset`` answers, as bits or as a list."""
        return self.subset

    @property
    def joint_support(self) -> tuple[Fraction, Fraction]:
        """p(d-1)/(k-1) with the true answer, ((d-1)(d-2)p + d(d-1)(1-p))/((k-1)(k-2)) without it."""
        k, d, p = self.size, self.subset, self.p
        return p * (d - 1) / (k - 1), (d - 1) * (p * (d - 2) + (1 - p) * d) / ((k - 1) * max(k - 2, 1))

    @property
    def two_level(self) -> TwoLevel:
        """A value owns the subsets that list it."""
        k, d = self.size, self.subset
        overlap = Fraction(d * (d - 1), k * (k - 1))
        aside = overlap * (k - d) / (k - 2) if k > 2 else None
        return TwoLevel(self.ratio, Fraction(d, k), overlap, aside)

    @property
    def integers(self) -> Mapping[str, object]:
        """The probability of a subset with the true answer, and the size of subsets."""
        return {"inside": threshold_text(self.inside), "subset": self.subset}

    def marked(self, item: Item, cohort: int = 0) -> tuple[int, ...]:
        """Return the item itself."""
        return (index_of(item, self.size),)

    def randomize(self, item: Item, entropy: Entropy, cohort: int = 0, permanent: Entropy | None = None) -> bytes:
        """Return a d-subset, as k bits, or as a list of d numbers if that takes at most half of them."""
        index = index_of(item, self.size)
        chosen = entropy.bernoulli(self._threshold)
        others = entropy.subset(self.size - 1, self.subset - chosen)
        below = others & ((1 << index) - 1)
        row = below | chosen << index | (others ^ below) << 1
        return self.row_format.bits(row)


def _risk(size: int, subset: int, odds: float) -> float:
    """Return the total risk k·V(0) + V(1) - V(0) of one report; used only to choose."""
    p = subset * odds / (subset * odds + size - subset)
    q = (p * (subset - 1) + (1 - p) * subset) / (size - 1)
    return size * q * (1 - q) / (p - q) ** 2 + (1 - p - q) / (p - q)
