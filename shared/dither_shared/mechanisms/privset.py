"""PrivSet: a report lists a few answers, and contains one of the user's set more often than by chance."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import comb, exp, inf, perm
from typing import ClassVar, Self

from ..errors import ParameterError
from ..mechanism import MAX_CELLS, SETS, Item, Items
from ..primitives.channel import TwoLevel
from ..primitives.entropy import Entropy, lanes_of
from ..primitives.probability import ONE, as_probability, exp_below, threshold_down, threshold_text, toward
from ..rows import RowFormat, Shape
from .chained import Chained
from .checks import checked_count, checked_epsilons, checked_size, set_of

_MOST = 4096
"""The largest ``at_most``: the exact law is a product of as many factors."""


@dataclass(frozen=True, kw_only=True)
class PrivSet(Chained):
    """PrivSet (Wang, Huang, Nie, Wang, Xu and Yang, INFOCOM 2018), for sets of at most w (``at_most``) of d values.

    The d values are followed by w dummies; a set marks its values and the first dummies, w cells of N = d + w in all. A
    report is r (``subset``) of the N cells: with probability ``inside`` a uniform r-subset that meets the marks,
    otherwise a uniform one that does not. With t = C(d,r)/C(N,r), the share of subsets that do not meet them,

        inside = e^ε (1-t)/(e^ε (1-t) + t),   ε = ln( inside t/((1-inside) (1-t)) ),
        p = inside (r/N)/(1-t),   q = inside (r/N - t r/d)/(1-t) + (1-inside) r/d.

    r has the least total risk for sets of w values; with w = 1 this is subset selection over d + 1.

    With a permanent part the r-subset is drawn once for ever at ε∞, and each report keeps it or draws any r-subset,
    uniformly. That again is a law of two levels, so memoisation costs nothing in the variance of one report.

    ``inside`` of one report and ``permanent_inside`` are rounded to multiples of 2^-64 toward 1 - t, where nothing is
    revealed; the probability of keeping the permanent subset is rounded down.
    """

    name: ClassVar[str] = "privset"
    items: ClassVar[Items] = SETS
    keys: ClassVar[frozenset[str]] = frozenset({"epsilon", "permanent_epsilon", "at_most", "report_budget"})

    size: int
    at_most: int
    subset: int
    inside: Fraction
    permanent_inside: Fraction | None = None
    _threshold: int = field(init=False, repr=False)
    _kept: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        size, w = _checked_shape(self.size, self.at_most)
        r, cells = checked_count(self.subset, "subset", 1, size), size + w
        chance = _chance(size, w, r)
        inside = _checked_inside(self.inside, chance, "inside")
        permanent, kept = None, ONE
        if self.permanent_inside is not None:
            permanent = _checked_inside(self.permanent_inside, chance, "permanent_inside")
            if permanent <= inside:
                raise ParameterError(
                    "permanent_inside", "must exceed inside: a report cannot be less noisy than the permanent draw"
                )
            kept = threshold_down((inside - chance) / (permanent - chance))
        drawn = inside if permanent is None else permanent
        whole = chance + Fraction(kept, ONE) * (drawn - chance)
        a, b = _levels(size, w, r, whole)
        rows = _rows(cells, r)
        self._derive(
            shape=rows.shape,
            listed=rows.listed,
            inside=inside,
            permanent_inside=permanent,
            cells=cells,
            a=a,
            b=b,
            p=a,
            q=b,
            ratio=_odds(whole) / _odds(chance),
            permanent_ratio=None if permanent is None else _odds(permanent) / _odds(chance),
            _threshold=int(drawn * ONE),
            _kept=kept,
        )

    @classmethod
    def calibrate(
        cls,
        size: int | None,
        epsilon: float,
        permanent_epsilon: float | None = None,
        *,
        at_most: int = 1,
        report_budget: int = MAX_CELLS,
    ) -> Self:
        """Return the mechanism for sets of ``at_most`` values whose r has the least total risk.

        If r > 1 a report takes at most ``report_budget`` bytes.
        """
        size, w = _checked_shape(size, at_most)
        once, forever = checked_epsilons(epsilon, permanent_epsilon)
        subset = _best_subset(size, w, exp(once), report_budget)
        chance = _odds(_chance(size, w, subset))

        def inside(loss: Fraction) -> Fraction:
            odds = exp_below(loss) * chance
            return Fraction(threshold_down(odds / (odds + 1)), ONE)

        permanent = None if forever is None else inside(forever)
        return cls(size=size, at_most=w, subset=subset, inside=inside(once), permanent_inside=permanent)

    @classmethod
    def configure(cls, size: int | None, parameters: Mapping[str, float | str]) -> Self:
        """Return the mechanism for the given ``keys``; ``epsilon`` and ``at_most`` are required."""
        numbers = cls._with_epsilon(parameters)
        if "at_most" not in numbers:
            raise ParameterError("at_most", "missing; privset needs the maximum number of values in an answer")
        at_most = checked_count(numbers["at_most"], "at_most", 1, _MOST)
        budget = checked_count(numbers.get("report_budget", MAX_CELLS), "report_budget", 1, MAX_CELLS)
        forever = numbers.get("permanent_epsilon")
        return cls.calibrate(size, numbers["epsilon"], forever, at_most=at_most, report_budget=budget)

    @property
    def largest(self) -> int:
        """Maximum size of a set, which is the number of dummies."""
        return self.at_most

    @property
    def marks(self) -> int:
        """Values and dummies together."""
        return self.at_most

    @property
    def weight(self) -> int:
        """Every report has ``subset`` cells."""
        return self.subset

    @property
    def risk(self) -> float:
        """The total squared error over all values, times n, if every set has ``at_most`` values."""
        return self.size * self.variance(0.0) + self.at_most * (self.variance(1.0) - self.variance(0.0))

    def ratio_after(self, reports: int) -> Fraction:
        """Return the worst-case ratio of ``reports`` reports of one set: all of them show one subset."""
        if self.permanent_inside is None:
            return self.ratio**reports
        subsets = comb(self.cells, self.subset)
        afresh = (1 - Fraction(self._kept, ONE)) / subsets
        chance = _chance(self.size, self.at_most, self.subset)
        likely = self.permanent_inside / (chance * subsets)
        unlikely = (1 - self.permanent_inside) / ((1 - chance) * subsets)
        same, other = (Fraction(self._kept, ONE) + afresh) ** reports, afresh**reports
        return (likely * same + (1 - likely) * other) / (unlikely * same + (1 - unlikely) * other)

    @property
    def two_level(self) -> TwoLevel:
        """The law of two levels: a set owns the subsets that meet its marks; a full and an empty set share fewest."""
        beside, both = self.cells - self.subset, 2 * self.at_most
        missed = 1 - _chance(self.size, self.at_most, self.subset)
        neither = Fraction(perm(beside, both), perm(self.cells, both))
        return TwoLevel(self.ratio, 1 - missed, 1 - 2 * missed + neither)

    @property
    def integers(self) -> Mapping[str, object]:
        """The threshold of P[a subset meets the marks], its size, and the sizes of sets and of the list."""
        return {
            "inside": threshold_text(self.inside),
            "subset": self.subset,
            "at_most": self.at_most,
            "size": self.size,
        }

    def marked(self, item: Item, cohort: int = 0) -> tuple[int, ...]:
        """Return the values of the set, and as many dummies as make ``at_most`` cells."""
        values = lanes_of(set_of(item, self.size))
        if len(values) > self.at_most:
            raise ParameterError("item", f"a set of more than {self.at_most} values")
        return (*values, *range(self.size, self.cells - len(values)))

    def supporting(self, value: Item, cohort: int = 0) -> tuple[int, ...]:
        """Return the value itself."""
        return (int(value),)

    def permanent_draw(self, key: tuple[int, ...], entropy: Entropy) -> int:
        """Return the payload of the permanent subset, as an integer; without a permanent part the marks, as bits."""
        marks = sum(1 << cell for cell in key)
        return int.from_bytes(self._subset(marks, entropy), self.row_format.byteorder) if self.memoised else marks

    def repeat(self, drawn: int, entropy: Entropy) -> bytes:
        """Return the permanent subset or a uniform one; without a permanent part, return a new subset for the marks."""
        if not self.memoised:
            return self._subset(drawn, entropy)
        if entropy.bernoulli(self._kept):
            return drawn.to_bytes(self.row_format.payload_bytes, self.row_format.byteorder)
        return self._payload(entropy.subset(self.cells, self.subset))

    def _subset(self, marks: int, entropy: Entropy) -> bytes:
        """Return the payload of a random subset, which meets the marks with probability ``inside``."""
        if entropy.bernoulli(self._threshold):
            return self._payload(entropy.subset_meeting(self.cells, self.subset, marks))
        row = entropy.subset(self.size, self.subset)
        for cell in lanes_of(marks):  # ascending: the lanes of the row move up past the marks, which stay empty
            below = row & ((1 << cell) - 1)
            row = below | (row ^ below) << 1
        return self._payload(row)

    def _payload(self, row: int) -> bytes:
        return self.row_format.payload(lanes_of(row))


def _checked_shape(size: object, at_most: object) -> tuple[int, int]:
    d = checked_size(size)
    w = checked_count(at_most, "at_most", 1, min(d, _MOST))
    if d + w > MAX_CELLS:
        raise ParameterError("size", f"{d} values and {w} dummies are more than {MAX_CELLS} cells")
    return d, w


def _chance(size: int, at_most: int, subset: int) -> Fraction:
    """Return the share of subsets that meet the marks: 1 - t."""
    cells = size + at_most
    return 1 - Fraction(perm(cells - subset, at_most), perm(cells, at_most))


def _odds(probability: Fraction) -> Fraction:
    return probability / (1 - probability)


def _checked_inside(inside: Fraction, chance: Fraction, place: str) -> Fraction:
    """Return ``inside`` on the grid of 2^-64; raise ParameterError if a report reveals nothing or everything."""
    rounded = toward(chance, as_probability(inside, place))
    if not chance < rounded < 1:
        raise ParameterError(place, f"{float(inside):g} must lie between {float(chance):g} (no information) and 1")
    return rounded


def _levels(size: int, at_most: int, subset: int, inside: Fraction) -> tuple[Fraction, Fraction]:
    """Return P[a subset has a cell], if the set marks it and if it does not. ``inside`` is P[the subset has some mark].

    A uniform subset has a given cell with probability r/N; a subset without marks has each other cell with r/d.
    """
    chance = _chance(size, at_most, subset)
    any_cell, beside = Fraction(subset, size + at_most), Fraction(subset, size)
    high = inside * any_cell / chance
    return high, inside * (any_cell - (1 - chance) * beside) / chance + (1 - inside) * beside


def _rows(cells: int, subset: int) -> RowFormat:
    """Return the shortest row format: a symbol, a list, or a bit for each cell."""
    if subset == 1:
        return RowFormat(Shape.SYMBOL, 1, cells)
    if subset * (cells - 1).bit_length() < cells:
        return RowFormat(Shape.LIST, 1, cells, subset)
    return RowFormat(Shape.BITS, 1, cells)


def _best_subset(size: int, at_most: int, odds: float, budget: int) -> int:
    """Return the r with the least total risk d·V(0) + w·(V(1) - V(0)), which decreases up to it and then increases.

    Rows grow with r; if r > 1, its rows have at most ``budget`` bytes.
    """
    cells = size + at_most
    missing = size / cells  # t at r = 1
    best, least = 1, inf
    for subset in range(1, size + 1):
        total = odds * (1 - missing) + missing
        any_cell, beside = subset / cells, missing * subset / size
        p, q = odds * any_cell / total, (odds * (any_cell - beside) + beside) / total
        risk = size * q * (1 - q) / (p - q) ** 2 + at_most * (1 - p - q) / (p - q)
        if risk >= least or (subset > 1 and _rows(cells, subset).row_bytes > budget):
            break
        best, least = subset, risk
        missing *= (size - subset) / (cells - subset)
    return best
