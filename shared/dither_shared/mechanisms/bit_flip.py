"""Microsoft's dBitFlipPM: report a fixed few bits of the histogram's row, drawn once for each value."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

from ..errors import ParameterError
from ..light import cached_property
from ..mechanism import Item
from ..primitives.channel import BitChain, BitChannel
from ..primitives.probability import ONE, as_probability, checked_epsilon, exp_below, threshold_down, toward
from ..rows import Shape
from .chained import ChainOfBits
from .checks import checked_count, checked_size, index_of

_HALF = Fraction(1, 2)


@dataclass(frozen=True, kw_only=True)
class BitFlip(ChainOfBits):
    """dBitFlipPM (Ding, Kulkarni and Yekhanin, NIPS 2017) with cyclic windows.

    A device answers for d (``bits``) of the k buckets, the same ones for life and chosen independently of its value:
    here the window c, c+1, …, c+d-1 modulo k, its cohort c uniform, so that every bucket is covered by d/k of all
    devices. Each of the d bits says whether the value is in its bucket and is kept with probability p, flipped with
    q = 1 - p, permanently: one value has one report, for ever (the paper's memoisation), so ε∞ = ε.

    Two values differ in two bits if d >= 2, so p = s/(s+1) with s = e^(ε/2). With d = 1 they differ in one, and the
    whole ε is used: s = e^ε. A bucket is estimated from the n d/k reports that cover it,

        n·Var = (k/d) s/(s-1)² + (k/d - 1) f(1-f).

    ``keep`` (p) is rounded to a multiple of 2^-64 toward 1/2.
    """

    name: ClassVar[str] = "bit-flip"
    always_memoised: ClassVar[bool] = True
    keys: ClassVar[frozenset[str]] = frozenset({"epsilon", "bits"})

    size: int
    bits: int
    keep: Fraction

    def __post_init__(self) -> None:
        size = checked_size(self.size)
        bits = checked_count(self.bits, "bits", 1, size)
        keep = toward(_HALF, as_probability(self.keep, "keep"))
        if not _HALF < keep < 1:
            raise ParameterError("keep", f"{float(keep):g} must lie between 1/2 (no information) and 1 (no privacy)")
        ratio = (keep / (1 - keep)) ** min(bits, 2)
        self._derive(
            shape=Shape.BITS,
            keep=keep,
            cohorts=size,
            cells=bits,
            coverage=Fraction(bits, size),
            a=keep,
            b=1 - keep,
            p=keep,
            q=1 - keep,
            ratio=ratio,
            permanent_ratio=ratio,
            _chain=BitChain(BitChannel(Fraction(1), Fraction(0)), BitChannel(keep, 1 - keep)),
        )

    @classmethod
    def calibrate(cls, size: int | None, epsilon: float, bits: int = 16) -> Self:
        """Return the mechanism with ``bits`` bits, at most one per value."""
        size = checked_size(size)
        bits = min(bits, size)
        odds = exp_below(checked_epsilon(epsilon) / min(bits, 2))
        return cls(size=size, bits=bits, keep=Fraction(threshold_down(odds / (odds + 1)), ONE))

    @classmethod
    def configure(cls, size: int | None, parameters: Mapping[str, float | str]) -> Self:
        """Return the mechanism for the given ``epsilon`` and ``bits``."""
        numbers = cls._with_epsilon(parameters)
        if "bits" not in numbers:
            return cls.calibrate(size, numbers["epsilon"])
        return cls.calibrate(size, numbers["epsilon"], checked_count(numbers["bits"], "bits", 1, checked_size(size)))

    @cached_property
    def permanent_stage(self) -> Self:
        """The mechanism itself, because its reports are permanent draws."""
        return self

    def ratio_after(self, reports: int) -> Fraction:
        """Return ``ratio``: further reports of one value repeat the first."""
        if reports < 1:
            raise ParameterError("reports", f"{reports} is not positive")
        return self.ratio

    @property
    def weight_moments(self) -> tuple[float, float]:
        """Mean and variance of the ones; d of k devices have a marked bit in their window, for every value."""
        a, b, there = float(self.a), float(self.b), float(self.coverage)
        return (
            self.bits * b + there * (a - b),
            self.bits * b * (1 - b) + there * (1 - there) * (a - b) ** 2,
        )

    def marked(self, item: Item, cohort: int = 0) -> tuple[int, ...]:
        """Return the index of the bucket in the window, if the window covers it."""
        place = (index_of(item, self.size) - cohort) % self.size
        return (place,) if place < self.bits else ()
