"""RAPPOR: Bloom bits of any string, a permanent answer for life, an instantaneous one for each report."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import ClassVar, Self

from ..errors import ParameterError
from ..light import cached_property
from ..mechanism import STRINGS, Item, Items
from ..primitives.bloom import bloom_positions
from ..primitives.channel import BitChain, BitChannel
from ..primitives.probability import (
    MAX_EPSILON,
    ONE,
    as_probability,
    checked_epsilon,
    exp_below,
    threshold_down,
    threshold_up,
    toward,
)
from ..rows import Shape
from .chained import ChainOfBits
from .checks import bytes_of, checked_count

MAX_BITS = 4096
MAX_COHORTS = 1 << 16


@dataclass(frozen=True, kw_only=True)
class Rappor(ChainOfBits):
    """RAPPOR (Erlingsson, Pihur and Korolova, CCS 2014), for values of an open domain.

    In cohort c a value marks h (``hashes``) of m (``bits``) Bloom bits B. Two channels follow, bit by bit:

        permanent       P[B'=1 | B=1] = 1 - f/2,    P[B'=1 | B=0] = f/2     fixed for the value, for ever
        instantaneous   P[S=1 | B'=1] = q,          P[S=1 | B'=0] = p       drawn for each report

    ``permanent_f``, ``instant_p`` and ``instant_q`` are the paper's f, p and q. The chain reports a bit with

        a = P[S=1 | B=1] = (1 - f/2) q + (f/2) p,     b = P[S=1 | B=0] = (f/2) q + (1 - f/2) p

    (the paper's q* and p*, in this project the p and q of one bit). Every value marks exactly h bits (bloom.py), so two
    values that share h - d bits differ in 2d, and

        ε₁ = d |ln( a(1-b) / (b(1-a)) )|  for one report (theorem 2),
        ε∞ = 2d ln((1 - f/2)/(f/2))       for ever (theorem 1).

    Over all strings d = h is attained, by two values that share no bit (d = m - h in a filter narrower than 2h);
    ``ratio_over`` takes the maximum over a given list of values. The cohort is public and independent of the value.

    ε∞ is a bound per value. It hides which value a device has, not the moments at which the value changes.

    f/2 is rounded up and p and q toward each other, to multiples of 2^-64.
    """

    name: ClassVar[str] = "rappor"
    items: ClassVar[Items] = STRINGS
    pure: ClassVar[bool] = False
    always_memoised: ClassVar[bool] = True
    keys: ClassVar[frozenset[str]] = frozenset(
        {"bits", "hashes", "cohorts", "f", "p", "q", "epsilon", "permanent_epsilon"}
    )

    size: None = field(init=False, default=None)
    cohorts: int = 64
    bits: int = 128
    hashes: int = 2
    permanent_f: Fraction
    instant_p: Fraction
    instant_q: Fraction
    _apart: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        checked_count(self.cohorts, "cohorts", 1, MAX_COHORTS)
        checked_count(self.hashes, "hashes", 1, checked_count(self.bits, "bits", 2, MAX_BITS) - 1)
        flip, low, high = self._rounded()
        chain = BitChain(BitChannel(high, low), BitChannel(1 - flip, flip))
        apart = min(self.hashes, self.bits - self.hashes)
        self._derive(
            shape=Shape.BITS,
            permanent_f=2 * flip,
            instant_p=low,
            instant_q=high,
            cells=self.bits,
            a=chain.whole.high,
            b=chain.whole.low,
            p=chain.whole.high,
            q=chain.whole.low,
            ratio=chain.ratio_after(1) ** apart,
            permanent_ratio=BitChannel(1 - flip, flip).odds_ratio ** apart,
            _apart=apart,
            _chain=chain,
        )
        if self.epsilon > MAX_EPSILON:
            raise ParameterError("epsilon", f"{self.epsilon:.3g} for one report is above {MAX_EPSILON:g}")

    def _rounded(self) -> tuple[Fraction, Fraction, Fraction]:
        """Return f/2, p and q on the grid of 2^-64, each moved to its private side."""
        f = as_probability(self.permanent_f, "f")
        if not 0 < f < 1:
            raise ParameterError(
                "f", f"{float(f):g} must lie strictly between 0 (no permanent protection) and 1 (no information)"
            )
        p, q = as_probability(self.instant_p, "p"), as_probability(self.instant_q, "q")
        middle = (p + q) / 2
        p, q = toward(middle, p), toward(middle, q)
        if p == q:
            raise ParameterError("q", f"equals p = {float(p):g}; the reports would carry no information")
        return Fraction(threshold_up(f / 2), ONE), p, q

    @classmethod
    def calibrate(
        cls,
        size: int | None,
        epsilon: float,
        permanent_epsilon: float | None = None,
        *,
        cohorts: int = 64,
        bits: int = 128,
        hashes: int = 2,
    ) -> Self:
        """Return the mechanism with ε₁ <= ``epsilon`` and ε∞ <= ``permanent_epsilon`` (twice ``epsilon`` if not given).

        f follows from ε∞. The chain is symmetric, so q = 1 - p = (a - f/2)/(1 - f) with a = s/(s+1),
        s = e^(ε₁/2h).
        """
        if size is not None:
            raise ParameterError("size", "rappor takes any string; it has no list of answers")
        one_report = checked_epsilon(epsilon)
        forever = 2 * one_report if permanent_epsilon is None else Fraction(permanent_epsilon)
        checked_epsilon(forever, "permanent_epsilon")
        if forever <= one_report:
            raise ParameterError("permanent_epsilon", f"{float(forever):g} must exceed epsilon = {float(one_report):g}")
        checked_count(hashes, "hashes", 1, checked_count(bits, "bits", 2, MAX_BITS) - 1)
        apart = 2 * min(hashes, bits - hashes)
        flip = Fraction(threshold_up(1 / (1 + exp_below(forever / apart))), ONE)
        odds = exp_below(one_report / apart)
        high = Fraction(threshold_down((odds / (odds + 1) - flip) / (1 - 2 * flip)), ONE)
        return cls(
            cohorts=cohorts,
            bits=bits,
            hashes=hashes,
            permanent_f=2 * flip,
            instant_p=1 - high,
            instant_q=high,
        )

    @classmethod
    def configure(cls, size: int | None, parameters: Mapping[str, float | str]) -> Self:
        """Return the mechanism for f, p and q, or for epsilon and permanent_epsilon."""
        numbers = cls._numbers(parameters)
        widths = {key: numbers[key] for key in ("bits", "hashes", "cohorts") if key in numbers}
        counts = {key: checked_count(value, key, 1, MAX_COHORTS) for key, value in widths.items()}
        noise = [key for key in ("f", "p", "q") if key in numbers]
        if not noise:
            if "epsilon" not in numbers:
                raise ParameterError("epsilon", "missing; give epsilon, or f, p and q")
            return cls.calibrate(size, numbers["epsilon"], numbers.get("permanent_epsilon"), **counts)
        for key in ("epsilon", "permanent_epsilon"):
            if key in numbers:
                raise ParameterError(
                    key,
                    "cannot be given together with f, p and q, from which it follows; give either epsilon, or f, "
                    "p and q",
                )
        for key in ("f", "p", "q"):
            if key not in numbers:
                raise ParameterError(key, "missing; f, p and q go together")
        f, p, q = (as_probability(numbers[key], key) for key in ("f", "p", "q"))
        return cls(**counts, permanent_f=f, instant_p=p, instant_q=q)

    @property
    def marks(self) -> int:
        """Every value marks h bits."""
        return self.hashes

    @property
    def reach(self) -> tuple[float, float]:
        """A report of exactly a string's bits adds 1/(a-b) to its fit, one of all other bits subtracts as much."""
        most = 1 / abs(float(self.p) - float(self.q))
        return -most, most

    @property
    def fitted_cells(self) -> float:
        """The fit averages h bits, less the cost of estimating the mean of the row: h (1 - h/m)."""
        return self.hashes * (1 - self.hashes / self.bits)

    @property
    def stored_draws(self) -> tuple[object, ...]:
        """Those of the chain, and the number of Bloom positions."""
        return *self._stored, self.hashes

    def marked(self, item: Item, cohort: int = 0) -> tuple[int, ...]:
        """Return the Bloom positions of a value (its UTF-8 bytes) in a cohort."""
        return bloom_positions(bytes_of(item), cohort, self.bits, self.hashes)

    @cached_property
    def permanent_stage(self) -> None:
        """None: its frequencies are fitted, and their errors come from the scatter between cohorts."""

    @property
    def permanent_law(self) -> tuple[Fraction, Fraction]:
        """P[a bit of the permanent row is 1], if the value marks it and if it does not."""
        return 1 - self.permanent_f / 2, self.permanent_f / 2

    def ratio_after(self, reports: int) -> Fraction:
        """Return the worst-case ratio of ``reports`` reports of one value; it tends to that of ε∞."""
        return self._chain.ratio_after(reports) ** self._apart

    def ratio_over(self, values: Iterable[bytes]) -> Fraction:
        """Return the exact worst-case ratio of one report over a list of values and every cohort.

        At most ``ratio``, and less if their Bloom bits always overlap. Takes cohorts · values² steps.
        """
        listed = list(values)
        apart = 0
        for cohort in range(self.cohorts):
            sets = [set(self.marked(value, cohort)) for value in listed]
            apart = max([apart, *(len(one - two) for one, two in combinations(sets, 2))])
        return self._chain.whole.odds_ratio**apart
