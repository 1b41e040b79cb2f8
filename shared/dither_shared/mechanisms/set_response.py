"""Set response: the bits of some neighbouring values go through randomized response together."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import exp
from typing import ClassVar, Self

from ..mechanism import MAX_COUNTERS, SETS, Item, Items
from ..primitives.channel import TwoLevel
from ..primitives.probability import as_probability, threshold_text, toward
from ..rows import Shape
from .chained import ChainOfSymbols
from .checks import checked_count, checked_epsilons, checked_size, set_of
from .randomized_response import symbol_chain, truths

_WIDEST = 16
"""Maximum number of neighbours that are reported together: 65,536 patterns."""


@dataclass(frozen=True, kw_only=True)
class SetResponse(ChainOfSymbols):
    """Windows of s neighbours on a circle, each reported by 2^s-ary randomized response.

    A set is d bits, one per value, on a circle. The cohort c, which is public, is a window: the bits c, c+1, …, c+s-1
    mod d. The pattern of the set in its window (bit i for value c+i) is reported with probability γ (``truth``),
    otherwise one of the other 2^s - 1 patterns, uniformly. A report supports a value if its window holds it and its bit
    there is 1; with a = γ and b = (1-γ)/(2^s-1)

        p = a + (2^(s-1) - 1) b,   q = 2^(s-1) b,   p + q = 1,   coverage = s/d.

    At γ = e^ε/(e^ε + 2^s - 1), p - q = m = (e^ε-1)/(e^ε+2^s-1), and for a value that half of all users have, n·Var has
    its maximum ((d/s)/m² - 1)/4. The best s grows with ε: 1 up to ε = 1.34, 2 up to 2.69, 3 up to 3.80, 4 up to 4.79.
    At uniformly random sets no report at the same ε is more informative: it meets the Cramér-Rao bound of the best of
    all patterns (enumerated for d <= 4). s = 1 is the classical survey of one random item.

    The permanent part is that of ``RandomizedResponse`` over the patterns of a device's fixed window.
    """

    name: ClassVar[str] = "set-response"
    items: ClassVar[Items] = SETS
    keys: ClassVar[frozenset[str]] = frozenset({"epsilon", "permanent_epsilon", "window"})

    size: int
    window: int
    truth: Fraction
    permanent_truth: Fraction | None = None

    def __post_init__(self) -> None:
        size = checked_size(self.size)
        window = checked_count(self.window, "window", 1, _widest(size))
        patterns = 1 << window
        truth = toward(Fraction(1, patterns), as_probability(self.truth, "truth"))
        chain = symbol_chain(patterns, truth, self.permanent_truth)
        half = patterns // 2
        self._derive(
            shape=Shape.SYMBOL,
            truth=truth,
            permanent_truth=None if chain.permanent is None else chain.permanent.truth,
            cohorts=size,
            cells=patterns,
            a=chain.truth,
            b=chain.lie,
            p=chain.truth + (half - 1) * chain.lie,
            q=half * chain.lie,
            coverage=Fraction(window, size),
            ratio=chain.ratio_after(1),
            permanent_ratio=chain.permanent_ratio,
            _chain=chain,
        )

    @classmethod
    def calibrate(
        cls, size: int | None, epsilon: float, permanent_epsilon: float | None = None, *, window: int | None = None
    ) -> Self:
        """Return the mechanism with that ``window``, or with the one that has the least total risk."""
        size = checked_size(size)
        once, forever = checked_epsilons(epsilon, permanent_epsilon)
        odds, widest = exp(once), _widest(size)
        if window is None:
            window = min(range(1, widest + 1), key=lambda s: _spread(s, odds))
        truth, permanent_truth = truths(1 << checked_count(window, "window", 1, widest), once, forever)
        return cls(size=size, window=window, truth=truth, permanent_truth=permanent_truth)

    @classmethod
    def configure(cls, size: int | None, parameters: Mapping[str, float | str]) -> Self:
        """Return the mechanism for ``epsilon``, ``permanent_epsilon`` and ``window``."""
        numbers = cls._with_epsilon(parameters)
        window = checked_count(numbers["window"], "window", 1, _WIDEST) if "window" in numbers else None
        return cls.calibrate(size, numbers["epsilon"], numbers.get("permanent_epsilon"), window=window)

    @property
    def permanent_draws(self) -> int | None:
        """The number of permanent draws: one for each pattern of the window."""
        return self.cells if self.memoised else None

    @property
    def risk(self) -> float:
        """The maximum of the total squared error over all values, times n: if half of the users have each value."""
        return self.size * self.variance(0.5)

    def seen(self, cohort: int) -> tuple[int, ...]:
        """Return the values in the window ``cohort``, in the order of a pattern's bits, lowest first."""
        return tuple((cohort + place) % self.size for place in range(self.window))

    @property
    def two_level(self) -> TwoLevel:
        """A set owns its pattern; the empty set, the full set and a third set differ in every window."""
        third = Fraction(0) if self.window > 2 or (self.window == 2 and not self.size % 2) else None
        return TwoLevel(self.ratio, Fraction(1, self.cells), Fraction(0), third)

    @property
    def integers(self) -> Mapping[str, object]:
        """The threshold of ``truth``, and the width of the window; there is one cohort per value."""
        return {"truth": threshold_text(self.truth), "window": self.window}

    def marked(self, item: Item, cohort: int = 0) -> tuple[int, ...]:
        """Return the pattern of the set in the window ``cohort``."""
        chosen = set_of(item, self.size)
        return ((chosen | chosen << self.size) >> cohort & (self.cells - 1),)

    def supporting(self, value: Item, cohort: int = 0) -> tuple[int, ...]:
        """Return the patterns that contain the value; None if the window does not cover it."""
        place = (int(value) - cohort) % self.size
        return tuple(pattern for pattern in range(self.cells) if pattern >> place & 1)


def _widest(size: int) -> int:
    """Return the widest window of a tally that is not too large."""
    return min(size, _WIDEST, (MAX_COUNTERS // size).bit_length() - 1)


def _spread(window: int, odds: float) -> float:
    """Return (e^ε - 1)²/(s m²), to which the total risk is proportional at a given ε."""
    return (odds + 2.0**window - 1) ** 2 / window
